//! What has to be remembered of a conversation so that it can go on over another connection. Looks at messages and
//! decides; sends nothing itself.

use std::collections::{HashMap, HashSet};

use serde_json::{json, value::RawValue};
use toolyard_protocol::{
    mcp::{RpcError, RpcMessage, message, method},
    raw::{RawFields, to_raw},
};

/// Requests of the client that wait for an answer. More than a server takes at once.
const MAX_UNDER_WAY: usize = 1_024;
/// Questions of the server that wait for an answer.
const MAX_QUESTIONS: usize = 1_024;
/// Subscriptions that outlive a connection.
const MAX_REMEMBERED: usize = 256;

/// An id as it came.
type RawRequestId = Box<str>;

/// What to do with a message of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientMessageAction {
    /// Pass it on.
    Forward,
    /// Nobody waits for it any more.
    Drop,
    /// Answer this instead.
    Respond(String),
}

/// A request that waits for its answer.
struct BridgedRequest {
    /// Whether it lasts until somebody ends it, as `subscriptions/listen` does.
    endless: bool,
    /// What the session will remember once it is answered.
    change: Option<(SessionChange, String)>,
}

/// Something that a session remembers, and a new one has to be told again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SessionChange {
    Level,
    Subscribe(RawRequestId),
    Unsubscribe(RawRequestId),
}

/// The handshake of a client that begins with one.
struct ClientHandshake {
    id: RawRequestId,
    line: String,
    answered: bool,
    /// `notifications/initialized`, once it came.
    initialized: Option<String>,
}

/// A conversation.
#[derive(Default)]
pub(super) struct ResumableSession {
    under_way: HashMap<RawRequestId, BridgedRequest>,
    questions: HashSet<RawRequestId>,
    handshake: Option<ClientHandshake>,
    remembered: Vec<(SessionChange, String)>,
    /// Answers to what we asked again; the client has had them.
    repeated: HashSet<RawRequestId>,
}

impl ResumableSession {
    /// The client says something.
    pub(super) fn on_client_message(&mut self, line: &str) -> ClientMessageAction {
        match RpcMessage::parse(line.as_bytes()) {
            Ok(RpcMessage::Request { id, method, params }) => {
                self.on_client_request(id, &method, params, line)
            }
            Ok(RpcMessage::Notification { method, params }) => {
                self.on_client_notification(&method, params, line);
                ClientMessageAction::Forward
            }
            // An answer to a question of a connection that is gone.
            Ok(RpcMessage::Response { id: Some(id), .. }) if !self.questions.remove(id.get()) => {
                ClientMessageAction::Drop
            }
            // The server knows best what to say to something that is no message.
            Ok(RpcMessage::Response { .. }) | Err(_) => ClientMessageAction::Forward,
        }
    }

    fn on_client_request(
        &mut self,
        id: &RawValue,
        asked: &str,
        params: Option<&RawValue>,
        line: &str,
    ) -> ClientMessageAction {
        if self.under_way.len() >= MAX_UNDER_WAY {
            let text = format!("{MAX_UNDER_WAY} requests are under way; wait for one of them");
            return ClientMessageAction::Respond(message::write_error(
                Some(id),
                &RpcError::new(RpcError::INTERNAL, text),
            ));
        }
        let line = || line.to_owned();
        if asked == method::INITIALIZE && self.handshake.is_none() {
            let id = id.get().into();
            self.handshake = Some(ClientHandshake { id, line: line(), answered: false, initialized: None });
        }
        let uri = || Some(param_field(params, "uri")?.get().into());
        let change = match asked {
            method::SET_LEVEL => Some(SessionChange::Level),
            method::RESOURCES_SUBSCRIBE => uri().map(SessionChange::Subscribe),
            method::RESOURCES_UNSUBSCRIBE => uri().map(SessionChange::Unsubscribe),
            _ => None,
        };
        let change = change.map(|change| (change, line()));
        self.under_way.insert(id.get().into(), BridgedRequest { endless: asked == method::LISTEN, change });
        ClientMessageAction::Forward
    }

    fn on_client_notification(&mut self, told: &str, params: Option<&RawValue>, line: &str) {
        match (told, &mut self.handshake) {
            (method::INITIALIZED, Some(handshake)) => handshake.initialized = Some(line.to_owned()),
            // Whoever cancels gets no answer.
            (method::CANCELLED, _) => {
                if let Some(id) = param_field(params, "requestId") {
                    self.under_way.remove(id.get());
                }
            }
            _ => {}
        }
    }

