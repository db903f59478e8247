//! Registering, changing and removing apps; their keys and secrets.

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolyard_core::ports::Clock as _;
use toolyard_net::SigningKey;
use toolyard_protocol::{
    app::{MAX_APP_LIST, MAX_APP_NAME_BYTES, MAX_APP_SETTINGS_BYTES},
    tool::MAX_DESCRIPTION_BYTES,
};
use toolyard_server::auth::Role;
use toolyard_testkit::{FakeApp, RecordedAppRequest};

use crate::platform::{Answer, ECHO, Platform, echo_tool, tokens_only};

const PATH: &str = "/api/apps/com.example.echo";

fn everything() -> Value {
    json!({
        "name": "Echo", "description": "Says it again", "publicUrl": "http://127.0.0.1:9", "kind": "tools-only",
        "appType": "standard", "permissions": [{ "type": "MICROPHONE", "description": "to hear" }, { "type": "CAMERA" }],
        "hardwareRequirements": [{ "type": "DISPLAY", "level": "REQUIRED", "description": "to show" }],
        "settings": [{ "type": "toggle", "key": "loud", "label": "Loud", "defaultValue": false, "x": [1] }],
        "legacy": true, "callTimeoutMs": 1_000, "wakeTimeoutMs": 2_000,
    })
}

async fn register(p: &Platform, details: Value) -> Answer {
    let mut body = json!({ "packageName": ECHO });
    body.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    p.nobody().post("/api/apps", &body).await
}

