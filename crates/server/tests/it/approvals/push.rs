//! Browsers are notified of questions: encrypted for them, and signed by this server.

use aws_lc_rs::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree},
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as VerifyingKey},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use toolyard_server::{auth::Role, config::Config};
use toolyard_testkit::{AppBehavior, FakeApp, RecordedAppRequest};

use super::{answer, delete, pending_id, start};
use crate::platform::{Device, Platform, tokens_only};

/// A browser, with its path at the push service.
struct Browser {
    private_key: PrivateKey,
    auth_secret: [u8; 16],
    path: String,
}

struct KeyLength(usize);

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand(key: &Prk, info: &[&[u8]], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    key.expand(info, KeyLength(length)).unwrap().fill(&mut out).unwrap();
    out
}

impl Browser {
    fn new(number: u8) -> Self {
        let private_key = PrivateKey::from_private_key(&ECDH_P256, &[number; 32]).unwrap();
        Self { private_key, auth_secret: [number; 16], path: format!("/push/{number}") }
    }

    fn public_key(&self) -> Vec<u8> {
        self.private_key.compute_public_key().unwrap().as_ref().to_vec()
    }

    /// What the browser's `PushSubscription.toJSON()` returns.
    fn subscription(&self, service: &FakeApp) -> Value {
        json!({ "endpoint": format!("{}{}", service.url(), self.path), "expirationTime": null,
            "label": "Chrome on Linux", "keys": {
                "p256dh": BASE64_URL_SAFE_NO_PAD.encode(self.public_key()),
                "auth": BASE64_URL_SAFE_NO_PAD.encode(self.auth_secret) } })
    }

    /// Decrypts a message: the other side of RFC 8291.
    fn read(&self, request: &RecordedAppRequest) -> Value {
        let (salt, rest) = request.raw.split_at(16);
        let (record_bytes, rest) = rest.split_at(4);
        assert_eq!(record_bytes, 4_096_u32.to_be_bytes());
        let (sender_key, record) = rest[1..].split_at(usize::from(rest[0]));
        let peer = UnparsedPublicKey::new(&ECDH_P256, sender_key);
        let material = agree(&self.private_key, peer, (), |shared| {
            let key = Salt::new(HKDF_SHA256, &self.auth_secret).extract(shared);
            Ok(expand(&key, &[b"WebPush: info\0", &self.public_key(), sender_key], 32))
        });
        let key = Salt::new(HKDF_SHA256, salt).extract(&material.unwrap());
        let nonce = expand(&key, &[b"Content-Encoding: nonce\0"], 12).try_into().unwrap();
        let key = expand(&key, &[b"Content-Encoding: aes128gcm\0"], 16);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut record = record.to_vec();
        let plain = key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record);
        let [message @ .., 2] = &*plain.unwrap() else { panic!("the last record ends with 2") };
        serde_json::from_slice(message).unwrap()
    }
}

fn header<'a>(request: &'a RecordedAppRequest, name: &str) -> &'a str {
    request.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn allow_loopback(config: &mut Config) {
    config.net.web_allow = vec!["127.0.0.0/8".to_owned()];
}

/// A push service that accepts messages of these browsers.
async fn push_service(browsers: &[&Browser]) -> FakeApp {
    let service = FakeApp::start("com.example.push").await;
    for browser in browsers {
        service.set_path_behavior(&browser.path, AppBehavior::Json(201, json!({})));
    }
    service
}

async fn subscribe(p: &Platform, user: &str, service: &FakeApp, browser: &Browser) -> Value {
    let body = browser.subscription(service);
    p.user(user).post("/api/push/subscriptions", &body).await.expect(201).json()
}

async fn subscriptions(p: &Platform, user: &str) -> Vec<Value> {
    p.user(user).get("/api/push").await.expect(200).json()["subscriptions"].as_array().unwrap().clone()
}

async fn started() -> (Platform, FakeApp, Device) {
    start(allow_loopback).await
}

#[tokio::test]
async fn a_question_and_its_answer_reach_all_browsers_of_the_user() {
    let (p, _app, _device) = started().await;
    let (desk, phone, bobs) = (Browser::new(1), Browser::new(2), Browser::new(3));
    let service = push_service(&[&desk, &phone, &bobs]).await;
    for (user, browser) in [("ada", &desk), ("ada", &phone), ("bob", &bobs)] {
        subscribe(&p, user, &service, browser).await;
    }
    let id = pending_id(delete(&p, "milk").await);
    for browser in [&desk, &phone] {
        let request = &service.wait_requests(&browser.path, 1).await[0];
        let message = browser.read(request);
        let url = format!("{}/console/approvals/{id}", p.state.base_url());
        assert_eq!(
            (&message["type"], &message["id"], &message["url"], &message["title"]),
            (&json!("approval.requested"), &json!(id), &json!(url), &json!("Notes: Delete a note"))
        );
        assert!(
            message["body"].as_str().unwrap().starts_with("Note (id): milk\nforever: false"),
            "{message}"
        );
        assert_eq!(header(request, "content-encoding"), "aes128gcm");
        assert_eq!((header(request, "urgency"), header(request, "ttl")), ("high", "86400"));
        assert_eq!(header(request, "topic").len(), 32);
    }
    answer(&p.user("ada"), &id, "deny").await.expect(200);
    let requests = service.wait_requests(&phone.path, 2).await;
    let message = phone.read(&requests[1]);
    assert_eq!(
        (&message["type"], &message["id"], &message["body"]),
        (&json!("approval.answered"), &json!(id), &json!("Denied."))
    );
    assert_eq!(header(&requests[0], "topic"), header(&requests[1], "topic"), "it replaces the question");
    assert!(service.requests(&bobs.path).is_empty(), "bob's browser is bob's");
}

