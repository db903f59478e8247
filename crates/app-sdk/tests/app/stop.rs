//! How sessions and apps stop.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use toolyard_app_sdk::{
    AppLimits, EndReason, NoArguments, SessionConnection, StopReason, ToolContext, create_tool,
};

use crate::{
    client::ADA,
    fixture::{TestApp, builder, hooked, soon},
    platform::Platform,
};

#[tokio::test]
async fn a_stop_request_ends_the_session_once() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let mut socket = app.open(&mut platform).await;
    let session = soon(hooks.started.recv()).await.unwrap();
    let mut heard = session.on_transcription("en-US").unwrap();
    socket.hear("subscription_update").await;

    let stop = |id: &str, reason: &str| json!({ "type": "stop_request", "sessionId": id, "userId": ADA, "reason": reason });
    // Another run of the app is not this one; the reason at the end shows which of them counted.
    assert_eq!(app.webhook(&stop("s-0", "error")).await.0, StatusCode::OK);
    assert_eq!(
        app.webhook(&stop("s-1", "user_disabled")).await,
        (StatusCode::OK, json!({ "status": "success" }))
    );
    assert_eq!(socket.hear_close().await, 1000);
    // What the platform sends on top changes nothing; the app may have gone already.
    socket.try_say(&json!({ "type": "app_stopped", "reason": "user_disabled" })).await;
    drop(socket);
    assert_eq!(soon(hooks.stopped.recv()).await, Some(EndReason::Stopped(StopReason::UserDisabled)));
    soon(session.ended()).await;
    assert!(soon(heard.next()).await.is_none());
    assert!(app.app.session_for(session.user()).is_none());
    assert_eq!(app.webhook(&stop("s-1", "error")).await.0, StatusCode::OK);
    assert!(hooks.stopped.try_recv().is_err());
}

#[tokio::test]
async fn a_final_close_reason_ends_the_session_without_reconnecting() {
    let stopped = Some(json!({ "type": "app_stopped", "reason": "system_stop" }));
    let closed = |code, reason: &str| EndReason::Closed { code, reason: reason.to_owned() };
    for (message, code, words, reason) in [
        (None, 1000, "App stopped", closed(1000, "App stopped")),
        (None, 1001, "going away", closed(1001, "going away")),
        (None, 1011, "User session ended", closed(1011, "User session ended")),
        (stopped.clone(), 1000, "App stopped", EndReason::Stopped(StopReason::SystemStop)),
        (stopped, 1011, "broke", EndReason::Stopped(StopReason::SystemStop)),
    ] {
        let mut platform = Platform::start().await;
        let (app, mut hooks) = hooked(builder().server(platform.url()));
        let app = TestApp::start(app).await;
        let mut socket = app.open(&mut platform).await;
        if let Some(message) = message {
            socket.say(&message).await;
        }
        socket.close(code, words).await;
        assert_eq!(soon(hooks.stopped.recv()).await, Some(reason));
        assert!(platform.is_alone());
    }
}

#[tokio::test]
async fn a_hook_that_outlives_its_session_is_dropped() {
    struct Told(mpsc::Sender<()>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.try_send(());
        }
    }
    let mut platform = Platform::start().await;
    let (tell, mut dropped) = mpsc::channel(1);
    let app = builder().server(platform.url()).on_session(move |_| {
        let told = Told(tell.clone());
        async move {
            let _told = told;
            std::future::pending().await
        }
    });
    let app = TestApp::start(app).await;
    app.open(&mut platform).await.close(1000, "App stopped").await;
    soon(dropped.recv()).await.unwrap();
}

#[tokio::test]
async fn a_second_request_replaces_the_session() {
    let mut platform = Platform::start().await;
    let (app, mut hooks) = hooked(builder().server(platform.url()));
    let app = TestApp::start(app).await;
    let mut first = app.open(&mut platform).await;
    let before = soon(hooks.started.recv()).await.unwrap();
    let farewell = async {
        assert_eq!(first.hear("ownership_release").await["reason"], "switching_clouds");
        assert_eq!(first.hear_close().await, 1000);
        first.hear_end().await;
    };
    let (mut second, ()) = tokio::join!(app.open(&mut platform), farewell);
    assert_eq!(soon(hooks.stopped.recv()).await, Some(EndReason::Replaced));
    let after = soon(hooks.started.recv()).await.unwrap();
    assert_eq!(
        (before.connection(), after.connection()),
        (SessionConnection::Ended, SessionConnection::Connected)
    );
    app.app.session_for(after.user()).unwrap().show_text_wall("new").await.unwrap();
    second.hear("display_event").await;
}

#[tokio::test]
async fn a_stopping_app_finishes_its_calls_and_closes_its_sessions() {
    let mut platform = Platform::start().await;
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let hold = {
        let (entered, leave) = (Arc::clone(&entered), Arc::clone(&leave));
        move |_: NoArguments, _: ToolContext| {
            let (entered, leave) = (Arc::clone(&entered), Arc::clone(&leave));
            async move {
                entered.notify_one();
                leave.notified().await;
                Ok::<_, &str>("done")
            }
        }
    };
    let tool = create_tool("hold", "", hold).build().unwrap();
    let (app, mut hooks) = hooked(builder().server(platform.url()).register_tool(tool));
    let app = TestApp::start(app).await;
    let mut socket = app.open(&mut platform).await;
    let stop = async {
        soon(entered.notified()).await;
        app.stop.cancel();
        leave.notify_one();
        assert_eq!(socket.hear_close().await, 1001);
        socket.hear_end().await;
    };
    let (called, ()) = tokio::join!(app.call("hold", json!({})), stop);
    assert_eq!(called.0, StatusCode::OK);
    assert_eq!(soon(hooks.stopped.recv()).await, Some(EndReason::AppStopped));
    soon(app.tasks.wait()).await;
}

#[tokio::test]
async fn a_call_that_does_not_finish_does_not_block_the_shutdown() {
    let entered = Arc::new(Notify::new());
    let endless = {
        let entered = Arc::clone(&entered);
        move |_: NoArguments, _: ToolContext| {
            let entered = Arc::clone(&entered);
            async move {
                entered.notify_one();
                std::future::pending::<Result<(), &str>>().await
            }
        }
    };
    let limits = AppLimits {
        cancel_grace: Duration::from_millis(10),
        drain_wait: Duration::from_millis(200),
        ..AppLimits::default()
    };
    let tool = create_tool("endless", "", endless).build().unwrap();
    let app = TestApp::start(builder().limits(limits).register_tool(tool)).await;
    let stop = async {
        soon(entered.notified()).await;
        app.stop.cancel();
        soon(app.tasks.wait()).await;
    };
    let (called, ()) = tokio::join!(app.call("endless", json!({})), stop);
    assert_eq!(called.1["error"]["code"], "CANCELLED");
}
