//! Stop and restart: calls finish, apps are asked to reconnect, and do.

use serde_json::json;
use toolyard_testkit::AppBehavior;

use crate::platform::{ECHO, Platform};

#[tokio::test]
async fn a_stop_lets_calls_finish_and_takes_no_new_ones() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "done" }),
    ]));
    let (running, ()) = tokio::join!(p.call_echo(), async {
        app.wait_requests("/tool", 1).await;
        p.begin_stop();
        app.let_line_through();
    });
    assert_eq!(running.expect(200).json()["content"], "done");
    assert_eq!(device.closed().await, Some(1012), "devices connect again");
    p.stop().await;
}

#[tokio::test]
async fn apps_come_back_after_a_restart_under_their_old_session() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(json!({ "kind": "session" })).await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    let (p, code) = {
        let restarted = p.restart();
        let (p, code) = tokio::join!(restarted, session.wait_closed());
        (p, code)
    };
    assert_eq!(code, Some(1012), "a code after which the SDK dials again");
    assert_eq!(device.closed().await, Some(1012));

    let url = p.url.replace("http", "ws") + "/app-ws";
    let mut back = app.connect_socket(&url, &session.session).await;
    assert!(back.receive("tpa_connection_ack").await.is_some());
    let _device = p.device("ada").await;
    p.call_echo().await.expect(200);
    assert_eq!(app.requests("/webhook").len(), 1, "the app was not started again");
    let apps = p.user("ada").get("/api/session").await.json()["apps"].clone();
    assert_eq!((&apps[0]["packageName"], &apps[0]["state"]), (&json!(ECHO), &json!("RUNNING")));
}

#[tokio::test]
async fn stored_data_survives_a_restart() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    let p = p.restart().await;
    let _device = p.device("ada").await;
    assert_eq!(p.user("ada").tools().await, [format!("{ECHO}:echo")]);
    assert_eq!(p.user("ada").get("/api/calls").await.json()["calls"][0]["outcome"], "OK");
    p.call_echo().await.expect(200);
}

#[tokio::test]
async fn a_session_can_be_ended() {
    let p = Platform::start().await;
    let (app, mut device) = p.echo_like(json!({ "kind": "session" })).await;
    p.call_echo().await.expect(200);
    p.user("ada").delete("/api/session").await.expect(204);
    assert_eq!(app.next_session().await.wait_closed().await, Some(1000));
    assert_eq!(device.closed().await, Some(1000));
    assert!(!p.state.sessions.is_live(&"ada".parse().unwrap()));
}

#[tokio::test]
async fn a_session_ends_some_time_after_its_device_left() {
    let p = Platform::with(|config| {
        config.sessions.device_grace_s = 0;
        config.sessions.sweep_ms = 20;
    })
    .await;
    let (app, device) = p.echo_like(json!({ "kind": "session" })).await;
    p.call_echo().await.expect(200);
    let mut session = app.next_session().await;
    drop(device);
    assert_eq!(session.wait_closed().await, Some(1000));
    let ada = "ada".parse().unwrap();
    while p.state.sessions.is_live(&ada) {
        tokio::task::yield_now().await;
    }
}
