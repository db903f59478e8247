//! Questions of tools to the caller, in the four pairs of eras.

use serde_json::{Value, json};
use toolyard_testkit::upstream::UpstreamEra;

use super::world::{add, declaring, full, session_with, text};
use crate::{
    mcp::client::{Ask, Session, soon},
    platform::{Person, Platform},
};

/// The capabilities of a caller.
pub(crate) fn able() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

/// Calls a tool, and repeats the call with answers to all questions until there is a result.
pub(crate) async fn modern(
    who: &Person<'_>,
    ask: Ask,
    answer: impl Fn(&Value) -> Value,
) -> (Value, Vec<Value>) {
    let (mut asked, mut ask) = (Vec::new(), declaring(ask, able()));
    loop {
        let result = who.ask(ask.clone()).await.result();
        if result["resultType"] != "input_required" {
            return (result, asked);
        }
        let requests = result["inputRequests"].as_object().unwrap();
        ask.params["inputResponses"] = requests.iter().map(|(key, one)| (key.clone(), answer(one))).collect();
        asked.extend(requests.values().cloned());
        match &result["requestState"] {
            Value::Null => drop(ask.params.as_object_mut().unwrap().remove("requestState")),
            state => ask.params["requestState"] = state.clone(),
        }
    }
}

/// Calls a tool, and answers its questions on the stream of the call.
pub(crate) async fn legacy(
    session: &Session<'_>,
    params: Value,
    answer: impl Fn(&Value) -> Value,
) -> (Value, Vec<Value>) {
    let mut events = session.person.stream(Ask::legacy("tools/call", params).id("call")).await;
    let mut asked = Vec::new();
    loop {
        let message = events.message().await;
        if message["id"] == "call" {
            return (message["result"].clone(), asked);
        }
        let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer(&message) });
        assert_eq!(soon(session.person.post("/mcp", &reply)).await.status, 202);
        asked.push(json!({ "method": message["method"], "params": message["params"] }));
    }
}

pub(crate) fn elicitation() -> (&'static str, Value) {
    ("mcp.up:test_elicitation", json!({ "message": "Who are you?" }))
}

fn sampling() -> (&'static str, Value) {
    ("mcp.up:test_sampling", json!({ "prompt": "Say something." }))
}

/// The answer of a client that answers every question.
pub(crate) fn willing(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "elicitation/create" => {
            let wanted = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
            let content: Value =
                wanted.keys().map(|name| (name.clone(), json!(format!("my {name}")))).collect();
            json!({ "action": "accept", "content": content })
        }
        "sampling/createMessage" => json!({ "role": "assistant", "model": "m",
            "content": { "type": "text", "text": "something" } }),
        _ => json!({ "roots": [{ "uri": "file:///home" }] }),
    }
}

/// The tool asked the user, who gave this answer.
fn asked_the_user(asked: &[Value], result: &Value, said: &str) {
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["method"], "elicitation/create");
    assert_eq!(asked[0]["params"]["message"], "The MCP server mcp.up asks:\n\nWho are you?");
    assert_eq!(asked[0]["params"]["requestedSchema"]["required"], json!(["username", "email"]));
    assert!(text(result).contains(said), "{result}");
}

#[tokio::test]
async fn a_modern_caller_is_asked_by_an_upstream_of_either_era() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let ada = p.user("ada");
        let (name, arguments) = elicitation();
        let (result, asked) = modern(&ada, Ask::call(name, arguments), willing).await;
        asked_the_user(&asked, &result, "my username");
        let (name, arguments) = sampling();
        let (result, asked) = modern(&ada, Ask::call(name, arguments), willing).await;
        assert_eq!(asked[0]["method"], "sampling/createMessage");
        assert_eq!(asked[0]["params"]["messages"][0]["content"]["text"], "Say something.");
        assert_eq!(text(&result), "LLM response: \"something\"");
        assert!(upstream.cancelled().is_empty(), "{era:?}");
        let calls = upstream.messages("tools/call").len();
        assert_eq!(calls, if era == UpstreamEra::Modern { 4 } else { 2 }, "held open, or called again");
    }
}