/// The paths of the problems in a response.
fn paths(answer: Answer) -> Vec<String> {
    let error = answer.expect(400).json()["error"].clone();
    assert_eq!(error["code"], "INVALID_REQUEST");
    error["problems"].as_array().unwrap().iter().map(|p| p["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn all_members_of_an_app_are_stored_and_unknown_ones_are_not() {
    let p = Platform::start().await;
    let mut body = everything();
    body["favourite"] = "blue".into();
    body["owner"] = "eve".into();
    body["tools"] = json!([echo_tool()]);
    let created = register(&p, body).await.expect(201).json();
    let mut expected = everything();
    let time = "2026-01-02T03:04:05.678Z";
    for (member, value) in [
        ("packageName", json!(ECHO)),
        ("owner", json!("dev")),
        ("toolsVersion", json!(1)),
        ("toolCount", json!(1)),
        ("createdAt", json!(time)),
        ("updatedAt", json!(time)),
    ] {
        expected[member] = value;
    }
    assert_eq!(created["app"], expected);
    assert_eq!(p.nobody().get(PATH).await.expect(200).json(), expected);
    let (key, secret) = (created["apiKey"].as_str().unwrap(), created["signingSecret"].as_str().unwrap());
    assert!(key.len() >= 32 && secret.len() >= 32 && key != secret);
}

#[tokio::test]
async fn a_name_alone_is_enough() {
    let p = Platform::start().await;
    let app = register(&p, json!({})).await.expect(201).json()["app"].clone();
    assert_eq!(
        (&app["kind"], &app["appType"], &app["toolsVersion"]),
        (&json!("session"), &json!("background"), &json!(0))
    );
    assert_eq!(
        p.nobody().get(&format!("{PATH}/tools")).await.expect(200).json(),
        json!({ "version": 0, "tools": [] })
    );
}

#[tokio::test]
async fn an_app_name_can_be_registered_once() {
    let p = Platform::with(tokens_only).await;
    let body = json!({ "packageName": ECHO });
    let people: Vec<_> = (0..8).map(|i| p.bearer(&p.token(&format!("dev{i}"), Role::Developer))).collect();
    let answers = join_all(people.iter().map(|person| person.post("/api/apps", &body))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    let won = answers.iter().find(|answer| answer.status == 201).unwrap().json();
    let key = format!("{ECHO}:{}", won["apiKey"].as_str().unwrap());
    assert_eq!(p.bearer(&key).get(PATH).await.expect(200).json()["owner"], won["app"]["owner"]);
    assert_eq!(answers.iter().find(|answer| answer.status == 409).unwrap().code(), "CONFLICT");
}

#[tokio::test]
async fn app_names_must_follow_the_rule() {
    let p = Platform::start().await;
    let register = async |name: &str| p.nobody().post("/api/apps", &json!({ "packageName": name })).await;
    for reserved in ["toolyard", "mcp.files", "plugin.sums"] {
        assert_eq!(paths(register(reserved).await), ["packageName"], "{reserved}");
    }
    for bad in ["", "Com.Example", "a b", "a:b", "a/b", "ü", &"x".repeat(101)] {
        let answer = register(bad).await.expect(400);
        assert!(answer.text.contains("package name"), "{bad}: {}", answer.text);
    }
    for good in ["toolyard.x", "mcp", "1", &"x".repeat(100)] {
        register(good).await.expect(201);
    }
    let missing = p.nobody().post("/api/apps", &json!({})).await.expect(400);
    assert!(missing.text.contains("packageName"), "{}", missing.text);
}

#[tokio::test]
async fn every_limit_of_an_app_is_enforced() {
    let p = Platform::start().await;
    let permission = json!({ "type": "CAMERA" });
    let need = json!({ "type": "CAMERA", "level": "REQUIRED" });
    let text = |length: usize| json!("x".repeat(length));
    let list = |entry: &Value, length: usize| Value::Array(vec![entry.clone(); length]);
    // `["…"]` is four bytes longer than its text.
    let settings = |bytes: usize| json!(["x".repeat(bytes - 4)]);
    for (member, good, bad) in [
        ("name", text(MAX_APP_NAME_BYTES), text(MAX_APP_NAME_BYTES + 1)),
        ("description", text(MAX_DESCRIPTION_BYTES), text(MAX_DESCRIPTION_BYTES + 1)),
        ("permissions", list(&permission, MAX_APP_LIST), list(&permission, MAX_APP_LIST + 1)),
        ("hardwareRequirements", list(&need, MAX_APP_LIST), list(&need, MAX_APP_LIST + 1)),
        ("settings", list(&json!({}), MAX_APP_LIST), list(&json!({}), MAX_APP_LIST + 1)),
        ("settings", settings(MAX_APP_SETTINGS_BYTES), settings(MAX_APP_SETTINGS_BYTES + 1)),
        ("callTimeoutMs", json!(1), json!(0)),
        ("callTimeoutMs", json!(300_000), json!(300_001)),
        ("wakeTimeoutMs", json!(1), json!(0)),
        ("wakeTimeoutMs", json!(60_000), json!(60_001)),
        ("publicUrl", json!("http://127.0.0.1:1/app"), json!("ftp://example.com")),
        ("publicUrl", json!("https://example.com"), json!("https://ada:secret@example.com")),
        ("publicUrl", json!("https://[2001:4860:4860::8888]"), json!("http://169.254.169.254/latest")),
        ("publicUrl", Value::Null, json!("")),
    ] {
        assert_eq!(paths(register(&p, json!({ member: bad })).await), [member]);
        register(&p, json!({ member: good })).await.expect(201);
        assert_eq!(paths(p.nobody().patch(PATH, &json!({ member: bad })).await), [member]);
        p.nobody().delete(PATH).await.expect(204);
    }
}

#[tokio::test]
async fn all_problems_of_an_app_are_reported_at_once() {
    let p = Platform::start().await;
    let body = json!({ "packageName": "mcp.x", "name": "x".repeat(201), "publicUrl": "nowhere", "callTimeoutMs": 0,
        "tools": [{ "name": "a b", "inputSchema": { "type": "object" } }, { "name": "c", "inputSchema": 5 }] });
    let answer = p.nobody().post("/api/apps", &body).await;
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("mcp.x"), "{message}");
    let expected =
        ["packageName", "name", "publicUrl", "callTimeoutMs", "tools[0].name", "tools[1].inputSchema"];
    assert_eq!(paths(answer), expected);
    p.nobody().get("/api/apps/mcp.x").await.expect(404);
}

#[tokio::test]
async fn a_partial_update_keeps_the_other_members() {
    let p = Platform::start().await;
    register(&p, everything()).await.expect(201);
    p.clock.advance(10);
    let patch =
        json!({ "description": "New", "packageName": "com.evil", "owner": "eve", "toolsVersion": 9, "x": 1 });
    let changed = p.nobody().patch(PATH, &patch).await.expect(200).json();
    let mut expected = everything();
    expected["description"] = "New".into();
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(&changed[member], value, "{member}");
    }
    let (owner, version) = (&changed["owner"], &changed["toolsVersion"]);
    assert_eq!((owner, version, &changed["packageName"]), (&json!("dev"), &json!(0), &json!(ECHO)));
    assert_eq!(changed["updatedAt"], "2026-01-02T03:04:15.678Z");
    let bare = p.nobody().patch(PATH, &json!({ "publicUrl": null })).await.expect(200).json();
    assert_eq!(bare["publicUrl"], Value::Null);

    let before = p.nobody().get(PATH).await.text;
    for bad in [
        json!({ "name": 5 }),
        json!({ "kind": "other" }),
        json!({ "assistant": true, "name": "n", "callTimeoutMs": 0 }),
        json!([]),
    ] {
        p.nobody().patch(PATH, &bad).await.expect(400);
    }
    assert_eq!(p.nobody().get(PATH).await.text, before);
    p.nobody().patch("/api/apps/com.example.none", &json!({})).await.expect(404);
}

#[tokio::test]
async fn an_invalid_update_grants_nothing() {
    let p = Platform::start().await;
    let (_echo, _device) = p.echo().await;
    let helper = FakeApp::start("com.example.helper").await;
    let created = p.register(&helper, json!({ "packageName": "com.example.helper" })).await;
    p.user("ada").put("/api/installs/com.example.helper", &json!({})).await.expect(204);
    let grant = json!({ "assistant": true, "callTimeoutMs": 0 });
    p.nobody().patch("/api/apps/com.example.helper", &grant).await.expect(400);
    let key = format!("com.example.helper:{}", created["apiKey"].as_str().unwrap());
    assert!(p.bearer(&key).header("x-user-id", "ada").tools().await.is_empty());
}

#[tokio::test]
async fn a_new_key_replaces_the_old_one_immediately_and_running_apps_continue() {
    let p = Platform::start().await;
    let app = FakeApp::start(ECHO).await;
    let created = p.register(&app, json!({ "packageName": ECHO, "tools": [echo_tool()] })).await;
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let _device = p.device("ada").await;
    p.call_echo().await.expect(200);
    let session = app.next_session().await;
    let old = format!("{ECHO}:{}", created["apiKey"].as_str().unwrap());
    p.bearer(&old).get(PATH).await.expect(200);

    let made = p.nobody().post(&format!("{PATH}/key"), &json!({})).await.expect(200).json();
    assert_eq!(made.as_object().unwrap().len(), 1);
    p.bearer(&old).get(PATH).await.expect(401);
    p.bearer(&format!("{ECHO}:{}", made["apiKey"].as_str().unwrap())).get(PATH).await.expect(200);
    p.call_echo().await.expect(200);
    assert_eq!(p.user("ada").get("/api/session").await.json()["apps"][0]["state"], "RUNNING");
    let url = p.url.replace("http", "ws") + "/app-ws";
    assert_eq!(
        app.connect_socket(&url, &session.session).await.wait_closed().await,
        Some(1008),
        "the old key opens no socket"
    );
    app.set_api_key(made["apiKey"].as_str().unwrap());
    assert!(app.connect_socket(&url, &session.session).await.receive("tpa_connection_ack").await.is_some());
}

#[tokio::test]
async fn requests_are_signed_with_the_old_and_the_new_secret_until_the_next_rotation() {
    let p = Platform::start().await;
    let app = FakeApp::start(ECHO).await;
    let created = p.register(&app, json!({ "packageName": ECHO, "tools": [echo_tool()] })).await;
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let _device = p.device("ada").await;
    let mut secrets = vec![created["signingSecret"].as_str().unwrap().to_owned()];
    for _ in 0..2 {
        let made = p.nobody().post(&format!("{PATH}/secret"), &json!({})).await.expect(200).json();
        secrets.push(made["signingSecret"].as_str().unwrap().to_owned());
        p.call_echo().await.expect(200);
        p.user("ada").post(&format!("/api/session/apps/{ECHO}/stop"), &json!({})).await.expect(204);
        let now = p.clock.now().as_millisecond();
        let believed = |seen: &RecordedAppRequest| {
            let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap());
            let (time, signature) = (header("x-toolyard-timestamp"), header("x-toolyard-signature"));
            assert_eq!(signature.unwrap().matches("v1=").count(), 2);
            let fits =
                |secret: &String| SigningKey::new(secret).verify(time, signature, &seen.raw, now, 0).is_ok();
            secrets.iter().map(fits).collect::<Vec<_>>()
        };
        let expected = if secrets.len() == 2 { vec![true, true] } else { vec![false, true, true] };
        for path in ["/tool", "/webhook"] {
            assert_eq!(believed(app.requests(path).last().unwrap()), expected, "{path}");
        }
    }
}

