//! The state of an MCP session that is needed to resume it over another connection. It inspects messages and decides what
//! to do with them; it sends nothing itself.

use std::collections::{HashMap, HashSet};

use serde_json::{json, value::RawValue};
use toolyard_protocol::{
    mcp::{RpcError, RpcMessage, message, method},
    raw::{RawFields, to_raw},
};

/// Most pending requests of the client. More than a server accepts at once.
const MAX_UNDER_WAY: usize = 1_024;
/// Most pending requests of the server.
const MAX_QUESTIONS: usize = 1_024;
/// Most subscriptions that are restored on a new connection.
const MAX_REMEMBERED: usize = 256;

/// A request id as raw JSON.
type RawRequestId = Box<str>;

/// What to do with a message of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientMessageAction {
    /// Forward it to the server.
    Forward,
    /// Drop it: nothing waits for it any more.
    Drop,
    /// Do not forward it; send this response to the client.
    Respond(String),
}

/// A pending request.
struct BridgedRequest {
    /// Whether it stays open until it is cancelled, as `subscriptions/listen` does.
    endless: bool,
    /// The change to the session state if the request succeeds.
    change: Option<(SessionChange, String)>,
}

/// A part of the session state that must be sent again on a new connection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SessionChange {
    Level,
    Subscribe(RawRequestId),
    Unsubscribe(RawRequestId),
}

/// The `initialize` handshake, for clients that use one.
struct ClientHandshake {
    id: RawRequestId,
    line: String,
    answered: bool,
    /// The `notifications/initialized` message, once received.
    initialized: Option<String>,
}

/// The state of a session.
#[derive(Default)]
pub(super) struct ResumableSession {
    under_way: HashMap<RawRequestId, BridgedRequest>,
    questions: HashSet<RawRequestId>,
    handshake: Option<ClientHandshake>,
    remembered: Vec<(SessionChange, String)>,
    /// Replayed requests. Their responses are not forwarded: the client already has one.
    repeated: HashSet<RawRequestId>,
}

impl ResumableSession {
    /// Handles a message of the client.
    pub(super) fn on_client_message(&mut self, line: &str) -> ClientMessageAction {
        match RpcMessage::parse(line.as_bytes()) {
            Ok(RpcMessage::Request { id, method, params }) => {
                self.on_client_request(id, &method, params, line)
            }
            Ok(RpcMessage::Notification { method, params }) => {
                self.on_client_notification(&method, params, line);
                ClientMessageAction::Forward
            }
            // A response to a request of a lost connection.
            Ok(RpcMessage::Response { id: Some(id), .. }) if !self.questions.remove(id.get()) => {
                ClientMessageAction::Drop
            }
            // The server responds to invalid messages itself.
            Ok(RpcMessage::Response { .. }) | Err(_) => ClientMessageAction::Forward,
        }
    }

    fn on_client_request(
        &mut self,
        id: &RawValue,
        method_name: &str,
        params: Option<&RawValue>,
        line: &str,
    ) -> ClientMessageAction {
        if self.under_way.len() >= MAX_UNDER_WAY {
            let text = format!("{MAX_UNDER_WAY} requests are pending; wait for a response");
            return ClientMessageAction::Respond(message::write_error(
                Some(id),
                &RpcError::new(RpcError::INTERNAL, text),
            ));
        }
        let line = || line.to_owned();
        if method_name == method::INITIALIZE && self.handshake.is_none() {
            let id = id.get().into();
            self.handshake = Some(ClientHandshake { id, line: line(), answered: false, initialized: None });
        }
        let uri = || Some(param_field(params, "uri")?.get().into());
        let change = match method_name {
            method::SET_LEVEL => Some(SessionChange::Level),
            method::RESOURCES_SUBSCRIBE => uri().map(SessionChange::Subscribe),
            method::RESOURCES_UNSUBSCRIBE => uri().map(SessionChange::Unsubscribe),
            _ => None,
        };
        let change = change.map(|change| (change, line()));
        self.under_way
            .insert(id.get().into(), BridgedRequest { endless: method_name == method::LISTEN, change });
        ClientMessageAction::Forward
    }

