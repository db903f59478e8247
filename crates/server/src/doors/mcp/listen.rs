//! What a stream of changes carries, in the words of both eras.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::{
    mcp::{COMPLETE, RpcError, message, meta, method},
    raw::{RawFields, to_raw},
};

use super::{
    call::Out,
    changes::{Changes, Listener, News},
    client::Client,
    items,
    params::Params,
    session::{MAX_SUBSCRIPTIONS, SessionBook},
};
use crate::state::AppState;

/// What a modern client wants to be told.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "HashSet::is_empty")]
    resource_subscriptions: HashSet<String>,
}

/// Whom a stream belongs to.
enum Tells {
    /// A listen request: what was granted, under its id.
    Listen { filter: Filter, id: Box<RawValue> },
    /// A session: everything, and the resources that it subscribed to.
    Session(Arc<str>),
}

/// A stream of changes.
pub(super) struct Stream {
    state: AppState,
    listener: Listener,
    tells: Tells,
    ready: Vec<String>,
    over: CancellationToken,
}

/// Too many streams at once.
fn too_many(state: &AppState) -> RpcError {
    let most = state.config.mcp.streams_per_user;
    RpcError::new(RpcError::INTERNAL, format!("this user has {most} streams open already; close one"))
}

impl Stream {
    /// `subscriptions/listen`: the first message says what was granted.
    pub(super) async fn listen(
        state: &AppState,
        client: &Client,
        id: &RawValue,
        params: &Params,
        out: &Out,
    ) -> Result<Self, RpcError> {
        // Looked at before, because a list would be read as the members in their order.
        let _members: RawFields = params.need("notifications")?;
        let mut filter: Filter = params.need("notifications")?;
        if filter.resource_subscriptions.len() > MAX_SUBSCRIPTIONS {
            let text = format!("a stream subscribes to at most {MAX_SUBSCRIPTIONS} resources");
            return Err(RpcError::params(text));
        }
        let listener = Changes::listen(state, client.who.clone()).await.ok_or_else(|| too_many(state))?;
        let mut granted = HashSet::new();
        for uri in filter.resource_subscriptions.drain() {
            if items::watch(state, client, params, out, &uri).await.is_ok() {
                granted.insert(uri);
            }
        }
        filter.resource_subscriptions = granted;
        let mut about = tagged(id);
        about.set("notifications", to_raw(&filter));
        let ready = vec![message::notification(method::ACKNOWLEDGED, Some(&about.to_raw()))];
        let tells = Tells::Listen { filter, id: id.to_owned() };
        Ok(Self { state: state.clone(), listener, tells, ready, over: CancellationToken::new() })
    }

    /// The stream of a session.
    pub(super) async fn of_session(state: &AppState, client: &Client) -> Result<Self, RpcError> {
        let session = client.session.clone().unwrap_or_else(|| "".into());
        let listener = Changes::listen(state, client.who.clone()).await.ok_or_else(|| too_many(state))?;
        let over = state.mcp.sessions.opened_stream(&session);
        Ok(Self { state: state.clone(), listener, tells: Tells::Session(session), ready: Vec::new(), over })
    }

    /// Fires when the session of the stream is ended.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// Whether the credential that opened it is good no longer.
    pub(super) fn is_orphaned(&self) -> bool {
        self.listener.who.lease.is_over(&self.state.tokens, self.state.clock.now())
    }

    /// The next message. Never ends by itself; what has been taken out of the queue has been given.
    pub(super) async fn next(&mut self) -> String {
        loop {
            if let Some(message) = self.ready.pop() {
                return message;
            }
            let news = self.listener.next(&self.state).await;
            self.ready = self.tells.messages(news, &self.state.mcp.sessions);
            self.ready.reverse();
        }
    }

    /// What a modern client gets when the server ends the stream.
    pub(super) fn last(&self) -> Option<String> {
        match &self.tells {
            Tells::Listen { id, .. } => {
                let mut about = tagged(id);
                about.set("resultType", to_raw(COMPLETE));
                Some(message::result(id, &about.to_raw()))
            }
            Tells::Session(_) => None,
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Tells::Session(session) = &self.tells {
            self.state.mcp.sessions.closed_stream(session);
        }
    }
}

/// Params that say which listen request they belong to; the id stays as it came.
fn tagged(id: &RawValue) -> RawFields {
    let mut tag = RawFields::default();
    tag.set(meta::SUBSCRIPTION_ID, id.to_owned());
    let mut params = RawFields::default();
    params.set("_meta", tag.to_raw());
    params
}

impl Tells {
    fn messages(&self, news: News, sessions: &SessionBook) -> Vec<String> {
        match news {
            News::Lists { tools, prompts, resources } => {
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
                    .filter(|(told, _)| *told)
                    .map(|(_, name)| self.message(name, None))
                    .collect()
            }
            News::Resource(uri) => {
                let wanted = match self {
                    Self::Listen { filter, .. } => filter.resource_subscriptions.contains(&*uri),
                    Self::Session(session) => sessions.is_subscribed(session, &uri),
                };
                if wanted { vec![self.message(method::RESOURCE_UPDATED, Some(&uri))] } else { Vec::new() }
            }
        }
    }

    fn message(&self, name: &str, uri: Option<&str>) -> String {
        let mut params = match self {
            Self::Listen { id, .. } => tagged(id),
            Self::Session(_) => RawFields::default(),
        };
        if let Some(uri) = uri {
            params.set("uri", to_raw(uri));
        }
        let params = params.names().next().is_some().then(|| params.to_raw());
        message::notification(name, params.as_deref())
    }
}
