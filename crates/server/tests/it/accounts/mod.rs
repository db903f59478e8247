//! People sign in in a browser: accounts and sessions from the outside.

mod attacks;
mod authenticator;
mod device_logins;
pub(crate) mod issuer;
mod issuers;
mod passkeys;
mod people;
mod personal_data;
mod sessions;

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::platform::{Answer, Person, Platform, tokens_only};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A server where nobody is trusted, and its operator's token.
pub(crate) async fn closed_server() -> (Platform, String) {
    let p = Platform::with(tokens_only).await;
    let operator = p.token("root", Role::Operator);
    (p, operator)
}

/// The session cookie that a response sets, as a browser sends it back. None if it sets none or removes it.
pub(crate) fn cookie(answer: &Answer) -> Option<String> {
    let set = answer.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap());
    let mut pairs = set.map(|line| line.split(';').next().unwrap());
    let is_session = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap();
        matches!(name, "toolyard" | "__Host-toolyard") && !value.is_empty()
    };
    pairs.find(is_session).map(str::to_owned)
}

/// A browser with a cookie, on a page of this server.
pub(crate) fn browser<'a>(p: &'a Platform, cookie: &str) -> Person<'a> {
    p.as_with(&[("cookie", cookie), ("origin", &p.url)])
}

/// Creates an account, and returns the code of its one-time link.
pub(crate) async fn invite(p: &Platform, operator: &str, user: &str, role: &str) -> String {
    let request = json!({ "userId": user, "role": role, "invite": true });
    let created = p.bearer(operator).post("/api/users", &request).await.expect(201).json();
    let url = created["link"]["url"].as_str().unwrap().to_owned();
    let (page, code) = url.split_once("#code=").unwrap();
    assert_eq!(page, format!("{}/console/sign-in", p.url));
    code.to_owned()
}

pub(crate) async fn sign_in_by_link(p: &Platform, code: &str) -> Answer {
    p.nobody().post("/api/sign-in/link", &json!({ "code": code })).await
}

/// A new account that is signed in, by its cookie.
pub(crate) async fn signed_in(p: &Platform, operator: &str, user: &str, role: &str) -> String {
    let code = invite(p, operator, user, role).await;
    cookie(&sign_in_by_link(p, &code).await.expect(200)).unwrap()
}

pub(crate) async fn sign_in_by_password(p: &Platform, user: &str, password: &str) -> Answer {
    p.nobody().post("/api/sign-in/password", &json!({ "user": user, "password": password })).await
}

/// A new account with a password, by its cookie.
pub(crate) async fn with_password(p: &Platform, operator: &str, user: &str) -> String {
    let cookie = signed_in(p, operator, user, "user").await;
    let change = json!({ "password": PASSWORD });
    browser(p, &cookie).put("/api/me/password", &change).await.expect(204);
    cookie
}

#[tokio::test]
async fn a_link_signs_in_once_and_the_cookie_is_the_credential() {
    let (p, operator) = closed_server().await;
    let options = p.nobody().get("/api/sign-in").await.expect(200).json();
    let expected = json!({ "passwords": true, "passkeys": false, "issuers": [], "devMode": false });
    assert_eq!(options, expected, "no passkeys on an IP address");
    let code = invite(&p, &operator, "ada@example.com", "developer").await;
    let answer = sign_in_by_link(&p, &code).await.expect(200);
    assert_eq!(answer.json(), json!({ "userId": "ada@example.com", "role": "developer" }));
    assert_eq!(answer.header("cache-control"), "no-store");
    let set = answer.header("set-cookie");
    assert!(set.starts_with("toolyard=") && set.contains("; HttpOnly; SameSite=Lax; Max-Age=86400"), "{set}");
    assert!(!set.contains("Secure"), "plain HTTP on this machine");
    let cookie = cookie(&answer).unwrap();
    let me = browser(&p, &cookie).get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["role"]), (&json!("ada@example.com"), &json!("developer")));
    assert_eq!(me["session"]["method"], "link");
    assert_eq!(me["account"], json!({ "email": null, "name": null, "groups": [] }));
    let again = sign_in_by_link(&p, &code).await.expect(401);
    assert_eq!(again.code(), "SIGN_IN_FAILED");
    // The cookie is no bearer token, and a token is no cookie.
    let value = cookie.split_once('=').unwrap().1;
    p.bearer(value).get("/api/me").await.expect(401);
    browser(&p, &format!("toolyard={operator}")).get("/api/me").await.expect(401);
}

