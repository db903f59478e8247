//! A caller that disconnects or cancels ends the call at the upstream, in the way of its era.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{CancelSignal, FakeUpstream, InjectedFault, RequestMatch, UpstreamEra};

use super::world::{add, full, live, plain};
use crate::{
    mcp::client::{Ask, LEGACY, soon},
    platform::Platform,
};

fn arguments() -> Value {
    json!({ "text": "x" })
}

/// The call arrived at the upstream and was cancelled in this way.
async fn gave_up(upstream: &FakeUpstream, times: usize, how: CancelSignal) {
    let cancelled = upstream.wait_cancelled(times).await;
    let last = cancelled.last().unwrap();
    assert_eq!((last.name.as_str(), last.how), ("echo", how), "{cancelled:?}");
}

async fn hanging(p: &Platform, era: UpstreamEra) -> FakeUpstream {
    let upstream = plain(era).await;
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    add(p, "up", &upstream.url()).await;
    upstream
}

#[tokio::test]
async fn a_disconnect_cancels_in_the_way_of_the_upstreams_era() {
    for (era, how) in
        [(UpstreamEra::Modern, CancelSignal::Closed), (UpstreamEra::Legacy, CancelSignal::Notified)]
    {
        let p = Platform::start().await;
        let upstream = hanging(&p, era).await;
        let ada = live(&p, "ada").await;
        tokio::select! {
            answer = ada.run("mcp.up:echo", arguments()) => panic!("{answer}"),
            _ = upstream.wait_messages("tools/call", 1) => {}
        }
        gave_up(&upstream, 1, how).await;
        tokio::select! {
            answer = ada.call("mcp.up:echo", arguments()) => panic!("{answer:?}"),
            _ = upstream.wait_messages("tools/call", 2) => {}
        }
        gave_up(&upstream, 2, how).await;
        // The connection stays open.
        upstream.clear_faults();
        ada.call("mcp.up:echo", arguments()).await.expect(200);
        assert_eq!(upstream.cancelled().len(), 2);
    }
}

#[tokio::test]
async fn a_cancel_of_a_session_is_sent_in_the_way_of_the_upstreams_era() {
    for (era, how) in
        [(UpstreamEra::Modern, CancelSignal::Closed), (UpstreamEra::Legacy, CancelSignal::Notified)]
    {
        let p = Platform::start().await;
        let upstream = hanging(&p, era).await;
        let session = p.user("ada").handshake(LEGACY).await;
        let params = json!({ "name": "mcp.up:echo", "arguments": arguments() });
        let ask = session.person.ask(Ask::legacy("tools/call", params).id("mine"));
        let (answer, ()) = tokio::join!(ask, async {
            upstream.wait_messages("tools/call", 1).await;
            session.tell("notifications/cancelled", json!({ "requestId": "other" })).await;
            session.tell("notifications/cancelled", json!({ "requestId": "mine" })).await;
        });
        assert!(answer.text.contains("cancelled"), "{}", answer.text);
        gave_up(&upstream, 1, how).await;
    }
}

#[tokio::test]
async fn a_call_that_times_out_is_cancelled() {
    for (era, how) in
        [(UpstreamEra::Modern, CancelSignal::Closed), (UpstreamEra::Legacy, CancelSignal::Notified)]
    {
        let p = Platform::with(|config| config.calls.timeout_ms = 100).await;
        let upstream = hanging(&p, era).await;
        let ada = live(&p, "ada").await;
        // For a modern caller the call to a legacy upstream could be held open, but not if there is no question.
        let result = ada.run("mcp.up:echo", arguments()).await;
        assert_eq!(result["_meta"]["toolyard/error"]["code"], "TIMEOUT", "{result}");
        gave_up(&upstream, 1, how).await;
    }
}

#[tokio::test]
async fn resource_reads_and_prompts_are_cancelled() {
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    upstream.inject_fault(RequestMatch::for_method("resources/read"), InjectedFault::Hang);
    upstream.inject_fault(RequestMatch::for_method("prompts/get"), InjectedFault::Hang);
    add(&p, "up", &upstream.url()).await;
    let ada = p.user("ada");
    tokio::select! {
        answer = ada.modern("resources/read", json!({ "uri": "test://mcp.up/static-text" })) => panic!("{answer:?}"),
        _ = upstream.wait_messages("resources/read", 1) => {}
    }
    upstream.wait_cancelled(1).await;
    tokio::select! {
        answer = ada.modern("prompts/get", json!({ "name": "mcp.up:test_simple_prompt" })) => panic!("{answer:?}"),
        _ = upstream.wait_messages("prompts/get", 1) => {}
    }
    let cancelled = upstream.wait_cancelled(2).await;
    assert_eq!((&*cancelled[0].method, &*cancelled[1].method), ("resources/read", "prompts/get"));
}

#[tokio::test]
async fn a_stop_lets_calls_finish() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let p = Platform::start().await;
        let upstream = plain(era).await;
        add(&p, "up", &upstream.url()).await;
        let ada = live(&p, "ada").await;
        upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hold);
        let (answer, ()) = tokio::join!(ada.call("mcp.up:echo", arguments()), async {
            upstream.wait_messages("tools/call", 1).await;
            p.begin_stop();
            soon(p.state.lifecycle.stopping.cancelled()).await;
            upstream.let_through(1);
        });
        assert_eq!(answer.expect(200).json()["content"], "x", "{era:?}");
        p.stop().await;
    }
}
