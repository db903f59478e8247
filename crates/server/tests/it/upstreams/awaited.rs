//! Calls that await input: valid answers, invalid answers, and undeclared capabilities.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, UpstreamEra};

use super::{
    asks::{able, elicitation, willing},
    world::{add, declaring, full, live, session_with, text},
};
use crate::{
    mcp::client::Ask,
    platform::{Answer, Person, Platform},
};

/// A call of the tool that asks, and its question.
async fn begin(who: &Person<'_>) -> (Ask, Value) {
    let (name, arguments) = elicitation();
    let ask = declaring(Ask::call(name, arguments), able());
    let result = who.ask(ask.clone()).await.result();
    assert_eq!(result["resultType"], "input_required", "{result}");
    (ask, result)
}

/// The call again, with an answer to everything.
fn answered(ask: &Ask, asked: &Value) -> Ask {
    let mut again = ask.clone();
    let requests = asked["inputRequests"].as_object().unwrap();
    again.params["inputResponses"] = requests.iter().map(|(key, one)| (key.clone(), willing(one))).collect();
    if let Value::String(state) = &asked["requestState"] {
        again.params["requestState"] = json!(state);
    }
    again
}

fn is_refused(answer: &Answer) {
    assert_eq!(answer.refusal(), (200, -32602), "{}", answer.text);
}

async fn asking(p: &Platform, era: UpstreamEra) -> FakeUpstream {
    let upstream = full(era).await;
    add(p, "up", &upstream.url()).await;
    upstream
}

#[tokio::test]
async fn a_missing_answer_is_requested_again() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let _upstream = asking(&p, era).await;
        let ada = p.user("ada");
        let (ask, first) = begin(&ada).await;
        let mut empty = answered(&ask, &first);
        empty.params["inputResponses"] = json!({ "extra": { "action": "accept" } });
        let second = ada.ask(empty.clone()).await.result();
        assert_eq!(second["resultType"], "input_required", "{era:?}: {second}");
        assert_eq!(
            second["inputRequests"].as_object().unwrap().values().next().unwrap()["params"]["message"],
            "The MCP server mcp.up asks:\n\nWho are you?"
        );
        empty.params["requestState"] = second["requestState"].clone();
        let done = ada.ask(answered(&ask, &second)).await.result();
        assert!(text(&done).contains("my username"), "{era:?}: {done}");
    }
}

#[tokio::test]
async fn a_state_is_bound_to_its_user_and_call_and_cannot_be_changed() {
    let p = Platform::start().await;
    let upstream = asking(&p, UpstreamEra::Legacy).await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    let (ask, asked) = begin(&ada).await;
    let right = answered(&ask, &asked);
    is_refused(&bob.ask(right.clone()).await);
    let mut other = right.clone();
    other.params["arguments"]["message"] = "Another question".into();
    is_refused(&ada.ask(other).await);
    let state = asked["requestState"].as_str().unwrap();
    let flipped = |at: usize| {
        let other = if &state[at..=at] == "A" { "B" } else { "A" };
        format!("{}{other}{}", &state[..at], &state[at + 1..])
    };
    for tampered in [flipped(0), flipped(state.len() / 2), state[1..].to_owned(), String::new()] {
        let mut forged = right.clone();
        forged.params["requestState"] = tampered.into();
        is_refused(&ada.ask(forged).await);
    }
    let done = ada.ask(right.clone()).await.result();
    assert!(text(&done).contains("my username"), "all of that did no harm: {done}");
    let again = ada.ask(right).await;
    is_refused(&again);
    assert!(again.text.contains("no longer waits"), "once: {}", again.text);
    assert_eq!(upstream.messages("tools/call").len(), 1);
}

#[tokio::test]
async fn the_state_of_an_upstream_is_returned_unchanged() {
    let p = Platform::start().await;
    let upstream = asking(&p, UpstreamEra::Modern).await;
    let ada = p.user("ada");
    let ask = declaring(Ask::call("mcp.up:test_input_required_result_request_state", json!({})), able());
    let asked = ada.ask(ask.clone()).await.result();
    let right = answered(&ask, &asked);
    assert!(text(&ada.ask(right.clone()).await.result()).starts_with("state-ok"));
    let theirs = upstream.messages("tools/call").last().unwrap().params["requestState"].clone();
    assert!(theirs.is_string() && theirs != asked["requestState"], "theirs in ours: {theirs}");
    // The upstream's own state is not accepted here, and bob has none.
    let mut bare = right.clone();
    bare.params["requestState"] = theirs;
    is_refused(&ada.ask(bare).await);
    is_refused(&p.user("bob").ask(right).await);
    assert_eq!(upstream.messages("tools/call").len(), 2);
}

