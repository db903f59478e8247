//! Faults: they happen when injected, and stop when cleared.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{
    CancelSignal, FakeUpstream, InjectedFault, OfferListKind, RequestMatch, UpstreamOptions, quirks,
};

use crate::client::{Session, ask, modern, modern_headers, open, piece, send};

const ECHO: fn() -> Value = || json!({ "name": "echo", "arguments": { "text": "hi" } });

#[tokio::test]
async fn lists_come_in_pages_and_a_page_can_be_broken() {
    let upstream =
        FakeUpstream::start_with(UpstreamOptions { page_size: Some(3), ..UpstreamOptions::default() }).await;
    let first = ask(&upstream.url(), "tools/list", json!({})).await.unwrap().result();
    assert_eq!((first["tools"].as_array().unwrap().len(), &first["ttlMs"]), (3, &json!(0)));
    let next = json!({ "cursor": first["nextCursor"] });
    let second = ask(&upstream.url(), "tools/list", next.clone()).await.unwrap().result();
    assert_eq!((second["tools"][0]["name"].as_str(), second.get("nextCursor")), (Some("steps"), None));
    assert_eq!(ask(&upstream.url(), "tools/list", json!({ "cursor": "" })).await.unwrap().code(), -32602);

    upstream
        .inject_fault(RequestMatch::for_method("tools/list").on_page(2).times(1), InjectedFault::not_json());
    assert!(ask(&upstream.url(), "tools/list", json!({})).await.unwrap().result().is_object());
    let broken = ask(&upstream.url(), "tools/list", next.clone()).await.unwrap();
    assert_eq!((broken.status, serde_json::from_str::<Value>(&broken.text).is_err()), (200, true));
    assert!(
        ask(&upstream.url(), "tools/list", next).await.unwrap().result().is_object(),
        "it was for one time"
    );
}

#[tokio::test]
async fn anything_can_be_answered() {
    let upstream = FakeUpstream::start().await;
    let said = async || ask(&upstream.url(), "tools/call", ECHO()).await;

    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::wrong_shape());
    assert!(said().await.unwrap().result().is_string());
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Result(quirks::unknown_content()));
    assert_eq!(said().await.unwrap().result(), quirks::unknown_content());
    upstream.inject_fault(
        RequestMatch::for_tool("echo"),
        InjectedFault::Result(quirks::huge_result(5 * 1024 * 1024)),
    );
    assert!(said().await.unwrap().text.len() > 5 * 1024 * 1024);
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::error(-32603, "broken"));
    assert_eq!(said().await.unwrap().code(), -32603);
    upstream.inject_fault(
        RequestMatch::for_tool("echo"),
        InjectedFault::Message(json!({ "jsonrpc": "2.0", "id": 99, "result": {} })),
    );
    assert_eq!(said().await.unwrap().message()["id"], 99);
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::html(502));
    assert_eq!(said().await.unwrap().headers["content-type"], "text/html");
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Die);
    assert!(said().await.is_none());
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::DieMidway);
    assert!(said().await.is_none());
    upstream.clear_faults();
    assert_eq!(said().await.unwrap().result()["content"][0]["text"], "hi");

    let tools = [vec![quirks::tool_with_unknown_fields()], quirks::bad_tools()].concat();
    upstream.set_list(OfferListKind::Tools, tools.clone());
    let listed = ask(&upstream.url(), "tools/list", json!({})).await.unwrap().result();
    assert_eq!(listed["tools"], json!(tools), "as they are, good and bad");
}

#[tokio::test]
async fn a_closed_response_cancels_in_the_modern_era() {
    let upstream = FakeUpstream::start().await;
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    let message = modern(5, "tools/call", ECHO());
    let (url, headers, body) = (upstream.url(), modern_headers(&message), message.to_string());
    let asking = send("POST", &url, &headers, &body);
    let seen = upstream.wait_messages("tools/call", 1);
    tokio::select! {
        _ = asking => panic!("it hangs"),
        _ = seen => {}
    }
    let cancelled = upstream.wait_cancelled(1).await.remove(0);
    assert_eq!((cancelled.name.as_str(), cancelled.how), ("echo", CancelSignal::Closed));
    assert_eq!(cancelled.id, 5);
}

