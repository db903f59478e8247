//! Access: Origin and Host, credentials, and the metadata that tells clients how to get one.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::{
    auth::Role,
    config::{AuthMode, OidcConfig},
};

use super::client::{Ask, LEGACY, Session};
use crate::{
    knock::knock,
    platform::{Person, Platform, tokens_only},
};

const EVIL: [(&str, &str); 8] = [
    ("origin", "https://evil.example"),
    ("origin", "null"),
    ("origin", "http://127.0.0.1:1"),
    ("origin", "http://127.0.0.1.evil.example"),
    ("origin", ""),
    ("host", "evil.example"),
    ("host", "127.0.0.1.evil.example"),
    ("host", "localhost@evil.example"),
];

/// POST in both eras, GET, DELETE: their statuses.
async fn tried(who: &Person<'_>, session: &Session<'_>) -> [u16; 4] {
    let modern = who.modern("tools/list", json!({})).await.status;
    let who = who.clone().header("mcp-session-id", &session.id);
    let legacy = who.ask(Ask::legacy("tools/list", json!({}))).await.status;
    let get = who.open(Method::GET, "/mcp", None).await.status;
    let delete = who.delete("/mcp").await.status;
    [modern, legacy, get, delete].map(|status| status.as_u16())
}

#[tokio::test]
async fn foreign_origins_are_refused() {
    let p = Platform::start().await;
    let session = p.user("ada").handshake(LEGACY).await;
    for (header, value) in EVIL {
        let evil = p.user("ada").header(header, value);
        assert_eq!(tried(&evil, &session).await, [403; 4], "{header}: {value}");
        let answer = evil.post("/mcp", &json!({})).await.expect(403);
        assert!(answer.json().get("id").is_none(), "{}", answer.text);
        evil.post("/api/mcp/ticket", &json!({})).await.expect(403);
        // Metadata is public, for clients in a browser; but not under another host.
        let status = if header == "origin" { 200 } else { 403 };
        evil.get("/.well-known/oauth-protected-resource/mcp").await.expect(status);
        let headers = [("x-user-id", "ada"), (header, value), ("sec-websocket-protocol", "mcp")];
        let (status, _) = knock(&p, "/mcp/ws", &headers).await.unwrap_err();
        assert_eq!(status, 403, "{header}: {value}");
    }
    assert_eq!(session.ask("ping", json!({})).await.result(), json!({}), "nothing was ended");
}

#[tokio::test]
async fn own_and_allowed_origins_are_accepted() {
    let p = Platform::with(|config| config.server.origins = vec!["https://console.example".into()]).await;
    let own = p.url.clone();
    for origin in [own.as_str(), "https://console.example"] {
        let page = p.user("ada").header("origin", origin);
        let session = p.user("ada").handshake(LEGACY).await;
        assert_eq!(tried(&page, &session).await, [200, 200, 200, 204], "{origin}");
        knock(&p, "/mcp/ws", &[("x-user-id", "ada"), ("origin", origin)]).await.unwrap();
    }
    let friend = p.user("ada").header("origin", "https://console.example");
    let answer = friend.modern("tools/list", json!({})).await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), "https://console.example");
    let shown = answer.header("access-control-expose-headers").to_owned();
    assert!(shown.contains("mcp-session-id") && shown.contains("www-authenticate"), "{shown}");
    // Browsers send a preflight request that names all of their headers.
    let asks = friend.header("access-control-request-method", "POST");
    let allowed = asks.send(Method::OPTIONS, "/mcp", None).await.expect(204);
    let allowed = allowed.header("access-control-allow-headers").to_owned();
    for header in ["authorization", "mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"] {
        assert!(allowed.contains(header), "{header} in {allowed}");
    }
}

/// The challenges of refused requests.
async fn challenges(who: &Person<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let answer = who.send(method, "/mcp", Some("{".to_owned())).await.expect(401);
        found.push(answer.header("www-authenticate").to_owned());
    }
    found
}

