//! Tokens that no person is asked about: programs of the operator, and identity assertions of a company.

use serde_json::{Value, json};
use toolyard_core::ports::Clock as _;
use toolyard_server::{
    auth::Role,
    config::{IssuerConfig, OAuthClientConfig},
};

use super::client::{form, post_form, query};
use crate::{
    accounts::issuer::FakeIssuer,
    audit::audit_actions,
    platform::{Answer, Platform, tokens_only},
};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

fn client(details: Value) -> OAuthClientConfig {
    let mut entry = json!({ "id": "robot", "name": "Robot", "secret_env": "UPSTREAM_KEY" });
    entry.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    serde_json::from_value(entry).unwrap()
}

async fn with_client(details: Value) -> Platform {
    Platform::with(|config| {
        tokens_only(config);
        config.oauth.clients = vec![client(details)];
    })
    .await
}

/// The secret of the client is in the form.
async fn ask(p: &Platform, more: &[(&str, &str)]) -> Answer {
    let pairs = [&[("client_id", "robot"), ("client_secret", "sesame")], more].concat();
    post_form(p, "/oauth/token", &pairs).await
}

#[tokio::test]
async fn a_program_acts_for_its_user_without_a_person() {
    let p = with_client(json!({ "acts_for": "bot", "scopes": ["tools:read"], "access_token_s": 600 })).await;
    let metadata = p.nobody().get("/.well-known/oauth-authorization-server").await.expect(200).json();
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&json!("client_credentials")));
    let grant = ("grant_type", "client_credentials");
    let issued = ask(&p, &[grant]).await.expect(200).json();
    assert_eq!(
        (&issued["scope"], &issued["expires_in"], &issued["refresh_token"]),
        (&json!("tools:read"), &json!(600), &Value::Null)
    );
    let bearer = p.bearer(issued["access_token"].as_str().unwrap());
    bearer.get("/api/tools").await.expect(200);
    bearer.get("/api/users").await.expect(403);
    // The same connection again; it is the user's to see, and an operator's to end.
    let again = ask(&p, &[grant]).await.expect(200).json();
    assert_eq!(audit_actions(&p).await, ["client.connected"], "once");
    let operator = p.token("root", Role::Operator);
    let listed = p.bearer(&operator).header("x-user-id", "bot").get("/api/clients").await.expect(200).json();
    assert_eq!(
        (listed["clients"].as_array().map(Vec::len), &listed["clients"][0]["name"]),
        (Some(1), &json!("Robot"))
    );
    p.bearer(&operator).patch("/api/users/bot", &json!({ "disabled": true })).await.expect(200);
    for token in [&issued, &again] {
        p.bearer(token["access_token"].as_str().unwrap()).get("/api/tools").await.expect(401);
    }
    assert_eq!(ask(&p, &[grant]).await.expect(400).json()["error"], "invalid_grant");
}

#[tokio::test]
async fn a_program_gets_no_more_than_the_operator_wrote() {
    let p = with_client(json!({ "acts_for": "bot", "scopes": ["tools:read"] })).await;
    let grant = ("grant_type", "client_credentials");
    for (more, error) in [
        (vec![grant, ("scope", "tools:destructive")], "invalid_scope"),
        (vec![grant, ("resource", "https://other.example/mcp")], "invalid_target"),
        (vec![("grant_type", "password")], "unsupported_grant_type"),
    ] {
        let answer = ask(&p, &more).await;
        assert!(answer.status.is_client_error(), "{more:?}");
        assert_eq!(answer.json()["error"], error, "{more:?}");
    }
    let wrong = [("client_id", "robot"), ("client_secret", "wrong"), grant];
    assert_eq!(post_form(&p, "/oauth/token", &wrong).await.expect(401).json()["error"], "invalid_client");
    let none = [("client_id", "robot"), grant];
    assert_eq!(post_form(&p, "/oauth/token", &none).await.expect(401).json()["error"], "invalid_client");
    // One that may not act alone, and one that registered itself.
    let p = with_client(json!({ "redirect_uris": ["https://robot.example/cb"] })).await;
    assert_eq!(ask(&p, &[grant]).await.expect(400).json()["error"], "unauthorized_client");
    let metadata = p.nobody().get("/.well-known/oauth-authorization-server").await.expect(200).json();
    assert!(!metadata["grant_types_supported"].as_array().unwrap().contains(&json!("client_credentials")));
}