#[tokio::test]
async fn a_session_is_asked_by_an_upstream_of_either_era() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let session = session_with(&p, "ada", able()).await;
        let call = |(name, arguments): (&str, Value)| json!({ "name": name, "arguments": arguments });
        let (result, asked) = legacy(&session, call(elicitation()), willing).await;
        asked_the_user(&asked, &result, "my username");
        let (result, asked) = legacy(&session, call(sampling()), willing).await;
        assert_eq!(asked[0]["params"]["messages"][0]["content"]["text"], "Say something.");
        assert_eq!(text(&result), "LLM response: \"something\"");
        assert!(result["resultType"].is_null(), "{era:?}");
    }
}

#[tokio::test]
async fn a_declined_question_reaches_the_tool_in_every_pair_of_eras() {
    let no = |_: &Value| json!({ "action": "decline" });
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let (name, arguments) = elicitation();
        let (result, asked) = modern(&p.user("ada"), Ask::call(name, arguments.clone()), no).await;
        asked_the_user(&asked, &result, r#"{"action":"decline"}"#);
        let session = session_with(&p, "ada", able()).await;
        let params = json!({ "name": name, "arguments": arguments });
        let (result, asked) = legacy(&session, params, no).await;
        asked_the_user(&asked, &result, r#"{"action":"decline"}"#);
    }
}

#[tokio::test]
async fn a_tool_can_ask_many_questions_at_once_or_in_sequence() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let session = session_with(&p, "ada", able()).await;
        for (tool, count) in
            [("multiple_inputs", 3), ("multi_round", 2), ("list_roots", 1), ("request_state", 1)]
        {
            let name = format!("mcp.up:test_input_required_result_{tool}");
            let (result, asked) = modern(&p.user("ada"), Ask::call(&name, json!({})), willing).await;
            assert_eq!((asked.len(), &result["isError"]), (count, &Value::Null), "{era:?} {tool}: {result}");
            let params = json!({ "name": name, "arguments": {} });
            let (result, asked) = legacy(&session, params, willing).await;
            assert_eq!((asked.len(), &result["isError"]), (count, &Value::Null), "{era:?} {tool}: {result}");
            assert!(text(&result).contains("my") || text(&result).contains("file:///home"), "{result}");
        }
    }
}

#[tokio::test]
async fn a_prompt_asks_for_what_it_needs() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let name = json!({ "name": "mcp.up:test_input_required_result_prompt" });
        let ask = Ask::modern("prompts/get", name);
        let (result, asked) = modern(&p.user("ada"), ask, willing).await;
        let message = "The MCP server mcp.up asks:\n\nWhat context should the prompt use?";
        assert_eq!(asked[0]["params"]["message"], message, "{era:?}");
        let said = &result["messages"][0]["content"]["text"];
        assert_eq!(said, "Prompt with context: my context");
    }
}

#[tokio::test]
async fn a_client_that_refuses_to_answer_ends_the_call() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let session = session_with(&p, "ada", able()).await;
        let (name, arguments) = elicitation();
        let ask = Ask::legacy("tools/call", json!({ "name": name, "arguments": arguments })).id("call");
        let mut events = session.person.stream(ask).await;
        let question = events.message().await;
        let refusal =
            json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -1, "message": "not now" } });
        soon(session.person.post("/mcp", &refusal)).await.expect(202);
        let answer = events.message().await;
        assert_eq!(answer["result"]["isError"], true, "{era:?}: {answer}");
        assert!(text(&answer["result"]).contains("not now"), "{answer}");
        // A repeated answer, or one of another user, is ignored.
        soon(p.user("bob").post("/mcp", &refusal)).await.expect(202);
    }
}
