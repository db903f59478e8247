//! Attacks on the token endpoint: none gets a token, and a replay ends what it copied.

use serde_json::json;

use super::{
    client::{Client, post_form, tokens},
    listed,
};
use crate::platform::Platform;

#[tokio::test]
async fn a_stolen_or_changed_code_is_worth_nothing() {
    let p = Platform::start().await;
    let (client, other) = (Client::register(&p).await, Client::register(&p).await);
    let code = async || client.consent(&p.user("ada"), "tools:read", json!({})).await;
    let refused = async |what: &str, pairs: &[(&str, &str)], error: &str| {
        let answer = post_form(&p, "/oauth/token", pairs).await;
        assert!(answer.status.is_client_error(), "{what}: {}", answer.text);
        assert_eq!(answer.json()["error"], error, "{what}: {}", answer.text);
        assert_eq!(answer.header("cache-control"), "no-store", "{what}");
    };
    let with = |code: &'static str, name: &'static str, value: &'static str| {
        let mut pairs: Vec<(&str, &str)> = client.redemption(code);
        pairs.retain(|(found, _)| *found != name);
        pairs.push((name, value));
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let other_id = leaked(other.id.clone());
    for (what, name, value, error) in [
        ("another client", "client_id", other_id, "invalid_grant"),
        ("another verifier", "code_verifier", "xBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "invalid_grant"),
        ("a short verifier", "code_verifier", "short", "invalid_request"),
        ("another redirect", "redirect_uri", "https://evil.example/callback", "invalid_grant"),
        ("another resource", "resource", "https://other.example/mcp", "invalid_target"),
        ("a wider scope", "scope", "tools:destructive", "invalid_scope"),
        ("an unknown client", "client_id", "nobody", "invalid_client"),
        ("another grant type", "grant_type", "password", "unsupported_grant_type"),
        ("client credentials", "grant_type", "client_credentials", "unauthorized_client"),
        ("no code", "code", "tya_unknown", "invalid_grant"),
    ] {
        let pairs = with(leaked(code().await), name, value);
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        refused(what, &pairs, error).await;
    }
    let code = code().await;
    let mut twice = client.redemption(&code);
    twice.push(("code", "tya_other"));
    refused("two codes", &twice, "invalid_request").await;
    let mut two_clients = client.redemption(&code);
    two_clients.push(("client_secret", "guess"));
    refused("a secret that it does not have", &two_clients, "invalid_client").await;
    // None of these used up the code.
    tokens(client.redeem(&code).await);
}

#[tokio::test]
async fn a_code_is_redeemed_once_and_a_replay_ends_the_grant() {
    let p = Platform::start().await;
    let client = Client::register(&p).await;
    let code = client.consent(&p.user("ada"), "tools:read", json!({})).await;
    let granted = tokens(client.redeem(&code).await);
    p.bearer(&granted.access).get("/api/tools").await.expect(200);
    assert_eq!(client.redeem(&code).await.expect(400).json()["error"], "invalid_grant");
    p.bearer(&granted.access).get("/api/tools").await.expect(401);
    client.refresh(&granted.refresh).await.expect(400);
    assert!(listed(&p.user("ada")).await.is_empty());

    let late = client.consent(&p.user("ada"), "tools:read", json!({})).await;
    p.clock.advance(61);
    assert_eq!(client.redeem(&late).await.expect(400).json()["error"], "invalid_grant");
    assert!(listed(&p.user("ada")).await.is_empty(), "nothing can come of it any more");

    let raced = client.consent(&p.user("ada"), "tools:read", json!({})).await;
    let answers = futures_util::future::join_all((0..5).map(|_| client.redeem(&raced))).await;
    // None, if a copy ended the grant before the first use had its tokens.
    assert!(answers.iter().filter(|answer| answer.status == 200).count() <= 1, "of five at the same time");
    assert!(listed(&p.user("ada")).await.is_empty(), "the copies end the grant");
}

#[tokio::test]
async fn a_refresh_token_belongs_to_its_client_and_cannot_be_made_up() {
    let p = Platform::start().await;
    let (client, other) = (Client::register(&p).await, Client::register(&p).await);
    let granted = client.connect(&p.user("ada"), "tools:read", json!({})).await;
    other.refresh(&granted.refresh).await.expect(400);
    let mut changed = granted.refresh.clone();
    changed.replace_range(10..11, if &changed[10..11] == "A" { "B" } else { "A" });
    client.refresh(&changed).await.expect(400);
    client.refresh(&granted.access).await.expect(400);
    let wider = [
        ("grant_type", "refresh_token"),
        ("refresh_token", granted.refresh.as_str()),
        ("client_id", client.id.as_str()),
        ("scope", "tools:read tools:destructive"),
    ];
    assert_eq!(post_form(&p, "/oauth/token", &wider).await.expect(400).json()["error"], "invalid_scope");
    tokens(client.refresh(&granted.refresh).await);
    // A refresh token is no access token.
    p.bearer(&granted.refresh).get("/api/tools").await.expect(401);
}

#[tokio::test]
async fn a_client_with_a_secret_must_send_it() {
    let p = Platform::start().await;
    let body = json!({ "client_name": "Server", "redirect_uris": [super::client::CALLBACK],
        "token_endpoint_auth_method": "client_secret_post" });
    let registered = p.nobody().post("/oauth/register", &body).await.expect(201).json();
    let (id, secret) =
        (registered["client_id"].as_str().unwrap(), registered["client_secret"].as_str().unwrap());
    let client = Client::with_id(&p, id, super::client::CALLBACK);
    let code = client.consent(&p.user("ada"), "tools:read", json!({})).await;
    assert_eq!(client.redeem(&code).await.expect(401).json()["error"], "invalid_client");
    let mut wrong = client.redemption(&code);
    wrong.push(("client_secret", "guess"));
    assert_eq!(post_form(&p, "/oauth/token", &wrong).await.expect(401).json()["error"], "invalid_client");
    let mut right = client.redemption(&code);
    right.push(("client_secret", secret));
    let granted = tokens(post_form(&p, "/oauth/token", &right).await);
    let asked = [("token", granted.access.as_str()), ("client_id", id), ("client_secret", secret)];
    let found = post_form(&p, "/oauth/introspect", &asked).await.expect(200).json();
    assert_eq!(
        (&found["active"], &found["sub"], &found["scope"]),
        (&json!(true), &json!("ada"), &json!("tools:read"))
    );
    let unknown = [("token", "nonsense"), ("client_id", id), ("client_secret", secret)];
    assert_eq!(
        post_form(&p, "/oauth/introspect", &unknown).await.expect(200).json(),
        json!({ "active": false })
    );
    for stored in std::fs::read_dir(p.data().parent().unwrap()).unwrap() {
        let path = stored.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
        for hidden in [secret, &granted.access, &granted.refresh, &code] {
            assert!(
                !bytes.windows(hidden.len()).any(|part| part == hidden.as_bytes()),
                "stored in the clear"
            );
        }
    }
}