#[tokio::test]
async fn a_held_call_expires() {
    let p = Platform::with(|config| config.upstream_settings.max_held = 1).await;
    let upstream = asking(&p, UpstreamEra::Legacy).await;
    let ada = p.user("ada");
    let (first, asked) = begin(&ada).await;
    let (second, asked_again) = begin(&ada).await;
    // Only one can be held: the older is cancelled, also at the upstream.
    upstream.wait_cancelled(1).await;
    let late = ada.ask(answered(&first, &asked)).await;
    is_refused(&late);
    assert!(late.text.contains("start the call again"), "{}", late.text);
    let done = ada.ask(answered(&second, &asked_again)).await.result();
    assert!(text(&done).contains("my username"));
    // A stop ends held calls.
    begin(&ada).await;
    p.stop().await;
}

#[tokio::test]
async fn a_call_that_is_held_open_survives_a_change_of_the_list() {
    let p = Platform::start().await;
    let upstream = asking(&p, UpstreamEra::Legacy).await;
    let ada = p.user("ada");
    let (ask, asked) = begin(&ada).await;
    upstream.set_list(toolyard_testkit::upstream::OfferListKind::Prompts, Vec::new());
    super::world::refresh(&p, "up").await;
    assert!(text(&ada.ask(answered(&ask, &asked)).await.result()).contains("my username"));
}

#[tokio::test]
async fn an_upstream_learns_only_the_capabilities_that_the_client_declared() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = asking(&p, era).await;
        let declared = |upstream: &FakeUpstream| {
            let key = "io.modelcontextprotocol/clientCapabilities";
            match era {
                UpstreamEra::Modern => upstream.messages("tools/call").last().unwrap().meta()[key].clone(),
                _ => upstream.messages("initialize").last().unwrap().params["capabilities"].clone(),
            }
        };
        let call = |capabilities: Value| {
            declaring(Ask::call("mcp.up:test_input_required_result_capabilities", json!({})), capabilities)
        };
        let said =
            json!({ "elicitation": { "form": {} }, "experimental": { "x": 1 }, "extensions": { "y": {} } });
        let asked = p.user("ada").ask(call(said)).await.result();
        assert_eq!(declared(&upstream), json!({ "elicitation": { "form": {} } }), "{era:?}");
        let requests = asked["inputRequests"].as_object().unwrap();
        let methods: Vec<_> = requests.values().map(|one| &one["method"]).collect();
        assert_eq!(methods, ["elicitation/create"], "{era:?}");
        p.user("ada").ask(call(json!({}))).await;
        assert_eq!(declared(&upstream), json!({}), "{era:?}");
        live(&p, "ada").await.call("mcp.up:test_simple_text", json!({})).await.expect(200);
        assert_eq!(declared(&upstream), json!({}), "REST can be asked nothing");
        let session = session_with(&p, "bob", json!({ "sampling": {}, "tasks": {} })).await;
        session.ask("tools/call", json!({ "name": "mcp.up:test_simple_text" })).await.result();
        assert_eq!(declared(&upstream), json!({ "sampling": {} }), "{era:?}");
    }
}

#[tokio::test]
async fn a_client_without_the_capability_gets_an_error_that_names_it() {
    let (name, arguments) = elicitation();
    let p = Platform::start().await;
    let _upstream = asking(&p, UpstreamEra::Modern).await;
    let answer = p.user("ada").ask(Ask::call(name, arguments.clone())).await;
    assert_eq!(answer.refusal(), (400, -32021), "{}", answer.text);
    assert_eq!(answer.json()["error"]["data"]["requiredCapabilities"], json!({ "elicitation": {} }));
    let session = session_with(&p, "ada", json!({})).await;
    let answer = session.ask("tools/call", json!({ "name": name, "arguments": arguments })).await;
    assert_eq!(answer.refusal(), (200, -32021), "{}", answer.text);
    let rest = live(&p, "ada").await.call(name, arguments.clone()).await.expect(403);
    assert_eq!(rest.code(), "DENIED");

    let p = Platform::start().await;
    let _upstream = asking(&p, UpstreamEra::Legacy).await;
    let result = p.user("ada").run(name, arguments.clone()).await;
    assert_eq!((&result["isError"], text(&result)), (&json!(true), "The client has no elicitation."));
    let rest = live(&p, "ada").await.call(name, arguments).await.expect(500);
    assert!(rest.text.contains("no elicitation"), "{}", rest.text);
}
