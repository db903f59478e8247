//! How answers end: for which reason, too early, too late, or because nobody listens any more.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use toolyard_agent::model::{ModelErrorKind, ModelEvent, ModelStopReason, ModelUsage, RequestPolicy};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply, VendorQuirk};

use crate::support::{ALL, Speak, ask, at, hear, hello, model, quick};

#[tokio::test]
async fn vendors_words_for_the_end_are_understood() {
    for (speak, word, stop) in [
        (Speak::OpenAi, "stop", ModelStopReason::Done),
        (Speak::OpenAi, "length", ModelStopReason::Length),
        (Speak::OpenAi, "content_filter", ModelStopReason::Filtered),
        (Speak::OpenAi, "boredom", ModelStopReason::Other),
        (Speak::Anthropic, "end_turn", ModelStopReason::Done),
        (Speak::Anthropic, "stop_sequence", ModelStopReason::Done),
        (Speak::Anthropic, "max_tokens", ModelStopReason::Length),
        (Speak::Anthropic, "model_context_window_exceeded", ModelStopReason::Length),
        (Speak::Anthropic, "refusal", ModelStopReason::Filtered),
        (Speak::Anthropic, "pause_turn", ModelStopReason::Other),
        (Speak::Gemini, "STOP", ModelStopReason::Done),
        (Speak::Gemini, "MAX_TOKENS", ModelStopReason::Length),
        (Speak::Gemini, "SAFETY", ModelStopReason::Filtered),
        (Speak::Gemini, "OTHER", ModelStopReason::Other),
    ] {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("hi").with_stop_reason(word)]);
        let heard = ask(&model(&scripted, speak), hello()).await;
        assert_eq!((heard.text.as_str(), heard.end().stop), ("hi", stop), "{speak:?} {word}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_after_what_was_heard_and_not_asked_again() {
    for speak in ALL {
        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([ScriptedReply::text("Hel").and_hold().and_cut(), ScriptedReply::text("again")]);
        // It answers once something was heard; only then the connection breaks.
        let answer = model(&scripted, speak).ask(hello()).await.unwrap();
        scripted.release(1);
        let heard = hear(answer).await;
        assert_eq!(heard.text, "Hel", "{speak:?}");
        assert_eq!(heard.error.unwrap().kind, ModelErrorKind::Broken, "{speak:?}");
        assert_eq!(scripted.requests().len(), 1, "{speak:?}");

        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::new().and_cut(), ScriptedReply::text("again")]);
        assert_eq!(
            ask(&model(&scripted, speak), hello()).await.text,
            "again",
            "{speak:?}: nothing was heard before"
        );
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_an_end_is_broken() {
    let half = r#"data: {"choices":[{"delta":{"content":"Hel"}}]}"#;
    let scripted = ScriptedModel::start().await;
    // A connection that closes in good order, in the middle of the answer.
    scripted.queue_replies([ScriptedReply::error(200, format!("{half}\n\n"))]);
    let heard = ask(&model(&scripted, Speak::Compatible), hello()).await;
    assert_eq!((heard.text.as_str(), heard.error.unwrap().kind), ("Hel", ModelErrorKind::Broken));
    for speak in [Speak::Anthropic, Speak::Gemini] {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("Hel").with_quirk(VendorQuirk::NoDone)]);
        let heard = ask(&model(&scripted, speak), hello()).await;
        assert_eq!(
            (heard.text.as_str(), heard.error.unwrap().kind),
            ("Hel", ModelErrorKind::Broken),
            "{speak:?}"
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
    let heard = ask(&at(&scripted.url(), Speak::Compatible, bounds), hello()).await;
    assert_eq!(
        (heard.end().stop, heard.end().usage),
        (ModelStopReason::Done, Some(ModelUsage { input: 1, output: 2 }))
    );
    scripted.wait_abandoned(1).await;
}

#[tokio::test]
async fn silence_in_the_middle_is_given_up() {
    for speak in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("Hel").and_hold()]);
        let bounds = RequestPolicy { idle: Duration::from_millis(50), ..quick() };
        let heard = ask(&at(&scripted.url(), speak, bounds), hello()).await;
        let error = heard.error.unwrap();
        assert_eq!((heard.text.as_str(), error.kind), ("Hel", ModelErrorKind::Broken), "{speak:?}");
        assert_eq!(error.text, format!("{} said nothing more for 0.05 s and was given up.", speak.name()));
        scripted.wait_abandoned(1).await;
    }
}

#[tokio::test]
async fn an_answer_that_does_not_begin_is_given_up_and_asked_for_again() {
    for speak in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.set_default_reply(ScriptedReply::text("late").hold_first());
        let bounds = RequestPolicy { first_byte: Duration::from_millis(50), retries: 1, ..quick() };
        let error = ask(&at(&scripted.url(), speak, bounds), hello()).await.error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Unavailable, "{speak:?}");
        assert_eq!(
            error.text,
            format!("{} did not begin to answer within 0.05 s; it may be busy.", speak.name())
        );
        assert_eq!(scripted.requests().len(), 2, "{speak:?}");
    }
}

#[tokio::test]
async fn whoever_drops_an_answer_hangs_up() {
    for speak in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([
            ScriptedReply::text("Hel").and_hold().and_text("lo"),
            ScriptedReply::text("never").hold_first(),
        ]);
        let model = model(&scripted, speak);
        let mut answer = model.ask(hello()).await.unwrap();
        assert!(
            matches!(answer.next().await, Some(Ok(ModelEvent::Text(text))) if text == "Hel"),
            "{speak:?}"
        );
        assert_eq!(scripted.abandoned(), 0);
        drop(answer);
        scripted.wait_abandoned(1).await;

        // And before the answer began.
        let asking = model.ask(hello());
        tokio::select! {
            _ = asking => panic!("nothing was said yet"),
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
    let heard = ask(&model(&scripted, Speak::Compatible), hello()).await;
    let error = heard.error.unwrap();
    assert_eq!(
        (error.kind, error.cause.as_deref()),
        (ModelErrorKind::Broken, Some("a line of the answer is too long"))
    );

    let megabyte = "x".repeat(1024 * 1024);
    for (speak, most) in [(Speak::Compatible, 32), (Speak::Anthropic, 8), (Speak::Gemini, 8)] {
        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([(0..=most).fold(ScriptedReply::new(), |answer, _| answer.and_text(&megabyte))]);
        let error = ask(&model(&scripted, speak), hello()).await.error.unwrap();
        let cause = format!("an answer of more than {} bytes", most * 1024 * 1024);
        assert_eq!((error.kind, error.cause), (ModelErrorKind::Broken, Some(cause)), "{speak:?}");
    }
    let many = (0..65).fold(ScriptedReply::new(), |answer, _| answer.and_call("add", json!({})));
    for speak in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([many.clone()]);
        let error = ask(&model(&scripted, speak), hello()).await.error.unwrap();
        assert_eq!(error.cause.as_deref(), Some("more than 64 calls"), "{speak:?}");
    }
}
