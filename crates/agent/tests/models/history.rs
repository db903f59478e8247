//! Conversations with calls: ids, results, files, and reasoning that goes back to its vendor.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_agent::{
    message::{AssistantMessage, FileData, ModelMessage, ModelToolCall, ToolAnswer, UserPart},
    model::{ModelRequest, parse_raw_arguments},
};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::support::{ALL, ReceivedResponse, TestProtocol, ask, hello, model};

fn call(id: &str, arguments: &str) -> ModelToolCall {
    ModelToolCall {
        id: id.to_owned(),
        name: "add".to_owned(),
        arguments: parse_raw_arguments(arguments).unwrap(),
    }
}

fn answer(id: &str, text: &str, is_error: bool) -> ToolAnswer {
    ToolAnswer { id: id.to_owned(), name: "add".to_owned(), text: text.to_owned(), is_error }
}

async fn sent(protocol: TestProtocol, messages: Vec<ModelMessage>) -> Value {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::text("hi")]);
    let response = ask(&model(&scripted, protocol), ModelRequest { messages, ..hello() }).await;
    assert_eq!(response.text, "hi");
    scripted.requests()[0].body.clone()
}

/// The ids of calls and of results in a body, in order.
fn ids(protocol: TestProtocol, body: &Value) -> (Vec<String>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (mut calls, mut answers) = (Vec::new(), Vec::new());
    let messages =
        body[if protocol == TestProtocol::Gemini { "contents" } else { "messages" }].as_array().unwrap();
    for message in messages {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            calls.push(text(&call["id"]));
        }
        if message["role"] == "tool" {
            answers.push(text(&message["tool_call_id"]));
        }
        let blocks = message["content"].as_array().or(message["parts"].as_array());
        for block in blocks.into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => calls.push(text(&block["id"])),
                Some("tool_result") => answers.push(text(&block["tool_use_id"])),
                _ => {}
            }
            calls.extend(block["functionCall"].get("id").map(text));
            answers.extend(block["functionResponse"].get("id").map(text));
        }
    }
    (calls, answers)
}

#[tokio::test]
async fn ids_of_any_origin_are_safe_unique_and_belong_together() {
    let foreign = ["functions.add:0", "call#add#0", "toolu_1", "call_0"];
    for protocol in ALL {
        let mut messages = vec![ModelMessage::from_user_text("go")];
        for _ in 0..2 {
            // The same ids twice, as some clients send them.
            let calls = foreign.iter().map(|id| call(id, "{\"a\":1}")).collect();
            messages.push(ModelMessage::Assistant(AssistantMessage { calls, ..AssistantMessage::default() }));
            messages.push(ModelMessage::Tools(foreign.iter().map(|id| answer(id, "1", false)).collect()));
        }
        let (calls, answers) = ids(protocol, &sent(protocol, messages).await);
        assert_eq!(calls.len(), 8, "{protocol:?}");
        assert_eq!(calls, answers, "{protocol:?}");
        let unique: std::collections::HashSet<_> = calls.iter().collect();
        assert_eq!(unique.len(), 8, "{protocol:?} {calls:?}");
        for id in &calls {
            assert!(
                id.len() <= 40 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)),
                "{id}"
            );
        }
    }
}

#[tokio::test]
async fn results_are_sent_with_their_text_and_anthropic_gets_the_error_flag() {
    let messages = vec![
        ModelMessage::from_user_text("go"),
        ModelMessage::Assistant(AssistantMessage {
            text: "ok".to_owned(),
            calls: vec![call("one", "{\"a\":1}"), call("two", "[]")],
            vendor_state: None,
        }),
        ModelMessage::Tools(vec![answer("one", "1", false), answer("two", "no such", true)]),
    ];
    let body = sent(TestProtocol::Anthropic, messages.clone()).await;
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [
                { "type": "text", "text": "ok" },
                { "type": "tool_use", "id": "one", "name": "add", "input": { "a": 1 } },
                { "type": "tool_use", "id": "two", "name": "add", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "one", "content": "1" },
                { "type": "tool_result", "tool_use_id": "two", "content": "no such", "is_error": true },
            ] },
        ])
    );
    let body = sent(TestProtocol::Gemini, messages).await;
    let parts = &body["contents"][2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["name"], "add");
    assert_eq!(parts[1]["functionResponse"]["response"]["content"], "no such");
}