    fn on_client_notification(&mut self, method_name: &str, params: Option<&RawValue>, line: &str) {
        match (method_name, &mut self.handshake) {
            (method::INITIALIZED, Some(handshake)) => handshake.initialized = Some(line.to_owned()),
            // A cancelled request gets no response.
            (method::CANCELLED, _) => {
                if let Some(id) = param_field(params, "requestId") {
                    self.under_way.remove(id.get());
                }
            }
            _ => {}
        }
    }

    /// Handles a message of the server. Returns whether to forward it.
    pub(super) fn on_server_message(&mut self, text: &str) -> bool {
        match RpcMessage::parse(text.as_bytes()) {
            Ok(RpcMessage::Response { id: Some(id), outcome }) => {
                if self.repeated.remove(id.get()) {
                    return false;
                }
                self.on_response(id, outcome.is_ok());
                true
            }
            Ok(RpcMessage::Request { id, .. }) => {
                if self.questions.len() < MAX_QUESTIONS {
                    self.questions.insert(id.get().into());
                }
                true
            }
            Ok(RpcMessage::Notification { method, params }) => {
                if method == method::CANCELLED
                    && let Some(id) = param_field(params, "requestId")
                {
                    self.questions.remove(id.get());
                }
                true
            }
            Ok(RpcMessage::Response { id: None, .. }) => true,
            // The client must get only valid messages.
            Err(_) => false,
        }
    }

    fn on_response(&mut self, id: &RawValue, well: bool) {
        let Some(request) = self.under_way.remove(id.get()) else { return };
        if let Some(handshake) = self.handshake.as_mut().filter(|handshake| &*handshake.id == id.get()) {
            if well {
                handshake.answered = true;
            } else if !handshake.answered {
                self.handshake = None;
            }
        }
        if let Some((change, line)) = request.change.filter(|_| well) {
            let same = match &change {
                SessionChange::Level => SessionChange::Level,
                SessionChange::Subscribe(uri) | SessionChange::Unsubscribe(uri) => {
                    SessionChange::Subscribe(uri.clone())
                }
            };
            self.remembered.retain(|(known, _)| *known != same);
            if change == same && self.remembered.len() < MAX_REMEMBERED {
                self.remembered.push((change, line));
            }
        }
    }

    /// The connection was lost. Returns the error responses and cancellations for the client. A pending handshake is left
    /// out: it is sent again, which does no harm.
    pub(super) fn on_connection_lost(&mut self) -> Vec<String> {
        let shaking = self.handshake.as_ref().filter(|handshake| !handshake.answered).map(|shake| &*shake.id);
        let error = RpcError::new(
            RpcError::INTERNAL,
            "the connection to the Toolyard server was lost before the response; whether the request was carried out is not known",
        );
        let given_up: Vec<RawRequestId> =
            self.under_way.keys().filter(|id| Some(&***id) != shaking).cloned().collect();
        let mut messages = Vec::new();
        for id in given_up {
            self.under_way.remove(&id);
            messages.extend(parse_raw_id(&id).map(|id| message::write_error(Some(id), &error)));
        }
        for id in self.questions.drain() {
            let params = parse_raw_id(&id)
                .map(|id| to_raw(&json!({ "requestId": id, "reason": "the connection was lost" })));
            messages
                .extend(params.map(|params| message::write_notification(method::CANCELLED, Some(&params))));
        }
        self.repeated.clear();
        messages
    }

    /// Reconnecting was given up. Like [`Self::on_connection_lost`], but a pending handshake fails too.
    pub(super) fn abandon_pending(&mut self) -> Vec<String> {
        self.handshake = None;
        self.on_connection_lost()
    }

