//! `toolyard login`: a program without a browser.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::{browser, closed_server, signed_in};
use crate::platform::{Answer, Platform};

async fn start(p: &Platform) -> Value {
    p.nobody().post("/api/sign-in/device", &json!({ "name": "toolyard on laptop" })).await.expect(200).json()
}

async fn redeem(p: &Platform, started: &Value) -> Answer {
    p.nobody().post("/api/sign-in/device/token", &json!({ "deviceCode": started["deviceCode"] })).await
}

fn path(started: &Value) -> String {
    format!("/api/device-logins/{}", started["userCode"].as_str().unwrap())
}

#[tokio::test]
async fn a_program_gets_a_token_after_a_person_agreed() {
    let (p, operator) = closed_server().await;
    let cookie = signed_in(&p, &operator, "ada", "developer").await;
    let ada = browser(&p, &cookie);
    let started = start(&p).await;
    let code = started["userCode"].as_str().unwrap();
    assert_eq!(started["urlWithCode"], format!("{}/console/device?code={code}", p.url));
    assert_eq!(redeem(&p, &started).await.expect(202).json(), json!({ "pending": true }));
    // The code can be typed in any way.
    let typed = format!("/api/device-logins/{}", code.to_lowercase().replace('-', "%20"));
    assert_eq!(ada.get(&typed).await.expect(200).json()["name"], "toolyard on laptop");
    ada.post(&path(&started), &json!({ "approve": true, "days": 7 })).await.expect(204);
    ada.post(&path(&started), &json!({ "approve": true })).await.expect(409);
    let token = redeem(&p, &started).await.expect(200).json();
    assert_eq!((&token["userId"], &token["role"]), (&json!("ada"), &json!("developer")));
    redeem(&p, &started).await.expect(401);
    let bearer = p.bearer(token["token"].as_str().unwrap());
    assert_eq!(bearer.get("/api/me").await.expect(200).json()["role"], "developer");
    let listed = bearer.get("/api/tokens").await.expect(200).json();
    assert_eq!(listed["tokens"][0]["name"], "toolyard on laptop");
}

#[tokio::test]
async fn a_program_gets_nothing_if_refused_late_or_disabled() {
    let (p, operator) = closed_server().await;
    let cookie = signed_in(&p, &operator, "ada", "user").await;
    let ada = browser(&p, &cookie);
    let refused = start(&p).await;
    ada.post(&path(&refused), &json!({ "approve": false })).await.expect(204);
    redeem(&p, &refused).await.expect(401);
    let late = start(&p).await;
    p.clock.advance(10 * 60);
    ada.post(&path(&late), &json!({ "approve": true })).await.expect(404);
    redeem(&p, &late).await.expect(401);
    let disabled = start(&p).await;
    ada.post(&path(&disabled), &json!({ "approve": true })).await.expect(204);
    p.bearer(&operator).patch("/api/users/ada", &json!({ "disabled": true })).await.expect(200);
    redeem(&p, &disabled).await.expect(401);
    let unknown = json!({ "deviceCode": "x".repeat(43) });
    redeem(&p, &unknown).await.expect(401);
}

#[tokio::test]
async fn only_a_person_in_a_browser_agrees_and_codes_cannot_be_guessed() {
    let (p, operator) = closed_server().await;
    let cookie = signed_in(&p, &operator, "ada", "user").await;
    let started = start(&p).await;
    for token in [p.token("ada", Role::User), operator.clone()] {
        p.bearer(&token).post(&path(&started), &json!({ "approve": true })).await.expect(403);
    }
    p.nobody().post(&path(&started), &json!({ "approve": true })).await.expect(401);
    let ada = browser(&p, &cookie);
    assert_eq!(ada.get("/api/device-logins/AEIO-UAEI").await.expect(400).code(), "INVALID_REQUEST");
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(ada.get("/api/device-logins/BCDF-GHJK").await.status.as_u16());
    }
    assert_eq!(statuses, [404, 404, 404, 404, 429, 429]);
    for name in ["", " ", &"x".repeat(101), "a\nb"] {
        p.nobody().post("/api/sign-in/device", &json!({ "name": name })).await.expect(400);
    }
    let days = json!({ "approve": true, "days": 91 });
    let bob = signed_in(&p, &operator, "bob", "user").await;
    let refused = browser(&p, &bob).post(&path(&started), &days).await.expect(400);
    assert!(refused.text.contains("1 to 90"), "{}", refused.text);
}
