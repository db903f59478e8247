//! How responses end: for which reason, too early, too late, or because the caller is gone.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use toolyard_agent::model::{ModelErrorKind, ModelEvent, ModelStopReason, ModelUsage, RequestPolicy};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply, VendorQuirk};

use crate::support::{ALL, TestProtocol, ask, at, hello, model, quick, receive};

#[tokio::test]
async fn finish_reasons_of_vendors_are_understood() {
    for (protocol, word, stop) in [
        (TestProtocol::OpenAi, "stop", ModelStopReason::Done),
        (TestProtocol::OpenAi, "length", ModelStopReason::Length),
        (TestProtocol::OpenAi, "content_filter", ModelStopReason::Filtered),
        (TestProtocol::OpenAi, "boredom", ModelStopReason::Other),
        (TestProtocol::Anthropic, "end_turn", ModelStopReason::Done),
        (TestProtocol::Anthropic, "stop_sequence", ModelStopReason::Done),
        (TestProtocol::Anthropic, "max_tokens", ModelStopReason::Length),
        (TestProtocol::Anthropic, "model_context_window_exceeded", ModelStopReason::Length),
        (TestProtocol::Anthropic, "refusal", ModelStopReason::Filtered),
        (TestProtocol::Anthropic, "pause_turn", ModelStopReason::Other),
        (TestProtocol::Gemini, "STOP", ModelStopReason::Done),
        (TestProtocol::Gemini, "MAX_TOKENS", ModelStopReason::Length),
        (TestProtocol::Gemini, "SAFETY", ModelStopReason::Filtered),
        (TestProtocol::Gemini, "OTHER", ModelStopReason::Other),
    ] {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("hi").with_stop_reason(word)]);
        let response = ask(&model(&scripted, protocol), hello()).await;
        assert_eq!((response.text.as_str(), response.end().stop), ("hi", stop), "{protocol:?} {word}");
    }
}

#[tokio::test]
async fn a_response_that_breaks_off_is_an_error_and_not_retried() {
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([ScriptedReply::text("Hel").and_hold().and_cut(), ScriptedReply::text("again")]);
        // The connection breaks only after the first event.
        let answer = model(&scripted, protocol).ask(hello()).await.unwrap();
        scripted.release(1);
        let response = receive(answer).await;
        assert_eq!(response.text, "Hel", "{protocol:?}");
        assert_eq!(response.error.unwrap().kind, ModelErrorKind::Broken, "{protocol:?}");
        assert_eq!(scripted.requests().len(), 1, "{protocol:?}");

        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::new().and_cut(), ScriptedReply::text("again")]);
        assert_eq!(
            ask(&model(&scripted, protocol), hello()).await.text,
            "again",
            "{protocol:?}: nothing was response before"
        );
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_an_end_is_broken() {
    let half = r#"data: {"choices":[{"delta":{"content":"Hel"}}]}"#;
    let scripted = ScriptedModel::start().await;
    // A connection that is closed properly in the middle of the response.
    scripted.queue_replies([ScriptedReply::error(200, format!("{half}\n\n"))]);
    let response = ask(&model(&scripted, TestProtocol::Compatible), hello()).await;
    assert_eq!((response.text.as_str(), response.error.unwrap().kind), ("Hel", ModelErrorKind::Broken));
    for protocol in [TestProtocol::Anthropic, TestProtocol::Gemini] {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("Hel").with_quirk(VendorQuirk::NoDone)]);
        let response = ask(&model(&scripted, protocol), hello()).await;
        assert_eq!(
            (response.text.as_str(), response.error.unwrap().kind),
            ("Hel", ModelErrorKind::Broken),
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_leaves_the_stream_open_after_its_end_is_not_waited_for() {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::text("hi")
        .with_usage(1, 2)
        .with_quirk(VendorQuirk::NoDone)
        .with_quirk(VendorQuirk::StaysOpen)]);
    let bounds = RequestPolicy { tail: Duration::from_millis(30), ..quick() };
    let response = ask(&at(&scripted.url(), TestProtocol::Compatible, bounds), hello()).await;
    assert_eq!(
        (response.end().stop, response.end().usage),
        (ModelStopReason::Done, Some(ModelUsage { input: 1, output: 2 }))
    );
    scripted.wait_abandoned(1).await;
}

