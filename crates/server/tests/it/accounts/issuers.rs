//! Signing in at an identity provider.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, Header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolyard_core::ports::Clock as _;
use toolyard_server::{auth::Role, config::IssuerConfig};

use super::{browser, cookie, issuer::FakeIssuer, signed_in, with_password};
use crate::{
    audit::audit_actions,
    oauth::client::query,
    platform::{Answer, Platform, tokens_only},
};

struct World {
    p: Platform,
    issuer: FakeIssuer,
}

/// A sign-in that has reached the issuer.
struct Flow {
    cookie: String,
    state: String,
    nonce: String,
    challenge: String,
}

fn config(issuer: &FakeIssuer) -> IssuerConfig {
    serde_json::from_value(json!({
        "id": "corp", "name": "Example Corp", "issuer": issuer.url(), "client_id": "toolyard",
        "client_secret_env": "UPSTREAM_KEY", "allow_private_network": true,
        "rules": [
            { "claim": "groups", "value": "staff", "role": "user", "groups": ["everyone"] },
            { "claim": "groups", "value": "admins", "role": "operator", "groups": ["ops"] },
        ],
    }))
    .unwrap()
}

impl World {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut IssuerConfig)) -> Self {
        let issuer = FakeIssuer::start().await;
        let mut settings = config(&issuer);
        change(&mut settings);
        let p = Platform::with(|config| {
            tokens_only(config);
            config.sign_in.issuers = vec![settings];
        })
        .await;
        issuer.set_now(p.clock.now().as_second());
        issuer.set_claims(json!({ "groups": ["staff"] }));
        Self { p, issuer }
    }

    async fn begin(&self, return_to: &str) -> Flow {
        let answer = self.p.nobody().get(&format!("/sign-in/corp?return={return_to}")).await.expect(303);
        let location = answer.header("location");
        assert!(location.starts_with(&format!("{}/authorize?", self.issuer.url())), "{location}");
        let value = |name: &str| query(location, name).unwrap();
        assert_eq!(
            ["response_type", "client_id", "scope", "code_challenge_method"].map(value),
            ["code", "toolyard", "openid email profile", "S256"]
        );
        assert_eq!(value("redirect_uri"), format!("{}/sign-in/corp/callback", self.p.url));
        let set = answer.header("set-cookie");
        assert!(set.starts_with("toolyard-sign-in=") && set.contains("HttpOnly; SameSite=Lax"), "{set}");
        Flow {
            cookie: set.split(';').next().unwrap().to_owned(),
            state: value("state"),
            nonce: value("nonce"),
            challenge: value("code_challenge"),
        }
    }

    /// The browser returns from the issuer.
    async fn finish(&self, flow: &Flow, parameters: &[(&str, &str)]) -> Answer {
        let query = crate::oauth::client::form(parameters);
        let browser = self.p.as_with(&[("cookie", &flow.cookie)]);
        browser.get(&format!("/sign-in/corp/callback?{query}")).await.expect(303)
    }

    /// A whole sign-in, with these claims.
    async fn sign_in(&self, claims: Value) -> Answer {
        let flow = self.begin("/console/tools").await;
        let mut claims = claims;
        if claims.get("nonce").is_none() {
            claims["nonce"] = flow.nonce.clone().into();
        }
        self.issuer.set_claims(claims);
        self.finish(&flow, &[("code", "c0de"), ("state", &flow.state), ("iss", self.issuer.url())]).await
    }
}

/// Why nobody was signed in.
fn problem(answer: &Answer) -> String {
    assert!(cookie(answer).is_none(), "{answer:?}");
    query(answer.header("location"), "problem").unwrap_or_default()
}

