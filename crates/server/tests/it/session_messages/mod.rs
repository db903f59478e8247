//! What apps may say over their sockets: the promise of `docs/apps.md` and `SECURITY.md` as a table, played through real
//! sockets.

mod answers;
mod floods;
mod photos;
mod rules;
mod streams;
mod taken_away;

use serde_json::{Value, json};
use toolyard_testkit::{AppSession, FakeApp};

use crate::platform::{Device, Platform, echo_tool};

/// Glasses with everything that an app can ask for.
const GLASSES: &str = "Mentra Live";

/// One user with glasses, and the apps of the test.
struct Stage {
    p: Platform,
    device: Device,
}

/// How an app came to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    /// A call woke it.
    Woken,
    /// The user opened it.
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

    /// Says something for an app; gives what the app and the device heard of it.
    async fn exchange(&mut self, session: &mut AppSession, message: Value) -> (Vec<Value>, Vec<Value>) {
        session.send(message).await;
        self.settle(session).await
    }

    /// What the app and the device have heard so far. Everything is taken in order, so what is asked for last is last.
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
