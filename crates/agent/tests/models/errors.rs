//! Refusals and other trouble, and asking again.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard_agent::model::{ModelErrorKind, RequestPolicy};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::support::{ALL, Speak, ask, at, hello, model, quick};

#[tokio::test]
async fn refusals_have_kinds_and_words_that_help_and_no_words_of_the_vendor() {
    let said = |kind: &str| json!({ "error": { "type": kind, "code": kind, "message": "vendor prose, key the-key" } });
    let cases: [(u16, Value, ModelErrorKind, &str); 8] = [
        (
            401,
            said("x"),
            ModelErrorKind::Unauthorized,
            "does not take the key in the configuration of the endpoint",
        ),
        (402, said("x"), ModelErrorKind::NoCredit, "There is no credit left for"),
        (429, said("insufficient_quota"), ModelErrorKind::NoCredit, "There is no credit left for"),
        (404, said("model_not_found"), ModelErrorKind::Unknown, "There is no model"),
        (400, said("invalid_request_error"), ModelErrorKind::Refused, "does not take this request"),
        (400, said("context_length_exceeded"), ModelErrorKind::Refused, "The conversation is too long for"),
        (413, json!("?"), ModelErrorKind::Refused, "does not take this request"),
        (307, json!(""), ModelErrorKind::Refused, "does not take this request"),
    ];
    for speak in ALL {
        for (status, body, kind, text) in &cases {
            let scripted = ScriptedModel::start().await;
            scripted.queue_replies([ScriptedReply::error(*status, body)]);
            let error = ask(&model(&scripted, speak), hello()).await.error.unwrap();
            assert_eq!(error.kind, *kind, "{speak:?} {status} {body}");
            assert!(
                error.text.contains(text) && error.text.contains(&speak.name()),
                "{speak:?}: {}",
                error.text
            );
            assert!(!error.text.contains("prose"), "{}", error.text);
            let cause = error.cause.unwrap();
            assert!(cause.contains(&status.to_string()) && !cause.contains("the-key"), "{cause}");
            assert_eq!(scripted.requests().len(), 1, "{speak:?} {status}: asked once");
        }
    }
}

#[tokio::test]
async fn what_may_pass_is_asked_again_twice() {
    for speak in ALL {
        for (status, kind) in [
            (429, ModelErrorKind::RateLimited),
            (500, ModelErrorKind::Unavailable),
            (503, ModelErrorKind::Unavailable),
            (529, ModelErrorKind::Unavailable),
        ] {
            let scripted = ScriptedModel::start().await;
            scripted.set_default_reply(ScriptedReply::error(status, "{}"));
            let error = ask(&model(&scripted, speak), hello()).await.error.unwrap();
            assert_eq!((error.kind, scripted.requests().len()), (kind, 3), "{speak:?} {status}");

            let scripted = ScriptedModel::start().await;
            scripted.queue_replies([
                ScriptedReply::error(status, "{}"),
                ScriptedReply::error(status, "{}"),
                ScriptedReply::text("at last"),
            ]);
            let heard = ask(&model(&scripted, speak), hello()).await;
            assert_eq!(heard.text, "at last", "{speak:?} {status}");
            let seen = scripted.requests();
            assert!(seen.iter().all(|one| one.raw == seen[0].raw), "{speak:?}: the same question");
        }
    }
}

#[tokio::test]
async fn a_vendor_that_wants_a_longer_wait_than_we_give_is_not_asked_again() {
    for speak in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.set_default_reply(ScriptedReply::error(429, "{}").with_header("retry-after", "3"));
        let bounds = RequestPolicy { retry_after: Duration::from_secs(2), ..quick() };
        let error = ask(&at(&scripted.url(), speak, bounds), hello()).await.error.unwrap();
        assert_eq!(
            (error.retry_after, scripted.requests().len()),
            (Some(Duration::from_secs(3)), 1),
            "{speak:?}"
        );

        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([
            ScriptedReply::error(429, "{}").with_header("retry-after", "0"),
            ScriptedReply::text("hi"),
        ]);
        assert_eq!(ask(&model(&scripted, speak), hello()).await.text, "hi", "{speak:?}");
    }
}

#[tokio::test]
async fn an_error_in_a_good_answer_counts_as_none_was_given_until_something_was_heard() {
    for speak in ALL {
        let overloaded = json!({ "type": "overloaded_error", "code": 529, "message": "prose" });
        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([ScriptedReply::new().and_error(overloaded.clone()), ScriptedReply::text("hi")]);
        assert_eq!(ask(&model(&scripted, speak), hello()).await.text, "hi", "{speak:?}");

        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([ScriptedReply::text("Hel").and_error(overloaded), ScriptedReply::text("again")]);
        let heard = ask(&model(&scripted, speak), hello()).await;
        let error = heard.error.unwrap();
        assert_eq!((heard.text.as_str(), error.kind), ("Hel", ModelErrorKind::Unavailable), "{speak:?}");
        assert!(!error.text.contains("prose") && error.cause.unwrap().contains("prose"), "{speak:?}");
    }
}

#[tokio::test]
async fn where_nobody_listens_the_words_say_so() {
    for speak in ALL {
        // A port that was ours a moment ago.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let error = ask(&at(&url, speak, quick()), hello()).await.error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Unreachable, "{speak:?}");
        let want = format!("Nobody answers for {} at {url}; check that it runs and its URL.", speak.name());
        assert_eq!(error.text, want, "{speak:?}");
    }
}

#[tokio::test]
async fn nonsense_instead_of_an_answer_is_broken() {
    for speak in [Speak::OpenAi, Speak::Compatible, Speak::Anthropic, Speak::Gemini] {
        let scripted = ScriptedModel::start().await;
        scripted.set_default_reply(ScriptedReply::error(200, "<html>hello</html>"));
        let error = ask(&model(&scripted, speak), hello()).await.error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Broken, "{speak:?}: {error:?}");
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_an_error() {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::error(200, json!({ "error": { "code": "invalid_api_key" } }))]);
    let error = ask(&model(&scripted, Speak::Compatible), hello()).await.error.unwrap();
    assert_eq!((error.kind, scripted.requests().len()), (ModelErrorKind::Unauthorized, 1));
}

#[tokio::test]
async fn redirects_are_not_followed_because_they_would_carry_the_key() {
    for speak in ALL {
        let (scripted, elsewhere) = tokio::join!(ScriptedModel::start(), ScriptedModel::start());
        elsewhere.set_default_reply(ScriptedReply::text("caught"));
        let to = format!("{}/v1/chat/completions", elsewhere.url());
        scripted.queue_replies([ScriptedReply::error(307, "").with_header("location", &to)]);
        let error = ask(&model(&scripted, speak), hello()).await.error.unwrap();
        assert_eq!((error.kind, elsewhere.requests().len()), (ModelErrorKind::Refused, 0), "{speak:?}");
    }
}

#[tokio::test]
async fn a_refusal_without_end_is_not_read_to_its_end() {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::error(400, "x".repeat(16 * 1024 + 1))]);
    let error = ask(&model(&scripted, Speak::Compatible), hello()).await.error.unwrap();
    assert_eq!(
        (error.kind, error.cause.as_deref()),
        (ModelErrorKind::Refused, Some("HTTP 400 Bad Request: "))
    );
}

#[tokio::test]
async fn a_debugged_model_shows_no_key() {
    for speak in ALL {
        let shown = format!("{:?}", at("http://127.0.0.1:9", speak, quick()));
        assert!(shown.contains(&speak.name()) && !shown.contains("the-key"), "{shown}");
    }
}