#[tokio::test]
async fn messages_are_signed_with_the_key_that_browsers_subscribe_with() {
    let (p, _app, _device) = start(|config| {
        allow_loopback(config);
        config.approvals.push_contact = Some("mailto:ops@example.com".to_owned());
    })
    .await;
    let desk = Browser::new(1);
    let service = push_service(&[&desk]).await;
    subscribe(&p, "ada", &service, &desk).await;
    let report = p.user("ada").post("/api/push/test", &json!({})).await.expect(200).json();
    assert_eq!(report, json!({ "sent": 1, "failed": 0 }));
    let request = &service.requests(&desk.path)[0];
    assert_eq!(desk.read(request)["type"], "test");
    let (token, key) = header(request, "authorization")
        .strip_prefix("vapid t=")
        .and_then(|rest| rest.split_once(", k="))
        .unwrap();
    assert_eq!(key, p.user("ada").get("/api/push").await.json()["publicKey"]);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    VerifyingKey::new(&ECDSA_P256_SHA256_FIXED, decode(key))
        .verify(signed.as_bytes(), &decode(signature))
        .unwrap();
    let claims: Value = serde_json::from_slice(&decode(signed.split_once('.').unwrap().1)).unwrap();
    assert_eq!((&claims["aud"], &claims["sub"]), (&json!(service.url()), &json!("mailto:ops@example.com")));
    let now = toolyard_core::ports::Clock::now(&*p.clock).as_second();
    assert_eq!(claims["exp"], now + 12 * 60 * 60);
    assert!(subscriptions(&p, "ada").await[0]["lastSentAt"].is_string());
}

#[tokio::test]
async fn a_browser_belongs_to_the_user_who_subscribed_last_and_can_be_removed() {
    let (p, _app, _device) = started().await;
    let desk = Browser::new(1);
    let service = push_service(&[&desk]).await;
    let added = subscribe(&p, "ada", &service, &desk).await;
    let host = service.url().replace("http://", "");
    assert_eq!((&added["label"], &added["host"]), (&json!("Chrome on Linux"), &json!(host)));
    assert_eq!(subscribe(&p, "bob", &service, &desk).await["id"], added["id"]);
    assert_eq!((subscriptions(&p, "ada").await.len(), subscriptions(&p, "bob").await.len()), (0, 1));
    let path = format!("/api/push/subscriptions/{}", added["id"].as_str().unwrap());
    p.user("ada").delete(&path).await.expect(404);
    p.user("bob").delete(&path).await.expect(204);
    p.user("bob").delete(&path).await.expect(404);
    p.user("bob").delete("/api/push/subscriptions/nonsense").await.expect(404);

    // The oldest makes room.
    for number in 1..=21 {
        p.clock.advance(1);
        subscribe(&p, "ada", &service, &Browser::new(number)).await;
    }
    let left = subscriptions(&p, "ada").await;
    assert_eq!(left.len(), 20);
    assert!(left.iter().all(|one| one["id"] != added["id"]));
}

#[tokio::test]
async fn a_browser_that_unsubscribed_is_removed_and_a_failing_service_is_tried_again() {
    let (p, _app, _device) = started().await;
    let (gone, busy, refusing) = (Browser::new(1), Browser::new(2), Browser::new(3));
    let service = push_service(&[&gone, &busy, &refusing]).await;
    for browser in [&gone, &busy, &refusing] {
        subscribe(&p, "ada", &service, browser).await;
    }
    service.set_path_behavior(&gone.path, AppBehavior::Json(410, json!({})));
    service.set_path_behavior(&busy.path, AppBehavior::Json(503, json!({})));
    service.set_path_behavior(&refusing.path, AppBehavior::Json(403, json!({})));
    let (ada, nothing) = (p.user("ada"), json!({}));
    let test = ada.post("/api/push/test", &nothing);
    let recover = async {
        service.wait_requests(&busy.path, 1).await;
        service.set_path_behavior(&busy.path, AppBehavior::Json(201, json!({})));
    };
    let (report, ()) = tokio::join!(test, recover);
    assert_eq!(report.expect(200).json(), json!({ "sent": 1, "failed": 2 }));
    assert_eq!(service.requests(&refusing.path).len(), 1, "a refusal is final");
    let left = subscriptions(&p, "ada").await;
    let problems: Vec<_> = left.iter().map(|one| one["problem"].as_str().unwrap_or_default()).collect();
    assert_eq!(left.len(), 2);
    assert!(problems.contains(&"the push service responded with 403 Forbidden"), "{problems:?}");
    assert!(problems.contains(&""), "the busy one accepted it in the end");
}

