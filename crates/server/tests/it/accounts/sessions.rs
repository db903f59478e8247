//! Browser sessions: how long they last, and how they end.

use serde_json::{Value, json};

use super::{browser, closed_server, cookie, sign_in_by_password, signed_in, with_password};
use crate::platform::tokens_only;

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

#[tokio::test]
async fn a_session_is_renewed_by_use_and_ends_when_idle() {
    let (p, operator) = closed_server().await;
    let mut pair = signed_in(&p, &operator, "ada", "user").await;
    p.clock.advance(2 * HOUR);
    assert!(cookie(&browser(&p, &pair).get("/api/me").await.expect(200)).is_none(), "fresh enough");
    p.clock.advance(HOUR);
    let public = browser(&p, &pair).get("/api/sign-in").await.expect(200);
    assert!(cookie(&public).is_none(), "what is public may be cached for everyone");
    let renewed = browser(&p, &pair).get("/api/me").await.expect(200);
    assert!(cookie(&renewed).is_some() && renewed.header("cache-control") == "no-store");
    // Used every ten hours, it lasts for 30 days and no longer.
    let mut lasted = 3 * HOUR;
    loop {
        p.clock.advance(10 * HOUR);
        lasted += 10 * HOUR;
        let answer = browser(&p, &pair).get("/api/me").await;
        if answer.status == 401 {
            break;
        }
        pair = cookie(&answer.expect(200)).expect("renewed");
    }
    assert!((30 * DAY..30 * DAY + 10 * HOUR).contains(&lasted), "{lasted}");
    let idle = signed_in(&p, &p.token("root", toolyard_server::auth::Role::Operator), "bob", "user").await;
    p.clock.advance(DAY);
    let ended = browser(&p, &idle).get("/api/me").await.expect(401);
    assert!(ended.text.contains("sign in again"), "{}", ended.text);
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one_or_all() {
    let (p, operator) = closed_server().await;
    let first = with_password(&p, &operator, "ada").await;
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    p.clock.advance(1);
    let request = json!({ "user": "ada", "password": super::PASSWORD });
    let answer =
        p.as_with(&[("user-agent", agent)]).post("/api/sign-in/password", &request).await.expect(200);
    let second = cookie(&answer).unwrap();
    p.clock.advance(1);
    let third = cookie(&sign_in_by_password(&p, "ada", super::PASSWORD).await.expect(200)).unwrap();
    let list = browser(&p, &second).get("/api/me/sessions").await.expect(200).json();
    let sessions = list["sessions"].as_array().unwrap();
    let facts: Vec<_> = sessions
        .iter()
        .map(|session| (session["method"].as_str().unwrap(), session["current"].as_bool().unwrap()))
        .collect();
    assert_eq!(facts, [("password", false), ("password", true), ("link", false)]);
    assert_eq!(sessions[1]["device"], "Firefox on Linux");

    let path = format!("/api/me/sessions/{}", sessions[0]["id"].as_str().unwrap());
    let bob = signed_in(&p, &operator, "bob", "user").await;
    browser(&p, &bob).delete(&path).await.expect(404);
    browser(&p, &second).delete(&path).await.expect(204);
    browser(&p, &second).delete(&path).await.expect(404);
    browser(&p, &second).delete("/api/me/sessions/nonsense").await.expect(404);
    browser(&p, &third).get("/api/me").await.expect(401);
    browser(&p, &first).get("/api/me").await.expect(200);
    browser(&p, &second).delete("/api/me/sessions").await.expect(204);
    browser(&p, &first).get("/api/me").await.expect(401);
    browser(&p, &second).get("/api/me").await.expect(200);
    let signed_out = browser(&p, &second).post("/api/sign-out", &json!({})).await.expect(204);
    assert!(
        signed_out.header("set-cookie").contains("toolyard=; ")
            && signed_out.header("set-cookie").contains("Max-Age=0")
    );
    browser(&p, &second).get("/api/me").await.expect(401);
    // It stays so after a restart.
    let p = p.restart_with(tokens_only).await;
    for ended in [&first, &second, &third] {
        browser(&p, ended).get("/api/me").await.expect(401);
    }
    browser(&p, &bob).get("/api/me").await.expect(200);
}

#[tokio::test]
async fn the_session_used_longest_ago_makes_room() {
    let (p, operator) = closed_server().await;
    let mut cookies = vec![with_password(&p, &operator, "ada").await];
    for _ in 0..20 {
        p.clock.advance(1);
        cookies.push(cookie(&sign_in_by_password(&p, "ada", super::PASSWORD).await.expect(200)).unwrap());
    }
    browser(&p, &cookies[0]).get("/api/me").await.expect(401);
    browser(&p, &cookies[1]).get("/api/me").await.expect(200);
    let list = browser(&p, &cookies[20]).get("/api/me/sessions").await.expect(200).json();
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(20));
}

#[tokio::test]
async fn a_cookie_works_for_tools_mcp_and_chat_of_its_own_pages() {
    let (p, operator) = closed_server().await;
    let ada = signed_in(&p, &operator, "ada", "user").await;
    let ada = browser(&p, &ada);
    ada.get("/api/tools").await.expect(200);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let mcp = ada.clone().header("accept", "application/json, text/event-stream").post("/mcp", &list).await;
    assert!(mcp.expect(200).text.contains("serverInfo"));
    let ticket: Value = ada.post("/api/tickets", &json!({ "for": "glasses" })).await.json();
    assert!(ticket.is_object());
    // An operator in a browser acts for a user, as with a token.
    let root = signed_in(&p, &operator, "ruth", "operator").await;
    let for_bob = browser(&p, &root).header("x-user-id", "bob");
    assert_eq!(for_bob.get("/api/me").await.expect(200).json()["userId"], "bob");
    let refused = ada.clone().header("x-user-id", "bob").get("/api/me").await.expect(403);
    assert!(refused.text.contains("another user"));
}
