//! Sessions of the handshake era over HTTP: reused, lost, ended; and resumed streams.

use std::time::Duration;

use serde_json::json;
use toolyard_mcp_client::{ChangeFilter, McpClientError, ProtocolEra, ServerEvent, UpstreamListKind};
use toolyard_testkit::upstream::{
    InjectedFault, RequestMatch, StaleSession, UpstreamEra as StubEra, UpstreamOptions as Upstream,
};

use crate::world::{Way, World, call, echo, next};

#[tokio::test]
async fn a_session_is_reused_and_ended() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    echo(&client, "a").await;
    let told = world.upstream.messages("notifications/initialized");
    let called = world.upstream.messages("tools/call");
    assert!(told[0].header("mcp-session-id").is_some());
    assert_eq!(told[0].header("mcp-session-id"), called[0].header("mcp-session-id"));
    assert_eq!(world.upstream.messages("initialize")[0].header("mcp-session-id"), None);
    client.close().await;
    assert_eq!(world.upstream.session_count(), 0);
}

#[tokio::test]
async fn a_dropped_client_gives_its_session_back_too() {
    let world = World::new().await;
    drop(world.connect(Way::Http, ProtocolEra::Handshake).await);
    world.upstream.wait_messages("DELETE", 1).await;
    world.quiet().await;
}

#[tokio::test]
async fn a_server_without_sessions_is_fine() {
    let world = World::with(Upstream { session_ids: false, ..Upstream::default() }).await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    assert_eq!(echo(&client, "a").await, "a");
    client.close().await;
    assert!(world.upstream.messages("DELETE").is_empty());
}

#[tokio::test]
async fn a_lost_session_is_replaced_once_for_all_who_lost_it() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    let mut events = client.subscribe_events();
    world.upstream.forget_sessions();
    let calls = ["1", "2", "3", "4"].map(|text| echo(&client, text));
    assert_eq!(futures_util::future::join_all(calls).await, ["1", "2", "3", "4"]);
    assert_eq!(world.upstream.messages("initialize").len(), 2);
    assert_eq!(next(&mut events).await, Some(ServerEvent::ToolsChanged));
}

#[tokio::test]
async fn a_session_that_is_lost_again_at_once_is_an_error() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    world.upstream.inject_fault(RequestMatch::for_method("tools/call"), InjectedFault::status(404));
    let lost = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(lost, McpClientError::Status { status, .. } if status == 404), "{lost}");
    assert_eq!(world.upstream.messages("tools/call").len(), 2);
}

#[tokio::test]
async fn a_restarted_server_gets_a_new_session_whatever_error_it_returns() {
    for stale in StaleSession::ALL {
        let world = World::with(Upstream { stale_session: stale, ..Upstream::default() }).await;
        let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
        assert_eq!(echo(&client, "before").await, "before");
        world.upstream.forget_sessions();
        assert_eq!(echo(&client, "after").await, "after", "{stale:?}");
        assert_eq!(world.upstream.messages("initialize").len(), 2, "{stale:?}");
        assert_eq!(world.upstream.messages("tools/call").len(), 3, "{stale:?}: made, refused, made");
        // Also without any request: the standing stream is reopened.
        world.upstream.wait_listening(1).await;
        client.close().await;
    }
}

#[tokio::test]
async fn a_call_that_may_have_run_is_not_made_again_but_the_next_one_works() {
    let world = World::with(Upstream { stale_session: StaleSession::CRASH, ..Upstream::default() }).await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    world.upstream.forget_sessions();
    let failed = call(&client, "echo", json!({ "text": "x" })).await.unwrap_err();
    assert!(!failed.is_safe_to_retry(), "{failed}");
    assert_eq!(world.upstream.messages("tools/call").len(), 1);
    assert_eq!(echo(&client, "y").await, "y");
    world.upstream.forget_sessions();
    assert!(
        !client.list_items(UpstreamListKind::Tools).await.unwrap().items.is_empty(),
        "a list can be asked for twice"
    );
}

#[tokio::test]
async fn a_tool_error_about_sessions_does_not_reopen_the_session() {
    for refusal in [
        InjectedFault::error(-32000, "Login session not found"),
        InjectedFault::Raw(400, "text/plain".to_owned(), b"no such session".to_vec()),
        InjectedFault::status(403),
        InjectedFault::status(500),
    ] {
        let world = World::new().await;
        let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
        world.upstream.inject_fault(RequestMatch::for_tool("echo"), refusal.clone());
        call(&client, "echo", json!({ "text": "x" })).await.unwrap_err();
        assert_eq!(world.upstream.messages("tools/call").len(), 1, "{refusal:?}");
        assert_eq!(world.upstream.messages("initialize").len(), 1, "{refusal:?}");
    }
}

