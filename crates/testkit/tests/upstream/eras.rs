//! Which requests are served in which era, and how the others are rejected.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, FixtureSet, OfferListKind, UpstreamEra, UpstreamOptions};

use crate::client::{Session, ask, modern, modern_headers, open, piece, post_headers, send};

#[tokio::test]
async fn both_eras_answer_at_one_address() {
    let upstream = FakeUpstream::start().await;
    let found = ask(&upstream.url(), "server/discover", json!({})).await.unwrap().result();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]));
    assert_eq!(found["resultType"], "complete");
    let said =
        ask(&upstream.url(), "tools/call", json!({ "name": "echo", "arguments": { "text": "hi" } })).await;
    assert_eq!(said.unwrap().result()["content"][0]["text"], "hi");

    let session = Session::open(&upstream.url()).await;
    let sum = session.ask(1, "tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })).await;
    let sum = sum.unwrap().result();
    assert_eq!((&sum["structuredContent"], &sum["resultType"]), (&json!({ "sum": 3.0 }), &Value::Null));

    let called = upstream.wait_messages("tools/call", 2).await;
    assert_eq!(called[0].header("mcp-name"), Some("echo"));
    assert_eq!(called[0].meta()["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(called[1].header("mcp-session-id"), Some(session.id.as_str()));
    assert_eq!(called[1].params["arguments"], json!({ "a": 1, "b": 2 }));
}

#[tokio::test]
async fn one_era_refuses_the_other() {
    let modern_only =
        FakeUpstream::start_with(UpstreamOptions { era: UpstreamEra::Modern, ..UpstreamOptions::default() })
            .await;
    let hello =
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {} } });
    let refused = send("POST", &modern_only.url(), &post_headers(), &hello.to_string()).await.unwrap();
    assert_eq!((refused.status, refused.code()), (400, -32602));
    assert_eq!(send("GET", &modern_only.url(), &post_headers(), "").await.unwrap().status, 405);

    let legacy_only =
        FakeUpstream::start_with(UpstreamOptions { era: UpstreamEra::Legacy, ..UpstreamOptions::default() })
            .await;
    let refused = ask(&legacy_only.url(), "server/discover", json!({})).await.unwrap();
    assert_eq!(
        (refused.status, refused.code()),
        (400, -32000),
        "not an error that only a modern server knows"
    );
    Session::open(&legacy_only.url()).await;

    let old = FakeUpstream::start_with(UpstreamOptions {
        era: UpstreamEra::Only("2025-06-18"),
        ..UpstreamOptions::default()
    })
    .await;
    let answer = send("POST", &old.url(), &post_headers(), &hello.to_string()).await.unwrap();
    assert_eq!(answer.result()["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn modern_requests_are_checked_before_they_run() {
    let upstream = FakeUpstream::start().await;
    let message = modern(7, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let good = modern_headers(&message);
    let without = |name: &str| good.iter().copied().filter(|(known, _)| *known != name).collect::<Vec<_>>();
    for name in ["mcp-method", "mcp-name", "mcp-protocol-version"] {
        let refused = send("POST", &upstream.url(), &without(name), &message.to_string()).await.unwrap();
        assert_eq!((refused.status, refused.code()), (400, -32020), "{name}");
        assert_eq!(refused.message()["id"], 7);
    }
    for name in ["content-type", "accept"] {
        let refused = send("POST", &upstream.url(), &without(name), &message.to_string()).await.unwrap();
        assert_eq!(refused.status, if name == "accept" { 406 } else { 415 });
    }
    let unknown = ask(&upstream.url(), "prompts/list", json!({})).await.unwrap();
    assert_eq!((unknown.status, unknown.code()), (404, -32601), "no prompts are offered");
    upstream.set_list(OfferListKind::Prompts, vec![json!({ "name": "hello" })]);
    assert_eq!(ask(&upstream.url(), "prompts/list", json!({})).await.unwrap().status, 200);
    let foreign = [good.clone(), vec![("origin", "http://evil.example.com")]].concat();
    assert_eq!(send("POST", &upstream.url(), &foreign, &message.to_string()).await.unwrap().status, 403);
}

#[tokio::test]
async fn a_session_that_is_over_is_unknown() {
    let upstream = FakeUpstream::start().await;
    let session = Session::open(&upstream.url()).await;
    let nobody = [post_headers(), vec![("mcp-protocol-version", "2025-11-25")]].concat();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    assert_eq!(send("POST", &upstream.url(), &nobody, &list).await.unwrap().status, 400);
    upstream.forget_sessions();
    assert_eq!(session.ask(1, "tools/list", json!({})).await.unwrap().status, 404);

    let session = Session::open(&upstream.url()).await;
    assert_eq!(upstream.session_count(), 1);
    assert_eq!(send("DELETE", &upstream.url(), &session.headers(), "").await.unwrap().status, 200);
    assert_eq!(session.ask(1, "tools/list", json!({})).await.unwrap().status, 404);
}

#[tokio::test]
async fn a_server_may_know_its_sessions_without_ids() {
    let options = UpstreamOptions {
        session_ids: false,
        always_sse: true,
        era: UpstreamEra::Legacy,
        ..UpstreamOptions::default()
    };
    let upstream = FakeUpstream::start_with(options).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    assert_eq!(send("POST", &upstream.url(), &post_headers(), &list).await.unwrap().status, 404);
    let hello =
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {} } });
    let answer = send("POST", &upstream.url(), &post_headers(), &hello.to_string()).await.unwrap();
    assert_eq!(answer.headers.get("mcp-session-id"), None);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let listed = send("POST", &upstream.url(), &post_headers(), &list).await.unwrap().result();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn the_same_question_takes_either_road() {
    let options = UpstreamOptions { fixtures: FixtureSet::Conformance, ..UpstreamOptions::default() };
    let upstream = FakeUpstream::start_with(options).await;
    let name = "test_input_required_result_multi_round";
    let first = ask(&upstream.url(), "tools/call", json!({ "name": name })).await.unwrap().result();
    assert_eq!(first["resultType"], "input_required");
    let answer = json!({ "step1": { "action": "accept", "content": { "name": "Ada" } } });
    let again = |state: &Value, answer: Value| json!({ "name": name, "inputResponses": answer, "requestState": state });
    let state = &first["requestState"];
    let second = ask(&upstream.url(), "tools/call", again(state, answer.clone())).await.unwrap().result();
    assert_eq!(second["inputRequests"]["step2"]["method"], "elicitation/create");
    let forged = json!(format!("{}0", state.as_str().unwrap()));
    assert_eq!(ask(&upstream.url(), "tools/call", again(&forged, answer)).await.unwrap().code(), -32602);
    let answer = json!({ "step2": { "action": "accept", "content": { "color": "blue" } } });
    let last =
        ask(&upstream.url(), "tools/call", again(&second["requestState"], answer)).await.unwrap().result();
    let said = last["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("Ada") && said.contains("blue"), "{said}");

    let session = Session::open(&upstream.url()).await;
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": name } });
    let mut stream = open("POST", &upstream.url(), &session.headers(), &call.to_string()).await.unwrap();
    // The upstream counts its own requests from 0, as the common SDK does.
    for (id, content) in [(0, json!({ "name": "Ada" })), (1, json!({ "color": "blue" }))] {
        let question = piece(&mut stream).await.unwrap();
        assert!(question.contains("elicitation/create"), "{question}");
        let result = json!({ "action": "accept", "content": content });
        session.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await.unwrap();
    }
    assert!(piece(&mut stream).await.unwrap().contains("state-ok"));
    assert_eq!(upstream.wait_messages("answer", 2).await.len(), 2);
}
