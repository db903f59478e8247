//! What apps may send over their sockets: the rules of `docs/apps.md` and `SECURITY.md` as a table, tested over real sockets.

mod answers;
mod floods;
mod photos;
mod rules;
mod streams;
mod taken_away;

use serde_json::{Value, json};
use toolyard_testkit::{AppSession, FakeApp};

use crate::platform::{Device, Platform, echo_tool};

/// Glasses with all capabilities.
const GLASSES: &str = "Mentra Live";

/// One user with glasses, and the apps of the test.
struct Stage {
    p: Platform,
    device: Device,
}

/// How an app was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    /// By a call.
    Woken,
    /// By the user.
    Opened,
}

impl Stage {
    async fn new() -> Self {
        Self::on(Platform::start().await).await
    }

    async fn on(p: Platform) -> Self {
        let mut device = p.device("ada").await;
        device.wears(GLASSES).await;
        Self { p, device }
    }

    /// A session app with these permissions, installed and running.
    async fn app(&self, package: &str, permissions: &[&str], started: Started) -> (FakeApp, AppSession) {
        let app = FakeApp::start(package).await;
        let permissions: Vec<_> = permissions.iter().map(|kind| json!({ "type": kind })).collect();
        let body = json!({ "packageName": package, "kind": "session", "permissions": permissions,
            "tools": [echo_tool()] });
        self.p.register(&app, body).await;
        self.p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        match started {
            Started::Woken => {
                let tool = format!("{package}:echo");
                self.p.user("ada").call(&tool, json!({ "text": "hi" })).await.expect(200);
            }
            Started::Opened => {
                let path = format!("/api/session/apps/{package}/start");
                self.p.user("ada").post(&path, &json!({})).await.expect(204);
            }
        }
        let session = app.next_session().await;
        (app, session)
    }

    /// Sends a message of an app, and returns what the app and the device receive.
    async fn exchange(&mut self, session: &mut AppSession, message: Value) -> (Vec<Value>, Vec<Value>) {
        session.send(message).await;
        self.settle(session).await
    }

    /// What the app and the device have received so far. Messages are processed in order, so the response to a ping marks the end.
    async fn settle(&mut self, session: &mut AppSession) -> (Vec<Value>, Vec<Value>) {
        const MARK: u64 = 4_711;
        session.send(json!({ "type": "audio_stop_request", "trackId": MARK })).await;
        session.send(json!({ "type": "ping" })).await;
        let mut app = Vec::new();
        loop {
            let message = session.incoming.recv().await.expect("the app's socket is open");
            let Ok(text) = message.into_text() else { continue };
            let Ok(message) = serde_json::from_str::<Value>(&text) else { continue };
            if message["type"] == "pong" {
                break;
            }
            app.push(message);
        }
        let mut device = self.device.collect_until(|message| message["trackId"] == MARK).await;
        device.pop();
        (app, device)
    }
}

/// The messages of one type.
fn of_type<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    messages.iter().filter(|message| message["type"] == kind).collect()
}