#[tokio::test]
async fn a_browser_keeps_working_while_the_root_key_is_rotated() {
    let (old, new) = ("11".repeat(32), "22".repeat(32));
    let (p, _app, _device) = start(|config| {
        allow_loopback(config);
        config.auth.root_key = Some(old.clone());
    })
    .await;
    let desk = Browser::new(1);
    let service = push_service(&[&desk]).await;
    subscribe(&p, "ada", &service, &desk).await;
    let key = p.user("ada").get("/api/push").await.json()["publicKey"].clone();
    let p = p
        .restart_with(|config| {
            config.auth.root_key = Some(new.clone());
            config.auth.old_root_key = Some(old.clone());
        })
        .await;
    assert_ne!(p.user("ada").get("/api/push").await.json()["publicKey"], key);
    let report = p.user("ada").post("/api/push/test", &json!({})).await.expect(200).json();
    assert_eq!(report["sent"], 1, "signed with the key that it subscribed with");
    let p = p.restart_with(|config| config.auth.old_root_key = None).await;
    let report = p.user("ada").post("/api/push/test", &json!({})).await.expect(200).json();
    assert_eq!((&report["sent"], service.requests(&desk.path).len()), (&json!(0), 1));
    let problem = subscriptions(&p, "ada").await[0]["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("no longer has"), "{problem}");
}

#[tokio::test]
async fn invalid_browsers_are_refused_with_the_reason() {
    let (p, _app, _device) = start(|_| {}).await;
    let desk = Browser::new(1);
    let good = json!({ "endpoint": "https://push.example/send/1", "keys": {
        "p256dh": BASE64_URL_SAFE_NO_PAD.encode(desk.public_key()), "auth": "BTBZMqHH6r4Tts7J_aSIgg==" } });
    let added = p.user("ada").post("/api/push/subscriptions", &good).await.expect(201).json();
    assert_eq!(added["label"], "push.example", "a browser without a label");
    let cases = [
        ("/endpoint", json!("http://push.example/send/1"), "endpoint: a push service has an https URL"),
        ("/endpoint", json!("https://127.0.0.1/send"), "endpoint: address 127.0.0.1 is"),
        ("/endpoint", json!(format!("https://push.example/{}", "a".repeat(9_000))), "endpoint: "),
        ("/endpoint", json!("nonsense"), "endpoint: "),
        ("/keys/p256dh", json!("AAAA"), "keys.p256dh: expected 65 bytes in base64url"),
        (
            "/keys/p256dh",
            json!(BASE64_URL_SAFE_NO_PAD.encode([7; 65])),
            "keys.p256dh: expected an uncompressed",
        ),
        ("/keys/auth", json!("*"), "keys.auth: expected 16 bytes in base64url"),
    ];
    for (place, value, expected) in cases {
        let mut body = good.clone();
        *body.pointer_mut(place).unwrap() = value;
        let refused = p.user("ada").post("/api/push/subscriptions", &body).await.expect(400);
        assert!(refused.text.contains(expected), "{place}: {}", refused.text);
    }
    let mut labelled = good.clone();
    labelled["label"] = json!(format!("\u{202e}{}", "é".repeat(200)));
    let added = p.user("ada").post("/api/push/subscriptions", &labelled).await.expect(201).json();
    assert_eq!(added["label"], format!("{}…", "é".repeat(100)));
}

#[tokio::test]
async fn only_the_user_subscribes_and_the_operator_can_switch_it_off() {
    let p = Platform::with(tokens_only).await;
    let operator = p.token("root", Role::Operator);
    let body = Browser::new(1).subscription(&FakeApp::start("com.example.push").await);
    let authorization = format!("Bearer {operator}");
    let for_ada = [("authorization", authorization.as_str()), ("x-user-id", "ada")];
    let refused = p.as_with(&for_ada).post("/api/push/subscriptions", &body).await.expect(403);
    assert!(refused.text.contains("only the user"), "{}", refused.text);
    p.as_with(&for_ada).post("/api/push/test", &json!({})).await.expect(403);

    let (p, _app, _device) = start(|config| config.approvals.push = false).await;
    assert_eq!(p.user("ada").get("/api/push").await.expect(200).json()["publicKey"], Value::Null);
    let refused = p.user("ada").post("/api/push/subscriptions", &body).await.expect(503);
    assert!(refused.text.contains("approvals.push"), "{}", refused.text);
}