#[tokio::test]
async fn files_reach_every_family() {
    let files = |data: &FileData| {
        let media_type = "image/png".to_owned();
        vec![ModelMessage::User(vec![
            UserPart::Text("look".to_owned()),
            UserPart::File { media_type, data: data.clone() },
        ])]
    };
    for protocol in ALL {
        for data in [FileData::Base64("QUJD".into()), FileData::Url("https://host.example/p.png".to_owned())]
        {
            let body = sent(protocol, files(&data)).await.to_string();
            let want = match &data {
                FileData::Base64(_) => "QUJD",
                FileData::Url(_) => "https://host.example/p.png",
            };
            assert!(body.contains(want), "{protocol:?} {data:?}: {body}");
        }
    }
}

/// Responds with a call and reasoning, and sends the resulting messages with the next request.
async fn round(protocol: TestProtocol, first: ScriptedReply, to: TestProtocol) -> (ReceivedResponse, Value) {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([first, ScriptedReply::text("done")]);
    let response = ask(&model(&scripted, protocol), hello()).await;
    let made = AssistantMessage {
        text: response.text.clone(),
        calls: response.calls.clone(),
        vendor_state: response.end().vendor_state.clone(),
    };
    let answers = response.calls.iter().map(|call| answer(&call.id, "1", false)).collect();
    let messages = vec![
        ModelMessage::from_user_text("hello"),
        ModelMessage::Assistant(made),
        ModelMessage::Tools(answers),
    ];
    ask(&model(&scripted, to), ModelRequest { messages, ..hello() }).await;
    (response, scripted.requests()[1].body.clone())
}

#[tokio::test]
async fn signed_thoughts_go_back_to_anthropic_as_they_came() {
    let first = ScriptedReply::new()
        .and_reasoning("hm, ")
        .and_reasoning("well")
        .and_signature("sig-1")
        .and_text("Let me see.")
        .and_call("add", json!({ "a": 1 }));
    let (response, body) = round(TestProtocol::Anthropic, first.clone(), TestProtocol::Anthropic).await;
    let id = &response.calls[0].id;
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            { "type": "thinking", "thinking": "hm, well", "signature": "sig-1" },
            { "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": id, "name": "add", "input": { "a": 1 } },
        ])
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], json!(id));
    for other in [TestProtocol::Compatible, TestProtocol::Gemini] {
        let (_, body) = round(TestProtocol::Anthropic, first.clone(), other).await;
        assert!(!body.to_string().contains("sig-1"), "another model gets none of it: {body}");
    }
}

#[tokio::test]
async fn signatures_of_calls_go_back_to_gemini_with_their_calls() {
    let first = ScriptedReply::new()
        .and_signature("sig-1")
        .and_call("add", json!({ "a": 1 }))
        .and_call("now", json!({ "a": 2 }));
    let (_, body) = round(TestProtocol::Gemini, first.clone(), TestProtocol::Gemini).await;
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let signed: Vec<_> = parts
        .iter()
        .map(|part| (part["functionCall"]["name"].as_str(), part["thoughtSignature"].as_str()))
        .collect();
    assert_eq!(signed, [(Some("add"), Some("sig-1")), (Some("now"), None)]);
    let (_, body) = round(TestProtocol::Gemini, first, TestProtocol::Anthropic).await;
    assert!(!body.to_string().contains("sig-1"), "{body}");
}

#[tokio::test]
async fn thoughts_go_back_to_servers_that_showed_them() {
    let first = ScriptedReply::new().and_reasoning("hm").and_call("add", json!({ "a": 1 }));
    let (_, body) = round(TestProtocol::Compatible, first.clone(), TestProtocol::Compatible).await;
    assert_eq!(body["messages"][1]["reasoning_content"], "hm");
    let (_, body) = round(TestProtocol::Compatible, first, TestProtocol::OpenAi).await;
    assert!(body["messages"][1].get("reasoning_content").is_none());
}

#[tokio::test]
async fn a_tool_that_a_vendor_cannot_take_does_not_fail_the_request() {
    let schema = json!({ "type": "array" });
    let odd = toolyard_agent::model::ToolSpec { name: "odd".to_owned(), description: String::new(), schema };
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("hi")]);
        let mut request = hello();
        request.tools.insert(0, Arc::new(odd.clone()));
        assert_eq!(ask(&model(&scripted, protocol), request).await.text, "hi");
        let tools = scripted.requests()[0].body["tools"].to_string();
        assert!(!tools.contains("\"odd\"") && tools.contains("\"add\""), "{protocol:?} {tools}");
    }
}
