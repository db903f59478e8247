//! Listed tokens: issued, shown once, revoked.

use http::Method;
use serde_json::{Value, json};
use toolyard_core::ports::Clock as _;
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    knock::knock,
    mcp::{client::Ask, line::Line},
    platform::{Device, ECHO, Person, Platform, tokens_only},
};

/// Longer than any token that is issued with it.
fn lasting<'a>(p: &'a Platform, name: &str) -> Person<'a> {
    p.bearer(&p.state.tokens.issue_unlisted(name, Role::User, p.clock.now(), 400 * 86_400).unwrap())
}

fn ada(p: &Platform) -> Person<'_> {
    lasting(p, "ada")
}

fn root(p: &Platform) -> Person<'_> {
    p.bearer(&p.token("root", Role::Operator))
}

/// The token and its id.
async fn made(who: &Person<'_>, body: Value) -> (String, String) {
    let made = who.post("/api/tokens", &body).await.expect(201).json();
    (made["token"].as_str().unwrap().to_owned(), made["info"]["id"].as_str().unwrap().to_owned())
}

async fn names(who: &Person<'_>) -> Vec<String> {
    let list = who.get("/api/tokens").await.expect(200).json();
    list["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn an_issued_token_is_valid_listed_and_shown_once() {
    let p = Platform::with(tokens_only).await;
    let answer = ada(&p).post("/api/tokens", &json!({ "name": " laptop " })).await.expect(201).json();
    let (token, info) = (answer["token"].as_str().unwrap(), &answer["info"]);
    assert_eq!(
        (&info["name"], &info["subject"], &info["role"], &info["createdBy"]),
        (&json!("laptop"), &json!("ada"), &json!("user"), &json!("ada"))
    );
    assert!(info.get("revokedAt").is_none());
    let day =
        |name: &str| info[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second() / 86_400;
    assert_eq!(day("expiresAt") - day("createdAt"), 30);
    let me = p.bearer(token).get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["tokenEndsAt"]), (&json!("ada"), &info["expiresAt"]));
    let list = ada(&p).get("/api/tokens").await.expect(200);
    assert_eq!(list.json(), json!({ "tokens": [info] }));
    assert!(!list.text.contains(token), "never again");
    p.clock.advance(30 * 86_400);
    p.bearer(token).get("/api/me").await.expect(401);
}

#[tokio::test]
async fn only_operators_issue_tokens_for_others() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    p.nobody().post("/api/tokens", &json!({ "name": "x" })).await.expect(401);
    p.bearer(&key).post("/api/tokens", &json!({ "name": "x" })).await.expect(403);
    p.bearer(&key).get("/api/tokens").await.expect(403);
    for body in [
        json!({ "name": "x", "user": "bob" }),
        json!({ "name": "x", "role": "developer" }),
        json!({ "name": "x", "role": "operator" }),
    ] {
        assert_eq!(dora.post("/api/tokens", &body).await.expect(403).code(), "FORBIDDEN", "{body}");
    }
    made(&dora, json!({ "name": "hers", "user": "Dora", "role": "user" })).await;
    let (curator, _) =
        made(&root(&p), json!({ "name": "for bob", "user": "Bob", "role": "curator", "days": 365 })).await;
    let me = p.bearer(&curator).get("/api/me").await.expect(200).json();
    assert_eq!((&me["name"], &me["role"]), (&json!("bob"), &json!("curator")));
    assert_eq!(names(&dora).await, ["hers"]);
    assert_eq!(names(&p.bearer(&curator)).await, ["for bob"]);
    assert_eq!(names(&ada(&p)).await, [""; 0]);
    let mut all = names(&root(&p)).await;
    all.sort();
    assert_eq!(all, ["for bob", "hers"]);
}

#[tokio::test]
async fn only_operators_issue_tokens_that_outlive_their_own() {
    let p = Platform::with(tokens_only).await;
    let lasts = async |who: Person<'_>, body: Value| {
        let info = &who.post("/api/tokens", &body).await.expect(201).json()["info"];
        let time = |name: &str| info[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
        time("expiresAt") - time("createdAt")
    };
    for role in [Role::User, Role::Developer, Role::Curator] {
        let who = p.bearer(&p.token("ada", role));
        assert_eq!(lasts(who, json!({ "name": "x", "days": 365 })).await, 3_600, "{role:?}");
    }
    assert_eq!(lasts(root(&p), json!({ "name": "x", "days": 365 })).await, 365 * 86_400);
    assert_eq!(lasts(ada(&p), json!({ "name": "x", "days": 365 })).await, 365 * 86_400);
}