#[tokio::test]
async fn a_stream_that_began_is_cancelled_as_well() {
    let upstream = FakeUpstream::start().await;
    let params = json!({ "name": "steps", "arguments": { "count": 3 }, "_meta": { "progressToken": "t" } });
    let message = modern(1, "tools/call", params);
    let headers = modern_headers(&message);
    upstream.let_through(1);
    let mut response = open("POST", &upstream.url(), &headers, &message.to_string()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let first = piece(&mut response).await.unwrap();
    assert!(first.contains(r#""progress":1"#) && first.contains(r#""progressToken":"t""#), "{first}");
    drop(response);
    assert_eq!(upstream.wait_cancelled(1).await[0].how, CancelSignal::Closed);
}

#[tokio::test]
async fn a_notification_cancels_in_the_legacy_era() {
    let upstream = FakeUpstream::start().await;
    let session = Session::open(&upstream.url()).await;
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    let asking = session.ask(5, "tools/call", ECHO());
    let cancelling = async {
        upstream.wait_messages("tools/call", 1).await;
        let cancel = |id: Value| {
            let params = json!({ "requestId": id });
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
        };
        session.say(&cancel(json!("5"))).await.unwrap();
        assert!(upstream.cancelled().is_empty(), "the id is a number, not a text");
        session.say(&cancel(json!(5))).await.unwrap();
        upstream.wait_cancelled(1).await
    };
    let (answer, cancelled) = tokio::join!(asking, cancelling);
    assert_eq!(cancelled[0].how, CancelSignal::Notified);
    assert!(!answer.unwrap().text.contains("result"), "nothing more is said");
}

#[tokio::test]
async fn a_held_request_continues_when_it_is_released() {
    let upstream = FakeUpstream::start().await;
    upstream.inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::Hold);
    let url = upstream.url();
    let asking = ask(&url, "tools/list", json!({}));
    let letting = async {
        upstream.wait_messages("tools/list", 1).await;
        upstream.set_list(OfferListKind::Tools, Vec::new());
        upstream.let_through(1);
    };
    let (answer, ()) = tokio::join!(asking, letting);
    assert_eq!(answer.unwrap().result()["tools"], json!([]));
}

#[tokio::test]
async fn strangers_are_refused() {
    let upstream = FakeUpstream::start().await;
    upstream.change_options(|options| {
        options.bearer = Some("secret".to_owned());
        options.header = Some(("x-key".to_owned(), "k".to_owned()));
    });
    let message = modern(1, "tools/list", json!({}));
    let status = async |own: &[(&str, &str)]| {
        let headers = [modern_headers(&message), own.to_vec()].concat();
        send("POST", &upstream.url(), &headers, &message.to_string()).await.unwrap().status
    };
    assert_eq!(status(&[]).await, 401);
    assert_eq!(status(&[("authorization", "Bearer wrong"), ("x-key", "k")]).await, 401);
    assert_eq!(status(&[("authorization", "Bearer secret")]).await, 401);
    assert_eq!(status(&[("authorization", "Bearer secret"), ("x-key", "k")]).await, 200);
    assert_eq!(upstream.messages("tools/list").len(), 4, "refused requests are seen as well");
}

#[tokio::test]
async fn it_goes_away_and_comes_back() {
    let upstream = FakeUpstream::start().await;
    assert!(ask(&upstream.url(), "tools/list", json!({})).await.is_some());
    upstream.take_down().await;
    assert!(ask(&upstream.url(), "tools/list", json!({})).await.is_none());
    upstream.bring_up().await;
    assert!(ask(&upstream.url(), "tools/list", json!({})).await.is_some());
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let upstream = FakeUpstream::start().await;
    let params = json!({ "name": "echo", "arguments": { "text": "x".repeat(16 * 1024 * 1024) } });
    // The connection may break before the error is read: the rest of the body is never read.
    let answer = ask(&upstream.url(), "tools/call", params).await;
    assert!(answer.is_none_or(|answer| answer.status == 413));
    assert!(upstream.messages("tools/call").is_empty());
}