    /// The messages to send first on a new connection. The server handles the messages of a socket in order, so there is
    /// no need to wait for the responses.
    pub(super) fn replay_messages(&mut self) -> Vec<String> {
        let Some(handshake) = &self.handshake else { return Vec::new() };
        let mut lines = vec![handshake.line.clone()];
        lines.extend(handshake.initialized.clone());
        if handshake.answered {
            self.repeated.insert(handshake.id.clone());
        }
        for (_, line) in &self.remembered {
            if let Ok(RpcMessage::Request { id, .. }) = RpcMessage::parse(line.as_bytes()) {
                self.repeated.insert(id.get().into());
                lines.push(line.clone());
            }
        }
        lines
    }

    /// Notifications for the client after a reconnect: the lists may have changed meanwhile. Clients without a handshake
    /// subscribe with a request, which has got an error response.
    pub(super) fn missed_notifications(&self) -> Vec<String> {
        let lists = [method::TOOLS_CHANGED, method::PROMPTS_CHANGED, method::RESOURCES_CHANGED];
        match self.handshake.as_ref().and_then(|handshake| handshake.initialized.as_ref()) {
            Some(_) => lists.map(|method| message::write_notification(method, None)).to_vec(),
            None => Vec::new(),
        }
    }

    /// Whether no request is pending, except for endless ones.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.values().all(|request| request.endless)
    }
}

fn parse_raw_id(id: &str) -> Option<&RawValue> {
    serde_json::from_str(id).ok()
}