#[tokio::test]
async fn a_client_of_the_operator_is_connected_by_its_users() {
    let p = with_client(json!({ "redirect_uris": ["https://robot.example/cb"] })).await;
    let client = super::Client::with_id(&p, "robot", "https://robot.example/cb");
    let asked = client.authorize(&client.parameters("tools:read")).await.expect(302);
    let request = query(asked.header("location"), "request").unwrap();
    let ada = p.token("ada", Role::User);
    let info = p.bearer(&ada).get(&format!("/api/oauth/consent?{}", form(&[("request", &request)]))).await;
    let info = info.expect(200).json();
    assert_eq!(
        (&info["client"]["name"], &info["client"]["kind"]),
        (&json!("Robot"), &json!("preregistered"))
    );
    let decision = json!({ "request": request, "approve": true, "scopes": ["tools:read"] });
    let decided = p.bearer(&ada).post("/api/oauth/consent", &decision).await.expect(200).json();
    let code = query(decided["redirect"].as_str().unwrap(), "code").unwrap();
    assert!(!code.is_empty());
}

#[tokio::test]
async fn mistakes_in_the_configuration_prevent_the_start() {
    for (details, why) in [
        (json!({ "acts_for": "bot", "secret_env": null }), "must prove who it is"),
        (json!({ "secret_env": "NOT_SET" }), "NOT_SET is not set"),
        (json!({ "id": "https://robot.example/client.json" }), "choose a name"),
        (json!({ "redirect_uris": ["http://robot.example/cb"] }), "redirect_uris"),
        (json!({ "acts_for": "bot", "scopes": ["everything"] }), "not a scope"),
        (json!({ "keys_url": "ftp://robot.example" }), "keys_url"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut config = toolyard_server::config::Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("t.db");
        config.oauth.clients = vec![client(details.clone())];
        let environment = [("UPSTREAM_KEY".to_owned(), "sesame".to_owned())];
        let deps = toolyard_server::ServerDependencies::with_environment(&environment);
        let error = toolyard_server::Server::start(config, deps).await.err().expect("a mistake").to_string();
        assert!(error.contains("oauth.clients[0].") && error.contains(why), "{details}: {error}");
    }
}

struct World {
    p: Platform,
    issuer: FakeIssuer,
}

impl World {
    /// A company whose assertions are accepted, and ada, whom it manages.
    async fn start() -> Self {
        let issuer = FakeIssuer::start().await;
        let settings: IssuerConfig = serde_json::from_value(json!({
            "id": "corp", "name": "Example Corp", "issuer": issuer.url(), "client_id": "toolyard",
            "allow_private_network": true, "identity_assertions": true, "rules": [{ "role": "user" }],
        }))
        .unwrap();
        let p = Platform::with(|config| {
            tokens_only(config);
            config.oauth.clients = vec![client(json!({ "redirect_uris": ["https://robot.example/cb"] }))];
            config.sign_in.issuers = vec![settings];
        })
        .await;
        issuer.set_now(p.clock.now().as_second());
        let world = Self { p, issuer };
        world.sign_in().await;
        world
    }

    /// Ada signs in once, so that her subject is known.
    async fn sign_in(&self) {
        let begun = self.p.nobody().get("/sign-in/corp").await.expect(303);
        let value = |name: &str| query(begun.header("location"), name).unwrap();
        self.issuer.set_claims(json!({ "nonce": value("nonce") }));
        let cookie = begun.header("set-cookie").split(';').next().unwrap().to_owned();
        let query = form(&[("code", "c"), ("state", &value("state")), ("iss", self.issuer.url())]);
        let back =
            self.p.as_with(&[("cookie", &cookie)]).get(&format!("/sign-in/corp/callback?{query}")).await;
        assert!(back.expect(303).headers.get_all("set-cookie").iter().count() > 1);
    }

    fn claims(&self, more: Value) -> Value {
        let now = self.p.clock.now().as_second();
        let mut claims = json!({ "iss": self.issuer.url(), "sub": "subject-1", "aud": self.p.state.base_url(),
            "client_id": "robot", "resource": format!("{}/mcp", self.p.state.base_url()), "jti": "one",
            "iat": now, "exp": now + 300 });
        for (name, value) in more.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
                value => claims[name] = value.clone(),
            }
        }
        claims
    }

    async fn exchange(&self, claims: Value) -> Answer {
        let assertion = self.issuer.sign("oauth-id-jag+jwt", &self.claims(claims));
        ask(&self.p, &[("grant_type", JWT_BEARER), ("assertion", &assertion)]).await
    }
}