#[tokio::test]
async fn reopening_sessions_backs_off() {
    let world = World::new().await;
    let mut options = world.options(ProtocolEra::Handshake);
    options.limits.back_off = (Duration::from_secs(600), Duration::from_secs(600));
    options.watch = ChangeFilter::none();
    let client = world.connect_with(Way::Http, options).await;
    world.upstream.inject_fault(RequestMatch::for_method("tools/call"), InjectedFault::status(404));
    let mut errors = Vec::new();
    for _ in 0..5 {
        errors.push(call(&client, "echo", json!({})).await.unwrap_err().to_string());
    }
    assert_eq!(world.upstream.messages("initialize").len(), 3, "{errors:?}");
    assert!(errors[4].contains("no new session is opened for another"), "{errors:?}");
}

#[tokio::test]
async fn a_server_that_changes_its_era_closes_the_connection() {
    for (before, after) in [(ProtocolEra::Handshake, StubEra::Modern), (ProtocolEra::Modern, StubEra::Legacy)]
    {
        let world = World::new().await;
        let client = world.connect(Way::Http, before).await;
        echo(&client, "x").await;
        world.upstream.change_options(|options| options.era = after);
        world.upstream.forget_sessions();
        let lost = call(&client, "echo", json!({ "text": "x" })).await.unwrap_err();
        assert!(
            matches!(lost, McpClientError::SessionLost(_)) && lost.is_safe_to_retry(),
            "{before:?}: {lost}"
        );
        assert!(client.is_closed(), "{before:?}");
        let again = world.connect(Way::Http, ProtocolEra::Either).await;
        assert_eq!(echo(&again, "y").await, "y");
    }
}

#[tokio::test]
async fn a_pipe_whose_server_was_restarted_behind_it_ends() {
    let world = World::new().await;
    let client = world.connect(Way::WebSocket, ProtocolEra::Handshake).await;
    for method in ["tools/call", "tools/list"] {
        world.upstream.inject_fault(
            RequestMatch::for_method(method),
            InjectedFault::error(-32002, "Server not initialized"),
        );
    }
    let lost = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(lost, McpClientError::SessionLost(_)), "{lost}");
    assert!(client.is_closed());
}

#[tokio::test]
async fn a_session_that_cannot_be_replaced_is_tried_again_by_the_next_request() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    world.upstream.forget_sessions();
    world.upstream.inject_fault(RequestMatch::for_method("initialize"), InjectedFault::status(503));
    let lost = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(&lost, McpClientError::SessionLost(why) if why.contains("503")), "{lost}");
    assert!(lost.is_safe_to_retry());
    world.upstream.clear_faults();
    assert_eq!(echo(&client, "back").await, "back");
}

#[tokio::test]
async fn a_stream_that_ends_before_its_answer_is_taken_up_again() {
    let world = World::rich().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    let result = call(&client, "test_reconnection", json!({})).await.unwrap();
    assert!(result["content"][0]["text"].is_string(), "{result}");
    let resumed = world.upstream.messages("GET");
    assert!(resumed.iter().any(|get| get.header("last-event-id").is_some()));
}

#[tokio::test]
async fn a_stream_without_event_ids_cannot_be_taken_up_again() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    let stream = InjectedFault::Raw(200, "text/event-stream".to_owned(), b"data:\n\n".to_vec());
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), stream);
    let lost = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(lost, McpClientError::PerhapsSent(_)), "{lost}");
    // The caller no longer waits, and in this era the server does not know.
    world.upstream.wait_messages("notifications/cancelled", 1).await;
}

#[tokio::test]
async fn a_stream_is_not_taken_up_again_for_ever() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Handshake).await;
    world.upstream.wait_listening(1).await;
    let before = world.upstream.messages("GET").len();
    let stream =
        InjectedFault::Raw(200, "text/event-stream".to_owned(), b"retry: 1\nid: 7\ndata:\n\n".to_vec());
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), stream);
    let (lost, ()) = tokio::join!(call(&client, "echo", json!({})), async {
        // The fixture keeps unknown streams open; this server ends each.
        for gets in before + 1.. {
            world.upstream.wait_messages("GET", gets).await;
            world.upstream.end_listening();
            if gets > before + 6 {
                break;
            }
        }
    });
    let lost = lost.unwrap_err();
    assert!(lost.to_string().contains("6 attempts to resume it failed"), "{lost}");
}

#[tokio::test]
async fn a_modern_stream_is_lost_when_it_breaks() {
    let world = World::new().await;
    let client = world.connect(Way::Http, ProtocolEra::Modern).await;
    let stream = InjectedFault::Raw(200, "text/event-stream".to_owned(), b"id: 7\ndata:\n\n".to_vec());
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), stream);
    let lost = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(lost, McpClientError::PerhapsSent(_)), "{lost}");
    assert!(world.upstream.messages("GET").is_empty());
}