#[tokio::test]
async fn a_person_of_an_issuer_signs_in_with_the_role_of_the_rules() {
    let world = World::start().await;
    let options = world.p.nobody().get("/api/sign-in").await.expect(200).json();
    assert_eq!(options["issuers"], json!([{ "id": "corp", "name": "Example Corp" }]));
    let answer = world.sign_in(json!({ "groups": ["staff"] })).await;
    assert_eq!(audit_actions(&world.p).await, ["user.created", "account.signed_in"]);
    assert_eq!(answer.header("location"), format!("{}/console/tools", world.p.url));
    let session = cookie(&answer).unwrap();
    let me = browser(&world.p, &session).get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["role"]), (&json!("ada@example.com"), &json!("user")));
    assert_eq!(me["account"], json!({ "email": "ada@example.com", "name": "Ada", "groups": ["everyone"] }));
    assert_eq!(me["session"]["method"], "issuer");
    let request = &world.issuer.requests()[0];
    assert_eq!((&request["code"], &request["grant_type"]), (&json!("c0de"), &json!("authorization_code")));
    assert_eq!(request["authorization"], "Basic dG9vbHlhcmQ6c2VzYW1l");

    // The rules decide at every sign-in; operators cannot override them.
    let answer = world.sign_in(json!({ "groups": ["staff", "admins"] })).await;
    browser(&world.p, &session).get("/api/me").await.expect(401);
    let session = cookie(&answer).unwrap();
    let ada = browser(&world.p, &session);
    let account = ada.get("/api/users/ada@example.com").await.expect(200).json();
    assert_eq!(
        (&account["role"], &account["groups"], &account["managedBy"]),
        (&json!("operator"), &json!(["everyone", "ops"]), &json!("Example Corp"))
    );
    let root = world.p.token("root", Role::Operator);
    let change = json!({ "role": "user" });
    let refused = world.p.bearer(&root).patch("/api/users/ada@example.com", &change).await.expect(409);
    assert!(refused.text.contains("`corp`") && refused.text.contains("sign_in.issuers"), "{}", refused.text);
    // The same subject is the same person, also with another address.
    signed_in(&world.p, &root, "ruth", "operator").await;
    let answer = world.sign_in(json!({ "groups": ["staff"], "email": "ada@new.example" })).await;
    let me = browser(&world.p, &cookie(&answer).unwrap()).get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["role"]), (&json!("ada@example.com"), &json!("user")));
}

#[tokio::test]
async fn whom_no_rule_admits_is_refused() {
    let world = World::start().await;
    for claims in [
        json!({}),
        json!({ "groups": [] }),
        json!({ "groups": "Staff" }),
        json!({ "groups": ["staffs"] }),
        json!({ "groups": { "staff": true } }),
        json!({ "groups": ["staff"], "email_verified": false }),
        json!({ "groups": ["staff"], "email_verified": "true" }),
        json!({ "groups": ["staff"], "email_verified": null }),
        json!({ "groups": ["staff"], "email": null }),
    ] {
        let answer = world.sign_in(claims.clone()).await;
        assert_eq!(problem(&answer), "not-allowed", "{claims}");
    }
    let root = world.p.token("root", Role::Operator);
    let users = world.p.bearer(&root).get("/api/users").await.expect(200).json();
    assert_eq!(users["users"], json!([]), "nothing was created");
}

#[tokio::test]
async fn a_false_id_token_signs_nobody_in() {
    let world = World::start().await;
    let now = world.p.clock.now().as_second();
    for (what, claims) in [
        ("another nonce", json!({ "groups": ["staff"], "nonce": "another" })),
        ("another issuer", json!({ "groups": ["staff"], "iss": "https://evil.example" })),
        ("another client", json!({ "groups": ["staff"], "aud": "another" })),
        ("several clients", json!({ "groups": ["staff"], "aud": ["toolyard", "another"] })),
        ("another party", json!({ "groups": ["staff"], "azp": "another" })),
        ("expired", json!({ "groups": ["staff"], "exp": now - 61 })),
        ("from the future", json!({ "groups": ["staff"], "iat": now + 61 })),
        ("no subject", json!({ "groups": ["staff"], "sub": null })),
        ("no expiry", json!({ "groups": ["staff"], "exp": null })),
    ] {
        assert_eq!(problem(&world.sign_in(claims).await), "failed", "{what}");
    }
    // Signed with the published key as if it were a secret, and with a key that is not published.
    let mut confused = Header::new(Algorithm::HS256);
    confused.kid = Some("one".to_owned());
    world.issuer.set_algorithm(confused);
    assert_eq!(problem(&world.sign_in(json!({ "groups": ["staff"] })).await), "failed");
    let mut unknown = Header::new(Algorithm::EdDSA);
    unknown.kid = Some("two".to_owned());
    world.issuer.set_algorithm(unknown);
    assert_eq!(problem(&world.sign_in(json!({ "groups": ["staff"] })).await), "failed");
}

