//! Tickets: how a browser, which cannot send a token, opens a socket.

use serde_json::json;
use toolyard_server::auth::Role;

use super::{client::Ask, line::Line};
use crate::{
    identity::app_of,
    knock::knock,
    platform::{ECHO, Person, Platform, tokens_only},
};

async fn ticket(who: &Person<'_>) -> String {
    let answer = who.post("/api/mcp/ticket", &json!({})).await.expect(200).json();
    assert_eq!((&answer["expiresInS"], &answer["expiresIn"]), (&json!(30), &json!(30)));
    answer["ticket"].as_str().unwrap().to_owned()
}

/// A socket by its ticket alone, or the status with which it is refused.
async fn open(p: &Platform, ticket: &str) -> Result<Line, u16> {
    let path = format!("/mcp/ws?ticket={ticket}");
    let opened = knock(p, &path, &[("sec-websocket-protocol", "mcp")]).await;
    opened.map(Line::over).map_err(|(status, _)| status)
}

async fn tools(line: &mut Line) -> usize {
    let list = line.ask(Ask::modern("tools/list", json!({}))).await;
    list["result"]["tools"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_ticket_opens_one_socket_for_its_owner() {
    let p = Platform::with(tokens_only).await;
    let (_app, _) = app_of(&p, "dora", ECHO).await;
    let (ada, bob) = (p.bearer(&p.token("ada", Role::User)), p.bearer(&p.token("bob", Role::User)));
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let (adas, bobs) = (ticket(&ada).await, ticket(&bob).await);
    assert!(
        adas.len() >= 32
            && adas != bobs
            && adas.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    );
    assert_eq!(tools(&mut open(&p, &adas).await.unwrap()).await, 1);
    assert_eq!(tools(&mut open(&p, &bobs).await.unwrap()).await, 0);
    for used in [&adas, &bobs] {
        assert_eq!(open(&p, used).await.err(), Some(401), "once");
    }
}

#[tokio::test]
async fn a_ticket_expires() {
    let p = Platform::with(tokens_only).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let (soon, late) = (ticket(&ada).await, ticket(&ada).await);
    p.clock.advance(29);
    open(&p, &soon).await.unwrap();
    p.clock.advance(1);
    assert_eq!(open(&p, &late).await.err(), Some(401));
}

#[tokio::test]
async fn an_invalid_ticket_is_refused_even_with_a_token() {
    let (p, other) = (Platform::with(tokens_only).await, Platform::with(tokens_only).await);
    let token = p.token("ada", Role::User);
    let foreign = ticket(&other.bearer(&other.token("ada", Role::User))).await;
    let bearer = format!("Bearer {token}");
    for bad in ["", "nonsense", &token, &foreign] {
        assert_eq!(open(&p, bad).await.err(), Some(401), "{bad}");
        let path = format!("/mcp/ws?ticket={bad}");
        let (status, text) = knock(&p, &path, &[("authorization", &bearer)]).await.unwrap_err();
        assert_eq!(status, 401, "{bad}: {text}");
    }
    // A ticket opens sockets only.
    let good = ticket(&p.bearer(&token)).await;
    p.nobody().post(&format!("/mcp?ticket={good}"), &json!({})).await.expect(401);
    p.bearer(&good).modern("tools/list", json!({})).await.expect(401);
    open(&p, &good).await.unwrap();
    p.nobody().post("/api/mcp/ticket", &json!({})).await.expect(401);
    p.bearer("nonsense").post("/api/mcp/ticket", &json!({})).await.expect(401);
}

#[tokio::test]
async fn a_ticket_from_a_foreign_origin_is_refused_and_stays_valid() {
    let p = Platform::with(tokens_only).await;
    let good = ticket(&p.bearer(&p.token("ada", Role::User))).await;
    let path = format!("/mcp/ws?ticket={good}");
    for (header, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
        assert_eq!(knock(&p, &path, &[(header, value)]).await.unwrap_err().0, 403);
    }
    open(&p, &good).await.unwrap();
}

#[tokio::test]
async fn an_apps_ticket_shows_what_the_app_may_see() {
    let p = Platform::with(tokens_only).await;
    let (_echo, key) = app_of(&p, "dora", ECHO).await;
    let (_other, _) = app_of(&p, "mal", "com.example.other").await;
    let ada = p.bearer(&p.token("ada", Role::User));
    for package in [ECHO, "com.example.other"] {
        ada.put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    let app = p.bearer(&key).header("x-user-id", "ada");
    app.post("/api/mcp/ticket", &json!({})).await.expect(401);
    ada.get("/api/session").await.expect(200);
    assert_eq!(tools(&mut open(&p, &ticket(&app).await).await.unwrap()).await, 1);
    assert_eq!(tools(&mut open(&p, &ticket(&ada).await).await.unwrap()).await, 2);
}

#[tokio::test]
async fn a_socket_ends_with_the_token_behind_it() {
    let p = Platform::with(tokens_only).await;
    let token = p.token("ada", Role::User);
    let bearer = format!("Bearer {token}");
    let mut by_ticket = open(&p, &ticket(&p.bearer(&token)).await).await.unwrap();
    let mut by_token = Line::open(&p, &[("authorization", &bearer)]).await;
    for line in [&mut by_ticket, &mut by_token] {
        assert_eq!(tools(line).await, 0);
    }
    p.clock.advance(3_600);
    for line in [&mut by_ticket, &mut by_token] {
        line.send(&Ask::modern("tools/list", json!({})).id(2)).await;
        assert_eq!(line.closed().await, Some(1008));
        assert!(line.unasked().iter().all(|message| message["id"] != 2), "{:?}", line.unasked());
    }
}

#[tokio::test]
async fn in_dev_mode_a_ticket_needs_only_the_user_header() {
    let p = Platform::start().await;
    assert_eq!(tools(&mut open(&p, &ticket(&p.user("ada")).await).await.unwrap()).await, 0);
}
