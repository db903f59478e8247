//! Options of a request, and the message that is sent: our `_meta` around the caller's params.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use tokio::{sync::mpsc, time::Instant};
use toolyard_protocol::{
    call::CallProgress,
    mcp::{McpRevision, message, meta, method},
    raw::{RawFields, to_raw},
};

use crate::{error::McpClientError, inbox::RequestInbox, server_request::ServerRequest};

/// Options of one request. By default only the result is returned.
#[derive(Debug, Clone, Default)]
pub struct RequestOptions {
    /// Requests progress and receives it. What a slow receiver cannot take is dropped.
    pub progress: Option<mpsc::Sender<CallProgress>>,
    /// Deadline; default is [`crate::ClientLimits::request`].
    pub deadline: Option<Instant>,
    /// Members for `_meta`, such as a trace. Members of the protocol itself are set by the client and cannot be
    /// overridden.
    pub meta: Vec<(String, Box<RawValue>)>,
    /// Modern: capabilities for this request, in place of [`crate::ClientOptions::capabilities`].
    pub capabilities: Option<Box<RawValue>>,
    /// Modern: the lowest level of log messages to send.
    pub log_level: Option<String>,
    /// Receives log messages of this request, unchanged. Over stdio and WebSocket a message does not name its request:
    /// see [`RequestOptions::owner`] and [`crate::ClientOptions::logs`].
    pub logs: Option<mpsc::Sender<Box<RawValue>>>,
    /// Handshake era over HTTP: receives the server's requests during this request.
    pub asks: Option<mpsc::Sender<ServerRequest>>,
    /// Modern over HTTP: the value of `Mcp-Name`, if it is not `params.name` or `params.uri`.
    pub name: Option<String>,
    /// Modern over HTTP: mirrored parameters, header and value, as
    /// [`toolyard_protocol::mcp::mirrored::MirroredParameter::header_value`] writes them.
    pub mirrored: Vec<(String, String)>,
    /// The user on whose behalf it is made. Over stdio and WebSocket, log messages go to the open requests only while
    /// all of them have the same owner.
    pub owner: Option<Arc<str>>,
}

/// Name and capabilities of this client, for the handshake or for every request.
#[derive(Debug)]
pub(crate) struct ClientIdentity {
    pub(crate) info: Box<RawValue>,
    pub(crate) capabilities: Box<RawValue>,
}

/// What to do if the caller stops waiting for the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbandonPolicy {
    /// Notify the server.
    Cancel,
    /// Nothing: the handshake and the probe cannot be cancelled.
    Silent,
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    pub(crate) id: u64,
    pub(crate) method: String,
    /// The whole message.
    pub(crate) text: String,
    /// `None` in the handshake.
    pub(crate) revision: Option<McpRevision>,
    pub(crate) name: Option<String>,
    pub(crate) mirrored: Vec<(String, String)>,
    pub(crate) inbox: RequestInbox,
    pub(crate) on_abandon: AbandonPolicy,
}

impl PreparedRequest {
    pub(crate) fn is_modern(&self) -> bool {
        self.revision.is_some_and(McpRevision::is_modern)
    }

    /// Builds the message of a request.
    pub(crate) fn new(
        id: u64,
        revision: Option<McpRevision>,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
        hello: &ClientIdentity,
    ) -> Result<Self, McpClientError> {
        let mut fields: RawFields = match params {
            None => RawFields::default(),
            Some(params) => serde_json::from_str(params.get())
                .map_err(|_| McpClientError::Invalid("`params` must be an object".to_owned()))?,
        };
        let name = options.name.clone().or_else(|| name_in(method, &fields));
        let meta = RequestMeta::new(id, revision, &fields, &options, hello);
        if !meta.0.is_empty() {
            fields.set("_meta", to_raw(&meta));
        } else if fields.get("_meta").is_some() {
            fields.set("_meta", to_raw(&serde_json::Map::new()));
        }
        let bare = params.is_none() && meta.0.is_empty();
        let params = (!bare).then(|| fields.to_raw());
        Ok(Self {
            id,
            method: method.to_owned(),
            text: message::write_request(&to_raw(&id), method, params.as_deref()),
            revision,
            name,
            mirrored: options.mirrored,
            inbox: RequestInbox::new(options.progress, options.logs, options.asks, None)
                .owned_by(options.owner),
            on_abandon: AbandonPolicy::Cancel,
        })
    }
}

/// The name or URI of a request, for the headers that must carry it.
fn name_in(method: &str, params: &RawFields) -> Option<String> {
    let member = match method {
        method::TOOLS_CALL | method::PROMPTS_GET => "name",
        method::RESOURCES_READ => "uri",
        _ => return None,
    };
    params.parse_field::<String>(member)?.ok()
}

/// The members of `_meta`: the caller's, then ours.
struct RequestMeta(Vec<(String, Box<RawValue>)>);

/// Members that only this client sets. Otherwise a caller that forwards params of a third party would forward their
/// claims and their progress token as well.
const RESERVED_MEMBERS: [&str; 5] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_CAPABILITIES,
    meta::CLIENT_INFO,
    meta::LOG_LEVEL,
    meta::PROGRESS_TOKEN,
];

