//! Attacks on sessions and sign-in: none succeeds.

use http::Method;
use serde_json::json;
use tokio::time::Instant;
use toolyard_server::auth::Role;

use super::{
    PASSWORD, browser, closed_server, cookie, invite, sign_in_by_link, sign_in_by_password, signed_in,
    with_password,
};
use crate::platform::{Platform, tokens_only};

#[tokio::test]
async fn a_page_of_another_site_cannot_use_the_session() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.server.origins = vec!["https://partner.example".to_owned()];
    })
    .await;
    let operator = p.token("root", Role::Operator);
    let pair = signed_in(&p, &operator, "ada", "operator").await;
    let cookie = ("cookie", pair.as_str());
    for headers in [
        [cookie, ("origin", "https://evil.example")],
        [cookie, ("origin", "null")],
        [cookie, ("origin", "https://partner.example")],
        [cookie, ("origin", "http://127.0.0.1:1")],
        [cookie, ("sec-fetch-site", "cross-site")],
        [cookie, ("sec-fetch-site", "same-site")],
    ] {
        let page = p.as_with(&headers);
        page.get("/api/me").await.expect(403);
        page.post("/api/users", &json!({ "userId": "eve", "role": "operator" })).await.expect(403);
        page.post("/api/sign-out", &json!({})).await.expect(403);
    }
    p.as_with(&[cookie, ("sec-fetch-site", "same-origin")]).get("/api/me").await.expect(200);
    browser(&p, &pair).get("/api/me").await.expect(200);
}

#[tokio::test]
async fn a_session_cannot_be_fixed_or_forged() {
    let (p, operator) = closed_server().await;
    let before = signed_in(&p, &operator, "eve", "user").await;
    // A victim's browser that already has the attacker's cookie gets a new one, and the attacker's ends.
    let code = invite(&p, &operator, "ada", "user").await;
    let answer = browser(&p, &before).post("/api/sign-in/link", &json!({ "code": code })).await.expect(200);
    let after = cookie(&answer).unwrap();
    assert_ne!(before, after);
    browser(&p, &before).get("/api/me").await.expect(401);
    assert_eq!(browser(&p, &after).get("/api/me").await.expect(200).json()["name"], "ada");
    let value = after.split_once('=').unwrap().1;
    let parts: Vec<_> = value.split('.').collect();
    for forged in [
        String::new(),
        "x".to_owned(),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[1], &before.split('.').nth(2).unwrap()),
        p.token("ada", Role::Operator),
    ] {
        browser(&p, &format!("toolyard={forged}")).get("/api/me").await.expect(401);
    }
    // Two cookies of the same name: one of them is someone else's.
    browser(&p, &format!("{after}; {before}")).get("/api/me").await.expect(401);
}

#[tokio::test]
async fn links_cannot_be_reused_forged_or_used_for_something_else() {
    let (p, operator) = closed_server().await;
    let code = invite(&p, &operator, "ada", "user").await;
    let mut changed = code.clone();
    changed.replace_range(20..21, if &code[20..21] == "A" { "B" } else { "A" });
    for bad in ["", "x", changed.as_str(), &code[..code.len() - 4], &operator] {
        assert_eq!(sign_in_by_link(&p, bad).await.expect(401).code(), "SIGN_IN_FAILED");
    }
    // Ten requests at once: one of them is the first.
    let attempts = (0..10).map(|_| sign_in_by_link(&p, &code));
    let statuses = futures_util::future::join_all(attempts).await;
    assert_eq!(statuses.iter().filter(|answer| answer.status == 200).count(), 1);
    let late = invite(&p, &operator, "bob", "user").await;
    p.clock.advance(24 * 60 * 60);
    sign_in_by_link(&p, &late).await.expect(401);
    // A request to connect a client is sealed with the same key, for another purpose.
    let client = crate::oauth::client::Client::register(&p).await;
    let sealed = client.request("tools:read").await;
    sign_in_by_link(&p, &sealed).await.expect(401);
}

#[tokio::test]
async fn passwords_cannot_be_guessed_and_accounts_cannot_be_found() {
    let (p, operator) = closed_server().await;
    with_password(&p, &operator, "ada").await;
    signed_in(&p, &operator, "bob", "user").await;
    let mut answers = Vec::new();
    for user in ["ada", "bob", "nobody"] {
        answers.push(sign_in_by_password(&p, user, "a wrong password").await.expect(401).text);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    for user in ["ada", "nobody", "someone@else.example"] {
        let mut statuses = Vec::new();
        for _ in 0..6 {
            statuses.push(sign_in_by_password(&p, user, "a wrong password").await.status.as_u16());
        }
        assert_eq!((statuses[3], statuses[5]), (401, 429), "{user}: {statuses:?}");
    }
    // Locked, whatever the password; other ways to sign in stay open.
    let locked = sign_in_by_password(&p, "ada", PASSWORD).await.expect(429);
    assert!(!locked.header("retry-after").is_empty());
    let link = p.bearer(&operator).post("/api/users/ada/link", &json!({})).await.expect(200).json();
    let code = link["url"].as_str().unwrap().split_once("#code=").unwrap().1.to_owned();
    sign_in_by_link(&p, &code).await.expect(200);
    p.clock.advance(15 * 60);
    sign_in_by_password(&p, "ada", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn an_unknown_user_takes_as_long_as_a_wrong_password() {
    let (p, operator) = closed_server().await;
    with_password(&p, &operator, "ada").await;
    let mut slowest_unknown = std::time::Duration::ZERO;
    for user in ["x1", "x2", "x3"] {
        let began = Instant::now();
        sign_in_by_password(&p, user, "a wrong password").await.expect(401);
        slowest_unknown = slowest_unknown.max(began.elapsed());
    }
    // A hash was computed: thousands of times as long as a lookup. No comparison of two times, which would be noise.
    assert!(slowest_unknown.as_micros() > 2_000, "{slowest_unknown:?}");
}

#[tokio::test]
async fn malformed_requests_to_sign_in_are_refused() {
    let (p, _) = closed_server().await;
    for (path, body) in [
        ("/api/sign-in/password", "{}"),
        ("/api/sign-in/password", r#"{"user":"ada","password":null}"#),
        ("/api/sign-in/password", r#"{"user":"ada","password":"x","role":"operator"}"#),
        ("/api/sign-in/link", r#"{"code":1}"#),
        ("/api/sign-in/link", "not json"),
        ("/api/sign-in/passkey", r#"{"state":"x"}"#),
        ("/api/sign-in/device", "[]"),
        ("/api/sign-in/device/token", r#"{"deviceCode":"x","x":1}"#),
    ] {
        p.nobody().send(Method::POST, path, Some(body.to_owned())).await.expect(400);
    }
    let long = json!({ "user": "a".repeat(100_000), "password": "b".repeat(100_000) });
    let answer = p.nobody().post("/api/sign-in/password", &long).await;
    assert!([401, 413].contains(&answer.status.as_u16()), "{}", answer.text);
    let unknown = p.nobody().get("/api/sign-in?x=1").await.expect(200);
    assert!(unknown.json()["passwords"].is_boolean());
}