/// A field of the params.
fn param_field(params: Option<&RawValue>, name: &str) -> Option<Box<RawValue>> {
    let fields: RawFields = serde_json::from_str(params?.get()).ok()?;
    fields.get(name).map(RawValue::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

    fn request(id: u32, method: &str, params: Value) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    fn answer(id: u32) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()
    }

    fn refusal(id: u32) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -1, "message": "no" } }).to_string()
    }

    fn call(id: u32) -> String {
        request(id, "tools/call", json!({ "name": "x" }))
    }

    fn shaken() -> ResumableSession {
        let mut session = ResumableSession::default();
        assert_eq!(session.on_client_message(INITIALIZE), ClientMessageAction::Forward);
        assert!(session.on_server_message(&answer(0)));
        assert_eq!(session.on_client_message(INITIALIZED), ClientMessageAction::Forward);
        session
    }

    fn ids(messages: &[String]) -> Vec<i64> {
        let read = messages.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
        let mut ids: Vec<i64> = read.filter_map(|message| message["id"].as_i64()).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn pending_requests_fail_when_the_connection_is_lost() {
        let mut session = shaken();
        for id in 1..=4 {
            session.on_client_message(&call(id));
        }
        assert!(!session.is_idle());
        session.on_server_message(&answer(2));
        session.on_client_message(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        );
        let sent = session.on_connection_lost();
        assert_eq!(ids(&sent), [1, 4]);
        assert!(sent.iter().all(|text| text.contains("-32603") && text.contains("was lost")));
        assert!(session.is_idle() && session.on_connection_lost().is_empty(), "once only");
    }

    #[test]
    fn a_replayed_handshake_is_not_answered_twice() {
        let mut session = shaken();
        session.on_connection_lost();
        assert_eq!(session.replay_messages(), [INITIALIZE, INITIALIZED]);
        assert_eq!(session.missed_notifications().len(), 3);
        assert!(!session.on_server_message(&answer(0)), "the client has had it");
        assert!(session.on_server_message(&answer(0)), "only once");
        session.on_connection_lost();
        assert_eq!(session.replay_messages().len(), 2, "as often as it is lost");
    }

    #[test]
    fn a_pending_handshake_is_sent_again_and_answered() {
        let mut session = ResumableSession::default();
        session.on_client_message(INITIALIZE);
        assert!(session.on_connection_lost().is_empty());
        assert_eq!(session.replay_messages(), [INITIALIZE]);
        assert!(session.missed_notifications().is_empty());
        assert!(session.on_server_message(&answer(0)), "this one the client waits for");
        let mut session = ResumableSession::default();
        session.on_client_message(INITIALIZE);
        assert_eq!(ids(&session.abandon_pending()), [0], "nobody will answer it any more");
        let mut session = ResumableSession::default();
        session.on_client_message(INITIALIZE);
        session.on_server_message(&refusal(0));
        session.on_connection_lost();
        assert!(session.replay_messages().is_empty(), "one that was refused is none");
    }

    #[test]
    fn the_session_state_is_replayed_on_a_new_connection() {
        let mut session = shaken();
        let subscribe = |id, uri: &str| request(id, "resources/subscribe", json!({ "uri": uri }));
        let level = |id, level: &str| request(id, "logging/setLevel", json!({ "level": level }));
        let lines =
            [subscribe(1, "a"), subscribe(2, "b"), subscribe(3, "c"), level(4, "info"), level(5, "debug")];
        for line in &lines {
            session.on_client_message(line);
        }
        for id in [1, 2, 4, 5] {
            session.on_server_message(&answer(id));
        }
        session.on_server_message(&refusal(3));
        session.on_client_message(&request(6, "resources/unsubscribe", json!({ "uri": "a" })));
        session.on_server_message(&answer(6));
        session.on_connection_lost();
        assert_eq!(session.replay_messages()[2..], [subscribe(2, "b"), level(5, "debug")]);
        assert!(!session.on_server_message(&answer(2)) && !session.on_server_message(&answer(5)));
    }

    #[test]
    fn requests_of_a_lost_connection_are_cancelled() {
        let mut session = shaken();
        let question = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"elicitation/create","params":{{}}}}"#)
        };
        let reply = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#);
        for id in ["a", "b", "c"] {
            assert!(session.on_server_message(&question(id)));
        }
        assert_eq!(session.on_client_message(&reply("a")), ClientMessageAction::Forward);
        session.on_server_message(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}"#,
        );
        let sent = session.on_connection_lost();
        assert_eq!(sent.len(), 1);
        assert!(
            sent[0].contains("notifications/cancelled") && sent[0].contains(r#""requestId":"c""#),
            "{sent:?}"
        );
        assert_eq!(
            session.on_client_message(&reply("c")),
            ClientMessageAction::Drop,
            "nobody waits for it any more"
        );
    }

    #[test]
    fn clients_without_a_handshake_need_no_replay() {
        let mut session = ResumableSession::default();
        session.on_client_message(&request(7, "subscriptions/listen", json!({})));
        assert!(session.is_idle(), "it stays open until it is cancelled");
        assert_eq!(ids(&session.on_connection_lost()), [7]);
        assert!(session.replay_messages().is_empty() && session.missed_notifications().is_empty());
    }

    #[test]
    fn pending_requests_are_limited() {
        let mut session = shaken();
        let most = u32::try_from(MAX_UNDER_WAY).unwrap();
        for id in 1..=most {
            assert_eq!(session.on_client_message(&call(id)), ClientMessageAction::Forward);
        }
        let ClientMessageAction::Respond(text) = session.on_client_message(&call(most + 1)) else {
            panic!("it was passed on")
        };
        assert!(text.contains("wait for a response"));
        session.on_connection_lost();
        for id in 1..=u32::try_from(MAX_REMEMBERED).unwrap() + 1 {
            session.on_client_message(&request(id, "resources/subscribe", json!({ "uri": id.to_string() })));
            session.on_server_message(&answer(id));
        }
        assert_eq!(session.replay_messages().len(), 2 + MAX_REMEMBERED);
        for id in 0..=MAX_QUESTIONS {
            session.on_server_message(&format!(r#"{{"jsonrpc":"2.0","id":"q{id}","method":"ping"}}"#));
        }
        assert_eq!(session.on_connection_lost().len(), MAX_QUESTIONS);
    }

    #[test]
    fn invalid_messages_go_to_the_server_but_never_to_the_client() {
        let mut session = ResumableSession::default();
        assert_eq!(session.on_client_message("not JSON"), ClientMessageAction::Forward);
        assert!(!session.on_server_message("<html>"));
        assert!(session.on_server_message(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#));
    }
}
