//! Built-in tools without settings: calculations and times.

use serde_json::{Value, json};
use toolyard_testkit::model::ScriptedReply;

use super::{bad, good, with_tools};
use crate::chat;

#[tokio::test]
async fn calculations_have_results() {
    let (p, _device) = with_tools(|_| {}).await;
    let told = good(&p, "calculate", json!({ "expression": "15% of 80" })).await;
    assert!(told.contains("12"), "{told}");
    let wrong = bad(&p, "calculate", json!({ "expression": "2 +" })).await;
    assert!(wrong.contains("incomplete") && wrong.contains("after the `+`"), "{wrong}");
    let answer = p.user("ada").call("toolyard:calculate", json!({ "formula": "1" })).await.expect(400);
    assert_eq!(answer.code(), "INVALID_ARGUMENTS");
}

#[tokio::test]
async fn an_endless_calculation_is_stopped() {
    let (p, _device) = with_tools(|config| config.builtin.calculation_ms = 50).await;
    let huge = "9^".repeat(200) + "9";
    let answer = p.user("ada").call("toolyard:calculate", json!({ "expression": huge })).await;
    assert!(answer.status.is_client_error() || answer.status.is_server_error(), "{answer:?}");
    // The next one is not delayed.
    good(&p, "calculate", json!({ "expression": "1+1" })).await;
}

/// Threads of this process by their names.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok()).collect()
}

#[tokio::test]
async fn a_calculation_that_cannot_be_interrupted_does_not_go_on_in_the_server() {
    let (p, _device) = with_tools(|config| config.builtin.calculation_ms = 1_000).await;
    // Roots of large numbers and continued fractions cannot be interrupted.
    for expression in [
        "sqrt(2^8000000)",
        "cbrt(3^5000000)",
        "99999!",
        "1/(3^999999) to fraction",
        "(2^0.5)^(2^0.5) to 99999 dp",
    ] {
        let answer = p.user("ada").call("toolyard:calculate", json!({ "expression": expression })).await;
        assert!(answer.status.is_success() || answer.code() == "EXECUTION_ERROR", "{expression}: {answer:?}");
        assert!(!threads().iter().any(|name| name.trim() == "calculate"), "{expression} goes on");
        let next = good(&p, "calculate", json!({ "expression": "6 * 7" })).await;
        assert!(next.contains("42"), "{expression}: {next}");
    }
}

#[tokio::test]
async fn times_by_the_clock_of_the_server() {
    let (p, _device) = with_tools(|_| {}).await;
    for (tool, arguments, part) in [
        ("current_time", json!({ "zone": "Asia/Tokyo" }), "12:04"),
        (
            "convert_time",
            json!({ "time": "2026-07-01 12:00", "from_zone": "UTC", "to_zone": "Europe/Vienna" }),
            "14:00",
        ),
        ("time_difference", json!({ "start": "2026-01-01", "end": "2026-03-01" }), "59"),
        ("add_to_time", json!({ "start": "2026-01-02", "duration": "90 days" }), "2026-04-02"),
    ] {
        let told = good(&p, tool, arguments).await;
        assert!(told.contains(part), "{tool}: {told}");
    }
    let wrong = bad(&p, "current_time", json!({ "zone": "Atlantis" })).await;
    assert!(wrong.contains("Atlantis"), "{wrong}");
    p.clock.advance(3_600);
    let told = good(&p, "current_time", json!({ "zone": "Asia/Tokyo" })).await;
    assert!(told.contains("13:04"), "{told}");
}

#[tokio::test]
async fn built_in_tools_work_over_mcp() {
    let (p, _device) = with_tools(|_| {}).await;
    let result = p.user("ada").run("toolyard__calculate", json!({ "expression": "6*7" })).await;
    assert!(result["content"][0]["text"].as_str().unwrap().contains("42"), "{result}");
    assert_ne!(result["isError"], true);
    let result = p.user("ada").run("toolyard__calculate", json!({ "expression": "6*" })).await;
    assert_eq!(result["isError"], true, "{result}");
    let list = p.user("ada").modern("tools/list", json!({})).await.result();
    let tool = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "toolyard__current_time")
        .unwrap()
        .clone();
    assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
}

#[tokio::test]
async fn built_in_tools_work_in_a_chat_and_are_recorded() {
    let (p, model) = chat::with_model(|config| config.builtin.enabled = true).await;
    chat::script(
        &model,
        [
            ScriptedReply::call("toolyard__calculate", json!({ "expression": "6*7" })),
            ScriptedReply::text("42."),
        ],
    );
    let told = chat::chunks(&p.user("ada"), chat::asks("6*7?")).await;
    assert!(chat::one(&told, "tool-output-available")["output"].to_string().contains("42"), "{told:?}");
    assert_eq!(chat::one(&told, "data-tool")["data"]["app"], "Toolyard");
    let calls = p.user("ada").get("/api/calls").await.expect(200).json();
    let call = &calls["calls"][0];
    assert_eq!(
        (&call["source"], &call["door"], &call["tool"], &call["outcome"]),
        (&json!("builtin"), &json!("chat"), &json!("toolyard:calculate"), &json!("OK"))
    );
}

#[tokio::test]
async fn stored_results_are_read_by_handle_only() {
    let (p, _device) = with_tools(|_| {}).await;
    for handle in ["", "x", "00000000000000000000000000000000"] {
        let told = bad(&p, "read_result", json!({ "handle": handle })).await;
        assert!(told.contains("no such result"), "{told}");
    }
    p.user("ada").call("toolyard:read_result", json!({ "handle": "x".repeat(65) })).await.expect(400);
    p.user("ada").call("toolyard:read_result", json!({ "handle": "x", "start": -1 })).await.expect(400);
}

#[tokio::test]
async fn tools_are_found_among_those_that_the_caller_sees() {
    let (p, _device) = with_tools(|_| {}).await;
    let (_app, _more) = p.echo().await;
    let _of_bob = p.device("bob").await;
    let found = |answer: Value| answer["content"].to_string();
    let query = json!({ "query": "says it again" });
    let of_ada = p.user("ada").call("toolyard:search_tools", query.clone()).await.expect(200).json();
    assert!(found(of_ada.clone()).contains("com_example_echo__echo"), "{of_ada}");
    let of_bob = p.user("bob").call("toolyard:search_tools", query).await.expect(200).json();
    assert!(!found(of_bob.clone()).contains("echo"), "{of_bob}");
    let few = p.user("ada").run("toolyard__search_tools", json!({ "query": "time", "limit": 2 })).await;
    assert_eq!(few["structuredContent"]["tools"].as_array().unwrap().len(), 2, "{few}");
    let none = good(&p, "search_tools", json!({ "query": "xyzzy qwfpgj" })).await;
    assert!(none.contains("No tool fits"), "{none}");
}