#[tokio::test]
async fn tokens_with_a_higher_role_cannot_be_managed() {
    let p = Platform::with(tokens_only).await;
    let (_, id) = made(&root(&p), json!({ "name": "builds", "user": "ada", "role": "developer" })).await;
    assert_eq!(names(&ada(&p)).await, [""; 0]);
    ada(&p).delete(&format!("/api/tokens/{id}")).await.expect(404);
    let developer = p.bearer(&p.token("ada", Role::Developer));
    assert_eq!(names(&developer).await, ["builds"]);
    developer.delete(&format!("/api/tokens/{id}")).await.expect(204);
}

#[tokio::test]
async fn invalid_token_requests_are_refused() {
    let p = Platform::with(tokens_only).await;
    for body in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": "  " }),
        json!({ "name": "a\nb" }),
        json!({ "name": "x".repeat(101) }),
        json!({ "name": "x", "days": 0 }),
        json!({ "name": "x", "days": 366 }),
        json!({ "name": "x", "days": 1.5 }),
        json!({ "name": "x", "role": "king" }),
        json!({ "name": "x", "user": "a b" }),
    ] {
        let answer = root(&p).post("/api/tokens", &body).await.expect(400);
        assert_eq!(answer.code(), "INVALID_REQUEST", "{body}");
    }
    made(&root(&p), json!({ "name": "ü".repeat(100), "days": 1 })).await;
    assert_eq!(names(&root(&p)).await.len(), 1);
}

#[tokio::test]
async fn a_revoked_token_is_refused_at_once_and_after_a_restart() {
    let p = Platform::with(tokens_only).await;
    let ((first, id), (second, _)) =
        (made(&ada(&p), json!({ "name": "one" })).await, made(&ada(&p), json!({ "name": "two" })).await);
    // Verified before, and so cached.
    p.bearer(&first).get("/api/tools").await.expect(200);
    let path = format!("/api/tokens/{id}");
    p.bearer(&p.token("bob", Role::User)).delete(&path).await.expect(404);
    p.nobody().delete(&path).await.expect(401);
    p.bearer(&first).get("/api/tools").await.expect(200);
    p.bearer(&second).delete(&path).await.expect(204);
    let refused = p.bearer(&first).get("/api/tools").await.expect(401);
    assert!(refused.text.contains("revoked"), "{}", refused.text);
    p.bearer(&second).get("/api/tools").await.expect(200);
    root(&p).delete(&path).await.expect(204);
    let list = ada(&p).get("/api/tokens").await.expect(200).json();
    let one = list["tokens"].as_array().unwrap().iter().find(|token| token["name"] == "one").unwrap().clone();
    assert!(one["revokedAt"].is_string());
    for none in ["nonsense", &"0".repeat(32), "..%2fapps"] {
        root(&p).delete(&format!("/api/tokens/{none}")).await.expect(404);
    }
    let p = p.restart().await;
    p.bearer(&first).get("/api/tools").await.expect(401);
    p.bearer(&second).get("/api/tools").await.expect(200);
    // Unlisted tokens keep working.
    ada(&p).get("/api/tools").await.expect(200);
}

#[tokio::test]
async fn open_sockets_end_with_the_token_that_was_revoked() {
    let p = Platform::with(tokens_only).await;
    let (token, id) = made(&ada(&p), json!({ "name": "sockets" })).await;
    let bearer = format!("Bearer {token}");
    let mut line = Line::open(&p, &[("authorization", &bearer)]).await;
    line.ask(Ask::modern("tools/list", json!({}))).await;
    let glasses = format!("{}/glasses-ws", p.url.replace("http", "ws"));
    let (mut device, mut other) = (
        Device::connect(&glasses, Some(&token)).await,
        Device::connect(&glasses, Some(&p.token("bob", Role::User))).await,
    );
    let ticket = async |path: &str| {
        let ticket = p.bearer(&token).post(path, &json!({})).await.expect(200).json();
        ticket["ticket"].as_str().unwrap().to_owned()
    };
    let (to_glasses, to_mcp) = (ticket("/api/glasses/ticket").await, ticket("/api/mcp/ticket").await);
    ada(&p).delete(&format!("/api/tokens/{id}")).await.expect(204);

    line.send(&Ask::modern("tools/list", json!({})).id(2)).await;
    assert_eq!(line.closed().await, Some(1008));
    device.say(json!({ "type": "ping" })).await;
    assert_eq!(device.closed().await, Some(1008));
    other.say(json!({ "type": "ping" })).await;
    other.hear("pong").await.unwrap();
    for path in [format!("/glasses-ws?ticket={to_glasses}"), format!("/mcp/ws?ticket={to_mcp}")] {
        assert_eq!(
            knock(&p, &path, &[]).await.unwrap_err().0,
            401,
            "a ticket is worth no more than its token"
        );
    }
}