    /// The server says something. Whether the client is to hear it.
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
            // The client must get messages and nothing else.
            Err(_) => false,
        }
    }

    fn on_response(&mut self, id: &RawValue, well: bool) {
        let Some(asked) = self.under_way.remove(id.get()) else { return };
        if let Some(handshake) = self.handshake.as_mut().filter(|handshake| &*handshake.id == id.get()) {
            if well {
                handshake.answered = true;
            } else if !handshake.answered {
                self.handshake = None;
            }
        }
        if let Some((change, line)) = asked.change.filter(|_| well) {
            let same = match &change {
                SessionChange::Level => SessionChange::Level,
                SessionChange::Subscribe(uri) | SessionChange::Unsubscribe(uri) => {
                    SessionChange::Subscribe(uri.clone())
                }
            };
            self.remembered.retain(|(kept, _)| *kept != same);
            if change == same && self.remembered.len() < MAX_REMEMBERED {
                self.remembered.push((change, line));
            }
        }
    }

    /// The connection is gone. What the client has to hear, so that it waits for nothing in vain. A handshake without an
    /// answer is not among it: it does no harm twice.
    pub(super) fn on_connection_lost(&mut self) -> Vec<String> {
        let shaking = self.handshake.as_ref().filter(|handshake| !handshake.answered).map(|shake| &*shake.id);
        let error = RpcError::new(
            RpcError::INTERNAL,
            "the connection to the Toolyard server was lost before it answered; whether it did the work is not known",
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

    /// Nobody tries any more. What the client has to hear now includes the answer to a handshake.
    pub(super) fn abandon_pending(&mut self) -> Vec<String> {
        self.handshake = None;
        self.on_connection_lost()
    }

    /// There is a connection again: what the server has to hear first. It takes the messages of one socket in their order,
    /// so nobody needs to wait for the answers.
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

    /// What the client has to hear after a break: the lists may have changed while nobody could tell. Clients without a
    /// handshake listen by a request, and that was answered with an error.
    pub(super) fn missed_notifications(&self) -> Vec<String> {
        let lists = [method::TOOLS_CHANGED, method::PROMPTS_CHANGED, method::RESOURCES_CHANGED];
        match self.handshake.as_ref().and_then(|handshake| handshake.initialized.as_ref()) {
            Some(_) => lists.map(|method| message::write_notification(method, None)).to_vec(),
            None => Vec::new(),
        }
    }

    /// Whether nothing is under way that will be answered by itself.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.values().all(|asked| asked.endless)
    }
}

fn parse_raw_id(id: &str) -> Option<&RawValue> {
    serde_json::from_str(id).ok()
}

