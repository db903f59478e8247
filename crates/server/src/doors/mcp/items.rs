//! Prompts, resources and completion: asked of whoever has them, in their own names.

use std::sync::Arc;

use serde_json::{json, value::RawValue};
use toolyard_core::{
    CatalogView, ToolError,
    catalog::AppHead,
    ports::{Passed, PassedMethod, PassedReply},
};
use toolyard_protocol::{
    ErrorCode,
    mcp::{RpcError, method, uri},
    raw::{RawFields, to_raw},
};

use super::{
    about,
    awaited::Of,
    call::{Out, Relay, asked},
    client::Client,
    params::Params,
    reply,
    session::{MAX_SUBSCRIBED_BYTES, MAX_SUBSCRIPTIONS},
};
use crate::{calls, state::AppState};

/// `prompts/get`
pub(super) async fn get_prompt(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
) -> Result<Box<RawValue>, RpcError> {
    let name: String = params.need("name")?;
    let view = about::view(state, &client.who).await?;
    let unknown = || RpcError::params(format!("Unknown prompt: {}", shown(&name)));
    let prompt = view.prompt(&name).ok_or_else(unknown)?;
    let passed = Passed {
        method: PassedMethod::GetPrompt,
        name: prompt.remote.to_string(),
        params: params.passed("name", &to_raw(&*prompt.remote)),
    };
    let of = Of {
        owner: &client.who.owner(),
        method: method::PROMPTS_GET,
        name: &name,
        arguments: params.raw("arguments"),
    };
    let got = pass(state, client, params, out, &prompt.app, passed, &of).await;
    got.map_err(|error| if is_missing(&error) { unknown() } else { error })
}

/// `resources/read`
pub(super) async fn read_resource(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
) -> Result<Box<RawValue>, RpcError> {
    let wanted: String = params.need("uri")?;
    let view = about::view(state, &client.who).await?;
    let (app, remote) = view.resource(&wanted).ok_or_else(|| no_resource(client, &wanted))?;
    let passed = Passed {
        method: PassedMethod::ReadResource,
        params: params.passed("uri", &to_raw(&remote)),
        name: remote.clone(),
    };
    let of =
        Of { owner: &client.who.owner(), method: method::RESOURCES_READ, name: &wanted, arguments: None };
    let read = pass(state, client, params, out, &app.head, passed, &of).await;
    match read {
        Ok(result) => Ok(as_listed(&result, &remote, &wanted, client)),
        Err(error) if is_missing(&error) => Err(no_resource(client, &wanted)),
        Err(error) => Err(error),
    }
}

/// The contents under the URI that was asked for, with the hints on caching that modern clients need.
fn as_listed(result: &RawValue, remote: &str, wanted: &str, client: &Client) -> Box<RawValue> {
    let mut fields: RawFields = serde_json::from_str(result.get()).unwrap_or_default();
    let prefix = uri::unmapped(wanted).filter(|(_, inner)| inner == remote).map(|(package, _)| package);
    if let Some(Ok(contents)) = fields.read::<Vec<RawFields>>("contents") {
        let renamed = contents.into_iter().map(|mut content| {
            let own = content.read::<String>("uri").and_then(Result::ok);
            if let (Some(package), Some(own)) = (&prefix, own)
                && let Some(mapped) = uri::mapped(package, &own)
            {
                content.set("uri", to_raw(&mapped));
            }
            content
        });
        fields.set("contents", to_raw(&renamed.collect::<Vec<_>>()));
    }
    if client.is_modern() {
        if fields.get("ttlMs").is_none() {
            fields.set("ttlMs", to_raw(&0));
        }
        // What a user reads is never anybody else's, whatever the source says.
        fields.set("cacheScope", to_raw("private"));
    }
    fields.to_raw()
}

/// `completion/complete`
pub(super) async fn complete(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
) -> Result<Box<RawValue>, RpcError> {
    let mut reference: RawFields = params.need("ref")?;
    let kind: String = reference
        .read("type")
        .and_then(Result::ok)
        .ok_or_else(|| RpcError::params("params.ref.type: missing"))?;
    let view = about::view(state, &client.who).await?;
    let member = match kind.as_str() {
        "ref/prompt" => "name",
        "ref/resource" => "uri",
        _ => return Err(RpcError::params("params.ref.type: expected `ref/prompt` or `ref/resource`")),
    };
    let wanted: String = reference
        .read(member)
        .and_then(Result::ok)
        .ok_or_else(|| RpcError::params(format!("params.ref.{member}: missing")))?;
    let (head, remote) = owner(&view, &kind, &wanted).ok_or_else(|| {
        RpcError::params(format!("params.ref.{member}: there is no such thing for this user"))
    })?;
    let completes = view.packages().any(|app| app.head.package() == head.package() && app.completes);
    if !completes {
        // Nothing to offer is a good answer: clients ask for every argument they show.
        let none = json!({ "completion": { "values": [], "hasMore": false } });
        return Ok(reply::with_type(&to_raw(&none), client.is_modern()));
    }
    reference.set(member, to_raw(&remote));
    let passed = Passed {
        method: PassedMethod::Complete,
        name: remote,
        params: params.passed("ref", &reference.to_raw()),
    };
    let of = Of { owner: &client.who.owner(), method: method::COMPLETE, name: &wanted, arguments: None };
    pass(state, client, params, out, &head, passed, &of).await
}

