//! Passkeys.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use super::{authenticator::Authenticator, cookie, sign_in_by_link};
use crate::{
    audit::{audit_actions, last_audit},
    platform::{Answer, Platform, tokens_only},
};

const ORIGIN: &str = "https://tools.example.com";

struct World {
    p: Platform,
    cookie: String,
}

impl World {
    /// A server behind HTTPS, with ada signed in.
    async fn start() -> Self {
        let p = Platform::with(|config| {
            tokens_only(config);
            config.server.public_url = Some(ORIGIN.to_owned());
        })
        .await;
        let cookie = sign_in(&p, "ada").await;
        Self { p, cookie }
    }

    fn ada(&self) -> crate::platform::Person<'_> {
        self.p.as_with(&[("cookie", &self.cookie), ("origin", ORIGIN)])
    }

    async fn add(&self, authenticator: &mut Authenticator, name: &str) -> Answer {
        let challenge = self.ada().post("/api/me/passkeys/challenge", &json!({})).await.expect(200).json();
        let credential = authenticator.create(&challenge["options"]);
        let request = json!({ "state": challenge["state"], "name": name, "credential": credential });
        self.ada().post("/api/me/passkeys", &request).await
    }

    async fn challenge(&self) -> Value {
        self.p.nobody().post("/api/sign-in/passkey/challenge", &json!({})).await.expect(200).json()
    }

    async fn sign_in(&self, authenticator: &mut Authenticator) -> Answer {
        let challenge = self.challenge().await;
        let credential = authenticator.get(&challenge["options"]);
        self.send(&challenge["state"], credential).await
    }

    async fn send(&self, state: &Value, credential: Value) -> Answer {
        let request = json!({ "state": state, "credential": credential });
        self.p.nobody().post("/api/sign-in/passkey", &request).await
    }
}

async fn sign_in(p: &Platform, user: &str) -> String {
    let operator = p.token("root", Role::Operator);
    let request = json!({ "userId": user, "invite": true });
    let created = p.bearer(&operator).post("/api/users", &request).await.expect(201).json();
    let code = created["link"]["url"].as_str().unwrap().split_once("#code=").unwrap().1.to_owned();
    cookie(&sign_in_by_link(p, &code).await.expect(200)).unwrap()
}

#[tokio::test]
async fn a_passkey_is_added_used_and_removed() {
    let world = World::start().await;
    let mut key = Authenticator::new(1, ORIGIN);
    let added = world.add(&mut key, "Laptop").await.expect(201).json();
    assert_eq!((&added["name"], &added["lastUsedAt"]), (&json!("Laptop"), &Value::Null));
    let answer = world.sign_in(&mut key).await.expect(200);
    assert_eq!(answer.json()["userId"], "ada");
    let session = cookie(&answer).unwrap();
    let me = world.p.as_with(&[("cookie", &session), ("origin", ORIGIN)]).get("/api/me").await.expect(200);
    assert_eq!(me.json()["session"]["method"], "passkey");
    let settings = world.ada().get("/api/me/sign-in").await.expect(200).json();
    assert!(settings["passkeys"][0]["lastUsedAt"].is_string(), "{settings}");

    assert!(world.add(&mut key, "Again").await.expect(409).text.contains("registered already"));
    let path = format!("/api/me/passkeys/{}", added["id"].as_str().unwrap());
    assert!(world.ada().delete(&path).await.expect(409).text.contains("only way to sign in"));
    world.add(&mut Authenticator::new(2, ORIGIN), "Phone").await.expect(201);
    world.ada().delete(&path).await.expect(204);
    world.ada().delete(&path).await.expect(404);
    let expected =
        ["account.signed_in", "passkey.added", "account.signed_in", "passkey.added", "passkey.removed"];
    let actions = audit_actions(&world.p).await;
    assert_eq!(actions[actions.len() - expected.len()..], expected);
    world.ada().put("/api/me/password", &json!({ "password": super::PASSWORD })).await.expect(204);
    world.ada().delete("/api/me/password").await.expect(204);
    last_audit(&world.p, "account.password_removed").await;
    assert_eq!(world.sign_in(&mut key).await.expect(401).code(), "SIGN_IN_FAILED");
    last_audit(&world.p, "account.sign_in_failed").await;
}