#[tokio::test]
async fn streams_and_silent_sockets_end_with_their_token() {
    let p = Platform::with(tokens_only).await;
    let (_app, _) = app_of(&p, "dora", ECHO).await;
    let install = format!("/api/installs/{ECHO}");
    for is_revoked in [true, false] {
        ada(&p).put(&install, &json!({})).await.expect(204);
        let (token, id) = made(&ada(&p), json!({ "name": "streams", "days": 1 })).await;
        let mut changes = p.bearer(&token).listen(1, json!({ "toolsListChanged": true })).await;
        let calls = p.bearer(&token).open(Method::GET, "/api/calls/stream", None).await;
        let mut calls = calls.into_lines(10_000, 100_000);
        let glasses = format!("{}/glasses-ws", p.url.replace("http", "ws"));
        let mut device = Device::connect(&glasses, Some(&token)).await;
        if is_revoked {
            ada(&p).delete(&format!("/api/tokens/{id}")).await.expect(204);
        } else {
            p.clock.advance(86_400);
        }
        ada(&p).call(&format!("{ECHO}:echo"), json!({ "text": "x" })).await.expect(200);
        assert!(calls.next().await.unwrap().is_none(), "is_revoked: {is_revoked}");
        ada(&p).delete(&install).await.expect(204);
        assert_eq!(changes.next().await, None, "is_revoked: {is_revoked}");
        device.say(json!({ "type": "ping" })).await;
        assert_eq!(device.closed().await, Some(1008), "is_revoked: {is_revoked}");
    }
}

#[tokio::test]
async fn tokens_per_person_are_limited_and_expired_ones_are_removed() {
    let p = Platform::with(tokens_only).await;
    let mut last = String::new();
    for number in 0..100 {
        last = made(&ada(&p), json!({ "name": number.to_string(), "days": 1 })).await.1;
    }
    let full = ada(&p).post("/api/tokens", &json!({ "name": "one more" })).await.expect(409);
    assert_eq!(full.code(), "QUOTA_REACHED");
    ada(&p).delete(&format!("/api/tokens/{last}")).await.expect(204);
    ada(&p).post("/api/tokens", &json!({ "name": "one more" })).await.expect(409);
    made(&lasting(&p, "bob"), json!({ "name": "his" })).await;
    p.clock.advance(86_400);
    made(&ada(&p), json!({ "name": "one more" })).await;
    let p = p.restart().await;
    while names(&root(&p)).await.len() > 2 {}
    assert_eq!(names(&ada(&p)).await, ["one more"]);
}

#[tokio::test]
async fn in_dev_mode_the_operator_issues_tokens() {
    let p = Platform::start().await;
    let (token, _) = made(&p.nobody(), json!({ "name": "x", "user": "ada" })).await;
    assert_eq!(p.bearer(&token).get("/api/me").await.expect(200).json()["role"], "user");
    let (own, _) = made(&p.user("bob"), json!({ "name": "y" })).await;
    assert_eq!(p.bearer(&own).get("/api/me").await.expect(200).json()["userId"], "bob");
}

#[tokio::test]
async fn a_list_comes_page_by_page() {
    let p = Platform::with(tokens_only).await;
    for number in 0..5 {
        made(&ada(&p), json!({ "name": number.to_string() })).await;
        p.clock.advance(i64::from(number % 2 == 0));
    }
    let (mut seen, mut path) = (Vec::new(), "/api/tokens?limit=2".to_owned());
    loop {
        let page = ada(&p).get(&path).await.expect(200).json();
        let tokens = page["tokens"].as_array().unwrap();
        assert!(!tokens.is_empty() && tokens.len() <= 2);
        seen.extend(tokens.iter().map(|token| token["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/tokens?limit=2&before={next}");
    }
    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4"]);
    for wrong in ["x", "1-x", "99999999999999999999-0"] {
        let answer = ada(&p).get(&format!("/api/tokens?before={wrong}")).await.expect(400);
        assert!(answer.text.contains("before: "), "{}", answer.text);
    }
}

#[tokio::test]
async fn revoking_a_token_revokes_the_tokens_issued_with_it() {
    let p = Platform::with(tokens_only).await;
    let (first, id) = made(&ada(&p), json!({ "name": "first" })).await;
    let (second, _) = made(&p.bearer(&first), json!({ "name": "second" })).await;
    let (third, _) = made(&p.bearer(&second), json!({ "name": "third" })).await;
    let (other, _) = made(&ada(&p), json!({ "name": "other" })).await;
    let list = ada(&p).get("/api/tokens").await.expect(200).json();
    let with: Vec<_> = list["tokens"].as_array().unwrap().iter().filter(|t| t["madeWith"] == *id).collect();
    assert_eq!((with.len(), &with[0]["name"]), (1, &json!("second")));
    p.bearer(&third).delete(&format!("/api/tokens/{id}")).await.expect(204);
    for token in [&first, &second, &third] {
        p.bearer(token).get("/api/me").await.expect(401);
    }
    p.bearer(&other).get("/api/me").await.expect(200);
    let p = p.restart().await;
    p.bearer(&third).get("/api/me").await.expect(401);
}
