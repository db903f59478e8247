//! Apps of the legacy platform over REST: their tools, their file, their key, and the default kind of an app.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolyard_server::config::Config;
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::platform::{ECHO, Platform};

fn older_tools() -> Value {
    json!([{ "_id": { "$oid": "6" }, "id": "add_todo", "description": "Adds an item", "activationPhrases": ["add"],
        "parameters": { "item": { "type": "string", "description": "What", "required": true } } }])
}

/// The default configuration.
async fn as_shipped() -> Platform {
    Platform::with(|config| config.apps = Config::default().apps).await
}

async fn tools_of(p: &Platform, package: &str) -> Value {
    p.nobody().get(&format!("/api/apps/{package}/tools")).await.expect(200).json()["tools"].clone()
}

#[tokio::test]
async fn tools_in_the_legacy_format_become_definitions_at_every_endpoint() {
    let p = Platform::start().await;
    let app = json!({ "packageName": ECHO, "tools": older_tools() });
    p.nobody().post("/api/apps", &app).await.expect(201);
    let tools = tools_of(&p, ECHO).await;
    assert_eq!(tools[0]["name"], "add_todo");
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["item"]));
    assert_eq!(tools[0]["mentraExtensions"]["activationPhrases"], json!(["add"]));

    let mut set = older_tools();
    set[0]["id"] = json!("remove_todo");
    // The whole file: other members than the tools do not matter here.
    let body = json!({ "name": "My app", "version": "1.0.0", "tools": set });
    let path = format!("/api/apps/{ECHO}/tools");
    assert_eq!(p.nobody().post(&path, &body).await.expect(200).json()["version"], 2);
    assert_eq!(tools_of(&p, ECHO).await[0]["name"], "remove_todo");
    let checked = p.nobody().post(&format!("{path}/check"), &body).await.expect(200).json();
    assert_eq!(
        (&checked["ok"], &checked["tools"][0]["name"]),
        (&json!(true), &json!("remove_todo")),
        "{checked}"
    );

    let bad =
        json!({ "tools": [{ "id": "x", "description": "d", "parameters": { "n": { "type": "thing" } } }] });
    let refused = p.nobody().post(&path, &bad).await.expect(400);
    assert!(refused.text.contains("tools[0].parameters.n.type"), "{}", refused.text);
    let checked = p.nobody().post(&format!("{path}/check"), &bad).await.expect(200).json();
    assert_eq!(
        (&checked["ok"], checked["problems"].as_array().unwrap().len()),
        (&json!(false), 1),
        "{checked}"
    );
}

#[tokio::test]
async fn the_file_of_an_app_is_read_when_it_is_registered() {
    let p = Platform::start().await;
    let app = FakeApp::start(ECHO).await;
    app.set_path_behavior(
        "/tpa_config.json",
        AppBehavior::Json(
            200,
            json!({ "name": "My app", "description": "From the file", "version": "1.0.0", "tools": older_tools(),
                "permissions": [{ "type": "MICROPHONE" }], "settings": [{ "type": "toggle", "key": "loud" }] }),
        ),
    );
    let body =
        json!({ "packageName": ECHO, "publicUrl": app.url(), "readConfig": true, "description": "Mine" });
    let created = p.nobody().post("/api/apps", &body).await.expect(201).json()["app"].clone();
    assert_eq!((&created["name"], &created["description"]), (&json!("My app"), &json!("Mine")));
    assert_eq!(
        (&created["permissions"][0]["type"], &created["settings"][0]["key"]),
        (&json!("MICROPHONE"), &json!("loud"))
    );
    assert_eq!(tools_of(&p, ECHO).await[0]["name"], "add_todo");

    let other =
        |url: &str| json!({ "packageName": "com.example.other", "publicUrl": url, "readConfig": true });
    let large = "x".repeat(1024 * 1024 + 1);
    for (act, said) in [
        (AppBehavior::Json(404, json!({})), "404"),
        (AppBehavior::Text(200, "text/html", "<p>no".to_owned()), "cannot be used"),
        (AppBehavior::Json(200, json!({ "settings": 7 })), "settings"),
        (AppBehavior::Json(200, json!({ "tools": [{ "id": "a" }] })), "tools[0].description"),
        (AppBehavior::Text(200, "application/json", large), "larger than"),
        (AppBehavior::Redirect("http://169.254.169.254/".to_owned()), "302"),
    ] {
        app.set_path_behavior("/tpa_config.json", act);
        let refused = p.nobody().post("/api/apps", &other(&app.url())).await.expect(400);
        assert!(
            refused.text.contains(said) && refused.text.contains("tpa_config.json"),
            "{said}: {}",
            refused.text
        );
    }
    for (url, said) in [("http://10.0.0.1", "private"), ("http://127.0.0.1:1", "127.0.0.1:1/tpa_config.json")]
    {
        let refused = p.nobody().post("/api/apps", &other(url)).await.expect(400);
        assert!(refused.text.contains("publicUrl") && refused.text.contains(said), "{}", refused.text);
    }
    let nowhere = json!({ "packageName": "com.example.other", "readConfig": true });
    assert!(p.nobody().post("/api/apps", &nowhere).await.expect(400).text.contains("publicUrl"));
    p.nobody().get("/api/apps/com.example.other").await.expect(404);
}