#[tokio::test]
async fn a_missing_credential_is_challenged_with_the_metadata_url() {
    let p = Platform::with(tokens_only).await;
    let metadata = format!("resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"", p.url);
    for challenge in challenges(&p.nobody()).await {
        assert_eq!(challenge, format!("Bearer {metadata}"));
    }
    // In token mode a user header is not enough.
    for challenge in challenges(&p.user("ada")).await {
        assert_eq!(challenge, format!("Bearer {metadata}"));
    }
    let expired = p.token("ada", Role::User);
    p.clock.advance(3_600);
    for bad in ["nonsense", "a.b.c", "com.example.echo:key", "", &expired] {
        for challenge in challenges(&p.bearer(bad)).await {
            assert!(
                challenge.starts_with("Bearer error=\"invalid_token\", error_description="),
                "{bad}: {challenge}"
            );
            assert!(challenge.ends_with(&metadata), "{bad}: {challenge}");
        }
    }
    let basic = p.as_with(&[("authorization", "Basic YWRhOmFkYQ==")]);
    assert!(challenges(&basic).await[0].contains("invalid_token"));
    for headers in [vec![], vec![("authorization", "Bearer nonsense")]] {
        let (status, _) = knock(&p, "/mcp/ws", &headers).await.unwrap_err();
        assert_eq!(status, 401);
    }
    // Only the header counts.
    let token = p.token("ada", Role::User);
    p.nobody().post(&format!("/mcp?access_token={token}"), &json!({})).await.expect(401);
    p.bearer(&token).modern("tools/list", json!({})).await.result();
}

#[tokio::test]
async fn a_request_for_another_user_is_forbidden_without_a_challenge() {
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User)).header("x-user-id", "bob");
    let answer = ada.modern("tools/list", json!({})).await.expect(403);
    assert_eq!(answer.header("www-authenticate"), "");
    let root = p.bearer(&p.token("root", Role::Operator)).header("x-user-id", "bob");
    root.modern("tools/list", json!({})).await.result();
}

const PATHS: [&str; 2] =
    ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];

#[tokio::test]
async fn the_metadata_names_the_url_that_users_type() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.server.public_url = Some("https://tools.example.com/".into());
        config.auth.oidc = Some(OidcConfig {
            issuer: "https://accounts.example.com".into(),
            audience: "toolyard".into(),
            jwks_url: "http://127.0.0.1:1/jwks".into(),
            require_email_verified: true,
            user_claim: "sub".into(),
            refetch_s: 60,
        });
    })
    .await;
    for path in PATHS {
        let metadata: Value = p.nobody().get(path).await.expect(200).json();
        assert_eq!(metadata["resource"], "https://tools.example.com/mcp");
        let issuers = json!(["https://accounts.example.com", "https://tools.example.com"]);
        assert_eq!(metadata["authorization_servers"], issuers, "the configured one first");
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        // Under its public name as well.
        p.nobody().header("host", "tools.example.com").get(path).await.expect(200);
    }
    let challenge = challenges(&p.nobody()).await.remove(0);
    let url = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";
    assert_eq!(challenge, format!("Bearer resource_metadata=\"{url}\""));
}

#[tokio::test]
async fn without_an_issuer_the_metadata_names_none() {
    let p = Platform::with(|config| {
        config.auth.mode = Some(AuthMode::Token);
        config.oauth.enabled = false;
    })
    .await;
    for path in PATHS {
        let metadata: Value = p.nobody().get(path).await.expect(200).json();
        assert_eq!(metadata["resource"], json!(format!("{}/mcp", p.url)));
        assert!(metadata.get("authorization_servers").is_none());
    }
}

#[tokio::test]
async fn in_dev_mode_the_user_header_is_required_and_sufficient() {
    let p = Platform::start().await;
    p.user("ada").modern("tools/list", json!({})).await.result();
    let answer = p.nobody().modern("tools/list", json!({})).await.expect(401);
    assert!(answer.header("www-authenticate").contains("resource_metadata="), "{answer:?}");
    p.user("a b").modern("tools/list", json!({})).await.expect(400);
}
