//! What people, operators and clients do is recorded: by whom, with which credential, to whom.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::{audit_actions, audit_entries, last_audit};
use crate::{
    accounts::{
        PASSWORD, browser, closed_server, cookie, invite, sign_in_by_link, sign_in_by_password, signed_in,
        with_password,
    },
    oauth::client::{Client, post_form},
    platform::{ECHO, Platform, tokens_only},
};

fn detail(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn what_operators_do_to_accounts_is_recorded() {
    let (p, operator) = closed_server().await;
    let root = p.bearer(&operator);
    root.post("/api/users", &json!({ "userId": "ada", "role": "developer" })).await.expect(201);
    let created = last_audit(&p, "user.created").await;
    assert_eq!((&*created.actor_kind, &*created.actor), ("person", "root"));
    assert_eq!((&*created.credential, &*created.target, &*created.user), ("unlisted token", "ada", "ada"));
    assert_eq!(detail(&created.detail), json!({ "role": "developer", "groups": [] }));

    root.patch("/api/users/ada", &json!({ "role": "user" })).await.expect(200);
    let role = last_audit(&p, "user.role_changed").await;
    assert_eq!(detail(&role.detail), json!({ "from": "developer", "to": "user" }));
    root.patch("/api/users/ada", &json!({ "name": "Ada", "groups": ["lab"] })).await.expect(200);
    let changed = last_audit(&p, "user.changed").await;
    assert_eq!(detail(&changed.detail), json!({ "fields": ["name", "groups"], "groups": ["lab"] }));
    let before = audit_actions(&p).await.len();
    root.patch("/api/users/ada", &json!({ "name": "Ada" })).await.expect(200);
    assert_eq!(audit_actions(&p).await.len(), before, "nothing changed");
    root.post("/api/users/ada/link", &json!({})).await.expect(200);
    assert!(!last_audit(&p, "user.link_created").await.detail.contains("code"));
    root.patch("/api/users/ada", &json!({ "disabled": true })).await.expect(200);
    last_audit(&p, "user.disabled").await;
    root.patch("/api/users/ada", &json!({ "disabled": false })).await.expect(200);
    last_audit(&p, "user.enabled").await;
    root.get("/api/users/ada/data").await.expect(200);
    last_audit(&p, "user.data_exported").await;
    let confirm = Some(json!({ "confirm": "ada" }).to_string());
    root.send(Method::DELETE, "/api/users/ada", confirm).await.expect(204);
    last_audit(&p, "user.deleted").await;
    // What is refused is not recorded.
    let before = audit_actions(&p).await.len();
    root.patch("/api/users/ada", &json!({ "name": "x" })).await.expect(404);
    p.bearer(&p.token("bob", Role::User)).post("/api/users", &json!({ "userId": "x" })).await.expect(403);
    assert_eq!(audit_actions(&p).await.len(), before);
}

#[tokio::test]
async fn the_entries_about_a_user_are_exported_and_outlive_the_user() {
    let (p, operator) = closed_server().await;
    let ada = with_password(&p, &operator, "ada").await;
    p.bearer(&operator).post("/api/users", &json!({ "userId": "bob" })).await.expect(201);
    let export = browser(&p, &ada).get("/api/me/data").await.expect(200).json();
    let entries = export["data"]["audit_log"].as_array().unwrap();
    let actions: Vec<_> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["account.password_set", "account.signed_in", "user.link_created", "user.created"]);
    assert!(entries.iter().all(|entry| entry["user_id"] == "ada" && entry["mac"].is_null()), "{entries:?}");
    let confirm = Some(json!({ "confirm": "ada" }).to_string());
    p.bearer(&operator).send(Method::DELETE, "/api/users/ada", confirm).await.expect(204);
    let left = audit_entries(&p).await;
    assert!(left.iter().filter(|entry| entry.user == "ada").count() >= 5, "{left:?}");
}

#[tokio::test]
async fn what_people_do_to_their_own_accounts_is_recorded() {
    let (p, operator) = closed_server().await;
    let first = signed_in(&p, &operator, "ada", "user").await;
    let ada = browser(&p, &first);
    ada.put("/api/me/password", &json!({ "password": PASSWORD })).await.expect(204);
    let set = last_audit(&p, "account.password_set").await;
    assert_eq!((&*set.actor, &*set.user), ("ada", "ada"));
    assert!(set.credential.starts_with("session ") && set.credential.len() > 20, "{set:?}");
    assert!(!audit_entries(&p).await.iter().any(|entry| format!("{entry:?}").contains(PASSWORD)));
    ada.get("/api/me/data").await.expect(200);
    last_audit(&p, "user.data_exported").await;

    sign_in_by_password(&p, "ada", PASSWORD).await.expect(200);
    let sessions = ada.get("/api/me/sessions").await.expect(200).json();
    let other = sessions["sessions"].as_array().unwrap().iter().find(|one| one["current"] == false).unwrap();
    ada.delete(&format!("/api/me/sessions/{}", other["id"].as_str().unwrap())).await.expect(204);
    assert_eq!(detail(&last_audit(&p, "account.signed_out").await.detail), json!({ "sessions": 1 }));
    ada.delete("/api/me/sessions").await.expect(204);
    assert_eq!(detail(&last_audit(&p, "account.signed_out").await.detail), json!({ "sessions": 0 }));
    ada.send(Method::DELETE, "/api/me", Some(json!({ "confirm": "ada" }).to_string())).await.expect(204);
    assert_eq!(last_audit(&p, "user.deleted").await.actor, "ada");
}

