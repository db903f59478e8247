//! Export and deletion of everything about a user.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::{browser, closed_server, sign_in_by_password, with_password};
use crate::platform::{ECHO, Platform};

async fn delete(who: &crate::platform::Person<'_>, path: &str, confirm: &str) -> crate::platform::Answer {
    who.send(Method::DELETE, path, Some(json!({ "confirm": confirm }).to_string())).await
}

#[tokio::test]
async fn an_export_has_everything_but_secrets() {
    let (p, operator) = closed_server().await;
    let cookie = with_password(&p, &operator, "ada").await;
    let ada = browser(&p, &cookie);
    let issued = ada.post("/api/tokens", &json!({ "name": "cli" })).await.expect(201).json();
    let answer = ada.get("/api/me/data").await.expect(200);
    let export = answer.json();
    assert_eq!((&export["user"], &export["data"]["tokens"][0]["name"]), (&json!("ada"), &json!("cli")));
    assert_eq!(export["data"]["browser_sessions"].as_array().map(Vec::len), Some(1));
    for secret in ["$argon2id$", issued["token"].as_str().unwrap(), cookie.split_once('=').unwrap().1] {
        assert!(!answer.text.contains(secret), "{secret}");
    }
    let by_operator = p.bearer(&operator).get("/api/users/ada/data").await.expect(200).json();
    assert_eq!(by_operator["data"]["accounts"], export["data"]["accounts"]);
}

#[tokio::test]
async fn a_deleted_user_leaves_nothing_behind() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    let calls = |export: &Value| export["data"]["calls"].as_array().map(Vec::len).unwrap();
    let ada = p.user("ada");
    ada.put("/api/me/password", &json!({ "password": super::PASSWORD })).await.expect(204);
    let before = ada.get("/api/me/data").await.expect(200).json();
    assert!(calls(&before) == 1 && before["data"]["installs"][0]["package"] == ECHO, "{before}");
    let token = ada.post("/api/tokens", &json!({ "name": "cli" })).await.expect(201).json();
    let token = token["token"].as_str().unwrap().to_owned();
    assert!(delete(&ada, "/api/me", "bob").await.expect(400).text.contains("`ada`"));
    delete(&ada, "/api/me", "ada").await.expect(204);
    p.bearer(&token).get("/api/me").await.expect(401);
    sign_in_by_password(&p, "ada", super::PASSWORD).await.expect(401);
    let after = p.nobody().get("/api/users/ada/data").await.expect(200).json();
    for (table, rows) in after["data"].as_object().unwrap() {
        // Who did what stays known.
        let is_empty = rows == &json!([]);
        assert!(is_empty || table == "audit_log", "{table}: {rows}");
    }
    // A new user with the same id inherits nothing.
    assert!(p.user("ada").tools().await.is_empty());
    let p = p.restart().await;
    p.bearer(&token).get("/api/me").await.expect(401);
}

#[tokio::test]
async fn an_operator_deletes_a_user_but_not_themselves() {
    let (p, operator) = closed_server().await;
    with_password(&p, &operator, "ada").await;
    let root = p.bearer(&operator);
    delete(&root, "/api/users/ada", "bob").await.expect(400);
    delete(&root, "/api/users/ada", "ada").await.expect(204);
    root.get("/api/users/ada").await.expect(404);
    let mallory = p.token("ada", Role::User);
    p.bearer(&mallory).get("/api/me").await.expect(200);
    delete(&root, "/api/users/root", "root").await.expect(409);
}
