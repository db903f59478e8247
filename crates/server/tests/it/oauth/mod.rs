//! Users connect clients: the authorization server from the outside.

mod attacks;
pub(crate) mod client;
mod documents;
mod scopes;
mod without_person;

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use self::client::{Client, post_form, query, tokens};
use crate::platform::{Person, Platform, tokens_only};

async fn listed(user: &Person<'_>) -> Vec<Value> {
    user.get("/api/clients").await.expect(200).json()["clients"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_client_registers_a_user_agrees_and_tools_are_called() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let client = Client::register(&p).await;
    let request = client.request("tools:read tools:write").await;
    let ada = p.user("ada");
    let asked = ada.get(&format!("/api/oauth/consent?request={request}")).await.expect(200).json();
    assert_eq!(
        (&asked["client"]["name"], &asked["client"]["kind"], &asked["redirectHost"], &asked["isLoopback"]),
        (&json!("Claude"), &json!("dynamic"), &json!("claude.example"), &json!(false))
    );
    assert_eq!((&asked["user"], &asked["scopes"]), (&json!("ada"), &json!(["tools:read", "tools:write"])));
    let apps: Vec<_> =
        asked["apps"].as_array().unwrap().iter().map(|app| app["name"].as_str().unwrap()).collect();
    assert!(apps.contains(&"Echo"), "{apps:?}");

    let granted = client.connect(&ada, "tools:read tools:write", json!({ "days": 7 })).await;
    assert_eq!(
        (&granted.body["token_type"], &granted.body["expires_in"], &granted.body["scope"]),
        (&json!("Bearer"), &json!(3_600), &json!("tools:read tools:write"))
    );
    let bearer = p.bearer(&granted.access);
    assert!(bearer.tools().await.contains(&"com.example.echo:echo".to_owned()));
    let called = bearer.call("com.example.echo:echo", json!({ "text": "hi" })).await;
    called.expect(200);
    assert_eq!(app.requests("/tool").len(), 1);
    let result = bearer.run("com.example.echo:echo", json!({ "text": "hi" })).await;
    assert!(result["isError"].is_null(), "{result}");

    let connected = listed(&ada).await;
    assert_eq!(connected.len(), 1);
    assert_eq!(
        (&connected[0]["name"], &connected[0]["host"], &connected[0]["scopes"], &connected[0]["apps"]),
        (&json!("Claude"), &json!("claude.example"), &json!(["tools:read", "tools:write"]), &json!([]))
    );
    assert!(listed(&p.user("bob")).await.is_empty());
}

#[tokio::test]
async fn a_disconnected_client_is_refused_at_once_and_after_a_restart() {
    let p = Platform::with(|config| config.auth.root_key = Some("11".repeat(32))).await;
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada"), "tools:read", json!({})).await;
    p.clock.advance(1);
    let other = client.connect(&p.user("ada"), "tools:read", json!({})).await;
    p.bearer(&granted.access).get("/api/tools").await.expect(200);
    let id = listed(&p.user("ada")).await[1]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/clients/{id}");
    p.user("bob").delete(&path).await.expect(404);
    p.user("ada").delete(&path).await.expect(204);
    p.user("ada").delete(&path).await.expect(404);
    let refused = p.bearer(&granted.access).get("/api/tools").await.expect(401);
    assert!(refused.text.contains("revoked"), "{}", refused.text);
    let refused = client.refresh(&granted.refresh).await.expect(400);
    assert_eq!(refused.json()["error"], "invalid_grant");
    p.bearer(&other.access).get("/api/tools").await.expect(200);

    let (id, redirect_uri) = (client.id.clone(), client.redirect_uri.clone());
    let p = p.restart().await;
    p.bearer(&granted.access).get("/api/tools").await.expect(401);
    let client = Client::with_id(&p, &id, &redirect_uri);
    let renewed = tokens(client.refresh(&other.refresh).await);
    p.bearer(&renewed.access).get("/api/tools").await.expect(200);
}

#[tokio::test]
async fn refresh_tokens_rotate_with_a_window_and_a_later_replay_ends_everything() {
    let p = Platform::start().await;
    let client = Client::register(&p).await;
    let first = client.connect(&p.user("ada"), "tools:read", json!({})).await;
    let five = futures_util::future::join_all((0..5).map(|_| client.refresh(&first.refresh))).await;
    let five: Vec<_> = five.into_iter().map(tokens).collect();
    assert!(five.iter().all(|one| one.refresh == five[0].refresh), "the same successor for all");
    assert_ne!(five[0].refresh, first.refresh);
    for one in &five {
        p.bearer(&one.access).get("/api/tools").await.expect(200);
    }
    p.clock.advance(44);
    assert_eq!(tokens(client.refresh(&first.refresh).await).refresh, five[0].refresh, "within the window");
    let next = tokens(client.refresh(&five[0].refresh).await);
    p.clock.advance(46);
    let replayed = client.refresh(&five[0].refresh).await.expect(400);
    assert_eq!(replayed.json()["error"], "invalid_grant");
    client.refresh(&next.refresh).await.expect(400);
    p.bearer(&next.access).get("/api/tools").await.expect(401);
    assert!(listed(&p.user("ada")).await.is_empty(), "the whole grant has ended");
}

#[tokio::test]
async fn access_tokens_are_short_and_a_grant_ends() {
    let p = Platform::with(|config| {
        config.oauth.access_token_hosts.insert("claude.example".to_owned(), 7_200);
    })
    .await;
    let client = Client::register(&p).await;
    let granted = client.connect(&p.user("ada"), "tools:read", json!({ "days": 1 })).await;
    assert_eq!(granted.body["expires_in"], 7_200, "the setting of its host");
    p.clock.advance(7_200);
    p.bearer(&granted.access).get("/api/tools").await.expect(401);
    p.clock.advance(24 * 3_600 - 7_200 - 100);
    let last = tokens(client.refresh(&granted.refresh).await);
    assert_eq!(last.body["expires_in"], 100, "not longer than the grant");
    p.clock.advance(100);
    client.refresh(&last.refresh).await.expect(400);
    assert!(listed(&p.user("ada")).await.is_empty());
}

#[tokio::test]
async fn a_user_can_refuse_and_only_the_user_can_agree() {
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let client = Client::register(&p).await;
    let request = client.request("tools:read").await;
    let refusal = json!({ "request": request, "approve": false });
    let outcome = ada.post("/api/oauth/consent", &refusal).await.expect(200).json();
    let location = outcome["redirect"].as_str().unwrap();
    assert_eq!(
        (query(location, "error").as_deref(), query(location, "code")),
        (Some("access_denied"), None),
        "{location}"
    );
    assert_eq!(query(location, "iss").unwrap(), p.state.base_url());

    let operator = p.bearer(&p.token("root", Role::Operator)).header("x-user-id", "ada");
    let agreement = json!({ "request": request, "approve": true });
    operator.post("/api/oauth/consent", &agreement).await.expect(403);
    // A connected client cannot connect another one, even with the scope `account`.
    let granted = client.connect(&ada, "tools:read account", json!({})).await;
    p.bearer(&granted.access).post("/api/oauth/consent", &agreement).await.expect(403);
    p.bearer(&granted.access).post("/api/tokens", &json!({ "name": "more" })).await.expect(403);

    p.clock.advance(601);
    let late = ada.post("/api/oauth/consent", &agreement).await.expect(400);
    assert!(late.text.contains("start again in the client"), "{}", late.text);
}

#[tokio::test]
async fn a_grant_ends_with_the_token_of_the_user_who_agreed() {
    let p = Platform::with(tokens_only).await;
    let root = p.bearer(&p.token("root", Role::Operator));
    let issued = root.post("/api/tokens", &json!({ "name": "console", "user": "ada", "days": 2 })).await;
    let issued = issued.expect(201).json();
    let ada = p.bearer(issued["token"].as_str().unwrap());
    let client = Client::register(&p).await;
    let request = client.request("tools:read").await;
    let asked = ada.get(&format!("/api/oauth/consent?request={request}")).await.expect(200).json();
    assert_eq!((&asked["days"], &asked["maxDays"]), (&json!(2), &json!(2)));
    let granted = client.connect(&ada, "tools:read", json!({ "days": 300 })).await;
    p.bearer(&granted.access).get("/api/tools").await.expect(200);
    let second = |value: &Value| value.as_str().unwrap()[..19].to_owned();
    let ends = second(&listed(&ada).await[0]["expiresAt"]);
    assert_eq!(ends, second(&issued["info"]["expiresAt"]), "not later than the token");

    let id = issued["info"]["id"].as_str().unwrap();
    root.delete(&format!("/api/tokens/{id}")).await.expect(204);
    client.refresh(&granted.refresh).await.expect(400);
    p.state.stores.announcements.catch_up().await.unwrap();
    p.bearer(&granted.access).get("/api/tools").await.expect(401);
}

#[tokio::test]
async fn limits_of_clients_and_grants_hold() {
    let p = Platform::with(|config| {
        config.oauth.max_clients = 1;
        config.oauth.clients_per_user = 1;
    })
    .await;
    let forgotten = Client::register(&p).await;
    let client = Client::register(&p).await;
    forgotten.authorize(&forgotten.parameters("tools:read")).await.expect(400);
    client.connect(&p.user("ada"), "tools:read", json!({})).await;
    let full = p.nobody().post("/oauth/register", &json!({ "redirect_uris": [client::CALLBACK] })).await;
    assert_eq!(full.expect(503).json()["error"], "temporarily_unavailable");
    let body = json!({ "request": client.request("tools:read").await, "approve": true });
    let refused = p.user("ada").post("/api/oauth/consent", &body).await.expect(409);
    assert!(refused.text.contains("oauth.clients_per_user"), "{}", refused.text);
    for days in [0, 366] {
        let body = json!({ "request": body["request"], "approve": true, "days": days });
        p.user("bob").post("/api/oauth/consent", &body).await.expect(400);
    }
}

#[tokio::test]
async fn a_client_gives_its_tokens_back() {
    let p = Platform::start().await;
    let (client, other) = (Client::register(&p).await, Client::register(&p).await);
    for by in ["access", "refresh"] {
        let granted = client.connect(&p.user("ada"), "tools:read", json!({})).await;
        let token = if by == "access" { &granted.access } else { &granted.refresh };
        let public = post_form(&p, "/oauth/introspect", &[("token", token), ("client_id", &client.id)]).await;
        public.expect(401);
        post_form(&p, "/oauth/revoke", &[("token", token), ("client_id", &other.id)]).await.expect(200);
        p.bearer(&granted.access).get("/api/tools").await.expect(200);
        post_form(&p, "/oauth/revoke", &[("token", token), ("client_id", &client.id)]).await.expect(200);
        p.bearer(&granted.access).get("/api/tools").await.expect(401);
        post_form(&p, "/oauth/revoke", &[("token", token), ("client_id", &client.id)]).await.expect(200);
    }
}

#[tokio::test]
async fn metadata_is_the_same_at_every_well_known_path() {
    let p = Platform::start().await;
    let base = p.state.base_url();
    let first = p.nobody().get("/.well-known/oauth-authorization-server").await.expect(200);
    let document = first.json();
    assert_eq!(
        (&document["issuer"], &document["authorization_endpoint"]),
        (&json!(base), &json!(format!("{base}/oauth/authorize")))
    );
    assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
    assert_eq!(document["client_id_metadata_document_supported"], true);
    for path in [
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
    ] {
        assert_eq!(p.nobody().get(path).await.expect(200).text, first.text, "{path}");
    }
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let resource = p.nobody().get(path).await.expect(200).json();
        assert_eq!(resource["resource"], format!("{base}/mcp"));
        assert_eq!(resource["authorization_servers"], json!([base]));
    }
    // Clients in a browser.
    let page = p.nobody().header("origin", "https://inspector.example");
    let answer = page.get("/.well-known/oauth-authorization-server").await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), "https://inspector.example");
    page.get("/api/tools").await.expect(403);

    let p = Platform::with(|config| config.oauth.enabled = false).await;
    for path in ["/.well-known/oauth-authorization-server", "/oauth/authorize"] {
        p.nobody().get(path).await.expect(404);
    }
    let resource = p.nobody().get("/.well-known/oauth-protected-resource").await.expect(200).json();
    assert_eq!(resource["authorization_servers"], Value::Null);
}