#[tokio::test]
async fn sign_ins_are_recorded_and_failed_ones_have_a_bound() {
    let (p, operator) = closed_server().await;
    let code = invite(&p, &operator, "ada", "user").await;
    let link = sign_in_by_link(&p, &code).await.expect(200);
    let entry = last_audit(&p, "account.signed_in").await;
    assert_eq!((&*entry.actor, detail(&entry.detail)), ("ada", json!({ "method": "link" })));
    sign_in_by_link(&p, &code).await.expect(401);
    let failed = last_audit(&p, "account.sign_in_failed").await;
    assert_eq!((&*failed.actor_kind, &*failed.actor, &*failed.target), ("anonymous", "", "ada"));
    let ada = cookie(&link).unwrap();
    browser(&p, &ada).put("/api/me/password", &json!({ "password": PASSWORD })).await.expect(204);
    sign_in_by_password(&p, "ada", PASSWORD).await.expect(200);
    assert_eq!(detail(&last_audit(&p, "account.signed_in").await.detail), json!({ "method": "password" }));
    browser(&p, &ada).post("/api/sign-out", &json!({})).await.expect(204);
    last_audit(&p, "account.signed_out").await;

    // What was typed is not recorded: it may be a password.
    sign_in_by_password(&p, "correct horse", "x").await.expect(401);
    let typed = last_audit(&p, "account.sign_in_failed").await;
    assert_eq!((&*typed.target, detail(&typed.detail)), ("", json!({ "method": "password" })));
    let count =
        async || audit_actions(&p).await.iter().filter(|action| *action == "account.sign_in_failed").count();
    for _ in count().await..105 {
        sign_in_by_link(&p, "x").await.expect(401);
    }
    assert_eq!(count().await, 100, "in an hour");
    p.clock.advance(3_600);
    sign_in_by_link(&p, "x").await.expect(401);
    let later = last_audit(&p, "account.sign_in_failed").await;
    assert_eq!(detail(&later.detail), json!({ "method": "link", "leftOutBefore": 5 }));
}

#[tokio::test]
async fn device_logins_are_recorded() {
    let (p, operator) = closed_server().await;
    let ada = signed_in(&p, &operator, "ada", "user").await;
    let started = p.nobody().post("/api/sign-in/device", &json!({ "name": "cli" })).await.expect(200).json();
    let path = format!("/api/device-logins/{}", started["userCode"].as_str().unwrap());
    browser(&p, &ada).post(&path, &json!({ "approve": true })).await.expect(204);
    let answered = last_audit(&p, "account.device_login_answered").await;
    assert_eq!(detail(&answered.detail), json!({ "approved": true, "program": "cli" }));
    let request = json!({ "deviceCode": started["deviceCode"] });
    let issued = p.nobody().post("/api/sign-in/device/token", &request).await.expect(200).json();
    let entry = last_audit(&p, "token.issued").await;
    assert_eq!((&*entry.actor, &*entry.user), ("ada", "ada"));
    let listed = p.bearer(issued["token"].as_str().unwrap()).get("/api/tokens").await.expect(200).json();
    assert_eq!(listed["tokens"][0]["id"], *entry.target);
}

#[tokio::test]
async fn clients_are_recorded() {
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let client = Client::register(&p).await;
    let first = client.connect(&ada, "tools:read", json!({})).await;
    let connected = last_audit(&p, "client.connected").await;
    assert_eq!((&*connected.actor_kind, &*connected.user), ("person", "ada"));
    let told = detail(&connected.detail);
    assert_eq!((&told["client"], &told["scopes"]), (&json!(client.id), &json!("tools:read")));
    assert!(!connected.detail.contains(&first.access) && !connected.detail.contains(&first.refresh));
    ada.delete(&format!("/api/clients/{}", connected.target)).await.expect(204);
    assert_eq!(last_audit(&p, "client.disconnected").await.target, connected.target);

    let second = client.connect(&ada, "tools:read account", json!({})).await;
    // What the client does itself is recorded as the client's.
    p.bearer(&second.access).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(404);
    let token = [("token", second.access.as_str()), ("client_id", client.id.as_str())];
    post_form(&p, "/oauth/revoke", &token).await.expect(200);
    let revoked = last_audit(&p, "client.disconnected").await;
    assert_eq!((&*revoked.actor_kind, &*revoked.credential), ("client", &*format!("client {}", client.id)));
}

#[tokio::test]
async fn a_revoked_grant_is_recorded() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let grant = json!({ "tool": format!("{ECHO}:echo"), "days": 1, "uses": 1 });
    let added = p.user("ada").post("/api/approvals/grants", &grant).await.expect(201).json();
    let entry = last_audit(&p, "approval.grant_added").await;
    assert_eq!(added["id"], *entry.target);
    p.user("ada").delete(&format!("/api/approvals/grants/{}", entry.target)).await.expect(204);
    assert_eq!(last_audit(&p, "approval.grant_revoked").await.target, entry.target);
}