#[tokio::test]
async fn behind_https_the_cookie_is_bound_to_the_host() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.server.public_url = Some("https://tools.example.com".to_owned());
    })
    .await;
    let operator = p.token("root", Role::Operator);
    let request = json!({ "userId": "ada", "invite": true });
    let created = p.bearer(&operator).post("/api/users", &request).await.expect(201).json();
    let url = created["link"]["url"].as_str().unwrap();
    let code = url.strip_prefix("https://tools.example.com/console/sign-in#code=").unwrap();
    let answer = sign_in_by_link(&p, code).await.expect(200);
    let set = answer.header("set-cookie");
    assert!(set.starts_with("__Host-toolyard=") && set.ends_with("; Secure"), "{set}");
    assert!(set.contains("; Path=/;") && !set.contains("Domain"), "{set}");
    let pair = cookie(&answer).unwrap();
    let own = [("cookie", pair.as_str()), ("origin", "https://tools.example.com")];
    p.as_with(&own).get("/api/me").await.expect(200);
    let plain = pair.replace("__Host-toolyard", "toolyard");
    p.as_with(&[("cookie", &plain)]).get("/api/me").await.expect(401);
    let options = p.nobody().get("/api/sign-in").await.expect(200).json();
    assert_eq!(options["passkeys"], true);
}

#[tokio::test]
async fn a_password_is_set_used_changed_and_removed() {
    let (p, operator) = closed_server().await;
    let cookie_of_link = signed_in(&p, &operator, "ada", "user").await;
    let ada = browser(&p, &cookie_of_link);
    for (weak, why) in [
        ("short", "12 to 256"),
        ("aaaaaaaaaaaaaa", "easy"),
        (&"x".repeat(257), "12 to 256"),
        ("abcabcabcabc", "easy"),
    ] {
        let refused = ada.put("/api/me/password", &json!({ "password": weak })).await.expect(400);
        assert!(refused.text.contains(why), "{}", refused.text);
    }
    sign_in_by_password(&p, "ada", PASSWORD).await.expect(401);
    ada.put("/api/me/password", &json!({ "password": PASSWORD })).await.expect(204);
    let settings = ada.get("/api/me/sign-in").await.expect(200).json();
    assert!(settings["password"]["changedAt"].is_string() && settings["passkeys"] == json!([]), "{settings}");
    let answer = sign_in_by_password(&p, " ADA ", PASSWORD).await.expect(200);
    let second = cookie(&answer).unwrap();
    assert_eq!(browser(&p, &second).get("/api/me").await.expect(200).json()["session"]["method"], "password");

    // A while later, the present password is needed; other browsers are signed out.
    p.clock.advance(16 * 60);
    let change = json!({ "password": "another long password" });
    assert_eq!(ada.put("/api/me/password", &change).await.expect(403).code(), "SIGN_IN_AGAIN");
    let wrong = json!({ "password": "another long password", "current": "not the password" });
    assert_eq!(ada.put("/api/me/password", &wrong).await.expect(401).code(), "SIGN_IN_FAILED");
    let right = json!({ "password": "another long password", "current": PASSWORD });
    ada.put("/api/me/password", &right).await.expect(204);
    browser(&p, &second).get("/api/me").await.expect(401);
    ada.get("/api/me").await.expect(200);
    sign_in_by_password(&p, "ada", PASSWORD).await.expect(401);
    let third = cookie(&sign_in_by_password(&p, "ada", "another long password").await.expect(200)).unwrap();
    let only = browser(&p, &third).delete("/api/me/password").await.expect(409);
    assert!(only.text.contains("only way to sign in"), "{}", only.text);
}

