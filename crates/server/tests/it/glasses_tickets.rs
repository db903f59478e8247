//! Tickets for glasses in a browser, which cannot send a token when it opens a socket.

use serde_json::json;
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    knock::knock,
    platform::{Device, ECHO, Person, Platform, tokens_only},
};

async fn ticket(who: &Person<'_>) -> String {
    let answer = who.post("/api/glasses/ticket", &json!({})).await.expect(200).json();
    assert_eq!(answer["expiresInS"], 30);
    answer["ticket"].as_str().unwrap().to_owned()
}

async fn refused(p: &Platform, path: &str) -> String {
    let (status, text) = knock(p, path, &[]).await.unwrap_err();
    assert_eq!(status, 401, "{path}");
    text
}

#[tokio::test]
async fn a_ticket_opens_the_glasses_socket_of_its_user_once() {
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let good = ticket(&ada).await;
    let path = format!("/glasses-ws?ticket={good}");
    // Another user in the URL is ignored.
    let mut device = Device::connect(&format!("{}{path}&user=bob", p.url.replace("http", "ws")), None).await;
    device.wears("Mentra Live").await;
    let session = ada.get("/api/session").await.expect(200).json();
    assert_eq!(session["capabilities"]["modelName"], "Mentra Live");
    assert!(!p.state.sessions.is_live(&"bob".parse().unwrap()));
    assert!(refused(&p, &path).await.contains("ticket"), "once");
    let other = format!("/ws/client?ticket={}", ticket(&ada).await);
    assert!(knock(&p, &other, &[]).await.is_ok(), "under its other name as well");
}

#[tokio::test]
async fn a_ticket_is_for_one_socket_kind_and_expires() {
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let for_glasses = ticket(&ada).await;
    assert_eq!(knock(&p, &format!("/mcp/ws?ticket={for_glasses}"), &[]).await.unwrap_err().0, 401);
    refused(&p, &format!("/glasses-ws?ticket={for_glasses}")).await;
    let for_mcp = ada.post("/api/mcp/ticket", &json!({})).await.expect(200).json();
    refused(&p, &format!("/glasses-ws?ticket={}", for_mcp["ticket"].as_str().unwrap())).await;
    let late = ticket(&ada).await;
    p.clock.advance(30);
    refused(&p, &format!("/glasses-ws?ticket={late}")).await;
    for bad in ["", "nonsense", &p.token("ada", Role::User)] {
        let path = format!("/glasses-ws?ticket={bad}&token={}", p.token("ada", Role::User));
        refused(&p, &path).await;
    }
}

#[tokio::test]
async fn tickets_are_issued_to_users_and_to_operators_for_a_user() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    p.nobody().post("/api/glasses/ticket", &json!({})).await.expect(401);
    p.bearer(&key).header("x-user-id", "ada").post("/api/glasses/ticket", &json!({})).await.expect(403);
    let bob = p.bearer(&p.token("bob", Role::User)).header("x-user-id", "ada");
    bob.post("/api/glasses/ticket", &json!({})).await.expect(403);
    let root = p.bearer(&p.token("root", Role::Operator)).header("x-user-id", "ada");
    let path = format!("/glasses-ws?ticket={}", ticket(&root).await);
    let _device = Device::connect(&format!("{}{path}", p.url.replace("http", "ws")), None).await;
    assert!(p.state.sessions.is_live(&"ada".parse().unwrap()));

    let dev = Platform::start().await;
    dev.nobody().post("/api/glasses/ticket", &json!({})).await.expect(401);
    ticket(&dev.user("ada")).await;
}
