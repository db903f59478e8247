//! From a method to its answer, for clients of both eras and over every transport. What is a stream is not here:
//! `subscriptions/listen` and the handshake belong to the transport.

use bytes::Bytes;
use serde_json::{json, value::RawValue};
use toolyard_core::catalog::ListKind;
use toolyard_protocol::{
    mcp::{RpcError, method},
    raw::to_raw,
};

use super::{
    about, call,
    call::Out,
    client::{Client, level},
    items,
    params::Params,
};
use crate::state::AppState;

/// A result as JSON.
pub(super) enum Answer {
    /// A page, prepared.
    Page(Bytes),
    /// Anything else.
    Raw(Box<RawValue>),
}

impl Answer {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Page(bytes) => bytes,
            Self::Raw(raw) => raw.get().as_bytes(),
        }
    }
}

/// Answers one request.
pub(super) async fn answer(
    state: &AppState,
    client: &Client,
    asked: &str,
    params: &Params,
    out: &Out,
) -> Result<Answer, RpcError> {
    let raw = match asked {
        method::TOOLS_LIST => return list(state, client, params, ListKind::Tools).await,
        method::PROMPTS_LIST => return list(state, client, params, ListKind::Prompts).await,
        method::RESOURCES_LIST => return list(state, client, params, ListKind::Resources).await,
        method::RESOURCES_TEMPLATES_LIST => return list(state, client, params, ListKind::Templates).await,
        method::TOOLS_CALL => call::call(state, client, params, out).await?,
        method::PROMPTS_GET => items::get_prompt(state, client, params, out).await?,
        method::RESOURCES_READ => items::read_resource(state, client, params, out).await?,
        method::COMPLETE => items::complete(state, client, params, out).await?,
        method::DISCOVER if client.is_modern() => about::discover(),
        // What follows went away with the handshake.
        method::PING if !client.is_modern() => to_raw(&json!({})),
        method::SET_LEVEL if !client.is_modern() => set_level(state, client, params)?,
        method::RESOURCES_SUBSCRIBE if !client.is_modern() => {
            items::subscribe(state, client, params, out, true).await?
        }
        method::RESOURCES_UNSUBSCRIBE if !client.is_modern() => {
            items::subscribe(state, client, params, out, false).await?
        }
        other => return Err(RpcError::no_method(other)),
    };
    Ok(Answer::Raw(raw))
}

async fn list(
    state: &AppState,
    client: &Client,
    params: &Params,
    kind: ListKind,
) -> Result<Answer, RpcError> {
    let cursor: Option<String> = params.get("cursor")?;
    let view = about::view(state, &client.who).await?;
    let page = view.page(kind, cursor.as_deref());
    page.map(Answer::Page).map_err(|error| RpcError::params(format!("params.cursor: {error}")))
}

fn set_level(state: &AppState, client: &Client, params: &Params) -> Result<Box<RawValue>, RpcError> {
    let level = level(&params.need::<String>("level")?)?;
    if let Some(session) = &client.session {
        state.mcp.sessions.set_level(session, level);
    }
    Ok(to_raw(&json!({})))
}
