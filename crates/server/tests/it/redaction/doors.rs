//! Who gets placeholders, and who gets secrets, through every door.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::{
    auth::Role,
    config::{RedactionMode, RootConfig},
};
use toolyard_testkit::{AppBehavior, FakeApp, model::ScriptedReply};

use super::{
    LOGIN, PASSWORD, READ, SEND, Stage, VAULT, database_url, github_token, placeholder_in, rest_too,
};
use crate::{
    builtin::with_tools,
    chat::{chunks, one, results, says, script, with_model},
    mcp::client::LEGACY,
    platform::Platform,
    plugins::{curating, install, plugin, signed},
};

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[tokio::test]
async fn an_mcp_client_of_either_era_gets_a_placeholder_that_only_its_origin_gets_back() {
    let stage = Stage::start(|_| {}).await;
    stage.vault_says(&format!("DB_URL={}", database_url()));
    let session = stage.ada().handshake(LEGACY).await;
    for is_modern in [true, false] {
        let call = async |tool: &str, arguments: Value| match is_modern {
            true => stage.ada().run(tool, arguments).await,
            false => {
                session.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await.result()
            }
        };
        let read = call(READ, json!({})).await;
        let placeholder = placeholder_in(text_of(&read));
        assert_eq!(text_of(&read), format!("DB_URL=postgres://app:{placeholder}@db/prod"));
        assert!(placeholder.starts_with("[secret:url-password:1-"), "{placeholder}");

        call(LOGIN, json!({ "password": placeholder, "n": 1.50 })).await;
        assert_eq!(stage.vault_received(), json!({ "password": PASSWORD, "n": 1.50 }), "the same origin");
        call(SEND, json!({ "text": format!("It is {placeholder}") })).await;
        let sent = stage.mail.requests("/tool").last().unwrap().body["arguments"].clone();
        assert_eq!(sent, json!({ "text": format!("It is {placeholder}") }), "another origin");
    }
}

#[tokio::test]
async fn all_parts_of_a_result_are_searched_and_nothing_else_changes() {
    let stage = Stage::start(|_| {}).await;
    let token = github_token();
    let blocks = json!([
        { "type": "text", "text": format!("token {token}") },
        { "type": "resource", "resource": { "uri": "vault://1", "text": format!("T={token}") } },
        { "type": "image", "data": "AAAA", "mimeType": "image/png" },
    ]);
    stage.vault.set_behavior(AppBehavior::content(blocks));
    let read = stage.ada().run(READ, json!({})).await;
    let placeholder = placeholder_in(text_of(&read));
    assert_eq!(read["content"][1]["resource"]["text"], format!("T={placeholder}"), "the same one each time");
    assert_eq!(read["content"][2], json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }));

    stage.vault.set_behavior(AppBehavior::content(json!({ "keys": [{ "token": token }], "n": 1 })));
    let read = stage.ada().run(READ, json!({})).await;
    assert!(!read.to_string().contains(&token) && read.to_string().contains(&placeholder), "{read}");

    let failed = json!({ "success": false, "error": { "code": "EXECUTION_ERROR", "message": format!("bad {token}") } });
    stage.vault.set_behavior(AppBehavior::Json(200, failed));
    let failed = stage.ada().run(READ, json!({})).await;
    assert_eq!(failed["isError"], true);
    assert!(text_of(&failed).contains(&format!("bad {placeholder}")), "{failed}");
    let calls = stage.ada().get("/api/calls").await.text;
    assert!(!calls.contains(&token) && calls.contains(&placeholder), "the ledger: {calls}");
}

