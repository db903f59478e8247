//! Traces. A fake app is the collector: it accepts everything that is sent to `/tool`.

use serde_json::json;
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::platform::{ECHO, Platform};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

async fn traced(url: String) -> Platform {
    Platform::with(|config| config.telemetry.otlp_url = Some(url)).await
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|found| found == part)
}

#[tokio::test]
async fn a_call_is_sent_with_its_steps_under_the_callers_trace() {
    let collector = FakeApp::start("collector").await;
    collector.set_behavior(AppBehavior::Text(200, "application/x-protobuf", String::new()));
    let p = traced(collector.url() + "/tool").await;
    let (_app, _device) = p.echo().await;
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let answer = p
        .user("ada")
        .header("traceparent", &parent)
        .call(&format!("{ECHO}:echo"), json!({ "text": "a secret" }))
        .await;
    let id = answer.expect(200).header("x-toolyard-call-id").to_owned();

    let seen = collector.wait_requests("/tool", 1).await;
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].headers["content-type"], "application/x-protobuf");
    let body = &seen[0].raw;
    for part in [
        "com.example.echo:echo",
        "find",
        "validate",
        "authorize",
        "make ready",
        "invoke",
        "check output",
        "toolyard",
        &id,
    ] {
        assert!(holds(body, part.as_bytes()), "{part}");
    }
    assert!(holds(body, &hex::decode(TRACE).unwrap()), "the trace of the caller");
    assert!(holds(body, &hex::decode("00f067aa0ba902b7").unwrap()), "under the span of the caller");
    // The id is hex, in which "ada" can occur by chance.
    let rest = String::from_utf8_lossy(body).replace(&id, "");
    for part in ["a secret", "ada"] {
        assert!(!rest.contains(part), "{part}");
    }
}

#[tokio::test]
async fn a_call_that_ends_during_a_stop_is_sent_as_well() {
    let collector = FakeApp::start("collector").await;
    let p = traced(collector.url() + "/tool").await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![json!({ "type": "result", "success": true })]));
    let (answer, ()) = tokio::join!(p.call_echo(), async {
        app.wait_requests("/tool", 1).await;
        p.begin_stop();
        app.let_line_through();
    });
    answer.expect(200);
    p.stop().await;
    let sent = collector.requests("/tool");
    assert!(sent.iter().any(|seen| holds(&seen.raw, b"com.example.echo:echo")), "{}", sent.len());
}

#[tokio::test]
async fn an_unreachable_collector_does_not_affect_calls() {
    let p = traced("http://127.0.0.1:1/v1/traces".to_owned()).await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.stop().await;
}
