//! Restarted upstreams that no longer know their sessions, with every error that servers send for it.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{
    FakeUpstream, InjectedFault, OfferListKind, RequestMatch, StaleSession, UpstreamEra, UpstreamOptions,
};

use super::world::{add, live, plain, refresh, tool, until};
use crate::platform::{Answer, Person, Platform};

async fn echo(who: &Person<'_>) -> Answer {
    who.call("mcp.up:echo", json!({ "text": "x" })).await
}

async fn restart(upstream: &FakeUpstream) {
    upstream.take_down().await;
    upstream.forget_sessions();
    upstream.bring_up().await;
}

#[tokio::test]
async fn a_restarted_upstream_works_again_for_all_users() {
    for stale in StaleSession::ALL {
        let p = Platform::start().await;
        let options =
            UpstreamOptions { era: UpstreamEra::Legacy, stale_session: stale, ..UpstreamOptions::default() };
        let upstream = FakeUpstream::start_with(options).await;
        add(&p, "up", &upstream.url()).await;
        let (ada, bob) = (live(&p, "ada").await, live(&p, "bob").await);
        echo(&ada).await.expect(200);
        restart(&upstream).await;
        let now = refresh(&p, "up").await;
        assert_eq!((&now["state"], &now["problem"]), (&json!("up"), &Value::Null), "{stale:?}: {now}");
        for who in [&ada, &bob, &ada] {
            assert_eq!(echo(who).await.expect(200).json()["content"], "x", "{stale:?}");
        }
        // The shared session and ada's twice each, and bob's once: no retry loop.
        let opened = upstream.messages("initialize").len();
        assert!(opened <= 6, "{stale:?}: {opened}");
    }
}

#[tokio::test]
async fn list_changes_of_a_restarted_upstream_are_noticed() {
    let p = Platform::with(|config| config.mcp.debounce_ms = 1).await;
    let options = UpstreamOptions {
        era: UpstreamEra::Legacy,
        stale_session: StaleSession::NO_VALID_ID,
        ..UpstreamOptions::default()
    };
    let upstream = FakeUpstream::start_with(options).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    upstream.wait_listening(1).await;
    restart(&upstream).await;
    refresh(&p, "up").await;
    upstream.wait_listening(1).await;
    upstream.set_list(OfferListKind::Tools, vec![tool("new")]);
    upstream.announce_list(OfferListKind::Tools);
    until(async || ada.tools().await, |tools| *tools == ["mcp.up:new"]).await;
}

#[tokio::test]
async fn an_upstream_may_change_its_protocol_era_in_a_restart() {
    for (before, after) in
        [(UpstreamEra::Legacy, UpstreamEra::Modern), (UpstreamEra::Modern, UpstreamEra::Legacy)]
    {
        let p = Platform::start().await;
        let upstream = plain(before).await;
        add(&p, "up", &upstream.url()).await;
        let ada = live(&p, "ada").await;
        echo(&ada).await.expect(200);
        upstream.take_down().await;
        upstream.change_options(|options| options.era = after);
        upstream.forget_sessions();
        upstream.bring_up().await;
        let answer = until(async || echo(&ada).await, |answer| answer.status == 200).await;
        assert_eq!(answer.json()["content"], "x", "{before:?}");
        assert_eq!(refresh(&p, "up").await["state"], "up");
    }
}

#[tokio::test]
async fn an_upstream_that_never_responds_is_not_tried_for_a_while() {
    let p = Platform::with(|config| config.calls.timeout_ms = 50).await;
    let upstream = plain(UpstreamEra::Modern).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    // Its lists still work, which does not mean that its tools do.
    let refused = until(async || echo(&ada).await, |answer| answer.text.contains("was not sent")).await;
    assert_eq!(refused.expect(503).code(), "APP_NOT_AVAILABLE");
    let tried = upstream.messages("tools/call").len();
    assert!((3..=5).contains(&tried), "{tried}");
    let now = p.nobody().get("/api/upstreams/up").await.expect(200).json()["status"].clone();
    assert_eq!(now["state"], "down", "{now}");
    assert!(now["problem"].as_str().unwrap().contains("calls failed"), "{now}");
    upstream.clear_faults();
    assert_eq!(refresh(&p, "up").await["state"], "up");
    echo(&ada).await.expect(200);
}

#[tokio::test]
async fn results_of_upstreams_have_the_same_size_limit_as_those_of_apps() {
    let p = Platform::with(|config| config.calls.result_bytes = 10_000).await;
    let upstream = plain(UpstreamEra::Modern).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    let echo = async |bytes: usize| ada.call("mcp.up:echo", json!({ "text": "x".repeat(bytes) })).await;
    echo(9_000).await.expect(200);
    let refused = echo(10_001).await.expect(502);
    assert_eq!(refused.code(), "INVALID_RESPONSE");
    assert!(
        refused.text.contains("the limit is 10000") && refused.text.contains("ask for less"),
        "{}",
        refused.text
    );
}