#[tokio::test]
async fn passwords_can_be_switched_off() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.sign_in.passwords = false;
    })
    .await;
    let operator = p.token("root", Role::Operator);
    let refused = sign_in_by_password(&p, "ada", PASSWORD).await.expect(403);
    assert!(refused.text.contains("sign_in.passwords"), "{}", refused.text);
    let cookie = signed_in(&p, &operator, "ada", "user").await;
    browser(&p, &cookie).put("/api/me/password", &json!({ "password": PASSWORD })).await.expect(403);
}

#[tokio::test]
async fn the_first_operator_signs_in_with_the_link_of_the_first_start() {
    let p = Platform::with(tokens_only).await;
    let first = first_link(&p).await.unwrap();
    let second = first_link(&p).await.unwrap();
    let answer = sign_in_by_link(&p, &first).await.expect(200);
    assert_eq!(answer.json(), json!({ "userId": "operator", "role": "operator" }));
    assert!(first_link(&p).await.is_none(), "there is one now");
    sign_in_by_link(&p, &second).await.expect(401);
    let root = browser(&p, &cookie(&answer).unwrap()).get("/api/users").await.expect(200).json();
    assert_eq!(root["users"][0]["userId"], "operator");
    // Nobody can run the platform without an operator.
    let operator = browser(&p, &cookie(&answer).unwrap());
    let change = json!({ "role": "user" });
    assert_eq!(operator.patch("/api/users/operator", &change).await.expect(409).code(), "CONFLICT");
    let by_token = p.bearer(&p.token("root", Role::Operator)).patch("/api/users/operator", &change).await;
    assert!(by_token.expect(409).text.contains("last operator"));
    let gone =
        operator.send(http::Method::DELETE, "/api/me", Some(json!({ "confirm": "operator" }).to_string()));
    assert!(gone.await.expect(409).text.contains("last operator"));
}

async fn first_link(p: &Platform) -> Option<String> {
    let user = "operator".parse().unwrap();
    let link = toolyard_platform::accounts::first_operator_link(&p.state.platform, user).await.unwrap();
    link.map(|link| link.code.expose().to_owned())
}

#[tokio::test]
async fn a_person_who_is_signed_in_issues_tokens_within_limits() {
    let (p, operator) = closed_server().await;
    let ada = signed_in(&p, &operator, "ada", "user").await;
    let request = json!({ "name": "laptop", "days": 365 });
    let issued = browser(&p, &ada).post("/api/tokens", &request).await.expect(201).json();
    let days = |issued: &Value| {
        let at = |name: &str| issued[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        (at("expiresAt").as_second() - at("createdAt").as_second()) / 86_400
    };
    assert_eq!(days(&issued["info"]), 90, "{issued}");
    let token = issued["token"].as_str().unwrap();
    // It outlives the session.
    browser(&p, &ada).post("/api/sign-out", &json!({})).await.expect(204);
    browser(&p, &ada).get("/api/me").await.expect(401);
    p.bearer(token).get("/api/me").await.expect(200);
    // With it, nobody learns or changes how ada signs in.
    for path in ["/api/me/sessions", "/api/me/sign-in", "/api/me/data"] {
        assert_eq!(p.bearer(token).get(path).await.expect(403).code(), "FORBIDDEN", "{path}");
    }
    p.bearer(token).put("/api/me/password", &json!({ "password": PASSWORD })).await.expect(403);

    let p = p.restart_with(|config| config.sign_in.own_token_days = 0).await;
    let operator = p.token("root", Role::Operator);
    let bob = signed_in(&p, &operator, "bob", "user").await;
    let refused = browser(&p, &bob).post("/api/tokens", &json!({ "name": "laptop" })).await.expect(403);
    assert!(refused.text.contains("sign_in.own_token_days"), "{}", refused.text);
}
