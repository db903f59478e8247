//! `/api/audit` and its export.

use serde_json::{Value, json};
use toolyard_server::auth::Role;

use crate::{
    oauth::client::Client,
    platform::{Platform, tokens_only},
};

/// A server with seven tokens of two users: entries 1 to 7, a second apart.
async fn with_entries() -> Platform {
    let p = Platform::start().await;
    for number in 0..7 {
        let user = if number % 2 == 0 { "ada" } else { "bob" };
        let request = json!({ "name": format!("token {number}"), "user": user });
        p.nobody().post("/api/tokens", &request).await.expect(201);
        p.clock.advance(1);
    }
    p
}

async fn numbers(p: &Platform, query: &str) -> (Vec<u64>, Value) {
    let page = p.nobody().get(&format!("/api/audit{query}")).await.expect(200).json();
    let entries = page["entries"].as_array().unwrap();
    (entries.iter().map(|entry| entry["number"].as_u64().unwrap()).collect(), page["next"].clone())
}

#[tokio::test]
async fn the_log_is_read_page_by_page_in_both_directions() {
    let p = with_entries().await;
    assert_eq!(numbers(&p, "?limit=3").await, (vec![7, 6, 5], json!(5)));
    assert_eq!(numbers(&p, "?limit=3&before=5").await, (vec![4, 3, 2], json!(2)));
    assert_eq!(numbers(&p, "?limit=3&before=2").await, (vec![1], Value::Null));
    assert_eq!(numbers(&p, "?limit=4&after=0").await, (vec![1, 2, 3, 4], json!(4)));
    assert_eq!(numbers(&p, "?limit=4&after=4").await, (vec![5, 6, 7], Value::Null));
    assert_eq!(numbers(&p, "?limit=0").await.0, [7], "at least one");
    let page = p.nobody().get("/api/audit?after=0&limit=2").await.expect(200).json();
    let [first, second] = [&page["entries"][0], &page["entries"][1]];
    assert_eq!(first["previous"], json!("0".repeat(64)));
    assert_eq!(second["previous"], first["hash"]);
    assert_eq!((&first["action"], &first["actorKind"]), (&json!("token.issued"), &json!("person")));
    assert_eq!((&first["userId"], &first["detail"]["role"]), (&json!("ada"), &json!("user")));
    assert_eq!(first["credential"], "dev mode");
    assert!(first["mac"].is_null(), "{first}");
}

#[tokio::test]
async fn the_log_is_filtered_and_bad_filters_are_refused() {
    let p = with_entries().await;
    p.nobody().put("/api/approvals/policy", &json!({ "preset": "default" })).await.expect(200);
    assert_eq!(numbers(&p, "?action=approval.policy_changed").await.0, [8]);
    assert_eq!(numbers(&p, "?user=bob").await.0, [6, 4, 2]);
    let actor = p.nobody().get("/api/audit?limit=1").await.json()["entries"][0]["actor"].clone();
    assert_eq!(numbers(&p, &format!("?actor={}", actor.as_str().unwrap())).await.0.len(), 8);
    assert_eq!(numbers(&p, "?actor=nobody").await.0, [0; 0]);
    let page = p.nobody().get("/api/audit?after=0").await.expect(200).json();
    let at = |index: usize| page["entries"][index]["at"].as_str().unwrap().to_owned();
    assert_eq!(numbers(&p, &format!("?since={}&until={}", at(2), at(4))).await.0, [4, 3]);
    for (query, why) in [
        ("?action=token.stolen", "token.stolen"),
        ("?before=3&after=3", "either"),
        ("?before=-1", "before"),
        ("?since=yesterday", "since"),
        ("?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "after `since`"),
        ("/export?limit=5", "after"),
        ("/export?before=5", "after"),
    ] {
        let refused = p.nobody().get(&format!("/api/audit{query}")).await.expect(400);
        assert!(refused.text.contains(why), "{query}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_page_has_a_bound() {
    let p = Platform::start().await;
    let request = json!({ "preset": "default" });
    for _ in 0..201 {
        p.nobody().put("/api/approvals/policy", &request).await.expect(200);
    }
    let (page, next) = numbers(&p, "?limit=1000").await;
    assert_eq!((page.len(), next), (200, json!(2)));
}

#[tokio::test]
async fn an_export_is_one_entry_a_line_and_can_be_continued() {
    let p = with_entries().await;
    let export = p.nobody().get("/api/audit/export").await.expect(200);
    assert_eq!(export.header("content-type"), "application/x-ndjson");
    assert_eq!(export.header("content-disposition"), "attachment; filename=\"toolyard-audit.jsonl\"");
    assert_eq!(export.header("cache-control"), "no-store");
    let lines: Vec<Value> = export.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let page = p.nobody().get("/api/audit?after=0").await.expect(200).json();
    assert_eq!(Value::Array(lines), page["entries"]);
    let rest = p.nobody().get("/api/audit/export?after=5").await.expect(200).text;
    assert_eq!(rest.lines().collect::<Vec<_>>(), export.text.lines().skip(5).collect::<Vec<_>>());
    assert_eq!(p.nobody().get("/api/audit/export?user=bob").await.expect(200).text.lines().count(), 3);
    assert_eq!(p.nobody().get("/api/audit/export?after=7").await.expect(200).text, "");
}

#[tokio::test]
async fn a_client_of_an_operator_cannot_read_the_log() {
    let p = Platform::with(tokens_only).await;
    let operator = p.bearer(&p.token("root", Role::Operator));
    let granted = Client::register(&p).await.connect(&operator, "tools:read account", json!({})).await;
    for path in ["/api/audit", "/api/audit/export"] {
        operator.get(path).await.expect(200);
        p.bearer(&granted.access).get(path).await.expect(403);
    }
}
