//! The messages of a change stream, for clients of both eras.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::{
    mcp::{COMPLETE, RpcError, message, meta, method},
    raw::{RawFields, to_raw},
};

use super::{
    call::MessageSender,
    changes::{ChangeListener, ChangeNotifier, McpChange},
    client::McpClientContext,
    items,
    params::RpcParams,
    session::{MAX_SUBSCRIPTIONS, McpSessions},
    tasks,
};
use crate::state::ServerState;

/// The notifications that a modern client subscribes to.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct ListenFilter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "HashSet::is_empty")]
    resource_subscriptions: HashSet<String>,
}

/// What opened a stream.
enum ChangeStreamOwner {
    /// A listen request: its id and the granted filter.
    Listen { filter: ListenFilter, id: Box<RawValue> },
    /// A session: all lists, and the resources that it subscribed to.
    Session(Arc<str>),
}

/// A stream of changes.
pub(super) struct ChangeStream {
    state: ServerState,
    listener: ChangeListener,
    owner: ChangeStreamOwner,
    ready: Vec<String>,
    session_ended: CancellationToken,
}

/// The error if the user has too many streams.
fn too_many_streams(state: &ServerState) -> RpcError {
    let limit = state.config.load().mcp.streams_per_user;
    RpcError::new(
        RpcError::INVALID_REQUEST,
        format!("this user has {limit} open streams already; close one and retry"),
    )
}

impl ChangeStream {
    /// `subscriptions/listen`: the first message states the granted filter.
    pub(super) async fn for_listen_request(
        state: &ServerState,
        client: &McpClientContext,
        id: &RawValue,
        params: &RpcParams,
        out: &MessageSender,
    ) -> Result<Self, RpcError> {
        // Require an object first, because serde would also read an array as the members in order.
        let members: RawFields = params.required("notifications")?;
        // Tasks are polled, so none is granted. Without the extension there are none to ask for.
        if members.get("taskIds").is_some() && !client.has_tasks {
            return Err(tasks::missing_extension());
        }
        let mut filter: ListenFilter = params.required("notifications")?;
        if filter.resource_subscriptions.len() > MAX_SUBSCRIPTIONS {
            let text = format!("a stream can subscribe to at most {MAX_SUBSCRIPTIONS} resources");
            return Err(RpcError::invalid_params(text));
        }
        let listener = ChangeNotifier::subscribe(state, client.who.clone())
            .await
            .ok_or_else(|| too_many_streams(state))?;
        let mut granted = HashSet::new();
        for uri in filter.resource_subscriptions.drain() {
            if items::subscribe_at_source(state, client, params, out, &uri).await.is_ok() {
                granted.insert(uri);
            }
        }
        filter.resource_subscriptions = granted;
        let mut about = tagged_params(id);
        about.set("notifications", to_raw(&filter));
        let ready = vec![message::write_notification(method::ACKNOWLEDGED, Some(&about.to_raw()))];
        let tells = ChangeStreamOwner::Listen { filter, id: id.to_owned() };
        Ok(Self {
            state: state.clone(),
            listener,
            owner: tells,
            ready,
            session_ended: CancellationToken::new(),
        })
    }

    /// The stream of a session.
    pub(super) async fn for_session(
        state: &ServerState,
        client: &McpClientContext,
    ) -> Result<Self, RpcError> {
        let session = client.session.clone().unwrap_or_else(|| "".into());
        let listener = ChangeNotifier::subscribe(state, client.who.clone())
            .await
            .ok_or_else(|| too_many_streams(state))?;
        let over = state.mcp.sessions.opened_stream(&session);
        Ok(Self {
            state: state.clone(),
            listener,
            owner: ChangeStreamOwner::Session(session),
            ready: Vec::new(),
            session_ended: over,
        })
    }

    /// Cancelled when the session of the stream ends.
    pub(super) fn session_ended(&self) -> CancellationToken {
        self.session_ended.clone()
    }

    /// Whether the credential that opened the stream is no longer valid.
    pub(super) fn is_credential_expired(&self) -> bool {
        self.listener.who.lease.is_expired(&self.state.tokens, self.state.clock.now())
    }

    /// The next message. Never ends by itself. Cancel safe: a message leaves the queue only when it is returned.
    pub(super) async fn next(&mut self) -> String {
        loop {
            if let Some(message) = self.ready.pop() {
                return message;
            }
            let change = self.listener.next(&self.state).await;
            self.ready = self.owner.notifications(change, &self.state.mcp.sessions);
            self.ready.reverse();
        }
    }

    /// The result that a modern client gets when the server ends the stream.
    pub(super) fn final_message(&self) -> Option<String> {
        match &self.owner {
            ChangeStreamOwner::Listen { id, .. } => {
                let mut about = tagged_params(id);
                about.set("resultType", to_raw(COMPLETE));
                Some(message::write_result(id, &about.to_raw()))
            }
            ChangeStreamOwner::Session(_) => None,
        }
    }
}

impl Drop for ChangeStream {
    fn drop(&mut self) {
        if let ChangeStreamOwner::Session(session) = &self.owner {
            self.state.mcp.sessions.closed_stream(session);
        }
    }
}

/// Params tagged with the id of their listen request. The id is passed on raw.
fn tagged_params(id: &RawValue) -> RawFields {
    let mut tag = RawFields::default();
    tag.set(meta::SUBSCRIPTION_ID, id.to_owned());
    let mut params = RawFields::default();
    params.set("_meta", tag.to_raw());
    params
}

impl ChangeStreamOwner {
    fn notifications(&self, change: McpChange, sessions: &McpSessions) -> Vec<String> {
        match change {
            McpChange::Lists { tools, prompts, resources } => {
                let (wants_tools, wants_prompts, wants_resources) = match self {
                    Self::Listen { filter, .. } => (
                        filter.tools_list_changed,
                        filter.prompts_list_changed,
                        filter.resources_list_changed,
                    ),
                    Self::Session(_) => (true, true, true),
                };
                let lists = [
                    (tools && wants_tools, method::TOOLS_CHANGED),
                    (prompts && wants_prompts, method::PROMPTS_CHANGED),
                    (resources && wants_resources, method::RESOURCES_CHANGED),
                ];
                lists
                    .into_iter()
                    .filter(|(wanted, _)| *wanted)
                    .map(|(_, name)| self.notification(name, None))
                    .collect()
            }
            McpChange::Resource(uri) => {
                let wanted = match self {
                    Self::Listen { filter, .. } => filter.resource_subscriptions.contains(&*uri),
                    Self::Session(session) => sessions.is_subscribed(session, &uri),
                };
                if wanted {
                    vec![self.notification(method::RESOURCE_UPDATED, Some(&uri))]
                } else {
                    Vec::new()
                }
            }
        }
    }

    fn notification(&self, name: &str, uri: Option<&str>) -> String {
        let mut params = match self {
            Self::Listen { id, .. } => tagged_params(id),
            Self::Session(_) => RawFields::default(),
        };
        if let Some(uri) = uri {
            params.set("uri", to_raw(uri));
        }
        let params = params.names().next().is_some().then(|| params.to_raw());
        message::write_notification(name, params.as_deref())
    }
}
