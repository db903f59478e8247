//! Tokens of an identity provider. A fake app plays the issuer: `/tool` serves its keys.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use toolyard_core::ports::Clock as _;
use toolyard_server::{auth::Role, config::OidcConfig};
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::platform::{Answer, Platform, tokens_only};

const ISSUER: &str = "https://accounts.example.com";

/// Base64url without padding, as tokens and keys use.
fn base64url(bytes: impl AsRef<[u8]>) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let group = |three: &[u8]| {
        let bits = three.iter().chain([&0; 2]).take(3).fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        let digits = [18, 12, 6, 0].map(|shift| char::from(DIGITS[bits >> shift & 63]));
        digits.into_iter().take(three.len() + 1).collect::<String>()
    };
    bytes.as_ref().chunks(3).map(group).collect()
}

/// A key pair of the issuer.
struct Key {
    kid: &'static str,
    algorithm: Algorithm,
    private: EncodingKey,
    public: Vec<u8>,
    jwk: Value,
}

impl Key {
    fn ed25519(kid: &'static str) -> Self {
        let pair = Ed25519KeyPair::generate().unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let jwk =
            json!({ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": kid, "x": base64url(&public) });
        let private = EncodingKey::from_ed_der(pair.to_pkcs8().unwrap().as_ref());
        Self { kid, algorithm: Algorithm::EdDSA, private, public, jwk }
    }

    fn p256(kid: &'static str) -> Self {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let (x, y) = (base64url(&public[1..33]), base64url(&public[33..]));
        let jwk = json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": kid, "x": x, "y": y });
        let private = EncodingKey::from_ec_der(document.as_ref());
        Self { kid, algorithm: Algorithm::ES256, private, public, jwk }
    }

    /// Without the name of the key.
    fn sign_unnamed(&self, claims: &Value) -> String {
        jsonwebtoken::encode(&Header::new(self.algorithm), claims, &self.private).unwrap()
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.kid.to_owned());
        jsonwebtoken::encode(&header, claims, &self.private).unwrap()
    }
}

struct World {
    p: Platform,
    issuer: FakeApp,
    key: Key,
}

impl World {
    async fn start(refetch_s: u64) -> Self {
        Self::configured(refetch_s, |_| {}).await
    }

    async fn configured(refetch_s: u64, change: impl FnOnce(&mut OidcConfig)) -> Self {
        let (issuer, key) = (FakeApp::start("issuer").await, Key::ed25519("one"));
        // Also a symmetric secret, published by mistake: everyone could sign with it.
        let oct = json!({ "kty": "oct", "alg": "HS256", "kid": "shared", "k": base64url("secret") });
        issuer.set_behavior(AppBehavior::Json(200, json!({ "keys": [key.jwk, oct] })));
        let jwks_url = issuer.url() + "/tool";
        let p = Platform::with(|config| {
            tokens_only(config);
            let mut oidc = OidcConfig {
                issuer: ISSUER.to_owned(),
                audience: "toolyard".to_owned(),
                jwks_url,
                user_claim: "email".to_owned(),
                require_email_verified: true,
                refetch_s,
            };
            change(&mut oidc);
            config.auth.oidc = Some(oidc);
        })
        .await;
        Self { p, issuer, key }
    }

    fn claims(&self) -> Value {
        let now = self.p.clock.now().as_second();
        json!({ "iss": ISSUER, "aud": "toolyard", "sub": "4711", "email": "Ada@Example.com", "email_verified": true,
            "iat": now, "exp": now + 60 })
    }

    fn claims_with(&self, member: &str, value: Value) -> Value {
        let mut claims = self.claims();
        claims[member] = value;
        claims
    }

    async fn session(&self, token: &str) -> Answer {
        self.p.bearer(token).get("/api/session").await
    }