#[tokio::test]
async fn a_stalled_response_is_an_error() {
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("Hel").and_hold()]);
        let bounds = RequestPolicy { idle: Duration::from_millis(50), ..quick() };
        let response = ask(&at(&scripted.url(), protocol, bounds), hello()).await;
        let error = response.error.unwrap();
        assert_eq!((response.text.as_str(), error.kind), ("Hel", ModelErrorKind::Broken), "{protocol:?}");
        assert_eq!(
            error.text,
            format!("{} sent nothing for 0.05 s, so the request was cancelled.", protocol.name())
        );
        scripted.wait_abandoned(1).await;
    }
}

#[tokio::test]
async fn a_response_that_does_not_begin_is_retried() {
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.set_default_reply(ScriptedReply::text("late").hold_first());
        let bounds = RequestPolicy { first_byte: Duration::from_millis(50), retries: 1, ..quick() };
        let error = ask(&at(&scripted.url(), protocol, bounds), hello()).await.error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Unavailable, "{protocol:?}");
        assert_eq!(error.text, format!("{} did not respond within 0.05 s; it may be busy.", protocol.name()));
        assert_eq!(scripted.requests().len(), 2, "{protocol:?}");
    }
}

#[tokio::test]
async fn dropping_a_response_closes_the_connection() {
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([
            ScriptedReply::text("Hel").and_hold().and_text("lo"),
            ScriptedReply::text("never").hold_first(),
        ]);
        let model = model(&scripted, protocol);
        let mut answer = model.ask(hello()).await.unwrap();
        assert!(
            matches!(answer.next().await, Some(Ok(ModelEvent::Text(text))) if text == "Hel"),
            "{protocol:?}"
        );
        assert_eq!(scripted.abandoned(), 0);
        drop(answer);
        scripted.wait_abandoned(1).await;

        // And before the response began.
        let asking = model.ask(hello());
        tokio::select! {
            _ = asking => panic!("nothing was error_body yet"),
            _ = scripted.wait_requests(2) => {}
        }
        scripted.wait_abandoned(2).await;
    }
}

#[tokio::test]
async fn answers_that_are_too_long_are_broken_off() {
    let scripted = ScriptedModel::start().await;
    let line = format!("data: {}", "x".repeat(5 * 1024 * 1024));
    scripted.queue_replies([ScriptedReply::text("hi").and_raw(&line)]);
    let response = ask(&model(&scripted, TestProtocol::Compatible), hello()).await;
    let error = response.error.unwrap();
    assert_eq!(
        (error.kind, error.cause.as_deref()),
        (ModelErrorKind::Broken, Some("a line of the response is too long"))
    );

    let megabyte = "x".repeat(1024 * 1024);
    for (protocol, most) in
        [(TestProtocol::Compatible, 32), (TestProtocol::Anthropic, 8), (TestProtocol::Gemini, 8)]
    {
        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([(0..=most).fold(ScriptedReply::new(), |answer, _| answer.and_text(&megabyte))]);
        let error = ask(&model(&scripted, protocol), hello()).await.error.unwrap();
        let cause = format!("a response of more than {} bytes", most * 1024 * 1024);
        assert_eq!((error.kind, error.cause), (ModelErrorKind::Broken, Some(cause)), "{protocol:?}");
    }
    let many = (0..65).fold(ScriptedReply::new(), |answer, _| answer.and_call("add", json!({})));
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([many.clone()]);
        let error = ask(&model(&scripted, protocol), hello()).await.error.unwrap();
        assert_eq!(error.cause.as_deref(), Some("more than 64 calls"), "{protocol:?}");
    }
}
