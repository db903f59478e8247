//! A user who listens in every way: on a modern stream, on the stream of a session, and on a socket.
//!
//! That no notification was sent can be tested without waiting: a marker is sent after it, and must be the next message.

use serde_json::{Value, json};
use toolyard_core::ports::Change;
use toolyard_protocol::mcp::meta;

use super::{
    client::{Ask, Events, LEGACY, hello},
    line::Line,
};
use crate::platform::Platform;

/// An app without tools, whose resource is the marker.
const MARK: &str = "com.example.mark";
/// The marker as it is listed.
pub(crate) const MARK_URI: &str = "test://com.example.mark/m";

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A platform with a short debounce, where ada has the marker.
pub(crate) async fn platform(debounce_ms: u64) -> Platform {
    let p = Platform::with(|config| config.mcp.debounce_ms = debounce_ms).await;
    p.nobody().post("/api/apps", &json!({ "packageName": MARK })).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{MARK}"), &json!({})).await.expect(204);
    p
}

/// Sends the marker to all subscribers.
pub(crate) fn mark(p: &Platform) {
    let (package, uri) = (MARK.parse().unwrap(), "test://m".into());
    p.state.stores.announcements.notify(&Change::ResourceUpdated { package, user: None, uri });
}

/// No notification was sent on this stream, and it still works. Twice, because a change may be in progress.
pub(crate) async fn quiet(p: &Platform, events: &mut Events) {
    for _ in 0..2 {
        mark(p);
        let message = events.message().await;
        assert_eq!(
            (&message["method"], &message["params"]["uri"]),
            (&json!(UPDATED), &json!(MARK_URI)),
            "{message}"
        );
    }
}

/// A stream that is notified about tools and the marker.
pub(crate) async fn listen(p: &Platform, headers: &[(&str, &str)], id: impl Into<Value>) -> Events {
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": [MARK_URI] });
    p.as_with(headers).listen(id, filter).await
}

/// Ada, listening.
pub(crate) struct Ears {
    listen: Events,
    session: Events,
    line: Line,
}

impl Ears {
    pub(crate) async fn open(p: &Platform) -> Self {
        let session = p.user("ada").handshake(LEGACY).await;
        let subscribe = || Ask::legacy("resources/subscribe", json!({ "uri": MARK_URI })).id("mark");
        session.person.ask(subscribe()).await.result();
        let mut line = Line::of(p, "ada").await;
        line.ask(Ask::legacy("initialize", hello(LEGACY))).await;
        assert_eq!(line.ask(subscribe()).await["result"], json!({}));
        Self { listen: listen(p, &[("x-user-id", "ada")], "l").await, session: session.get().await, line }
    }

    /// Every listener was notified once.
    pub(crate) async fn told(&mut self, p: &Platform, about: &str) {
        let tagged = json!({ "jsonrpc": "2.0", "method": TOOLS_CHANGED, "params": { "_meta": { meta::SUBSCRIPTION_ID: "l" } } });
        let plain = json!({ "jsonrpc": "2.0", "method": TOOLS_CHANGED });
        assert_eq!(self.listen.message().await, tagged, "{about}");
        assert_eq!(self.session.message().await, plain, "{about}");
        assert_eq!(self.line.hear(|_| true).await, plain, "{about}");
        self.quiet(p).await;
    }

    /// No listener was notified.
    pub(crate) async fn quiet(&mut self, p: &Platform) {
        let mark_of = |id: Option<&str>| {
            let mut params = json!({ "uri": MARK_URI });
            if let Some(id) = id {
                params["_meta"] = json!({ meta::SUBSCRIPTION_ID: id });
            }
            json!({ "jsonrpc": "2.0", "method": UPDATED, "params": params })
        };
        for _ in 0..2 {
            mark(p);
            assert_eq!(self.listen.message().await, mark_of(Some("l")));
            assert_eq!(self.session.message().await, mark_of(None));
            assert_eq!(self.line.hear(|_| true).await, mark_of(None));
        }
    }
}