#[tokio::test]
async fn a_chat_shows_placeholders_to_model_and_client_and_the_tool_gets_the_secret() {
    let (p, model) = with_model(|_| {}).await;
    let stage = Stage::on(p).await;
    stage.vault_says(&github_token());
    let request = |text: &str| json!({ "id": "chat-1", "messages": [says(text)] });
    script(
        &model,
        [ScriptedReply::call("com_example_vault__read", json!({})), ScriptedReply::text("I have it.")],
    );
    let told = chunks(&stage.ada(), request("get the token")).await;
    let placeholder = placeholder_in(&results(model.requests().last().unwrap()).pop().unwrap());
    assert_eq!(one(&told, "tool-output-available")["output"], placeholder);

    let login = ScriptedReply::call("com_example_vault__login", json!({ "password": placeholder }));
    script(&model, [login, ScriptedReply::text("I am in.")]);
    chunks(&stage.ada(), request("log in")).await;
    assert_eq!(stage.vault_received(), json!({ "password": github_token() }));

    // Another conversation does not know it.
    let login = ScriptedReply::call("com_example_vault__login", json!({ "password": placeholder }));
    script(&model, [login, ScriptedReply::text("It did not work.")]);
    let runs = stage.vault.requests("/tool").len();
    chunks(&stage.ada(), json!({ "id": "chat-2", "messages": [says("log in")] })).await;
    let told = results(model.requests().last().unwrap()).pop().unwrap();
    assert!(told.contains("no longer available in this conversation"), "{told}");
    assert_eq!(stage.vault.requests("/tool").len(), runs);
}

#[tokio::test]
async fn people_get_secrets_over_rest_unless_the_operator_wants_otherwise() {
    let stage = Stage::start(|_| {}).await;
    stage.vault_says(&github_token());
    let read = async |stage: &Stage| stage.ada().call(READ, json!({})).await.expect(200).json();
    assert_eq!(read(&stage).await["content"], github_token());
    let operator = stage.p.bearer(&stage.p.token("root", Role::Operator)).header("x-user-id", "ada");
    assert_eq!(operator.call(READ, json!({})).await.expect(200).json()["content"], github_token());

    let stage = Stage::start(rest_too).await;
    stage.vault_says(&github_token());
    let placeholder = placeholder_in(read(&stage).await["content"].as_str().unwrap());
    stage.ada().call(LOGIN, json!({ "password": placeholder })).await.expect(200);
    assert_eq!(stage.vault_received(), json!({ "password": github_token() }));
}

#[tokio::test]
async fn an_assistant_app_and_the_legacy_endpoint_always_get_placeholders() {
    let stage = Stage::start(|_| {}).await;
    stage.vault_says(&github_token());
    let helper = FakeApp::start("com.example.helper").await;
    let app = json!({ "packageName": "com.example.helper", "kind": "tools-only" });
    let created = stage.p.register(&helper, app).await;
    let key = format!("com.example.helper:{}", created["apiKey"].as_str().unwrap());
    for path in ["/api/installs/com.example.helper", "/api/installs/com.example.helper/assistant"] {
        stage.ada().put(path, &json!({})).await.expect(204);
    }
    let helper = stage.p.bearer(&key).header("x-user-id", "ada");
    let read = helper.call(READ, json!({})).await.expect(200).json();
    let placeholder = placeholder_in(read["content"].as_str().unwrap());
    // Its placeholders are its own: what another caller read for the same user is unknown.
    helper.call(LOGIN, json!({ "password": placeholder })).await.expect(200);
    assert_eq!(stage.vault_received(), json!({ "password": github_token() }));
    stage.ada().call(LOGIN, json!({ "password": placeholder })).await.expect(400);

    let body = json!({ "toolId": "read", "userId": "ada", "toolParameters": {}, "timestamp": "2026-01-02T03:04:05Z" });
    let old = stage.ada().post(&format!("/api/tools/apps/{VAULT}/tool"), &body).await;
    assert!(!old.text.contains(&github_token()) && old.text.contains("[secret:"), "{}", old.text);
}

#[tokio::test]
async fn progress_is_searched_as_it_happens() {
    let stage = Stage::start(rest_too).await;
    stage.vault.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "progress", "progress": 0.5, "message": format!("trying {}", github_token()) }),
        json!({ "type": "result", "success": true, "content": "done",
            "mentraExtensions": { "suggestedFollowUps": [format!("use {}", github_token())] } }),
    ]));
    let body = json!({ "name": READ, "arguments": {} });
    let ada = stage.ada().header("accept", "text/event-stream");
    let response = ada.open(Method::POST, "/api/tools/execute", Some(body)).await;
    stage.vault.let_line_through();
    stage.vault.let_line_through();
    let text = String::from_utf8(response.bytes(100_000).await.unwrap().to_vec()).unwrap();
    assert!(text.contains("trying [secret:github-token:1-") && text.contains("use [secret:"), "{text}");
    assert!(!text.contains(&github_token()), "{text}");
}