#[tokio::test]
async fn an_app_that_has_a_key_keeps_it() {
    let p = Platform::start().await;
    let key = "5f".repeat(32);
    let hash = hex::encode(Sha256::digest(key.as_bytes()));
    let body = json!({ "packageName": ECHO, "apiKeyHash": hash, "tools": older_tools() });
    let created = p.nobody().post("/api/apps", &body).await.expect(201).json();
    assert_eq!(created["apiKey"], "");
    p.bearer(&format!("{ECHO}:{key}")).get(&format!("/api/apps/{ECHO}")).await.expect(200);
    for wrong in ["", "5f", &key[1..], &"zz".repeat(32)] {
        let body = json!({ "packageName": "com.example.other", "apiKeyHash": wrong });
        let refused = p.nobody().post("/api/apps", &body).await.expect(400);
        assert!(refused.text.contains("apiKeyHash"), "{}", refused.text);
    }
    p.bearer(&format!("{ECHO}:")).get(&format!("/api/apps/{ECHO}")).await.expect(401);
}

#[tokio::test]
async fn an_app_without_a_kind_is_tools_only() {
    let p = as_shipped().await;
    let register = async |p: &Platform, name: &str, kind: Value| {
        let mut body = json!({ "packageName": name });
        if !kind.is_null() {
            body["kind"] = kind;
        }
        p.nobody().post("/api/apps", &body).await.expect(201).json()["app"]["kind"].clone()
    };
    assert_eq!(register(&p, "com.example.a", Value::Null).await, "tools-only");
    assert_eq!(register(&p, "com.example.b", json!("session")).await, "session");
    // A later update does not change that.
    let path = "/api/apps/com.example.b";
    assert_eq!(p.nobody().patch(path, &json!({ "name": "B" })).await.expect(200).json()["kind"], "session");
    let p =
        Platform::with(|config| config.apps.default_kind = toolyard_protocol::app::AppKind::Session).await;
    assert_eq!(register(&p, "com.example.a", Value::Null).await, "session");
}

#[tokio::test]
async fn an_unreachable_app_file_is_an_error_that_says_what_to_do() {
    let p = Platform::start().await;
    let _device = p.device("ada").await;
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let app = FakeApp::start(ECHO).await;
    app.on_webhook(toolyard_testkit::OnWebhook::Refuse);
    let tool = json!([{ "name": "echo", "description": "d", "inputSchema": { "type": "object" } }]);
    let cases = [
        ("com.example.gone", "tools-only", gone.as_str(), ["/tool", "running", "publicUrl", "curl"]),
        ("com.example.away", "session", gone.as_str(), ["/webhook", "running", "publicUrl", "curl"]),
        (ECHO, "session", &app.url(), ["/webhook", "HTTP 500", "tools-only", "curl"]),
    ];
    for (package, kind, url, said) in cases {
        let body = json!({ "packageName": package, "kind": kind, "publicUrl": url, "tools": tool });
        p.nobody().post("/api/apps", &body).await.expect(201);
        p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        let failed = p.user("ada").call(&format!("{package}:echo"), json!({})).await;
        let message = failed.json()["error"]["message"].as_str().unwrap().to_owned();
        for word in said.into_iter().chain([url]) {
            assert!(message.contains(word), "{package} says nothing of {word}: {message}");
        }
    }
}