#[tokio::test]
async fn a_response_counts_only_in_the_browser_that_asked() {
    let world = World::start().await;
    let flow = world.begin("/console/").await;
    world.issuer.set_claims(json!({ "groups": ["staff"], "nonce": flow.nonce }));
    let iss = world.issuer.url();
    let other = world.begin("/console/").await;
    let stolen = Flow { cookie: other.cookie, ..world.begin("/console/").await };
    let good = [("code", "c"), ("state", flow.state.as_str()), ("iss", iss)];
    // Someone else's link: the victim's browser has another flow, or none.
    assert_eq!(problem(&world.finish(&stolen, &good).await), "expired");
    let callback = format!("/sign-in/corp/callback?{}", crate::oauth::client::form(&good));
    assert_eq!(problem(&world.p.nobody().get(&callback).await.expect(303)), "expired");
    let wrong = [("code", "c"), ("state", "wrong"), ("iss", iss)];
    assert_eq!(problem(&world.finish(&flow, &wrong).await), "expired");
    // Another provider, or one that should name itself and does not.
    let mixed = [("code", "c"), ("state", flow.state.as_str()), ("iss", "https://evil.example")];
    assert_eq!(problem(&world.finish(&flow, &mixed).await), "failed");
    assert_eq!(problem(&world.finish(&flow, &good[..2]).await), "failed");
    let denied = [("error", "access_denied"), ("state", flow.state.as_str()), ("iss", iss)];
    assert_eq!(problem(&world.finish(&flow, &denied).await), "denied");
    assert!(world.issuer.requests().is_empty(), "no code was sent anywhere");
    // The right one, with the verifier of this flow.
    let answer = world.finish(&flow, &good).await;
    assert!(cookie(&answer).is_some(), "{answer:?}");
    let verifier = world.issuer.requests()[0]["code_verifier"].as_str().unwrap().to_owned();
    assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)), flow.challenge);
    world.p.clock.advance(10 * 60);
    assert_eq!(problem(&world.finish(&flow, &good).await), "expired");
}

#[tokio::test]
async fn redirects_lead_only_to_pages_of_the_console() {
    let world = World::start().await;
    for bad in ["https://evil.example/", "//evil.example/console/", "/api/me", "/console/%5Cevil"] {
        let flow = world.begin(bad).await;
        world.issuer.set_claims(json!({ "groups": ["staff"], "nonce": flow.nonce }));
        let good = [("code", "c"), ("state", flow.state.as_str()), ("iss", world.issuer.url())];
        let answer = world.finish(&flow, &good).await;
        assert_eq!(answer.header("location"), format!("{}/console/", world.p.url), "{bad}");
    }
    world.p.nobody().get("/sign-in/other").await.expect(404);
    world.p.nobody().get("/sign-in/other/callback?code=c").await.expect(404);
}

#[tokio::test]
async fn an_account_that_signs_in_otherwise_is_not_taken_over() {
    let world = World::start().await;
    let root = world.p.token("root", Role::Operator);
    with_password(&world.p, &root, "ada@example.com").await;
    assert_eq!(problem(&world.sign_in(json!({ "groups": ["staff"] })).await), "taken");
    // One that an operator prepared, and nobody uses yet, is linked.
    let request = json!({ "userId": "bob@example.com", "role": "developer" });
    world.p.bearer(&root).post("/api/users", &request).await.expect(201);
    let claims = json!({ "groups": ["staff"], "sub": "subject-2", "email": "bob@example.com" });
    let answer = world.sign_in(claims.clone()).await;
    let me = browser(&world.p, &cookie(&answer).unwrap()).get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["role"]), (&json!("bob@example.com"), &json!("user")), "the rules decide");
    let other = json!({ "groups": ["staff"], "sub": "subject-3", "email": "bob@example.com" });
    assert_eq!(problem(&world.sign_in(other).await), "taken", "another person with the same address");
    world.p.bearer(&root).patch("/api/users/bob@example.com", &json!({ "disabled": true })).await.expect(200);
    assert_eq!(problem(&world.sign_in(claims).await), "disabled");
}

