//! HTTP endpoints for apps on the SDK: storage and permissions.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    platform::{ECHO, Platform, echo_tool, tokens_only},
};

const ADA: &str = "/api/sdk/simple-storage/ada";
/// Largest value, and everything of one app for one user, in bytes.
const MAX_VALUE: usize = 100 * 1024;
const MAX_TOTAL: usize = 1024 * 1024;

/// The echo app, installed for ada; its key as the SDK sends it.
async fn installed(p: &Platform) -> String {
    let created = p
        .nobody()
        .post("/api/apps", &json!({ "packageName": ECHO, "tools": [echo_tool()] }))
        .await
        .expect(201)
        .json();
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    format!("{ECHO}:{}", created["apiKey"].as_str().unwrap())
}

async fn stored(p: &Platform, key: &str) -> Value {
    let answer = p.bearer(key).get(ADA).await.expect(200).json();
    assert_eq!(answer["success"], true);
    answer["data"].clone()
}

#[tokio::test]
async fn an_app_keeps_entries_for_a_user() {
    let p = Platform::start().await;
    let key = installed(&p).await;
    let app = p.bearer(&key);
    let done = json!({ "success": true });
    assert_eq!(stored(&p, &key).await, json!({}));
    assert_eq!(
        app.put(ADA, &json!({ "data": { "color": "red", "size": "9" } })).await.expect(200).json(),
        done
    );
    app.put(ADA, &json!({ "data": { "size": "10", "shape": "round" } })).await.expect(200);
    assert_eq!(stored(&p, &key).await, json!({ "color": "red", "shape": "round", "size": "10" }));
    assert_eq!(
        app.get(&format!("{ADA}/color")).await.expect(200).json(),
        json!({ "success": true, "data": "red" })
    );
    assert_eq!(
        app.put(&format!("{ADA}/a%2Fb%20c"), &json!({ "value": { "n": [1] } })).await.expect(200).json(),
        done
    );
    assert_eq!(app.get(&format!("{ADA}/a%2Fb%20c")).await.expect(200).json()["data"], json!({ "n": [1] }));
    assert_eq!(app.delete(&format!("{ADA}/color")).await.expect(200).json(), done);
    app.get(&format!("{ADA}/color")).await.expect(404);
    app.delete(&format!("{ADA}/color")).await.expect(200);
    assert_eq!(app.delete(ADA).await.expect(200).json(), done);
    assert_eq!(stored(&p, &key).await, json!({}));
    // The user is the same in any case, and what is stored lasts.
    app.put("/api/sdk/simple-storage/ADA", &json!({ "data": { "color": "red" } })).await.expect(200);
    let p = p.restart().await;
    assert_eq!(stored(&p, &key).await, json!({ "color": "red" }));
}

#[tokio::test]
async fn storage_of_an_app_is_limited() {
    let p = Platform::start().await;
    let key = installed(&p).await;
    let app = p.bearer(&key);
    let put = async |entries: Value| {
        let answer = app.put(ADA, &json!({ "data": entries })).await;
        (answer.status.as_u16(), if answer.status == 200 { String::new() } else { answer.code() })
    };
    // A text is two quotes longer as JSON.
    let value = |bytes: usize| "x".repeat(bytes - 2);
    let too_large = (413, "TOO_LARGE".to_owned());
    assert_eq!(put(json!({ "a": "kept", "b": value(MAX_VALUE + 1) })).await, too_large);
    assert_eq!(stored(&p, &key).await, json!({}), "whole or not at all");
    assert_eq!(
        app.put(&format!("{ADA}/b"), &json!({ "value": value(MAX_VALUE + 1) })).await.expect(413).code(),
        "TOO_LARGE"
    );
    for i in 0..10 {
        assert_eq!(put(json!({ i.to_string(): value(MAX_VALUE) })).await.0, 200);
    }
    // Ten keys of one byte and one of four: what is left fits exactly.
    let left = MAX_TOTAL - 10 * (MAX_VALUE + 1) - "last".len();
    assert_eq!(put(json!({ "last": value(left + 1) })).await, too_large);
    assert_eq!(put(json!({ "last": value(left) })).await.0, 200);
    assert_eq!(put(json!({ "more": "" })).await, too_large);
    assert_eq!(put(json!({ "last": "" })).await.0, 200, "less is always possible");
    assert_eq!(stored(&p, &key).await.as_object().unwrap().len(), 11);
    for (name, status) in [("", 400), (&*"k".repeat(257), 400), (&*"k".repeat(256), 200)] {
        assert_eq!(put(json!({ name: "" })).await.0, status, "{} bytes", name.len());
    }
    for body in [json!({}), json!({ "data": [] }), json!({ "data": null }), json!([])] {
        app.put(ADA, &body).await.expect(400);
    }
}

#[tokio::test]
async fn storage_belongs_to_the_app_and_is_removed_with_the_install() {
    let p = Platform::with(tokens_only).await;
    let ((_echo, key), (_other, other)) =
        (app_of(&p, "dora", ECHO).await, app_of(&p, "mal", "com.example.other").await);
    let ada = p.bearer(&p.token("ada", Role::User));
    let red = json!({ "data": { "color": "red" } });
    p.bearer(&key).put(ADA, &red).await.expect(404);
    for package in [ECHO, "com.example.other"] {
        ada.put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    p.bearer(&key).put(ADA, &red).await.expect(200);
    assert_eq!(stored(&p, &other).await, json!({}), "the other app has ada too, and keeps nothing");
    p.bearer(&other).delete(ADA).await.expect(200);
    assert_eq!(stored(&p, &key).await, json!({ "color": "red" }));
    // Only the app: not the user, its developer or the operator; and only for users who installed it.
    for token in
        [p.token("ada", Role::User), p.token("dora", Role::Developer), p.token("root", Role::Operator)]
    {
        p.bearer(&token).get(ADA).await.expect(403);
    }
    p.bearer(&format!("{ECHO}:wrong")).get(ADA).await.expect(401);
    for path in ["/api/sdk/simple-storage/bob", "/api/sdk/simple-storage/bob/color"] {
        p.bearer(&key).get(path).await.expect(404);
        p.bearer(&key).delete(path).await.expect(404);
    }
    ada.delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    p.bearer(&key).get(ADA).await.expect(404);
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    assert_eq!(stored(&p, &key).await, json!({}), "a new install begins anew");
}

#[tokio::test]
async fn declared_permissions_are_public() {
    let p = Platform::with(tokens_only).await;
    let permissions = json!([{ "type": "MICROPHONE", "description": "to hear" }, { "type": "LOCATION" }]);
    let body = json!({ "packageName": ECHO, "permissions": permissions });
    p.bearer(&p.token("dora", Role::Developer)).post("/api/apps", &body).await.expect(201);
    let answer = p.nobody().get("/api/public/permissions/com.example.echo").await.expect(200).json();
    assert_eq!(answer, json!({ "success": true, "packageName": ECHO, "permissions": permissions }));
    p.nobody().get("/api/public/permissions/com.example.none").await.expect(404);
    p.nobody().get("/api/public/permissions/None").await.expect(400);
}