#[tokio::test]
async fn an_identity_assertion_becomes_a_token_of_its_person() {
    let world = World::start().await;
    let metadata = world.p.nobody().get("/.well-known/oauth-authorization-server").await.expect(200).json();
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&json!(JWT_BEARER)));
    let issued = world.exchange(json!({ "scope": "tools:read" })).await.expect(200).json();
    assert_eq!((&issued["scope"], &issued["refresh_token"]), (&json!("tools:read"), &Value::Null));
    let bearer = world.p.bearer(issued["access_token"].as_str().unwrap());
    bearer.get("/api/tools").await.expect(200);
    let operator = world.p.token("root", Role::Operator);
    let ada = world.p.bearer(&operator).header("x-user-id", "ada@example.com");
    assert_eq!(ada.get("/api/clients").await.expect(200).json()["clients"][0]["name"], "Robot");
    // An address says nothing: it may be someone else's by now.
    let by_address =
        json!({ "jti": "two", "sub": "unknown", "email": "ada@example.com", "email_verified": true });
    assert_eq!(world.exchange(by_address).await.expect(400).json()["error"], "invalid_grant");
    let change = json!({ "disabled": true });
    world.p.bearer(&operator).patch("/api/users/ada@example.com", &change).await.expect(200);
    world.exchange(json!({ "jti": "four" })).await.expect(400);
    bearer.get("/api/tools").await.expect(401);
}

#[tokio::test]
async fn false_identity_assertions_are_refused() {
    let world = World::start().await;
    let now = world.p.clock.now().as_second();
    world.exchange(json!({ "jti": "used" })).await.expect(200);
    for (what, claims) in [
        ("used before", json!({ "jti": "used" })),
        ("for another server", json!({ "aud": "https://other.example" })),
        ("for two servers", json!({ "aud": [world.p.state.base_url(), "https://other.example"] })),
        ("for another resource", json!({ "resource": "https://other.example/mcp" })),
        ("for no resource", json!({ "resource": null })),
        ("for another client", json!({ "client_id": "other" })),
        ("of an unknown issuer", json!({ "iss": "https://evil.example" })),
        ("expired", json!({ "exp": now - 61 })),
        ("without an id", json!({ "jti": null })),
        ("of an unknown person", json!({ "sub": "nobody" })),
        (
            "with an address that is not verified",
            json!({ "sub": "x", "email": "ada@example.com", "email_verified": false }),
        ),
    ] {
        let answer = world.exchange(claims).await;
        assert!(
            answer.status.is_client_error() && answer.json()["access_token"].is_null(),
            "{what}: {}",
            answer.text
        );
    }
    let id_token = world.issuer.sign("JWT", &world.claims(json!({ "jti": "x" })));
    ask(&world.p, &[("grant_type", JWT_BEARER), ("assertion", &id_token)]).await.expect(400);
    // A client without a proof, and one that nobody registered.
    let assertion = world.issuer.sign("oauth-id-jag+jwt", &world.claims(json!({ "jti": "y" })));
    let public = [("client_id", "robot"), ("grant_type", JWT_BEARER), ("assertion", assertion.as_str())];
    post_form(&world.p, "/oauth/token", &public).await.expect(401);
}
