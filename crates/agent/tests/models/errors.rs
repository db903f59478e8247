//! Error responses, other errors, and retries.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard_agent::model::{ModelErrorKind, RequestPolicy};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::support::{ALL, TestProtocol, ask, at, hello, model, quick};

#[tokio::test]
async fn errors_have_kinds_and_helpful_texts_without_the_vendors_text() {
    let error_body = |kind: &str| json!({ "error": { "type": kind, "code": kind, "message": "vendor prose, key the-key" } });
    let cases: [(u16, Value, ModelErrorKind, &str); 8] = [
        (
            401,
            error_body("x"),
            ModelErrorKind::Unauthorized,
            "rejects the key in the configuration of the endpoint",
        ),
        (402, error_body("x"), ModelErrorKind::NoCredit, "There is no credit left for"),
        (429, error_body("insufficient_quota"), ModelErrorKind::NoCredit, "There is no credit left for"),
        (404, error_body("model_not_found"), ModelErrorKind::Unknown, "There is no model"),
        (400, error_body("invalid_request_error"), ModelErrorKind::Refused, "rejects this request"),
        (
            400,
            error_body("context_length_exceeded"),
            ModelErrorKind::Refused,
            "The conversation is too long for",
        ),
        (413, json!("?"), ModelErrorKind::Refused, "rejects this request"),
        (307, json!(""), ModelErrorKind::Refused, "rejects this request"),
    ];
    for protocol in ALL {
        for (status, body, kind, text) in &cases {
            let scripted = ScriptedModel::start().await;
            scripted.queue_replies([ScriptedReply::error(*status, body)]);
            let error = ask(&model(&scripted, protocol), hello()).await.error.unwrap();
            assert_eq!(error.kind, *kind, "{protocol:?} {status} {body}");
            assert!(
                error.text.contains(text) && error.text.contains(&protocol.name()),
                "{protocol:?}: {}",
                error.text
            );
            assert!(!error.text.contains("prose"), "{}", error.text);
            let cause = error.cause.unwrap();
            assert!(cause.contains(&status.to_string()) && !cause.contains("the-key"), "{cause}");
            assert_eq!(scripted.requests().len(), 1, "{protocol:?} {status}: asked once");
        }
    }
}

#[tokio::test]
async fn transient_errors_are_retried_twice() {
    for protocol in ALL {
        for (status, kind) in [
            (429, ModelErrorKind::RateLimited),
            (500, ModelErrorKind::Unavailable),
            (503, ModelErrorKind::Unavailable),
            (529, ModelErrorKind::Unavailable),
        ] {
            let scripted = ScriptedModel::start().await;
            scripted.set_default_reply(ScriptedReply::error(status, "{}"));
            let error = ask(&model(&scripted, protocol), hello()).await.error.unwrap();
            assert_eq!((error.kind, scripted.requests().len()), (kind, 3), "{protocol:?} {status}");

            let scripted = ScriptedModel::start().await;
            scripted.queue_replies([
                ScriptedReply::error(status, "{}"),
                ScriptedReply::error(status, "{}"),
                ScriptedReply::text("at last"),
            ]);
            let response = ask(&model(&scripted, protocol), hello()).await;
            assert_eq!(response.text, "at last", "{protocol:?} {status}");
            let seen = scripted.requests();
            assert!(seen.iter().all(|one| one.raw == seen[0].raw), "{protocol:?}: the same question");
        }
    }
}

#[tokio::test]
async fn a_longer_delay_than_the_limit_is_not_retried() {
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.set_default_reply(ScriptedReply::error(429, "{}").with_header("retry-after", "3"));
        let bounds = RequestPolicy { retry_after: Duration::from_secs(2), ..quick() };
        let error = ask(&at(&scripted.url(), protocol, bounds), hello()).await.error.unwrap();
        assert_eq!(
            (error.retry_after, scripted.requests().len()),
            (Some(Duration::from_secs(3)), 1),
            "{protocol:?}"
        );

        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([
            ScriptedReply::error(429, "{}").with_header("retry-after", "0"),
            ScriptedReply::text("hi"),
        ]);
        assert_eq!(ask(&model(&scripted, protocol), hello()).await.text, "hi", "{protocol:?}");
    }
}

#[tokio::test]
async fn an_error_in_a_response_is_retried_before_the_first_event_only() {
    for protocol in ALL {
        let overloaded = json!({ "type": "overloaded_error", "code": 529, "message": "prose" });
        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([ScriptedReply::new().and_error(overloaded.clone()), ScriptedReply::text("hi")]);
        assert_eq!(ask(&model(&scripted, protocol), hello()).await.text, "hi", "{protocol:?}");

        let scripted = ScriptedModel::start().await;
        scripted
            .queue_replies([ScriptedReply::text("Hel").and_error(overloaded), ScriptedReply::text("again")]);
        let response = ask(&model(&scripted, protocol), hello()).await;
        let error = response.error.unwrap();
        assert_eq!(
            (response.text.as_str(), error.kind),
            ("Hel", ModelErrorKind::Unavailable),
            "{protocol:?}"
        );
        assert!(!error.text.contains("prose") && error.cause.unwrap().contains("prose"), "{protocol:?}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named_in_the_error() {
    for protocol in ALL {
        // A free port.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let error = ask(&at(&url, protocol, quick()), hello()).await.error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Unreachable, "{protocol:?}");
        let want = format!("{} cannot be reached at {url}; check its URL and that it runs.", protocol.name());
        assert_eq!(error.text, want, "{protocol:?}");
    }
}

#[tokio::test]
async fn an_invalid_response_is_broken() {
    for protocol in
        [TestProtocol::OpenAi, TestProtocol::Compatible, TestProtocol::Anthropic, TestProtocol::Gemini]
    {
        let scripted = ScriptedModel::start().await;
        scripted.set_default_reply(ScriptedReply::error(200, "<html>hello</html>"));
        let error = ask(&model(&scripted, protocol), hello()).await.error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Broken, "{protocol:?}: {error:?}");
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_an_error() {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::error(200, json!({ "error": { "code": "invalid_api_key" } }))]);
    let error = ask(&model(&scripted, TestProtocol::Compatible), hello()).await.error.unwrap();
    assert_eq!((error.kind, scripted.requests().len()), (ModelErrorKind::Unauthorized, 1));
}

#[tokio::test]
async fn redirects_are_not_followed_because_they_would_carry_the_key() {
    for protocol in ALL {
        let (scripted, elsewhere) = tokio::join!(ScriptedModel::start(), ScriptedModel::start());
        elsewhere.set_default_reply(ScriptedReply::text("caught"));
        let to = format!("{}/v1/chat/completions", elsewhere.url());
        scripted.queue_replies([ScriptedReply::error(307, "").with_header("location", &to)]);
        let error = ask(&model(&scripted, protocol), hello()).await.error.unwrap();
        assert_eq!((error.kind, elsewhere.requests().len()), (ModelErrorKind::Refused, 0), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_refusal_without_end_is_not_read_to_its_end() {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::error(400, "x".repeat(16 * 1024 + 1))]);
    let error = ask(&model(&scripted, TestProtocol::Compatible), hello()).await.error.unwrap();
    assert_eq!(
        (error.kind, error.cause.as_deref()),
        (ModelErrorKind::Refused, Some("HTTP 400 Bad Request: "))
    );
}

#[tokio::test]
async fn a_debugged_model_shows_no_key() {
    for protocol in ALL {
        let shown = format!("{:?}", at("http://127.0.0.1:9", protocol, quick()));
        assert!(shown.contains(&protocol.name()) && !shown.contains("the-key"), "{shown}");
    }
}
