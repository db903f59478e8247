//! OAuth grants of users: stored sealed, revocable, and never sent to another server.

use serde_json::json;
use toolyard_testkit::{authorization::GuardedUpstream, upstream::UpstreamEra};

use super::{
    guarded::{authorize, link},
    world::{add_with, live, refresh, text},
};
use crate::platform::Platform;

async fn started(p: &Platform) -> GuardedUpstream {
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    add_with(p, "up", json!({ "url": guarded.url(), "auth": "oauth" })).await;
    guarded
}

fn stored(p: &Platform) -> Vec<u8> {
    let folder = p.data().parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.is_file()).flat_map(|file| std::fs::read(file).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn calls(p: &Platform, user: &str) -> bool {
    let result = live(p, user).await.run("mcp.up:echo", json!({ "text": "x" })).await;
    assert!(result["isError"].is_null() || text(&result).contains("/sign-in"), "{result}");
    result["isError"].is_null()
}

#[tokio::test]
async fn tokens_are_sealed_in_the_store_and_outlive_the_root_key() {
    let (old, new) = ("11".repeat(32), "22".repeat(32));
    let p = Platform::with(|config| config.auth.root_key = Some(old.clone())).await;
    let guarded = started(&p).await;
    guarded.authorization.configure(|script| {
        script.gives_secret = true;
        script.auth_methods = vec!["client_secret_basic".to_owned()];
    });
    authorize(&p, "ada", "up").await.expect(200);
    assert!(calls(&p, "ada").await);
    let bytes = stored(&p);
    assert!(holds(&bytes, "mcp.up"), "this looks at the right place");
    for secret in ["access-", "refresh-", "secret-of-client"] {
        assert!(!holds(&bytes, secret), "{secret}");
    }
    let p = p
        .restart_with(|config| {
            config.auth.root_key = Some(new.clone());
            config.auth.old_root_key = Some(old.clone());
        })
        .await;
    assert!(calls(&p, "ada").await);
    let p = p.restart_with(|config| config.auth.old_root_key = None).await;
    assert!(calls(&p, "ada").await, "the old key is not needed any more");
    assert_eq!(guarded.authorization.requests("/authorize").len(), 1);
}

#[tokio::test]
async fn a_user_can_revoke_and_renew_authorization() {
    let p = Platform::start().await;
    let guarded = started(&p).await;
    for user in ["ada", "bob"] {
        authorize(&p, user, "up").await.expect(200);
    }
    p.user("ada").delete("/api/upstreams/up/authorize").await.expect(204);
    assert!(!calls(&p, "ada").await);
    assert!(calls(&p, "bob").await, "ada's alone");
    let asked = guarded.authorization.requests("/token").len();
    authorize(&p, "ada", "up").await.expect(200);
    assert!(calls(&p, "ada").await);
    assert_eq!(guarded.authorization.requests("/token").len(), asked + 1);
    p.user("carol").delete("/api/upstreams/up/authorize").await.expect(204);
}

#[tokio::test]
async fn removing_an_upstream_removes_its_tokens() {
    let p = Platform::start().await;
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    let body = json!({ "id": "up", "url": guarded.url(), "auth": "oauth" });
    p.nobody().post("/api/upstreams", &body).await.expect(201);
    let ada = live(&p, "ada").await;
    ada.put("/api/installs/mcp.up", &json!({})).await.expect(204);
    authorize(&p, "ada", "up").await.expect(200);
    assert_eq!(ada.tools().await.len(), 4);
    let (first, _) = link(&ada, "up").await;
    ada.delete("/api/installs/mcp.up").await.expect(204);
    ada.put("/api/installs/mcp.up", &json!({})).await.expect(204);
    assert_eq!(ada.tools().await, [""; 0], "as if it had never been there");
    assert_ne!(link(&ada, "up").await.0, first);
    // After the upstream is removed, another one of the same name gets nothing.
    authorize(&p, "ada", "up").await.expect(200);
    p.nobody().delete("/api/upstreams/up").await.expect(204);
    p.nobody().post("/api/upstreams", &body).await.expect(201);
    ada.put("/api/installs/mcp.up", &json!({})).await.expect(204);
    refresh(&p, "up").await;
    assert_eq!(ada.tools().await, [""; 0]);
}

#[tokio::test]
async fn tokens_are_not_sent_to_another_address() {
    let p = Platform::start().await;
    let (guarded, elsewhere) = (started(&p).await, GuardedUpstream::start(UpstreamEra::Modern).await);
    authorize(&p, "ada", "up").await.expect(200);
    assert!(calls(&p, "ada").await);
    p.nobody().patch("/api/upstreams/up", &json!({ "url": elsewhere.url() })).await.expect(200);
    assert!(!calls(&p, "ada").await);
    for seen in elsewhere.resource.requests("/mcp") {
        assert!(seen.headers.get("authorization").is_none(), "{seen:?}");
    }
    p.nobody().patch("/api/upstreams/up", &json!({ "url": guarded.url() })).await.expect(200);
}

#[tokio::test]
async fn a_configured_client_secret_is_sent_to_its_own_server_only() {
    let p = Platform::start().await;
    let guarded = GuardedUpstream::start(UpstreamEra::Modern).await;
    guarded.authorization.configure(|script| {
        script.registers = false;
        script.clients = vec![("by-hand".to_owned(), Some("the-secret".to_owned()))];
        script.auth_methods = vec!["client_secret_basic".to_owned()];
    });
    let details = json!({ "url": guarded.url(), "auth": "oauth", "clientId": "by-hand", "clientSecret": "the-secret",
        "issuer": "https://as.example.com" });
    add_with(&p, "up", details).await;
    let refused = p.user("ada").post("/api/upstreams/up/authorize", &json!({})).await.expect(503);
    assert!(!refused.text.contains("the-secret"), "{}", refused.text);
    assert!(guarded.authorization.requests("/authorize").is_empty());

    // A secret belongs to one server; for another it must be set again.
    let issuer = json!({ "issuer": guarded.authorization.url() });
    let refused = p.nobody().patch("/api/upstreams/up", &issuer).await.expect(400);
    assert!(refused.text.contains("clientSecret"), "{}", refused.text);
    let issuer = json!({ "issuer": guarded.authorization.url(), "clientSecret": "the-secret" });
    p.nobody().patch("/api/upstreams/up", &issuer).await.expect(200);
    authorize(&p, "ada", "up").await.expect(200);
    assert!(calls(&p, "ada").await);
    let shown = p.nobody().get("/api/upstreams/up").await.expect(200);
    assert_eq!(shown.json()["details"]["issuer"], guarded.authorization.url());
    assert!(!shown.text.contains("the-secret"), "{}", shown.text);
}
