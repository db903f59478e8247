//! Changes without a notification, because the user's own list stays the same.

use serde_json::json;
use toolyard_server::auth::Role;

use super::ears::{Ears, MARK_URI, listen, mark, platform, quiet};
use crate::{
    identity::app_of,
    platform::{ECHO, Platform, echo_tool, tokens_only},
};

async fn app(p: &Platform) {
    p.nobody().post("/api/apps", &json!({ "packageName": ECHO, "tools": [echo_tool()] })).await.expect(201);
}

#[tokio::test]
async fn changes_of_other_users_are_not_announced() {
    let p = platform(1).await;
    let mut ears = Ears::open(&p).await;
    app(&p).await;
    ears.quiet(&p).await;
    let install = format!("/api/installs/{ECHO}");
    p.user("bob").put(&install, &json!({})).await.expect(204);
    ears.quiet(&p).await;
    p.user("bob")
        .put(&format!("/api/settings/tools/{ECHO}:echo"), &json!({ "enabled": false }))
        .await
        .expect(204);
    p.device("bob").await.wears("Even Realities G1").await;
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [] })).await.expect(200);
    p.user("bob").delete(&install).await.expect(204);
    p.nobody().delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    ears.quiet(&p).await;
}

#[tokio::test]
async fn changes_without_effect_on_the_list_are_not_announced() {
    let p = platform(1).await;
    app(&p).await;
    let ada = p.user("ada");
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let mut ears = Ears::open(&p).await;
    // The name of the app is not part of the list.
    p.nobody().patch(&format!("/api/apps/{ECHO}"), &json!({ "name": "Other" })).await.expect(200);
    ears.quiet(&p).await;
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [echo_tool()] })).await.expect(200);
    ears.quiet(&p).await;
    ada.put(&format!("/api/settings/tools/{ECHO}:echo"), &json!({ "enabled": true })).await.expect(204);
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    ada.put(&format!("/api/installs/{ECHO}/assistant"), &json!({})).await.expect(204);
    ears.quiet(&p).await;
    p.device("ada").await.wears("Even Realities G1").await;
    ears.quiet(&p).await;
    p.nobody().post("/api/apps", &json!({ "packageName": "com.empty", "tools": [] })).await.expect(201);
    ada.put("/api/installs/com.empty", &json!({})).await.expect(204);
    ears.quiet(&p).await;
}

#[tokio::test]
async fn changes_that_are_undone_in_time_are_not_announced() {
    // Long enough for both requests on a busy machine.
    let p = platform(1_500).await;
    app(&p).await;
    let ada = p.user("ada");
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let mut events = listen(&p, &[("x-user-id", "ada")], 1).await;
    for enabled in [false, true] {
        let path = format!("/api/settings/tools/{ECHO}:echo");
        ada.put(&path, &json!({ "enabled": enabled })).await.expect(204);
        // An immediate check would have noticed the change by now.
        for _ in 0..5 {
            ada.modern("tools/list", json!({})).await.result();
        }
    }
    quiet(&p, &mut events).await;
}

#[tokio::test]
async fn an_app_is_notified_about_its_own_tools_only() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.mcp.debounce_ms = 1;
    })
    .await;
    let (_echo, key) = app_of(&p, "dora", ECHO).await;
    let (_other, _) = app_of(&p, "mal", "com.example.mark").await;
    let ada = p.bearer(&p.token("ada", Role::User));
    for package in [ECHO, "com.example.mark"] {
        ada.put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    ada.get("/api/session").await.expect(200);
    let key = format!("Bearer {key}");
    let app: [(&str, &str); 2] = [("authorization", &key), ("x-user-id", "ada")];
    // The marker belongs to another app, so the subscription is not granted.
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": [MARK_URI, "test://com.example.echo/own"] });
    let ask = super::client::Ask::modern("subscriptions/listen", json!({ "notifications": filter }));
    let mut events = p.as_with(&app).stream(ask).await;
    let granted = &events.message().await["params"]["notifications"];
    assert_eq!(
        *granted,
        json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://com.example.echo/own"] })
    );

    let mal = p.bearer(&p.token("mal", Role::Developer));
    mal.post("/api/apps/com.example.mark/tools", &json!({ "tools": [] })).await.expect(200);
    ada.delete("/api/installs/com.example.mark").await.expect(204);
    mark(&p);
    let dora = p.bearer(&p.token("dora", Role::Developer));
    dora.post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": [] })).await.expect(200);
    assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
    let own = toolyard_core::ports::Change::ResourceUpdated {
        package: ECHO.parse().unwrap(),
        user: Some("ada".parse().unwrap()),
        uri: "test://own".into(),
    };
    p.state.stores.announcements.notify(&own);
    assert_eq!(events.message().await["params"]["uri"], "test://com.example.echo/own", "told once");
}
