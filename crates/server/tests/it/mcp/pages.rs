//! Lists page by page, also while they change.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::client::LEGACY;
use crate::platform::{ECHO, Person, Platform, echo_tool};

fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| {
        let mut tool = echo_tool();
        tool["name"] = (*name).into();
        tool
    };
    json!(names.iter().map(tool).collect::<Vec<_>>())
}

/// The local names on a page, and the cursor of the next.
async fn page(who: &Person<'_>, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
    let result = who.modern("tools/list", params).await.result();
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(60_000), &json!("private")));
    let local = |tool: &Value| tool["name"].as_str().unwrap().rsplit("__").next().unwrap().to_owned();
    let names = result["tools"].as_array().unwrap().iter().map(local).collect();
    (names, result.get("nextCursor").map(|cursor| cursor.as_str().unwrap().to_owned()))
}

/// Ada with these tools, two on a page.
async fn with(names: &[&str]) -> Platform {
    let p = Platform::with(|config| config.mcp.page_size = 2).await;
    p.nobody().post("/api/apps", &json!({ "packageName": ECHO, "tools": tools(names) })).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    p
}

async fn become_these(p: &Platform, names: &[&str]) {
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": tools(names) })).await.expect(200);
}

#[tokio::test]
async fn pages_follow_one_another_and_end() {
    for (names, sizes) in
        [(vec![], vec![0]), (vec!["a", "b"], vec![2]), (vec!["a", "b", "c", "d", "e"], vec![2, 2, 1])]
    {
        let p = with(&names).await;
        let (mut all, mut found, mut cursor) = (Vec::new(), Vec::new(), None);
        loop {
            let (names, next) = page(&p.user("ada"), cursor.as_deref()).await;
            found.push(names.len());
            all.extend(names);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!((all, found), (names.iter().map(|name| (*name).to_owned()).collect(), sizes));
    }
}

#[tokio::test]
async fn a_cursor_stays_valid_while_the_list_changes() {
    // Between the first page, a and b, and the second.
    for (after, second) in [
        (vec!["a", "b", "c", "d"], vec!["c", "d"]),
        (vec!["new", "a", "b", "c", "d"], vec!["c", "d"]),
        (vec!["a", "new", "b", "c", "d"], vec!["c", "d"]),
        (vec!["a", "b", "new", "c", "d"], vec!["new", "c"]),
        (vec!["b", "c", "d"], vec!["c", "d"]),
        (vec!["a", "c", "d"], vec!["c", "d"]),
        (vec!["a", "b"], vec![]),
        (vec!["a"], vec![]),
        (vec![], vec![]),
    ] {
        let p = with(&["a", "b", "c", "d"]).await;
        let (first, cursor) = page(&p.user("ada"), None).await;
        assert_eq!(first, ["a", "b"]);
        become_these(&p, &after).await;
        let (names, _) = page(&p.user("ada"), cursor.as_deref()).await;
        assert_eq!(names, second, "{after:?}");
    }
}

#[tokio::test]
async fn a_cursor_is_valid_for_other_clients_and_after_a_restart() {
    let p = with(&["a", "b", "c"]).await;
    let (_, cursor) = page(&p.user("ada"), None).await;
    let session = p.user("ada").handshake(LEGACY).await;
    let params = json!({ "cursor": cursor });
    let legacy = session.ask("tools/list", params).await.result();
    assert_eq!(legacy["tools"].as_array().unwrap().len(), 1);
    let p = p.restart().await;
    assert_eq!(page(&p.user("ada"), cursor.as_deref()).await, (vec!["c".to_owned()], None));
}

#[tokio::test]
async fn an_invalid_cursor_is_refused() {
    let p = with(&["a", "b", "c"]).await;
    let long = "A".repeat(5_000);
    for cursor in [json!(""), json!("nonsense"), json!("%"), json!("AAAA"), json!(long), json!(1), json!({})]
    {
        for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            let answer = p.user("ada").modern(list, json!({ "cursor": cursor })).await;
            assert_eq!(answer.refusal(), (200, -32602), "{list} {cursor}: {}", answer.text);
            assert!(answer.text.len() < 500, "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_thousand_tools_come_in_ten_pages() {
    let p = Platform::start().await;
    let names: Vec<String> = (0..1_000).map(|i| format!("tool_{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let body = json!({ "packageName": ECHO, "tools": tools(&names) });
    p.nobody().post("/api/apps", &body).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let (mut seen, mut pages, mut cursor) = (HashSet::new(), 0, None);
    loop {
        let (names, next) = page(&p.user("ada"), cursor.as_deref()).await;
        assert_eq!(names.len(), 100);
        assert!(names.into_iter().all(|name| seen.insert(name)), "no tool comes twice");
        pages += 1;
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (1_000, 10));
}