#[tokio::test]
async fn results_of_plugins_are_searched() {
    let p = Platform::with(curating).await;
    let _device = p.device("ada").await;
    let code = format!("return args.key ? args.key.length : 'ghp_' + '{}';", &github_token()[4..]);
    install(&p.user("ada"), &signed(&plugin("com.example.x", "keys", &code), 1)).await.expect(201);
    let tool = "plugin.com.example.x:keys";
    let placeholder = placeholder_in(text_of(&p.user("ada").run(tool, json!({})).await));
    let used = p.user("ada").run(tool, json!({ "key": placeholder })).await;
    assert_eq!(text_of(&used), "40", "the plugin got the token");
}

#[tokio::test]
async fn prompts_and_resources_are_searched() {
    let p = Platform::start().await;
    let app = FakeApp::start(VAULT).await;
    let items = json!({ "packageName": VAULT, "kind": "tools-only", "prompts": [{ "name": "help" }],
        "resources": [{ "uri": "vault://keys", "name": "Keys" }] });
    p.register(&app, items).await;
    p.user("ada").put(&format!("/api/installs/{VAULT}"), &json!({})).await.expect(204);
    let content = json!({ "type": "text", "text": github_token() });
    app.set_path_behavior(
        "/prompt",
        AppBehavior::Json(200, json!({ "messages": [{ "role": "user", "content": content }] })),
    );
    let contents = json!([{ "uri": "vault://keys", "text": github_token() }]);
    app.set_path_behavior("/resource", AppBehavior::Json(200, json!({ "contents": contents })));
    let ada = p.user("ada");
    let prompt = ada.modern("prompts/get", json!({ "name": format!("{VAULT}:help") })).await.result();
    let uri = format!("vault://{VAULT}/keys");
    let resource = ada.modern("resources/read", json!({ "uri": uri })).await.result();
    let shown = placeholder_in(prompt["messages"][0]["content"]["text"].as_str().unwrap());
    assert_eq!(resource["contents"][0]["text"], shown);
}

#[tokio::test]
async fn a_secret_in_a_file_returns_to_files_and_never_to_a_page() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("env"), github_token()).unwrap();
    let site = FakeApp::start("site").await;
    site.set_behavior(AppBehavior::Text(200, "text/plain", "ok".to_owned()));
    let root = folder.path().to_owned();
    let (p, _device) = with_tools(|config| {
        config.builtin.roots = vec![RootConfig {
            name: "files".to_owned(),
            folder: root,
            write: true,
            shared: Some(true),
            hidden: false,
        }];
    })
    .await;
    let ada = p.user("ada");
    let read = ada.run("toolyard:read_file", json!({ "path": "files/env" })).await;
    let placeholder = placeholder_in(&read.to_string());
    ada.run("toolyard:write_file", json!({ "path": "files/copy", "content": placeholder })).await;
    assert_eq!(std::fs::read_to_string(folder.path().join("copy")).unwrap(), github_token());
    let url = format!("{}/tool?{placeholder}", site.url());
    ada.run("toolyard:fetch_page", json!({ "url": url })).await;
    let seen = format!("{:?}", site.requests("/tool"));
    assert!(!seen.contains(&github_token()), "{seen}");
}

#[tokio::test]
async fn without_redaction_everything_passes_unchanged() {
    let stage = Stage::start(|config| config.redaction.mode = RedactionMode::Off).await;
    assert_eq!(stage.model_reads(&github_token()).await, github_token());
    let text = "[secret:github-token:1-00000000]";
    stage.ada().run(LOGIN, json!({ "password": text })).await;
    assert_eq!(stage.vault_received(), json!({ "password": text }));
}