fn owner(view: &CatalogView, kind: &str, wanted: &str) -> Option<(Arc<AppHead>, String)> {
    if kind == "ref/prompt" {
        return view.prompt(wanted).map(|prompt| (prompt.app.clone(), prompt.remote.to_string()));
    }
    view.resource(wanted).map(|(app, remote)| (app.head.clone(), remote))
}

/// `resources/subscribe` and its end, of the handshake revisions.
pub(super) async fn subscribe(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
    wanted: bool,
) -> Result<Box<RawValue>, RpcError> {
    let uri: String = params.need("uri")?;
    let Some(session) = &client.session else { return Err(RpcError::internal()) };
    if !wanted {
        state.mcp.sessions.unsubscribe(session, &uri);
        return Ok(to_raw(&json!({})));
    }
    watch(state, client, params, out, &uri).await?;
    if !state.mcp.sessions.subscribe(session, &uri) {
        return Err(RpcError::params(format!(
            "a session subscribes to at most {MAX_SUBSCRIPTIONS} resources, with {MAX_SUBSCRIBED_BYTES} bytes of URIs together"
        )));
    }
    Ok(to_raw(&json!({})))
}

/// Asks the source of a resource to tell when it changes. Sources that cannot are simply silent.
pub(super) async fn watch(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
    uri: &str,
) -> Result<(), RpcError> {
    let view = about::view(state, &client.who).await?;
    let (app, remote) = view.resource(uri).ok_or_else(|| no_resource(client, uri))?;
    if !app.subscribes {
        return Ok(());
    }
    let passed =
        Passed { method: PassedMethod::Subscribe, params: to_raw(&json!({ "uri": remote })), name: remote };
    let of =
        Of { owner: &client.who.owner(), method: method::RESOURCES_SUBSCRIBE, name: uri, arguments: None };
    pass(state, client, params, out, &app.head, passed, &of).await.map(drop)
}

/// Passes a request on, and relays what its source says meanwhile.
async fn pass(
    state: &AppState,
    client: &Client,
    params: &Params,
    out: &Out,
    app: &Arc<AppHead>,
    passed: Passed,
    of: &Of<'_>,
) -> Result<Box<RawValue>, RpcError> {
    let (mut relay, notices, abilities) = Relay::new(state, client, params, out);
    let mut asked = asked(params, notices, abilities)?;
    asked.input = of.input(params, state.clock.now(), &*state.secrets)?;
    let (cx, cancel) =
        calls::context(state, client.who.clone(), asked).await.map_err(|error| told(&error))?;
    let _leaves = cancel.drop_guard();
    match relay.until(state.executor.pass_on(cx, app, &passed)).await {
        Ok(PassedReply::Done(result)) => Ok(reply::with_type(&result, client.is_modern())),
        Ok(PassedReply::AwaitingInput(awaited)) if client.is_modern() => {
            Ok(of.result(&awaited, state.clock.now(), &*state.secrets))
        }
        Ok(PassedReply::AwaitingInput(_)) => {
            Err(RpcError::new(RpcError::INTERNAL, "its source asks for input that this client cannot give"))
        }
        Err(error) => Err(told(&error)),
    }
}

/// Prompts and resources have no results that say they failed: every failure is an error of the protocol.
fn told(error: &ToolError) -> RpcError {
    let about = json!({ "code": error.code, "retryable": error.retryable });
    match reply::failed(error, true) {
        Err(refused) if refused.data.is_some() => refused,
        Err(refused) => refused.with(&about),
        Ok(_) => RpcError::new(RpcError::INTERNAL, error.for_model.clone()).with(&about),
    }
}

/// A source that does not know a prompt or a resource, or has none at all, says so by a code.
fn is_missing(error: &RpcError) -> bool {
    let code: Option<RawFields> = error.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok());
    let code = code.and_then(|data| data.read::<ErrorCode>("code").and_then(Result::ok));
    matches!(code, Some(ErrorCode::ToolNotHandled | ErrorCode::ToolNotFound))
}

fn no_resource(client: &Client, uri: &str) -> RpcError {
    let code = if client.is_modern() { RpcError::INVALID_PARAMS } else { RpcError::RESOURCE_NOT_FOUND };
    RpcError::new(code, "Resource not found").with(&json!({ "uri": shown(uri) }))
}

/// A text of the client for an error, cut.
fn shown(text: &str) -> String {
    text.chars().take(400).collect()
}
