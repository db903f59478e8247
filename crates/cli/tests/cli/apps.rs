//! `toolyard apps`

use serde_json::{Value, json};

use crate::{
    app::{self, App},
    fixture::{ADA, Yard},
};

#[tokio::test]
async fn an_app_from_its_registration_to_its_end() {
    let (yard, app) = (Yard::start().await, App::start().await);
    assert!(yard.run(&["apps", "ls"]).await.good().contains("toolyard apps add"));
    let tools = yard.file("tools.json", &app::tools().to_string());
    let added = yard
        .run(&[
            "apps",
            "add",
            "--package",
            "com.example.echo",
            "--name",
            "Echo",
            "--url",
            &app.url,
            "--kind",
            "tools-only",
            "--type",
            "standard",
            "--permission",
            "MICROPHONE",
            "--permission",
            "CAMERA",
            "--requires",
            "DISPLAY",
            "--icon",
            "data:image/gif;base64,R0lGODlh",
            "--legacy",
            "--tools",
            tools.to_str().unwrap(),
            "--json",
        ])
        .await
        .json();
    assert_eq!(
        (added["apiKey"].as_str().unwrap().len(), added["signingSecret"].as_str().unwrap().len()),
        (64, 64)
    );
    let shown = yard.run(&["apps", "show", "com.example.echo", "--json"]).await.json();
    assert_eq!(shown, added["app"]);
    let expected = json!({
        "packageName": "com.example.echo", "name": "Echo", "description": "", "publicUrl": app.url, "kind": "tools-only",
        "iconUrl": "data:image/gif;base64,R0lGODlh",
        "appType": "standard", "permissions": [{ "type": "MICROPHONE" }, { "type": "CAMERA" }],
        "hardwareRequirements": [{ "type": "DISPLAY", "level": "REQUIRED" }], "settings": [], "legacy": true,
        "owner": "dev", "toolsVersion": 1, "toolCount": 5, "createdAt": shown["createdAt"], "updatedAt": shown["updatedAt"],
    });
    assert_eq!(shown, expected);
    let text = yard.run(&["apps", "show", "com.example.echo"]).await.good();
    assert!(text.contains("MICROPHONE, CAMERA") && text.contains("display (required)"), "{text}");
    let listed = yard.run(&["apps", "ls"]).await.good();
    assert!(
        listed.lines().nth(1).unwrap().starts_with("com.example.echo  Echo  tools-only  5      http://"),
        "{listed}"
    );

    assert_eq!(
        yard.ada(&["apps", "install", "com.example.echo"]).await.good(),
        "installed com.example.echo\n"
    );
    assert_eq!(
        yard.ada(&["apps", "uninstall", "com.example.echo", "--json"]).await.json()["done"],
        "uninstalled"
    );
    assert!(
        yard.ada(&["apps", "uninstall", "com.example.echo"])
            .await
            .bad()
            .contains("no install of com.example.echo")
    );
    let nobody = yard.run(&["apps", "install", "com.example.echo"]).await.bad();
    assert!(
        nobody.contains("does not name a user") && nobody.contains("next: set the user with --user"),
        "{nobody}"
    );

    let unsure = yard.run(&["apps", "rm", "com.example.echo"]).await;
    assert_eq!(unsure.code, 2);
    assert!(unsure.err.contains("not a terminal") && unsure.err.contains("--yes"), "{}", unsure.err);
    assert_eq!(
        yard.run(&["apps", "rm", "com.example.echo", "--yes"]).await.good(),
        "removed com.example.echo\n"
    );
    let gone = yard.run(&["apps", "show", "com.example.echo", "--json"]).await;
    assert_eq!(gone.code, 1);
    assert_eq!(gone.json_lines()[0]["error"]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn an_app_is_registered_from_its_own_description() {
    let (yard, app) = (Yard::start().await, App::start().await);
    let nameless = yard.run(&["apps", "add", "--from-url", &app.url]).await;
    assert_eq!(nameless.code, 2);
    assert!(nameless.err.contains("--package"), "{}", nameless.err);
    let added =
        yard.run(&["apps", "add", "--from-url", &app.url, "--package", "com.example.notes"]).await.good();
    assert!(
        added.contains("registered com.example.notes with 1 tools") && added.contains("shown only once"),
        "{added}"
    );
    let shown = yard.run(&["apps", "show", "com.example.notes", "--json"]).await.json();
    assert_eq!((&shown["name"], &shown["publicUrl"]), (&json!("Notes"), &json!(app.url)));
    assert_eq!(
        (&shown["permissions"], &shown["settings"]),
        (&app::config()["permissions"], &app::config()["settings"])
    );
    let tools = yard.run(&["apps", "tools", "com.example.notes", "--json"]).await.json();
    assert_eq!(tools["tools"][0]["name"], "note");
    assert_eq!(tools["tools"][0]["mentraExtensions"]["activationPhrases"], json!(["note", "write down"]));

    let private =
        yard.run(&["apps", "add", "--from-url", "http://10.0.0.1", "--package", "com.example.x"]).await.bad();
    assert!(private.contains("private") && private.contains("--tools FILE"), "{private}");
    let missing = format!("{}/nothing", app.url);
    let missing =
        yard.run(&["apps", "add", "--from-url", &missing, "--package", "com.example.x"]).await.bad();
    assert!(missing.contains("/nothing/tpa_config.json: the app responded with 404"), "{missing}");
}

#[tokio::test]
async fn new_tools_keys_and_secrets() {
    let yard = Yard::start().await;
    let added = yard.run(&["apps", "add", "--package", "com.example.echo", "--json"]).await.json();
    assert!(yard.run(&["apps", "tools", "com.example.echo"]).await.good().contains("No tools yet"));
    let tools = yard.file("tools.json", &app::tools().to_string());
    let set = ["apps", "tools", "com.example.echo", "--set", tools.to_str().unwrap()];
    let published = yard.run(&set).await.good();
    assert_eq!(published, "published 5 tools of com.example.echo as version 1, from MCP tool definitions\n");
    let listed = yard.run(&["apps", "tools", "com.example.echo"]).await.good();
    assert!(listed.starts_with("version 1\nsay    Say it again\ncount  Counts.\n"), "{listed}");

    yard.file(
        "tools.json",
        r#"{"tools":[{"name":"a","inputSchema":{"type":"array"}},{"name":"b","inputSchema":7}]}"#,
    );
    let refused = yard.run(&[&set[..], &["--json"]].concat()).await;
    assert_eq!(refused.code, 1);
    let error = &refused.json_lines()[0]["error"];
    let paths: Vec<&str> =
        error["problems"].as_array().unwrap().iter().map(|p| p["path"].as_str().unwrap()).collect();
    assert_eq!(
        (error["code"].as_str().unwrap(), &paths[..]),
        ("INVALID_DOCUMENT", &["tools[0].inputSchema.type", "tools[1].inputSchema"][..])
    );
    // Well-formed; only the server notices that the schema is invalid.
    yard.file(
        "tools.json",
        r#"[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"thing"}}}}]"#,
    );
    let refused = yard.run(&set).await.bad();
    assert!(
        refused.contains("the tools were not changed") && refused.contains("  - tools[0].inputSchema"),
        "{refused}"
    );
    assert_eq!(yard.run(&["apps", "tools", "com.example.echo", "--json"]).await.json()["version"], 1);

    let key = yard.run(&["apps", "key", "com.example.echo", "--json"]).await.json();
    assert_ne!(key["apiKey"], added["apiKey"]);
    let old = format!("com.example.echo:{}", added["apiKey"].as_str().unwrap());
    let new = format!("com.example.echo:{}", key["apiKey"].as_str().unwrap());
    let refused = yard.run(&["apps", "ls", "--token", &old]).await.bad();
    assert!(refused.contains("the API key is not valid") && refused.contains("toolyard token"), "{refused}");
    assert!(yard.run(&["apps", "ls", "--token", &new]).await.good().contains("com.example.echo"));
    let secret = yard.run(&["apps", "secret", "com.example.echo"]).await.good();
    assert!(secret.starts_with("signing secret  ") && secret.contains("shown only once"), "{secret}");
}

#[tokio::test]
async fn tokens_created_offline_are_valid_on_the_server() {
    let yard = Yard::start_with(&["--auth", "token"]).await;
    let nobody = yard.run(&["apps", "ls"]).await.bad();
    assert!(nobody.contains("next: run `toolyard login`, or set TOOLYARD_TOKEN"), "{nobody}");
    let token = |role: &'static str, name: &'static str| {
        let yard = &yard;
        async move { yard.run(&["token", role, name, "--data", "data"]).await.good().trim().to_owned() }
    };
    let (developer, user) = (token("developer", "Bob").await, token("user", ADA).await);
    yard.run(&["apps", "add", "--package", "com.example.echo", "--token", &developer]).await.good();
    let apps = yard.run(&["apps", "ls", "--json", "--token", &developer]).await.json();
    assert_eq!(apps["apps"][0]["owner"], "bob");
    let forbidden = yard.run(&["apps", "ls", "--token", &user, "--json"]).await;
    assert_eq!((forbidden.code, &forbidden.json_lines()[0]["error"]["code"]), (1, &Value::from("FORBIDDEN")));
    yard.run(&["apps", "install", "com.example.echo", "--token", &user]).await.good();
    // A token opens a session by itself.
    assert!(yard.run(&["tools", "ls", "--token", &user]).await.good().contains("No tools"));
}

#[tokio::test]
async fn tokens_are_listed_and_revoked() {
    let yard = Yard::start_with(&["--auth", "token"]).await;
    let operator = yard.run(&["token", "operator", "root", "--data", "data"]).await.good().trim().to_owned();
    let made = yard.run(&["token", "user", ADA, "--data", "data", "--json"]).await.json();
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let list = yard.run(&["token", "ls", "--token", &operator]).await.good();
    assert!(list.contains(id) && list.contains(ADA) && list.contains("operator"), "{list}");
    let own = yard.run(&["token", "ls", "--token", token, "--json"]).await.json();
    assert_eq!((own["tokens"].as_array().unwrap().len(), &own["tokens"][0]["id"]), (1, &made["id"]));
    assert_eq!(yard.run(&["token", "revoke", "nonsense", "--token", token]).await.code, 2);
    let unknown = yard.run(&["token", "revoke", &"0".repeat(32), "--token", &operator]).await.bad();
    assert!(unknown.contains("no token"), "{unknown}");
    let revoked = yard.run(&["token", "revoke", id, "--token", &operator]).await.good();
    assert_eq!(revoked.trim(), format!("revoked {id} and all tokens created with it"));
    let refused = yard.run(&["tools", "ls", "--token", token]).await.bad();
    assert!(refused.contains("revoked"), "{refused}");
    assert!(yard.run(&["token", "ls", "--token", &operator]).await.good().contains("revoked 2"));
}

#[tokio::test]
async fn prompts_and_resources_of_the_file_come_along() {
    let (yard, app) = (Yard::start().await, App::start().await);
    let mut set = app::tools();
    set["prompts"] = json!([{ "name": "plan" }]);
    set["resources"] = json!([{ "uri": "todo://list", "name": "List" }]);
    let file = yard.file("set.json", &set.to_string());
    let add = [
        "apps",
        "add",
        "--package",
        "com.example.echo",
        "--url",
        &app.url,
        "--kind",
        "tools-only",
        "--tools",
    ];
    yard.run(&[&add[..], &[file.to_str().unwrap()]].concat()).await.good();
    let kept = yard.run(&["apps", "tools", "com.example.echo", "--json"]).await.json();
    assert_eq!((&kept["prompts"], &kept["resources"]), (&set["prompts"], &set["resources"]));
}
