//! Failing upstreams next to working ones: the others are not affected, and the last good lists stay.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{FakeUpstream, InjectedFault, OfferListKind, RequestMatch, UpstreamEra};

use super::world::{add, create, live, names, plain, refresh, status, tool, until};
use crate::{mcp::client::soon, platform::Platform};

/// Ten upstreams, all listed; five of them fail later.
async fn ten(p: &Platform) -> Vec<FakeUpstream> {
    let mut all = Vec::new();
    for number in 0..10 {
        let era = if number % 2 == 0 { UpstreamEra::Modern } else { UpstreamEra::Legacy };
        let upstream = plain(era).await;
        add(p, &format!("up{number}"), &upstream.url()).await;
        all.push(upstream);
    }
    all
}

#[tokio::test]
async fn a_failing_upstream_does_not_affect_others() {
    let p = Platform::start().await;
    let all = ten(&p).await;
    let ada = live(&p, "ada").await;
    let before = ada.tools().await;
    assert_eq!(before.len(), 40);
    all[0].inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::Hang);
    all[1].inject_fault(RequestMatch::for_tool("echo"), InjectedFault::Hang);
    all[2].inject_fault(RequestMatch::for_tool("echo"), InjectedFault::DieMidway);
    all[3].inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::not_json());
    all[3].inject_fault(RequestMatch::for_tool("echo"), InjectedFault::not_json());
    all[4].inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::html(200));
    all[4].inject_fault(RequestMatch::for_tool("echo"), InjectedFault::html(503));
    let call = async |number: usize| ada.call(&format!("mcp.up{number}:echo"), json!({ "text": "x" })).await;

    // Two calls hang all the time; the others complete meanwhile.
    let path = "/api/upstreams/up0/refresh";
    let lists = p.nobody();
    let (asked, hanging) = (lists.post(path, &Value::Null), call(1));
    tokio::pin!(asked, hanging);
    let others = async {
        all[0].wait_messages("tools/list", 2).await;
        all[1].wait_messages("tools/call", 1).await;
        for number in [2, 3, 4] {
            assert!(call(number).await.status.is_server_error());
            refresh(&p, &format!("up{number}")).await;
        }
        for number in 5..10 {
            assert_eq!(call(number).await.expect(200).json()["content"], "x");
            assert_eq!(refresh(&p, &format!("up{number}")).await["state"], "up");
        }
        assert_eq!(call(0).await.expect(200).json()["content"], "x", "its list hangs, not its tools");
        assert_eq!(ada.tools().await, before, "nothing that was good is gone");
        assert_eq!(names(&ada, "tools/list").await.len(), 40);
        for (number, state) in [(2, "up"), (3, "down"), (4, "down")] {
            let now = status(&p, &format!("up{number}")).await;
            assert_eq!((&now["state"], &now["tools"]), (&json!(state), &json!(4)), "{number}: {now}");
        }
    };
    tokio::select! {
        answer = &mut asked => panic!("{answer:?}"),
        answer = &mut hanging => panic!("{answer:?}"),
        () = soon(others) => {}
    }
}

#[tokio::test]
async fn an_upstream_that_never_responded_is_not_an_empty_one() {
    let p = Platform::with(|config| config.upstream_settings.list_timeout_ms = 100).await;
    for (number, fault) in [
        InjectedFault::Hang,
        InjectedFault::html(200),
        InjectedFault::not_json(),
        InjectedFault::Die,
        InjectedFault::wrong_shape(),
        InjectedFault::status(500),
    ]
    .into_iter()
    .enumerate()
    {
        let upstream = plain(UpstreamEra::Modern).await;
        upstream.inject_fault(RequestMatch::for_method("tools/list"), fault.clone());
        let id = format!("up{number}");
        let now = add(&p, &id, &upstream.url()).await;
        assert_eq!((&now["state"], &now["listedAt"]), (&json!("down"), &Value::Null), "{fault:?}: {now}");
        assert!(!now["problem"].as_str().unwrap().is_empty(), "{fault:?}: {now}");
        upstream.clear_faults();
        let now = refresh(&p, &id).await;
        assert_eq!((&now["state"], &now["tools"], &now["problem"]), (&json!("up"), &json!(4), &Value::Null));
    }
}