impl RequestMeta {
    fn new(
        id: u64,
        revision: Option<McpRevision>,
        params: &RawFields,
        options: &RequestOptions,
        hello: &ClientIdentity,
    ) -> Self {
        let mut members = Self(Vec::new());
        let given = params.parse_field::<RawFields>("_meta").and_then(Result::ok).unwrap_or_default();
        for name in given.names() {
            if let Some(value) = given.get(name) {
                members.set_member(name, value.to_owned());
            }
        }
        for (name, value) in &options.meta {
            members.set_member(name, value.clone());
        }
        members.0.retain(|(name, _)| !RESERVED_MEMBERS.contains(&name.as_str()));
        if let Some(revision) = revision.filter(|revision| revision.is_modern()) {
            let capabilities = options.capabilities.as_ref().unwrap_or(&hello.capabilities);
            members.set_member(meta::PROTOCOL_VERSION, to_raw(revision.as_str()));
            members.set_member(meta::CLIENT_INFO, hello.info.clone());
            members.set_member(meta::CLIENT_CAPABILITIES, capabilities.clone());
            if let Some(level) = &options.log_level {
                members.set_member(meta::LOG_LEVEL, to_raw(level));
            }
        }
        if options.progress.is_some() {
            members.set_member(meta::PROGRESS_TOKEN, to_raw(&id));
        }
        members
    }

    fn set_member(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some(member) => member.1 = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

impl Serialize for RequestMeta {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(
        revision: Option<McpRevision>,
        params: Option<Value>,
        options: RequestOptions,
    ) -> PreparedRequest {
        let hello =
            ClientIdentity { info: to_raw(&json!({ "name": "t" })), capabilities: to_raw(&json!({})) };
        let params = params.map(|params| to_raw(&params));
        PreparedRequest::new(7, revision, "tools/call", params.as_deref(), options, &hello).unwrap()
    }

    fn body(call: &PreparedRequest) -> Value {
        serde_json::from_str(&call.text).unwrap()
    }

    #[test]
    fn a_handshake_request_goes_out_as_it_is() {
        let sent = call(Some(McpRevision::NEWEST_HANDSHAKE), None, RequestOptions::default());
        assert_eq!(sent.text, r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#);
        let sent = call(
            Some(McpRevision::NEWEST_HANDSHAKE),
            Some(json!({ "name": "x" })),
            RequestOptions::default(),
        );
        assert_eq!(body(&sent)["params"], json!({ "name": "x" }));
        assert_eq!(sent.name.as_deref(), Some("x"));
    }

    #[test]
    fn a_modern_request_carries_the_client_identity() {
        let (to, _from) = mpsc::channel(1);
        let options = RequestOptions {
            progress: Some(to),
            meta: vec![("traceparent".to_owned(), to_raw("00-1"))],
            capabilities: Some(to_raw(&json!({ "roots": {} }))),
            log_level: Some("info".to_owned()),
            name: Some("y".to_owned()),
            ..RequestOptions::default()
        };
        let params = json!({ "name": "x", "_meta": { "vendor/a": 1, "traceparent": "00-0" } });
        let sent = call(Some(McpRevision::NEWEST), Some(params), options);
        let expected = json!({
            "vendor/a": 1,
            "traceparent": "00-1",
            meta::PROTOCOL_VERSION: "2026-07-28",
            meta::CLIENT_INFO: { "name": "t" },
            meta::CLIENT_CAPABILITIES: { "roots": {} },
            meta::LOG_LEVEL: "info",
            "progressToken": 7,
        });
        assert_eq!(body(&sent)["params"]["_meta"], expected);
        assert_eq!(sent.name.as_deref(), Some("y"));
    }

    #[test]
    fn reserved_meta_members_of_the_caller_are_dropped() {
        let theirs = json!({ "_meta": { "progressToken": "t", meta::CLIENT_CAPABILITIES: { "sampling": {} },
            meta::PROTOCOL_VERSION: "2026-07-28", meta::LOG_LEVEL: "debug" } });
        let sent = call(Some(McpRevision::NEWEST_HANDSHAKE), Some(theirs.clone()), RequestOptions::default());
        assert_eq!(body(&sent)["params"], json!({ "_meta": {} }));
        let sent = call(Some(McpRevision::NEWEST), Some(theirs), RequestOptions::default());
        assert_eq!(body(&sent)["params"]["_meta"][meta::CLIENT_CAPABILITIES], json!({}));
        assert_eq!(body(&sent)["params"]["_meta"]["progressToken"], Value::Null);
    }

    #[test]
    fn params_have_to_be_an_object() {
        let hello = ClientIdentity { info: to_raw(&json!({})), capabilities: to_raw(&json!({})) };
        let list = to_raw(&json!([1]));
        let made = PreparedRequest::new(1, None, "x", Some(&list), RequestOptions::default(), &hello);
        assert!(matches!(made, Err(McpClientError::Invalid(_))));
    }
}