#[tokio::test]
async fn an_account_of_an_issuer_has_no_other_way_in_and_ends_with_its_admission() {
    let world = World::start().await;
    let answer = world.sign_in(json!({ "groups": ["staff"] })).await;
    let session = cookie(&answer).unwrap();
    let ada = browser(&world.p, &session);
    let refused = ada.put("/api/me/password", &json!({ "password": super::PASSWORD })).await.expect(409);
    assert!(refused.text.contains("managed by the issuer `corp`"), "{}", refused.text);
    let issued = ada.post("/api/tokens", &json!({ "name": "cli" })).await.expect(201).json();
    let token = issued["token"].as_str().unwrap().to_owned();
    world.p.bearer(&token).get("/api/me").await.expect(200);
    assert_eq!(problem(&world.sign_in(json!({ "groups": ["guests"] })).await), "not-allowed");
    ada.get("/api/me").await.expect(401);
    world.p.bearer(&token).get("/api/me").await.expect(401);
    // One who was signed in by a link only is not taken over either.
    let root = world.p.token("root", Role::Operator);
    signed_in(&world.p, &root, "bob@example.com", "user").await;
    let claims = json!({ "groups": ["staff"], "sub": "subject-2", "email": "bob@example.com" });
    assert_eq!(problem(&world.sign_in(claims).await), "taken");
}

#[tokio::test]
async fn a_browser_that_is_signed_in_signs_in_again_at_an_issuer() {
    let world = World::start().await;
    let first = cookie(&world.sign_in(json!({ "groups": ["staff"] })).await).unwrap();
    let flow = world.begin("/console/").await;
    world.issuer.set_claims(json!({ "groups": ["staff"], "nonce": flow.nonce }));
    let pairs = [("code", "c"), ("state", flow.state.as_str()), ("iss", world.issuer.url())];
    // The browser comes from the issuer's site and sends both cookies.
    let cookies = format!("{first}; {}", flow.cookie);
    let returning = world.p.as_with(&[("cookie", &cookies), ("sec-fetch-site", "cross-site")]);
    let path = format!("/sign-in/corp/callback?{}", crate::oauth::client::form(&pairs));
    let second = cookie(&returning.get(&path).await.expect(303)).unwrap();
    browser(&world.p, &second).get("/api/me").await.expect(200);
    browser(&world.p, &first).get("/api/me").await.expect(401);
    // A code is exchanged once for one beginning.
    let again = returning.get(&path).await.expect(303);
    assert_eq!(problem(&again), "expired");
    assert_eq!(world.issuer.requests().len(), 2);
}

#[tokio::test]
async fn claims_of_the_userinfo_endpoint_count_if_the_id_token_lacks_them() {
    let world = World::start().await;
    world.issuer.set_userinfo(json!({ "sub": "subject-1", "groups": ["staff"], "email": "eve@example.com" }));
    let answer = world.sign_in(json!({})).await;
    let me = browser(&world.p, &cookie(&answer).unwrap()).get("/api/me").await.expect(200).json();
    assert_eq!(me["name"], "ada@example.com", "what is signed wins");
    world.issuer.set_userinfo(json!({ "sub": "subject-9", "groups": ["admins"] }));
    assert_eq!(problem(&world.sign_in(json!({})).await), "unreachable", "about someone else");
}

#[tokio::test]
async fn an_issuer_on_a_private_network_has_to_be_allowed() {
    let world = World::with(|config| config.allow_private_network = false).await;
    let answer = world.p.nobody().get("/sign-in/corp").await.expect(303);
    assert_eq!(problem(&answer), "unreachable");
    let wrong = World::with(|config| config.issuer += "/").await;
    assert_eq!(problem(&wrong.p.nobody().get("/sign-in/corp").await.expect(303)), "unreachable");
}