    fn fetches(&self) -> usize {
        self.issuer.requests("/tool").len()
    }
}

#[tokio::test]
async fn a_token_of_the_issuer_identifies_a_user_and_gives_no_role() {
    let world = World::start(60).await;
    let token = world.key.sign(&world.claims());
    for _ in 0..3 {
        assert_eq!(world.session(&token).await.expect(200).json()["userId"], "ada@example.com");
    }
    assert_eq!(world.fetches(), 1, "keys are kept");
    let grabby = world.key.sign(&world.claims_with("role", json!("operator")));
    world.p.bearer(&grabby).get("/metrics").await.expect(403);
    world.p.bearer(&grabby).get("/api/apps").await.expect(403);
    // Such a login can be exchanged for a token, within the operator's limit.
    let request = json!({ "name": "x", "days": 365 });
    let issued = world.p.bearer(&token).post("/api/tokens", &request).await.expect(201).json();
    let expected = world.p.clock.now().as_second() + 90 * 24 * 60 * 60;
    let expires: jiff::Timestamp = issued["info"]["expiresAt"].as_str().unwrap().parse().unwrap();
    assert_eq!(expires.as_second(), expected);
    assert_eq!(issued["info"]["role"], "user");
    world.p.bearer(&token).get("/api/tokens").await.expect(200);
    // Our own tokens still work.
    world.session(&world.p.token("bob", Role::User)).await.expect(200);
}

#[tokio::test]
async fn every_claim_is_checked() {
    let world = World::start(60).await;
    let now = world.p.clock.now().as_second();
    let token = world.key.sign(&world.claims());
    world.session(&token).await.expect(200);
    for (member, value) in [
        ("exp", json!(now)),
        ("exp", json!(now - 1)),
        ("exp", Value::Null),
        ("exp", json!("never")),
        ("nbf", json!(now + 3_600)),
        ("aud", json!("another")),
        ("aud", json!(["another", "third"])),
        ("aud", Value::Null),
        ("iss", json!("https://evil.example")),
        ("iss", json!("toolyard")),
        ("iss", Value::Null),
        ("email", Value::Null),
        ("email", json!("a b")),
        ("email", json!(5)),
        ("email_verified", json!(false)),
        ("email_verified", json!("false")),
        ("email_verified", Value::Null),
        // KELVIN SIGN, a zero-width space, a decomposed letter.
        ("email", json!("\u{212a}ate@example.com")),
        ("email", json!("ada\u{200b}@example.com")),
        ("email", json!("jo\u{308}rg@example.com")),
    ] {
        let claims = world.claims_with(member, value);
        let answer = world.session(&world.key.sign(&claims)).await;
        assert_eq!(answer.status, 401, "{claims}: {}", answer.text);
    }
    for (member, value) in
        [("aud", json!(["another", "toolyard"])), ("nbf", json!(now)), ("email_verified", json!(true))]
    {
        world.session(&world.key.sign(&world.claims_with(member, value))).await.expect(200);
    }
    world.p.clock.advance(60);
    let late = world.session(&token).await.expect(401);
    assert!(late.text.contains("expired"), "{}", late.text);
}

#[tokio::test]
async fn symmetric_and_unsigned_tokens_are_refused() {
    let world = World::start(60).await;
    let encode = |part: &Value| base64url(part.to_string());
    let claims = world.claims();
    let mut forged = Vec::new();
    for none in ["none", "None", "NONE", ""] {
        let head = encode(&json!({ "alg": none, "typ": "JWT", "kid": "one" }));
        forged.push(format!("{head}.{}.", encode(&claims)));
    }
    let spki = [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00".as_slice(), &world.key.public].concat();
    let x = world.key.jwk["x"].as_str().unwrap().as_bytes();
    for secret in [world.key.public.as_slice(), &spki, x, b""] {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let mut header = Header::new(algorithm);
            header.kid = Some("one".to_owned());
            forged.push(jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(secret)).unwrap());
        }
    }
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("shared".to_owned());
    forged.push(jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(b"secret")).unwrap());
    // Another key under the id of the issuer's key, of the same and of another type.
    forged.push(Key::ed25519("one").sign(&claims));
    forged.push(Key::p256("one").sign(&claims));
    // The issuer's own signature under other claims.
    let signed = world.key.sign(&claims);
    let [head, _, signature] = signed.split('.').collect::<Vec<_>>()[..] else { panic!("{signed}") };
    forged.push(format!("{head}.{}.{signature}", encode(&world.claims_with("email", json!("eve")))));
    for token in forged {
        assert_eq!(world.session(&token).await.status, 401, "{token}");
    }
    world.session(&world.key.sign(&claims)).await.expect(200);
}

#[tokio::test]
async fn an_unknown_key_is_fetched_at_most_once_per_interval() {
    for (refetch_s, found) in [(0, true), (3_600, false)] {
        let world = World::start(refetch_s).await;
        world.session(&world.key.sign(&world.claims())).await.expect(200);
        let next = Key::p256("two");
        world.issuer.set_behavior(AppBehavior::Json(200, json!({ "keys": [world.key.jwk, next.jwk] })));
        let answer = world.session(&next.sign(&world.claims())).await;
        assert_eq!(
            (answer.status == 200, world.fetches()),
            (found, if found { 2 } else { 1 }),
            "{}",
            answer.text
        );
        world.session(&world.key.sign(&world.claims())).await.expect(200);
        assert_eq!(world.fetches(), if found { 2 } else { 1 }, "a known key needs no look");
    }
}

