//! Subscriptions to changes: `subscriptions/listen` of the modern era, and the streams of legacy sessions.

use std::sync::Mutex;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    message::{AnswerStep, META_PREFIX, RpcFailure, UpstreamCall},
    state::{OfferListKind, UpstreamShared},
};

struct ListenRequest {
    number: u64,
    id: Value,
    granted: Value,
    out: mpsc::Sender<AnswerStep>,
    end: CancellationToken,
}

impl ListenRequest {
    fn tag_message(&self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({ format!("{META_PREFIX}subscriptionId"): self.id });
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    }
}

/// The open listen requests.
#[derive(Default)]
pub(super) struct ListenerTable(Mutex<Vec<ListenRequest>>);

/// Removes a listener when its request ends, for whatever reason.
struct ListenerGuard<'a>(&'a UpstreamShared, u64);

impl Drop for ListenerGuard<'_> {
    fn drop(&mut self) {
        self.0.listeners.0.lock().unwrap().retain(|listener| listener.number != self.1);
        self.0.changed.notify_waiters();
    }
}

impl UpstreamShared {
    /// Responds only when the upstream ends the subscription.
    pub(super) async fn handle_listen(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        let wanted = &call.params["notifications"];
        if !wanted.is_object() {
            return Err(RpcFailure::invalid_params("subscriptions/listen needs notifications"));
        }
        let (number, end) = (self.next_number(), CancellationToken::new());
        let granted = self.grant_notifications(wanted);
        let listener =
            ListenRequest { number, id: call.id.clone(), granted, out: call.out.clone(), end: end.clone() };
        {
            // The acknowledgement is sent before the listener is visible to others: it must come first.
            let mut listeners = self.listeners.0.lock().unwrap();
            let params = json!({ "notifications": listener.granted });
            let acknowledged = listener.tag_message("notifications/subscriptions/acknowledged", params);
            drop(listener.out.try_send(AnswerStep::Message(acknowledged)));
            listeners.push(listener);
        }
        let _leaving = ListenerGuard(self, number);
        self.changed.notify_waiters();
        end.cancelled().await;
        Ok(json!({ "_meta": { format!("{META_PREFIX}subscriptionId"): call.id } }))
    }

    fn grant_notifications(&self, wanted: &Value) -> Value {
        let can = self.capabilities();
        let mut granted = Map::new();
        for (key, list) in [
            ("toolsListChanged", "tools"),
            ("promptsListChanged", "prompts"),
            ("resourcesListChanged", "resources"),
        ] {
            if wanted[key] == true && can[list].is_object() {
                granted.insert(key.to_owned(), json!(true));
            }
        }
        if wanted["resourceSubscriptions"].is_array() && can["resources"].is_object() {
            granted.insert("resourceSubscriptions".to_owned(), wanted["resourceSubscriptions"].clone());
        }
        Value::Object(granted)
    }

    /// Notifies all subscribers that a list changed.
    pub(super) fn announce_list(&self, list: OfferListKind) {
        let (key, method) = match list {
            OfferListKind::Tools => ("toolsListChanged", "notifications/tools/list_changed"),
            OfferListKind::Prompts => ("promptsListChanged", "notifications/prompts/list_changed"),
            OfferListKind::Resources | OfferListKind::Templates => {
                ("resourcesListChanged", "notifications/resources/list_changed")
            }
        };
        for listener in self.listeners.0.lock().unwrap().iter().filter(|known| known.granted[key] == true) {
            drop(listener.out.try_send(AnswerStep::Message(listener.tag_message(method, json!({})))));
        }
        for session in self.script.lock().unwrap().sessions.values() {
            session.push_message(AnswerStep::Message(json!({ "jsonrpc": "2.0", "method": method })));
        }
    }

    /// Notifies all subscribers of a resource that it changed.
    pub(super) fn announce_resource(&self, uri: &str) {
        let method = "notifications/resources/updated";
        let params = json!({ "uri": uri });
        for listener in self.listeners.0.lock().unwrap().iter() {
            let uris = listener.granted["resourceSubscriptions"].as_array();
            if uris.is_some_and(|uris| uris.iter().any(|known| known == uri)) {
                drop(
                    listener.out.try_send(AnswerStep::Message(listener.tag_message(method, params.clone()))),
                );
            }
        }
        for session in self.script.lock().unwrap().sessions.values().filter(|known| known.is_subscribed(uri))
        {
            session.push_message(AnswerStep::Message(
                json!({ "jsonrpc": "2.0", "method": method, "params": params }),
            ));
        }
    }

    /// Number of open streams that receive change notifications.
    pub(super) fn listening_count(&self) -> usize {
        let sessions = self.script.lock().unwrap();
        let legacy = sessions.sessions.values().filter(|session| session.is_open()).count();
        drop(sessions);
        self.listeners.0.lock().unwrap().len() + legacy
    }

    /// Ends every listen request with a response, and closes every legacy stream.
    pub(super) fn end_listening(&self) {
        for listener in self.listeners.0.lock().unwrap().iter() {
            listener.end.cancel();
        }
        for session in self.script.lock().unwrap().sessions.values() {
            session.close_stream();
        }
    }

    /// Breaks every stream without a proper end.
    pub(super) fn cut_listening(&self) {
        for listener in self.listeners.0.lock().unwrap().iter() {
            drop(listener.out.try_send(AnswerStep::Cut));
        }
        for session in self.script.lock().unwrap().sessions.values() {
            session.push_message(AnswerStep::Cut);
        }
    }
}
