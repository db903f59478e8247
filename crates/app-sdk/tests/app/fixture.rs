//! An app that runs.

use std::{future::Future, time::Duration};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};
use tokio_util::task::TaskTracker;
use toolyard_app_sdk::{AppLimits, AppServer, AppServerBuilder, CancellationToken, EndReason, Session};

use crate::{
    client::{ADA, call, post},
    platform::{Platform, Socket},
};

/// Far longer than anything here takes; only a broken test gets there.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must happen.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("this should have happened by now")
}

/// An app with short waits.
pub(crate) fn builder() -> AppServerBuilder {
    let limits = AppLimits {
        reconnect_after: vec![Duration::from_millis(10), Duration::from_millis(20)],
        cancel_grace: Duration::from_millis(20),
        drain_wait: Duration::from_secs(5),
        ..AppLimits::default()
    };
    AppServer::builder("com.example.todo").api_key("the-key").limits(limits)
}

/// A running app; stops when it is dropped.
pub(crate) struct TestApp {
    pub(crate) app: AppServer,
    pub(crate) url: String,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl TestApp {
    pub(crate) async fn start(builder: AppServerBuilder) -> Self {
        let app = builder.build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn({
            let (app, stop) = (app.clone(), stop.clone());
            async move { app.serve(listener, stop).await }
        });
        tasks.close();
        Self { app, url, stop, tasks }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> (StatusCode, Value) {
        soon(post(&self.at("/tool"), &call(tool, arguments))).await
    }

    pub(crate) async fn webhook(&self, body: &Value) -> (StatusCode, Value) {
        soon(post(&self.at("/webhook"), body)).await
    }

    /// Opens a session: the app connects, and the platform acknowledges it.
    pub(crate) async fn open(&self, platform: &mut Platform) -> Socket {
        let request = session_request(&platform.socket_url());
        let (opened, socket) = tokio::join!(self.webhook(&request), platform.welcome());
        assert_eq!(opened, (StatusCode::OK, json!({ "status": "success" })));
        socket
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn session_request(socket_url: &str) -> Value {
    json!({
        "type": "session_request", "sessionId": "s-1", "userId": ADA,
        "timestamp": "2026-01-02T03:04:05.678Z", "mentraOSWebsocketUrl": socket_url,
    })
}

/// Events of the hooks of an app.
pub(crate) struct Hooks {
    pub(crate) started: mpsc::Receiver<Session>,
    pub(crate) stopped: mpsc::Receiver<EndReason>,
}

/// Adds hooks that report their calls.
pub(crate) fn hooked(builder: AppServerBuilder) -> (AppServerBuilder, Hooks) {
    let (start, started) = mpsc::channel(8);
    let (stop, stopped) = mpsc::channel(8);
    let builder = builder
        .on_session(move |session| {
            let start = start.clone();
            async move {
                start.send(session).await.unwrap();
                Ok(())
            }
        })
        .on_stop(move |_, reason| {
            let stop = stop.clone();
            async move { stop.send(reason).await.unwrap() }
        });
    (builder, Hooks { started, stopped })
}