#[tokio::test]
async fn the_last_good_list_stays_with_its_age() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Modern).await;
    upstream.set_list(OfferListKind::Prompts, vec![json!({ "name": "good" })]);
    let good = add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    // Another list than the tools breaks: it stays as it was, and the tools are updated.
    p.clock.advance(60);
    upstream.set_list(OfferListKind::Tools, vec![tool("new")]);
    upstream.inject_fault(RequestMatch::for_method("prompts/list"), InjectedFault::error(-32603, "no"));
    let now = refresh(&p, "up").await;
    assert_eq!(
        (&now["state"], &now["tools"], &now["prompts"]),
        (&json!("up"), &json!(1), &json!(1)),
        "{now}"
    );
    assert!(now["setAside"].to_string().contains("kept as before"), "{now}");
    assert_eq!(names(&ada, "prompts/list").await, ["mcp_up__good"]);
    assert_ne!(now["listedAt"], good["listedAt"]);
    // The tools break: everything stays.
    p.clock.advance(60);
    upstream.inject_fault(RequestMatch::for_method("tools/list"), InjectedFault::html(200));
    let then = refresh(&p, "up").await;
    assert_eq!((&then["state"], &then["tools"]), (&json!("down"), &json!(1)));
    assert_eq!(then["listedAt"], now["listedAt"]);
    // An explicitly empty list is valid.
    upstream.clear_faults();
    upstream.set_list(OfferListKind::Tools, Vec::new());
    let nothing = refresh(&p, "up").await;
    assert_eq!((&nothing["state"], &nothing["tools"]), (&json!("up"), &json!(0)));
    assert_eq!(ada.tools().await, [""; 0]);
}

#[tokio::test]
async fn after_a_restart_the_list_of_a_dead_upstream_is_still_there() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Modern).await;
    let good = add(&p, "up", &upstream.url()).await;
    upstream.take_down().await;
    p.clock.advance(3_600);
    let p = p.restart().await;
    let ada = live(&p, "ada").await;
    assert_eq!(ada.tools().await.len(), 4);
    assert_eq!(names(&ada, "tools/list").await.len(), 4);
    let now = refresh(&p, "up").await;
    assert_eq!(
        (&now["state"], &now["tools"], &now["listedAt"]),
        (&json!("down"), &json!(4), &good["listedAt"])
    );
    let failed = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(503);
    assert_eq!(failed.json()["error"]["retryable"], true);
    upstream.bring_up().await;
    assert_eq!(refresh(&p, "up").await["state"], "up");
    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
}

#[tokio::test]
async fn an_upstream_that_is_down_is_skipped_for_a_while_and_recovers_immediately() {
    let p = Platform::start().await;
    let (upstream, other) = (plain(UpstreamEra::Modern).await, plain(UpstreamEra::Modern).await);
    add(&p, "up", &upstream.url()).await;
    add(&p, "other", &other.url()).await;
    let ada = live(&p, "ada").await;
    let call = async || ada.call("mcp.up:echo", json!({ "text": "x" })).await;
    upstream.take_down().await;
    let refused = until(async || call().await, |answer| answer.text.contains("was not sent")).await;
    let refused = refused.expect(503);
    assert_eq!(
        (refused.code().as_str(), &refused.json()["error"]["retryable"]),
        ("APP_NOT_AVAILABLE", &json!(true))
    );
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1, "{:?}", refused.headers);
    let result = ada.run("mcp.up:echo", json!({ "text": "x" })).await;
    assert_eq!(result["_meta"]["toolyard/error"], json!({ "code": "APP_NOT_AVAILABLE", "retryable": true }));
    ada.call("mcp.other:echo", json!({ "text": "x" })).await.expect(200);
    let now = status(&p, "up").await;
    assert_eq!((&now["state"], &now["tools"]), (&json!("down"), &json!(4)));

    upstream.bring_up().await;
    assert_eq!(refresh(&p, "up").await["state"], "up");
    call().await.expect(200);
}

#[tokio::test]
async fn an_upstream_that_recovers_is_noticed() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Legacy).await;
    upstream.take_down().await;
    create(&p, "up", json!({ "url": upstream.url() })).await;
    until(async || status(&p, "up").await, |now| now["state"] == "down").await;
    upstream.bring_up().await;
    let now = until(async || status(&p, "up").await, |now| now["state"] == "up").await;
    assert_eq!((&now["tools"], &now["revision"]), (&json!(4), &json!("2025-11-25")));
}

#[tokio::test]
async fn a_session_that_an_upstream_forgot_is_opened_again() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Legacy).await;
    add(&p, "up", &upstream.url()).await;
    let ada = live(&p, "ada").await;
    ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
    upstream.forget_sessions();
    assert_eq!(ada.call("mcp.up:echo", json!({ "text": "y" })).await.expect(200).json()["content"], "y");
    assert_eq!(refresh(&p, "up").await["state"], "up");
}

#[tokio::test]
async fn an_upstream_with_an_unsupported_revision_is_reported() {
    let p = Platform::start().await;
    let upstream = plain(UpstreamEra::Only("1999-12-31")).await;
    let now = add(&p, "old", &upstream.url()).await;
    assert_eq!(now["state"], "down");
    assert!(now["problem"].as_str().unwrap().contains("1999-12-31"), "{now}");
}