/// A member of params.
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
        let mut talk = ResumableSession::default();
        assert_eq!(talk.on_client_message(INITIALIZE), ClientMessageAction::Forward);
        assert!(talk.on_server_message(&answer(0)));
        assert_eq!(talk.on_client_message(INITIALIZED), ClientMessageAction::Forward);
        talk
    }

    fn ids(messages: &[String]) -> Vec<i64> {
        let read = messages.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
        let mut ids: Vec<i64> = read.filter_map(|message| message["id"].as_i64()).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn what_is_under_way_is_answered_when_the_connection_is_lost() {
        let mut talk = shaken();
        for id in 1..=4 {
            talk.on_client_message(&call(id));
        }
        assert!(!talk.is_idle());
        talk.on_server_message(&answer(2));
        talk.on_client_message(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        );
        let told = talk.on_connection_lost();
        assert_eq!(ids(&told), [1, 4]);
        assert!(told.iter().all(|text| text.contains("-32603") && text.contains("was lost")));
        assert!(talk.is_idle() && talk.on_connection_lost().is_empty(), "once only");
    }

    #[test]
    fn a_handshake_is_made_again_and_its_answer_kept_back() {
        let mut talk = shaken();
        talk.on_connection_lost();
        assert_eq!(talk.replay_messages(), [INITIALIZE, INITIALIZED]);
        assert_eq!(talk.missed_notifications().len(), 3);
        assert!(!talk.on_server_message(&answer(0)), "the client has had it");
        assert!(talk.on_server_message(&answer(0)), "only once");
        talk.on_connection_lost();
        assert_eq!(talk.replay_messages().len(), 2, "as often as it is lost");
    }

    #[test]
    fn a_handshake_that_was_not_answered_is_the_clients() {
        let mut talk = ResumableSession::default();
        talk.on_client_message(INITIALIZE);
        assert!(talk.on_connection_lost().is_empty());
        assert_eq!(talk.replay_messages(), [INITIALIZE]);
        assert!(talk.missed_notifications().is_empty());
        assert!(talk.on_server_message(&answer(0)), "this one the client waits for");
        let mut talk = ResumableSession::default();
        talk.on_client_message(INITIALIZE);
        assert_eq!(ids(&talk.abandon_pending()), [0], "nobody will answer it any more");
        let mut talk = ResumableSession::default();
        talk.on_client_message(INITIALIZE);
        talk.on_server_message(&refusal(0));
        talk.on_connection_lost();
        assert!(talk.replay_messages().is_empty(), "one that was refused is none");
    }

    #[test]
    fn what_a_session_remembers_is_told_to_the_next() {
        let mut talk = shaken();
        let subscribe = |id, uri: &str| request(id, "resources/subscribe", json!({ "uri": uri }));
        let level = |id, level: &str| request(id, "logging/setLevel", json!({ "level": level }));
        let asked =
            [subscribe(1, "a"), subscribe(2, "b"), subscribe(3, "c"), level(4, "info"), level(5, "debug")];
        for line in &asked {
            talk.on_client_message(line);
        }
        for id in [1, 2, 4, 5] {
            talk.on_server_message(&answer(id));
        }
        talk.on_server_message(&refusal(3));
        talk.on_client_message(&request(6, "resources/unsubscribe", json!({ "uri": "a" })));
        talk.on_server_message(&answer(6));
        talk.on_connection_lost();
        assert_eq!(talk.replay_messages()[2..], [subscribe(2, "b"), level(5, "debug")]);
        assert!(!talk.on_server_message(&answer(2)) && !talk.on_server_message(&answer(5)));
    }

    #[test]
    fn questions_of_a_lost_connection_are_called_off() {
        let mut talk = shaken();
        let question = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"elicitation/create","params":{{}}}}"#)
        };
        let reply = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#);
        for id in ["a", "b", "c"] {
            assert!(talk.on_server_message(&question(id)));
        }
        assert_eq!(talk.on_client_message(&reply("a")), ClientMessageAction::Forward);
        talk.on_server_message(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}"#,
        );
        let told = talk.on_connection_lost();
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("notifications/cancelled") && told[0].contains(r#""requestId":"c""#),
            "{told:?}"
        );
        assert_eq!(
            talk.on_client_message(&reply("c")),
            ClientMessageAction::Drop,
            "nobody waits for it any more"
        );
    }

    #[test]
    fn clients_without_a_handshake_need_nothing_again() {
        let mut talk = ResumableSession::default();
        talk.on_client_message(&request(7, "subscriptions/listen", json!({})));
        assert!(talk.is_idle(), "it lasts until somebody ends it");
        assert_eq!(ids(&talk.on_connection_lost()), [7]);
        assert!(talk.replay_messages().is_empty() && talk.missed_notifications().is_empty());
    }

    #[test]
    fn there_are_bounds() {
        let mut talk = shaken();
        let most = u32::try_from(MAX_UNDER_WAY).unwrap();
        for id in 1..=most {
            assert_eq!(talk.on_client_message(&call(id)), ClientMessageAction::Forward);
        }
        let ClientMessageAction::Respond(text) = talk.on_client_message(&call(most + 1)) else {
            panic!("it was passed on")
        };
        assert!(text.contains("wait for one of them"));
        talk.on_connection_lost();
        for id in 1..=u32::try_from(MAX_REMEMBERED).unwrap() + 1 {
            talk.on_client_message(&request(id, "resources/subscribe", json!({ "uri": id.to_string() })));
            talk.on_server_message(&answer(id));
        }
        assert_eq!(talk.replay_messages().len(), 2 + MAX_REMEMBERED);
        for id in 0..=MAX_QUESTIONS {
            talk.on_server_message(&format!(r#"{{"jsonrpc":"2.0","id":"q{id}","method":"ping"}}"#));
        }
        assert_eq!(talk.on_connection_lost().len(), MAX_QUESTIONS);
    }

    #[test]
    fn what_is_no_message_is_the_servers_to_refuse_and_never_reaches_the_client() {
        let mut talk = ResumableSession::default();
        assert_eq!(talk.on_client_message("not JSON"), ClientMessageAction::Forward);
        assert!(!talk.on_server_message("<html>"));
        assert!(talk.on_server_message(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#));
    }
}
