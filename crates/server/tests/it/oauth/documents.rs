//! Clients that describe themselves in a metadata document, in the shapes of real ones.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient, StandIn};
use toolyard_testkit::{FakeApp, TlsServer};

use super::client::{Client, post_form, query, tokens};
use crate::platform::Platform;

const HOST: &str = "client.example.com";
const ID: &str = "https://client.example.com/oauth/client.json";

/// A platform that reaches one host of the web, which responds with this document.
async fn platform_with(document: &Value) -> (Platform, TlsServer) {
    let server = TlsServer::start(HOST, &document.to_string()).await;
    let stand_in = StandIn { host: HOST.to_owned(), address: server.address, root: server.root.clone() };
    let http = HttpClient::with_stand_in(Guard::dev(), ClientSettings::default(), stand_in).unwrap();
    (Platform::with_http(|_| {}, Some(http)).await, server)
}

/// The shapes of Claude, Claude Code, VS Code and Zed.
#[tokio::test]
async fn clients_connect_with_their_metadata_document() {
    for (name, redirects, used, more) in [
        (
            "Claude",
            json!(["https://claude.ai/api/mcp/auth_callback"]),
            "https://claude.ai/api/mcp/auth_callback",
            json!({}),
        ),
        (
            "Claude Code",
            json!(["http://localhost/callback", "http://127.0.0.1/callback"]),
            "http://localhost:53219/callback",
            json!({ "token_endpoint_auth_method": "none" }),
        ),
        (
            "Visual Studio Code",
            json!(["http://127.0.0.1/", "https://vscode.dev/redirect", "vscode://auth/callback"]),
            "http://127.0.0.1:33418/",
            json!({ "token_endpoint_auth_method": "none", "application_type": "native" }),
        ),
        (
            "Zed",
            json!(["http://127.0.0.1/callback"]),
            "http://127.0.0.1:49152/callback",
            json!({ "token_endpoint_auth_methods_supported": ["none"] }),
        ),
    ] {
        let mut document = json!({ "client_id": ID, "client_name": name, "redirect_uris": redirects,
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"] });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (p, host) = platform_with(&document).await;
        let client = Client::with_id(&p, ID, used);
        let request = client.request("tools:read").await;
        let asked =
            p.user("ada").get(&format!("/api/oauth/consent?request={request}")).await.expect(200).json();
        assert_eq!(
            (&asked["client"]["name"], &asked["client"]["kind"]),
            (&json!(name), &json!("metadata-document"))
        );
        let granted = client.connect(&p.user("ada"), "tools:read", json!({})).await;
        p.bearer(&granted.access).get("/api/tools").await.expect(200);
        tokens(client.refresh(&granted.refresh).await);
        assert_eq!(host.request_heads().len(), 1, "{name}: the document is cached");
    }
}

/// The shape of ChatGPT: it authenticates with a key that its document names, and a key is used once.
#[tokio::test]
async fn a_client_authenticates_with_the_key_of_its_document() {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "k",
        "x": BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref()) });
    let callback = "https://chatgpt.example/connector_platform_oauth_redirect";
    // The host responds to every path with the same document, so it has the keys as well.
    let (p, _host) = platform_with(&json!({ "client_id": ID, "client_name": "ChatGPT",
        "redirect_uris": [callback], "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "jwks_uri": "https://client.example.com/oauth/keys.json", "keys": [key] }))
    .await;
    let client = Client::with_id(&p, ID, callback);
    let code = client.consent(&p.user("ada"), "tools:read", json!({})).await;
    assert_eq!(client.redeem(&code).await.expect(401).json()["error"], "invalid_client", "without its key");
    let now = toolyard_core::ports::Clock::now(&*p.clock).as_second();
    let assertion = |audience: &str, id: &str| {
        let claims = json!({ "iss": ID, "sub": ID, "aud": audience, "jti": id, "iat": now, "exp": now + 60 });
        let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::EdDSA);
        header.kid = Some("k".to_owned());
        let secret = pair.to_pkcs8().unwrap();
        jsonwebtoken::encode(&header, &claims, &jsonwebtoken::EncodingKey::from_ed_der(secret.as_ref()))
            .unwrap()
    };
    let redeem = async |assertion: &str| {
        let mut pairs = client.redemption(&code);
        pairs.push(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
        pairs.push(("client_assertion", assertion));
        post_form(&p, "/oauth/token", &pairs).await
    };
    let issuer = p.state.base_url();
    assert_eq!(
        redeem(&assertion("https://other.example", "1")).await.expect(401).json()["error"],
        "invalid_client"
    );
    let first = assertion(&issuer, "2");
    let granted = tokens(redeem(&first).await);
    p.bearer(&granted.access).get("/api/tools").await.expect(200);
    let replayed = redeem(&first).await.expect(401);
    assert!(replayed.text.contains("used before"), "{}", replayed.text);
}

#[tokio::test]
async fn a_document_must_be_reached_over_https_and_pass_the_guard() {
    let host = FakeApp::start("com.example.documents").await;
    let p = Platform::with(|config| config.net.web_allow = vec!["127.0.0.0/8".to_owned()]).await;
    for id in [
        format!("{}/client.json", host.url()),
        "https://127.0.0.1:1/client.json".to_owned(),
        "https://localhost/client.json".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://client.example".to_owned(),
        "https://client.example/a/../client.json".to_owned(),
    ] {
        let client = Client::with_id(&p, &id, "https://client.example/callback");
        let refused = client.authorize(&client.parameters("tools:read")).await.expect(400);
        assert!(refused.text.contains("The connection could not be started"), "{id}: {}", refused.text);
        assert!(refused.headers.get("location").is_none());
        let body = post_form(&p, "/oauth/token", &client.redemption("code")).await;
        assert!(matches!(body.status.as_u16(), 400 | 401 | 503), "{id}: {}", body.text);
    }
    assert!(host.requests("/client.json").is_empty(), "plain http is not fetched");
}

#[tokio::test]
async fn an_error_goes_back_to_the_client_only_if_its_address_is_its_own() {
    let p = Platform::start().await;
    let client = Client::register(&p).await;
    let with = |name: &'static str, value: &str| {
        let mut parameters = client.parameters("tools:read");
        parameters.retain(|(found, _)| *found != name);
        parameters.push((name, value.to_owned()));
        parameters
    };
    for (parameters, error) in [
        (with("response_type", "token"), "unsupported_response_type"),
        (with("code_challenge_method", "plain"), "invalid_request"),
        (with("code_challenge", ""), "invalid_request"),
        (with("resource", "https://other.example/mcp"), "invalid_target"),
        (with("prompt", "none"), "interaction_required"),
    ] {
        let answer = client.authorize(&parameters).await.expect(302);
        let location = answer.header("location").to_owned();
        assert!(location.starts_with(super::client::CALLBACK), "{location}");
        assert_eq!(query(&location, "error").as_deref(), Some(error), "{location}");
        assert_eq!(query(&location, "state").as_deref(), Some("the state"));
        assert_eq!(query(&location, "iss"), Some(p.state.base_url()));
    }
    for (name, value) in [
        ("redirect_uri", "https://claude.example/api/mcp/auth_callback/"),
        ("redirect_uri", "https://claude.example.evil.example/api/mcp/auth_callback"),
        ("redirect_uri", "https://claude.example@evil.example/api/mcp/auth_callback"),
        ("redirect_uri", "http://claude.example/api/mcp/auth_callback"),
        ("redirect_uri", "javascript:alert(1)"),
        ("client_id", "unknown"),
    ] {
        let refused = client.authorize(&with(name, value)).await.expect(400);
        assert!(refused.headers.get("location").is_none(), "{name} {value}");
        assert_eq!(refused.header("x-frame-options"), "DENY");
    }
    // A missing resource is our only one.
    let mut parameters = client.parameters("tools:read");
    parameters.retain(|(name, _)| *name != "resource");
    client.authorize(&parameters).await.expect(302);
}

#[tokio::test]
async fn an_id_token_says_who_signed_in() {
    let p = Platform::start().await;
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada@example.com"), "openid email", json!({})).await;
    let token = granted.body["id_token"].as_str().unwrap();
    let keys = p.nobody().get("/oauth/jwks.json").await.expect(200).json();
    let key: jsonwebtoken::jwk::Jwk = serde_json::from_value(keys["keys"][0].clone()).unwrap();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::EdDSA);
    rules.set_audience(&[&client.id]);
    rules.set_issuer(&[p.state.base_url()]);
    rules.validate_exp = false;
    let key = jsonwebtoken::DecodingKey::from_jwk(&key).unwrap();
    let claims = jsonwebtoken::decode::<Value>(token, &key, &rules).unwrap().claims;
    assert_eq!((&claims["sub"], &claims["email"]), (&json!("ada@example.com"), &json!("ada@example.com")));
    let who = p.bearer(&granted.access).get("/oauth/userinfo").await.expect(200).json();
    assert_eq!(who["sub"], "ada@example.com");
    p.bearer(token).get("/oauth/userinfo").await.expect(401);
    p.bearer(token).get("/api/tools").await.expect(401);
    let other = client.connect(&p.user("ada"), "tools:read", json!({})).await;
    assert!(other.body.get("id_token").is_none());
    p.bearer(&other.access).get("/oauth/userinfo").await.expect(403);
}