#[tokio::test]
async fn removing_an_app_removes_everything_that_depends_on_it() {
    let p = Platform::start().await;
    let app = FakeApp::start(ECHO).await;
    let body = json!({ "packageName": ECHO, "tools": [echo_tool()] });
    let key = format!("{ECHO}:{}", p.register(&app, body.clone()).await["apiKey"].as_str().unwrap());
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let stored = json!({ "data": { "color": "red" } });
    p.bearer(&key).put("/api/sdk/simple-storage/ada", &stored).await.expect(200);
    let mut device = p.device("ada").await;
    p.user("ada").post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let mut session = app.next_session().await;

    p.nobody().delete(PATH).await.expect(204);
    assert_eq!(session.receive("app_stopped").await.unwrap()["reason"], "system_stop");
    assert_eq!(session.wait_closed().await, Some(1000));
    assert_eq!(device.hear("app_stopped").await.unwrap()["packageName"], ECHO);
    assert_eq!(app.wait_requests("/webhook", 2).await[1].body["type"], "stop_request");
    p.nobody().get(PATH).await.expect(404);
    p.nobody().delete(PATH).await.expect(404);
    p.bearer(&key).get(PATH).await.expect(401);
    assert_eq!(p.user("ada").get("/api/installs").await.expect(200).json(), json!({ "installs": [] }));
    assert_eq!(p.user("ada").get("/api/session").await.expect(200).json()["apps"], json!([]));

    // The next owner of the name starts from scratch.
    let key = format!("{ECHO}:{}", p.register(&app, body).await["apiKey"].as_str().unwrap());
    p.bearer(&key).get("/api/sdk/simple-storage/ada").await.expect(404);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    assert_eq!(p.bearer(&key).get("/api/sdk/simple-storage/ada").await.expect(200).json()["data"], json!({}));
    assert_eq!(p.nobody().get(PATH).await.expect(200).json()["toolsVersion"], 1);
}

#[tokio::test]
async fn only_tools_of_installed_apps_can_be_switched_off() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let switch = async |tool: &str, on: bool| {
        let path = format!("/api/settings/tools/{tool}");
        p.user("ada").put(&path, &json!({ "enabled": on })).await.status.as_u16()
    };
    for (tool, on, status) in [
        ("com.example.echo:echo", false, 204),
        ("com.example.echo:made-up", false, 404),
        ("com.example.none:echo", false, 404),
        ("echo", false, 400),
        ("com.example.echo:gone-since", true, 204),
    ] {
        assert_eq!(switch(tool, on).await, status, "{tool}");
    }
    let off = p.user("ada").get("/api/settings/tools").await.expect(200).json();
    assert_eq!(off, json!({ "tools": [{ "name": "com.example.echo:echo", "enabled": false }] }));
}
