//! What a user can install, and whether it fits.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    platform::{ECHO, Platform, echo_tool, tokens_only},
};

async fn add(p: &Platform, package: &str, details: Value) {
    let mut body = json!({ "packageName": package, "tools": [echo_tool()] });
    body.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    p.nobody().post("/api/apps", &body).await.expect(201);
}

fn packages(page: &Value) -> Vec<&str> {
    page["apps"].as_array().unwrap().iter().map(|app| app["packageName"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_library_shows_requirements_and_install_state_of_an_app() {
    let p = Platform::start().await;
    let details = json!({ "name": "Eyes", "description": "Looks around", "iconUrl": "https://example.com/i.png",
        "kind": "tools-only", "appType": "standard",
        "permissions": [{ "type": "CAMERA", "description": "to look" }], "wants": ["assistant"],
        "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }, { "type": "WIFI" }] });
    add(&p, "com.example.eyes", details).await;
    let ada = p.user("ada");
    let page = ada.get("/api/library").await.expect(200).json();
    assert_eq!(page["next"], Value::Null);
    assert_eq!(
        page["apps"],
        json!([{ "packageName": "com.example.eyes", "name": "Eyes", "description": "Looks around",
            "iconUrl": "https://example.com/i.png", "kind": "tools-only", "appType": "standard",
            "permissions": [{ "type": "CAMERA", "description": "to look" }], "wants": ["assistant"],
            "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }, { "type": "WIFI", "level": "OPTIONAL" }],
            "toolCount": 1, "tools": [{ "name": "echo", "description": "Says it again" }],
            "installed": false, "assistant": false, "running": false,
            "fit": { "fits": true, "deviceKnown": false, "missingRequired": [], "missingOptional": [] } }])
    );
    assert!(!p.state.sessions.is_live(&"ada".parse().unwrap()), "looking opens no session");

    ada.put("/api/installs/com.example.eyes", &json!({})).await.expect(204);
    let installs = ada.get("/api/installs").await.expect(200).json();
    let (name, granted) = (&installs["installs"][0]["name"], &installs["installs"][0]["assistant"]);
    assert_eq!((name, granted), (&json!("Eyes"), &json!(false)), "what an app wants it does not have yet");
    ada.put("/api/installs/com.example.eyes/assistant", &json!({})).await.expect(204);
    let mut device = p.device("ada").await;
    device.wears("Even Realities G1").await;
    let app = ada.get("/api/library").await.expect(200).json()["apps"][0].clone();
    assert_eq!((&app["installed"], &app["assistant"]), (&json!(true), &json!(true)));
    assert_eq!(
        app["fit"],
        json!({ "fits": false, "deviceKnown": true, "missingRequired": ["CAMERA"], "missingOptional": ["WIFI"] })
    );
    device.wears("Mentra Live").await;
    let app = ada.get("/api/library").await.expect(200).json()["apps"][0].clone();
    assert_eq!(
        app["fit"],
        json!({ "fits": true, "deviceKnown": true, "missingRequired": [], "missingOptional": [] })
    );
    // Bob's list is bob's.
    let bobs = p.user("bob").get("/api/library").await.expect(200).json()["apps"][0].clone();
    assert_eq!((&bobs["installed"], &bobs["fit"]["deviceKnown"]), (&json!(false), &json!(false)));
}

#[tokio::test]
async fn the_library_shows_running_apps() {
    let p = Platform::start().await;
    let (app, _device) = p.echo_like(json!({ "kind": "session" })).await;
    let ada = p.user("ada");
    assert_eq!(ada.get("/api/library").await.expect(200).json()["apps"][0]["running"], false);
    ada.post(&format!("/api/session/apps/{ECHO}/start"), &json!({})).await.expect(204);
    let _running = app.next_session().await;
    assert_eq!(ada.get("/api/library").await.expect(200).json()["apps"][0]["running"], true);
}

#[tokio::test]
async fn the_library_can_be_searched_and_paged() {
    let p = Platform::start().await;
    for (package, name, description) in
        [("com.a", "Lists", "of things"), ("com.b", "", "100% sure"), ("com.c", "Weather", "and lists of it")]
    {
        add(&p, package, json!({ "name": name, "description": description })).await;
    }
    let ada = p.user("ada");
    let find = async |query: &str| ada.get(&format!("/api/library{query}")).await.expect(200).json();
    assert_eq!(packages(&find("?q=LISTS").await), ["com.a", "com.c"]);
    assert_eq!(packages(&find("?q=com.b").await), ["com.b"]);
    assert_eq!(packages(&find("?q=%25").await), ["com.b"], "nothing in words is a pattern");
    assert_eq!(packages(&find("?q=_").await), [""; 0]);
    assert_eq!(find("?q=com.b").await["apps"][0]["name"], "com.b", "an app without a name has its package's");
    let first = find("?limit=2").await;
    assert_eq!((packages(&first), &first["next"]), (vec!["com.a", "com.b"], &json!("com.b")));
    let last = find("?limit=2&after=com.b").await;
    assert_eq!((packages(&last), &last["next"]), (vec!["com.c"], &Value::Null));
    ada.get("/api/library?after=NOT%20A%20NAME").await.expect(400);
    ada.get(&format!("/api/library?q={}", "x".repeat(201))).await.expect(400);
}

#[tokio::test]
async fn pages_and_tool_texts_of_the_library_are_limited() {
    let p = Platform::start().await;
    let tool = |number: usize| json!({ "name": format!("t{number:03}"), "description": "x".repeat(400), "inputSchema": { "type": "object" } });
    let tools: Vec<Value> = (0..60).map(tool).collect();
    add(&p, "com.a00", json!({ "tools": tools })).await;
    for number in 1..=51 {
        add(&p, &format!("com.a{number:02}"), json!({})).await;
    }
    let page = p.user("ada").get("/api/library?limit=1000").await.expect(200).json();
    assert_eq!((packages(&page).len(), &page["next"]), (50, &json!("com.a49")));
    assert_eq!(packages(&p.user("ada").get("/api/library?limit=0").await.expect(200).json()).len(), 1);
    assert_eq!(packages(&p.user("ada").get("/api/library").await.expect(200).json()).len(), 20);
    let app = &page["apps"][0];
    assert_eq!((&app["toolCount"], app["tools"].as_array().unwrap().len()), (&json!(60), 50));
    assert_eq!(app["tools"][0]["description"].as_str().unwrap().chars().count(), 301);
}

#[tokio::test]
async fn upstreams_are_in_the_library_unless_for_all_users_or_disabled() {
    let p = Platform::start().await;
    for (id, for_all) in [("mine", false), ("ours", true)] {
        let body =
            json!({ "id": id, "name": "Far away", "url": "http://127.0.0.1:9/mcp", "forAll": for_all });
        p.nobody().post("/api/upstreams", &body).await.expect(201);
    }
    let page = p.user("ada").get("/api/library").await.expect(200).json();
    assert_eq!(packages(&page), ["mcp.mine"]);
    assert_eq!((&page["apps"][0]["kind"], &page["apps"][0]["toolCount"]), (&json!("tools-only"), &json!(0)));
}

#[tokio::test]
async fn the_library_requires_a_user() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    p.nobody().get("/api/library").await.expect(401);
    p.bearer(&key).header("x-user-id", "ada").get("/api/library").await.expect(403);
    let ada = p.bearer(&p.token("ada", Role::User));
    assert_eq!(packages(&ada.get("/api/library").await.expect(200).json()), [ECHO]);
    let dev = Platform::start().await;
    assert_eq!(
        dev.nobody().get("/api/library").await.expect(401).text,
        r#"{"error":"Missing X-User-Id header"}"#
    );
}
