//! Operators manage accounts.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::{browser, closed_server, invite, sign_in_by_link, sign_in_by_password, signed_in, with_password};
use crate::platform::{Device, Platform};

#[tokio::test]
async fn an_account_is_created_shown_changed_and_listed() {
    let (p, operator) = closed_server().await;
    let root = p.bearer(&operator);
    let request = json!({ "userId": "ada", "email": " Ada@Example.com ", "name": "Ada Lovelace",
        "role": "developer", "groups": ["staff", "lab", "staff"] });
    let created = root.post("/api/users", &request).await.expect(201).json();
    assert_eq!(created["link"], Value::Null);
    let account = root.get("/api/users/ada").await.expect(200).json();
    assert_eq!(account, created["user"]);
    for (name, value) in [
        ("email", json!("ada@example.com")),
        ("name", json!("Ada Lovelace")),
        ("role", json!("developer")),
        ("groups", json!(["lab", "staff"])),
        ("disabledAt", Value::Null),
        ("hasPassword", json!(false)),
        ("passkeys", json!(0)),
        ("sessions", json!([])),
        ("calls30Days", json!(0)),
    ] {
        assert_eq!(account[name], value, "{name}");
    }
    let change = json!({ "email": null, "name": "Ada King", "groups": [] });
    let changed = root.patch("/api/users/ada", &change).await.expect(200).json();
    assert_eq!((&changed["email"], &changed["name"]), (&Value::Null, &json!("Ada King")));
    assert_eq!(changed["role"], "developer", "what is not named stays");
    for number in 0..5 {
        root.post("/api/users", &json!({ "userId": format!("u{number}") })).await.expect(201);
    }
    let page = root.get("/api/users?limit=4").await.expect(200).json();
    let ids = |page: &Value| -> Vec<String> {
        page["users"]
            .as_array()
            .unwrap()
            .iter()
            .map(|user| user["userId"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!((ids(&page).len(), &page["next"]), (4, &json!("u2")));
    let rest = root.get("/api/users?limit=4&after=u2").await.expect(200).json();
    assert_eq!((ids(&rest), &rest["next"]), (vec!["u3".to_owned(), "u4".to_owned()], &Value::Null));
    let found = root.get("/api/users?q=king").await.expect(200).json();
    assert_eq!(ids(&found), ["ada"], "by name");
    assert_eq!(found["users"][0]["hasAccount"], true);
}

#[tokio::test]
async fn invalid_accounts_are_refused() {
    let (p, operator) = closed_server().await;
    let root = p.bearer(&operator);
    root.post("/api/users", &json!({ "userId": "ada", "email": "ada@example.com" })).await.expect(201);
    let many: Vec<String> = (0..65).map(|number| format!("g{number}")).collect();
    for (request, status, why) in [
        (json!({ "userId": "ada" }), 409, "has an account"),
        (json!({ "userId": "bob", "email": "ADA@example.com" }), 409, "e-mail"),
        (json!({ "userId": "bob", "email": "no address" }), 400, "email"),
        (json!({ "userId": "bob", "email": "a@b@c" }), 400, "email"),
        (json!({ "userId": "bob", "name": "x".repeat(101) }), 400, "name"),
        (json!({ "userId": "bob", "groups": many }), 400, "groups"),
        (json!({ "userId": "bob", "role": "king" }), 400, "role"),
        (json!({ "userId": "" }), 400, "userId"),
        (json!({ "userId": "bob", "admin": true }), 400, "admin"),
    ] {
        let refused = root.post("/api/users", &request).await.expect(status);
        assert!(refused.text.contains(why), "{request}: {}", refused.text);
    }
    root.patch("/api/users/nobody", &json!({ "name": "x" })).await.expect(404);
    root.get("/api/users/nobody").await.expect(404);
    root.post("/api/users/nobody/link", &json!({})).await.expect(404);
    let p = p.restart_with(|config| config.sign_in.max_accounts = 1).await;
    let root_token = p.token("root", Role::Operator);
    let full = p.bearer(&root_token).post("/api/users", &json!({ "userId": "bob" })).await.expect(409);
    assert!(full.code() == "QUOTA_REACHED" && full.text.contains("sign_in.max_accounts"), "{}", full.text);
}

/// Everything that a user can hold.
struct Credentials {
    cookie: String,
    listed: String,
    unlisted: String,
    link: String,
    grant: String,
}

async fn credentials_of_ada(p: &Platform, operator: &str) -> Credentials {
    let cookie = with_password(p, operator, "ada").await;
    let issued = browser(p, &cookie).post("/api/tokens", &json!({ "name": "cli" })).await.expect(201).json();
    let client = crate::oauth::client::Client::register(p).await;
    let granted = client.connect(&browser(p, &cookie), "tools:read", json!({})).await;
    let link = p.bearer(operator).post("/api/users/ada/link", &json!({})).await.expect(200).json();
    Credentials {
        cookie,
        listed: issued["token"].as_str().unwrap().to_owned(),
        unlisted: p.token("ada", Role::User),
        link: link["url"].as_str().unwrap().split_once("#code=").unwrap().1.to_owned(),
        grant: granted.access,
    }
}

#[tokio::test]
async fn nothing_of_a_disabled_user_works_from_that_moment() {
    let (p, operator) = closed_server().await;
    let held = credentials_of_ada(&p, &operator).await;
    let mut device =
        Device::connect(&format!("{}/glasses-ws", p.url.replace("http", "ws")), Some(&held.unlisted)).await;
    p.bearer(&held.unlisted).get("/api/tools").await.expect(200);
    let root = p.bearer(&operator);
    let disabled = root.patch("/api/users/ada", &json!({ "disabled": true })).await.expect(200).json();
    assert!(disabled["disabledAt"].is_string());
    assert!(device.closed().await.is_some(), "sockets end");
    for token in [&held.listed, &held.unlisted, &held.grant] {
        p.bearer(token).get("/api/tools").await.expect(401);
    }
    browser(&p, &held.cookie).get("/api/me").await.expect(401);
    sign_in_by_link(&p, &held.link).await.expect(401);
    let refused = sign_in_by_password(&p, "ada", super::PASSWORD).await.expect(401);
    assert_eq!(refused.code(), "SIGN_IN_FAILED");
    let for_ada = p.bearer(&operator).header("x-user-id", "ada");
    assert!(for_ada.get("/api/tools").await.expect(403).text.contains("disabled"));
    assert_eq!(root.post("/api/users/ada/link", &json!({})).await.expect(409).code(), "CONFLICT");
    // Also after a restart, and what was revoked stays so when the account is enabled again.
    let p = p.restart().await;
    let operator = p.token("root", Role::Operator);
    p.bearer(&held.unlisted).get("/api/tools").await.expect(401);
    p.bearer(&operator).patch("/api/users/ada", &json!({ "disabled": false })).await.expect(200);
    for token in [&held.listed, &held.grant] {
        p.bearer(token).get("/api/tools").await.expect(401);
    }
    browser(&p, &held.cookie).get("/api/me").await.expect(401);
    sign_in_by_password(&p, "ada", super::PASSWORD).await.expect(200);
}

#[tokio::test]
async fn links_do_not_come_back_with_an_account_or_go_to_a_namesake() {
    let (p, operator) = closed_server().await;
    let root = p.bearer(&operator);
    let first = invite(&p, &operator, "ada", "user").await;
    p.clock.advance(1);
    for disabled in [true, false] {
        root.patch("/api/users/ada", &json!({ "disabled": disabled })).await.expect(200);
    }
    sign_in_by_link(&p, &first).await.expect(401);
    let link = root.post("/api/users/ada/link", &json!({})).await.expect(200).json();
    let second = link["url"].as_str().unwrap().split_once("#code=").unwrap().1.to_owned();
    let confirm = json!({ "confirm": "ada" }).to_string();
    root.send(http::Method::DELETE, "/api/users/ada", Some(confirm)).await.expect(204);
    p.clock.advance(1);
    let third = invite(&p, &operator, "ada", "user").await;
    sign_in_by_link(&p, &second).await.expect(401);
    sign_in_by_link(&p, &third).await.expect(200);
}

#[tokio::test]
async fn an_operator_who_leaves_keeps_no_token_under_another_name() {
    let (p, operator) = closed_server().await;
    let cookie = signed_in(&p, &operator, "mallory", "operator").await;
    signed_in(&p, &operator, "ruth", "operator").await;
    let request = json!({ "name": "x", "user": "ghost", "role": "operator", "days": 365 });
    let issued = browser(&p, &cookie).post("/api/tokens", &request).await.expect(201).json();
    let ghost = p.bearer(issued["token"].as_str().unwrap());
    ghost.get("/api/users").await.expect(200);
    // Signing her out is no suspicion; a lower role is.
    p.bearer(&operator).post("/api/users/mallory/sign-out", &json!({ "tokens": true })).await.expect(204);
    ghost.get("/api/users").await.expect(200);
    p.bearer(&operator).patch("/api/users/mallory", &json!({ "role": "user" })).await.expect(200);
    ghost.get("/api/users").await.expect(401);
}

#[tokio::test]
async fn a_user_without_an_account_can_be_disabled() {
    let (p, operator) = closed_server().await;
    let mallory = p.token("mallory", Role::User);
    p.bearer(&mallory).get("/api/me").await.expect(200);
    p.bearer(&operator).patch("/api/users/mallory", &json!({ "disabled": true })).await.expect(200);
    assert!(p.bearer(&mallory).get("/api/me").await.expect(401).text.contains("disabled"));
}

#[tokio::test]
async fn a_lower_role_counts_at_once() {
    let (p, operator) = closed_server().await;
    let cookie = signed_in(&p, &operator, "ada", "operator").await;
    let ada = browser(&p, &cookie);
    ada.get("/api/users").await.expect(200);
    let request = json!({ "name": "cli", "role": "operator" });
    let token =
        ada.post("/api/tokens", &request).await.expect(201).json()["token"].as_str().unwrap().to_owned();
    signed_in(&p, &operator, "ruth", "operator").await;
    p.bearer(&operator).patch("/api/users/ada", &json!({ "role": "user" })).await.expect(200);
    ada.get("/api/users").await.expect(401);
    p.bearer(&token).get("/api/users").await.expect(401);
    let code = p.bearer(&operator).post("/api/users/ada/link", &json!({})).await.expect(200).json();
    let code = code["url"].as_str().unwrap().split_once("#code=").unwrap().1;
    assert_eq!(sign_in_by_link(&p, code).await.expect(200).json()["role"], "user");
}

#[tokio::test]
async fn signing_out_everywhere_can_include_tokens_and_clients() {
    let (p, operator) = closed_server().await;
    let held = credentials_of_ada(&p, &operator).await;
    let root = p.bearer(&operator);
    root.post("/api/users/ada/sign-out", &json!({})).await.expect(204);
    browser(&p, &held.cookie).get("/api/me").await.expect(401);
    p.bearer(&held.listed).get("/api/tools").await.expect(200);
    p.bearer(&held.grant).get("/api/tools").await.expect(200);
    root.post("/api/users/ada/sign-out", &json!({ "clients": true })).await.expect(204);
    p.bearer(&held.grant).get("/api/tools").await.expect(401);
    p.bearer(&held.listed).get("/api/tools").await.expect(200);
    root.post("/api/users/ada/sign-out", &json!({ "tokens": true })).await.expect(204);
    p.bearer(&held.listed).get("/api/tools").await.expect(401);
}

#[tokio::test]
async fn only_operators_manage_accounts() {
    let (p, operator) = closed_server().await;
    invite(&p, &operator, "ada", "user").await;
    let cookie = signed_in(&p, &operator, "dora", "developer").await;
    let dora = browser(&p, &cookie);
    dora.get("/api/users").await.expect(403);
    dora.post("/api/users", &json!({ "userId": "eve", "role": "operator" })).await.expect(403);
    dora.patch("/api/users/dora", &json!({ "role": "operator" })).await.expect(403);
    dora.post("/api/users/ada/link", &json!({})).await.expect(403);
    dora.post("/api/users/ada/sign-out", &json!({})).await.expect(403);
    dora.get("/api/users/ada/data").await.expect(403);
}