#[tokio::test]
async fn a_challenge_is_for_one_response_and_one_user_and_five_minutes() {
    let world = World::start().await;
    let mut key = Authenticator::new(1, ORIGIN);
    world.add(&mut key, "Laptop").await.expect(201);
    let challenge = world.challenge().await;
    let credential = key.get(&challenge["options"]);
    world.send(&challenge["state"], credential.clone()).await.expect(200);
    let replayed = world.send(&challenge["state"], credential.clone()).await.expect(400);
    assert!(replayed.text.contains("used before"), "{}", replayed.text);
    let other = world.challenge().await;
    world.send(&other["state"], credential).await.expect(401);
    let late = world.challenge().await;
    world.p.clock.advance(5 * 60);
    world.send(&late["state"], key.get(&late["options"])).await.expect(400);
    // A registration challenge of ada is none of bob's, and none for a sign-in.
    let registration = world.ada().post("/api/me/passkeys/challenge", &json!({})).await.expect(200).json();
    let bob = sign_in(&world.p, "bob").await;
    let mut new = Authenticator::new(3, ORIGIN);
    let request = json!({ "state": registration["state"], "name": "x", "credential": new.create(&registration["options"]) });
    let bob = world.p.as_with(&[("cookie", &bob), ("origin", ORIGIN)]);
    bob.post("/api/me/passkeys", &request).await.expect(400);
    let registration = world.ada().post("/api/me/passkeys/challenge", &json!({})).await.expect(200).json();
    let options = json!({ "challenge": registration["options"]["challenge"], "rpId": "tools.example.com" });
    world.send(&registration["state"], key.get(&options)).await.expect(400);
}

#[tokio::test]
async fn a_copied_or_foreign_key_does_not_sign_in() {
    let world = World::start().await;
    let mut key = Authenticator::new(1, ORIGIN);
    world.add(&mut key, "Laptop").await.expect(201);
    world.sign_in(&mut key).await.expect(200);
    key.sign_count = 0;
    world.sign_in(&mut key).await.expect(401);
    key.sign_count = 100;
    world.sign_in(&mut key).await.expect(200);
    // The same id with another key, and a page of another site.
    world.sign_in(&mut Authenticator::new(1, ORIGIN)).await.expect(401);
    key.origin = "https://tools.example.com.evil.example".to_owned();
    world.sign_in(&mut key).await.expect(401);
    for credential in [json!(null), json!({}), json!({ "id": "x" }), json!([])] {
        let challenge = world.challenge().await;
        world.send(&challenge["state"], credential).await.expect(400);
    }
}

#[tokio::test]
async fn adding_a_passkey_needs_a_recent_sign_in_and_has_a_limit() {
    let world = World::start().await;
    for number in 0..20 {
        world.add(&mut Authenticator::new(number, ORIGIN), "Key").await.expect(201);
    }
    world.add(&mut Authenticator::new(99, ORIGIN), "Key").await.expect(409);
    assert_eq!(
        world.add(&mut Authenticator::new(98, ORIGIN), " ").await.expect(400).code(),
        "INVALID_REQUEST"
    );
    world.p.clock.advance(16 * 60);
    let late = world.ada().post("/api/me/passkeys/challenge", &json!({})).await.expect(403);
    assert_eq!(late.code(), "SIGN_IN_AGAIN");
    let on_ip = Platform::with(tokens_only).await;
    let refused = on_ip.nobody().post("/api/sign-in/passkey/challenge", &json!({})).await.expect(403);
    assert!(refused.text.contains("host name"), "{}", refused.text);
}