#[tokio::test]
async fn a_token_that_names_no_key_is_accepted_after_a_rotation() {
    let world = World::start(0).await;
    world.session(&world.key.sign_unnamed(&world.claims())).await.expect(200);
    let next = Key::ed25519("two");
    world.issuer.set_behavior(AppBehavior::Json(200, json!({ "keys": [next.jwk] })));
    world.session(&next.sign_unnamed(&world.claims())).await.expect(200);
    world.session(&world.key.sign_unnamed(&world.claims())).await.expect(401);
}

#[tokio::test]
async fn a_failed_fetch_keeps_the_known_keys() {
    let world = World::start(0).await;
    world.session(&world.key.sign(&world.claims())).await.expect(200);
    let huge = json!({ "keys": [world.key.jwk], "padding": "x".repeat(300_000) });
    for act in [
        AppBehavior::Json(500, json!({})),
        AppBehavior::Text(200, "text/html", "<p>".into()),
        AppBehavior::Json(200, huge),
        AppBehavior::Cut,
    ] {
        world.issuer.set_behavior(act);
        world.session(&Key::ed25519("unknown").sign(&world.claims())).await.expect(401);
        world.session(&world.key.sign(&world.claims())).await.expect(200);
    }
    assert_eq!(world.fetches(), 5);
}

#[tokio::test]
async fn an_email_must_be_verified_unless_the_operator_trusts_the_issuer() {
    let world = World::start(60).await;
    let mut claims = world.claims();
    claims.as_object_mut().unwrap().remove("email_verified");
    let refused = world.session(&world.key.sign(&claims)).await.expect(401);
    assert!(refused.text.contains("`require_email_verified = false`"), "{}", refused.text);

    let world = World::configured(60, |oidc| oidc.require_email_verified = false).await;
    let mut claims = world.claims();
    claims.as_object_mut().unwrap().remove("email_verified");
    world.session(&world.key.sign(&claims)).await.expect(200);
    claims["email_verified"] = json!(false);
    world.session(&world.key.sign(&claims)).await.expect(401);
}

#[tokio::test]
async fn subjects_that_differ_in_case_are_two_users() {
    let world = World::configured(60, |oidc| oidc.user_claim = "sub".to_owned()).await;
    let mut seen = std::collections::BTreeSet::new();
    for sub in ["ada", "Ada", "ADA", "^ada", "a^da"] {
        let token = world.key.sign(&world.claims_with("sub", json!(sub)));
        let user = world.session(&token).await.expect(200).json()["userId"].as_str().unwrap().to_owned();
        assert!(seen.insert(user.clone()), "{sub} is {user}, as another one is");
        // The id that an app sees names the same user on the way back.
        assert_eq!(user.parse::<toolyard_protocol::UserId>().unwrap().as_str(), user);
    }
    for sub in ["\u{212a}", "ada\u{200d}", " ada", "ada ", "a b", ""] {
        let token = world.key.sign(&world.claims_with("sub", json!(sub)));
        let refused = world.session(&token).await.expect(401);
        assert!(refused.text.contains("`sub`"), "{}", refused.text);
    }
}

#[tokio::test]
async fn a_key_verifies_only_what_the_issuer_publishes_it_for() {
    for (member, value, good) in [
        ("use", json!("sig"), true),
        ("use", json!("enc"), false),
        ("use", json!("other"), false),
        ("key_ops", json!(["verify"]), true),
        ("key_ops", json!(["sign", "verify"]), true),
        ("key_ops", json!(["encrypt"]), false),
        ("key_ops", json!([]), false),
        ("alg", json!("EdDSA"), true),
        ("alg", json!("ES256"), false),
        ("alg", json!("unheard-of"), false),
        ("x", json!(5), false),
    ] {
        let world = World::start(0).await;
        let mut jwk = world.key.jwk.clone();
        jwk[member] = value.clone();
        // An invalid key does not make the others unusable.
        let second = Key::p256("two");
        world
            .issuer
            .set_behavior(AppBehavior::Json(200, json!({ "keys": [5, { "kty": "new" }, jwk, second.jwk] })));
        let answer = world.session(&world.key.sign(&world.claims())).await;
        assert_eq!(answer.status == 200, good, "{member}: {value}: {}", answer.text);
        world.session(&second.sign(&world.claims())).await.expect(200);
    }
}
