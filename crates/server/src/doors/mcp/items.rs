//! Prompts, resources and completion: passed on to their source under the source's own names.

use std::sync::Arc;

use serde_json::{json, value::RawValue};
use toolyard_core::{
    CatalogView, ToolError,
    catalog::AppHead,
    executor::MAX_SIGN_INS,
    ports::{ForwardedMethod, ForwardedReply, ForwardedRequest},
};
use toolyard_protocol::text::truncate_chars;
use toolyard_protocol::{
    ErrorCode,
    mcp::{RpcError, method, uri},
    raw::{RawFields, to_raw},
};

use super::{
    about,
    call::{CallRelay, MessageSender, call_options},
    client::McpClientContext,
    params::RpcParams,
    reply,
    request_state::{AskedUser, SealedRequest},
    session::{MAX_SUBSCRIBED_BYTES, MAX_SUBSCRIPTIONS},
    sign_in::{self, SignInDialog, SignInStep},
};
use crate::{calls, state::ServerState};

/// `prompts/get`
pub(super) async fn get_prompt(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
) -> Result<Box<RawValue>, RpcError> {
    let name: String = params.required("name")?;
    let view = about::client_view(state, &client.who).await?;
    let unknown = || RpcError::invalid_params(format!("Unknown prompt: {}", truncate_text(&name)));
    let prompt = view.find_prompt(&name).ok_or_else(unknown)?;
    let passed = ForwardedRequest {
        method: ForwardedMethod::GetPrompt,
        name: prompt.remote.to_string(),
        params: params.to_source_params("name", &to_raw(&*prompt.remote)),
    };
    let sealed = SealedRequest {
        owner: &client.who.call_owner(),
        method: method::PROMPTS_GET,
        name: &name,
        arguments: params.raw("arguments"),
    };
    let got = pass_request(state, client, params, out, &prompt.app, passed, &sealed).await;
    got.map_err(|error| if is_not_found(&error) { unknown() } else { error })
}

/// `resources/read`
pub(super) async fn read_resource(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
) -> Result<Box<RawValue>, RpcError> {
    let wanted: String = params.required("uri")?;
    let view = about::client_view(state, &client.who).await?;
    let (app, remote) = view.find_resource(&wanted).ok_or_else(|| resource_not_found(client, &wanted))?;
    let passed = ForwardedRequest {
        method: ForwardedMethod::ReadResource,
        params: params.to_source_params("uri", &to_raw(&remote)),
        name: remote.clone(),
    };
    let sealed = SealedRequest {
        owner: &client.who.call_owner(),
        method: method::RESOURCES_READ,
        name: &wanted,
        arguments: None,
    };
    let read = pass_request(state, client, params, out, &app.head, passed, &sealed).await;
    match read {
        Ok(result) => Ok(with_listed_uris(&result, &remote, &wanted, client)),
        Err(error) if is_not_found(&error) => Err(resource_not_found(client, &wanted)),
        Err(error) => Err(error),
    }
}

/// The contents under their listed URIs, with the caching hints that modern clients need.
fn with_listed_uris(
    result: &RawValue,
    remote: &str,
    wanted: &str,
    client: &McpClientContext,
) -> Box<RawValue> {
    let mut fields: RawFields = serde_json::from_str(result.get()).unwrap_or_default();
    let prefix = uri::unmap_uri(wanted).filter(|(_, inner)| inner == remote).map(|(package, _)| package);
    if let Some(Ok(contents)) = fields.parse_field::<Vec<RawFields>>("contents") {
        let renamed = contents.into_iter().map(|mut content| {
            let own = content.parse_field::<String>("uri").and_then(Result::ok);
            if let (Some(package), Some(own)) = (&prefix, own)
                && let Some(mapped) = uri::map_uri(package, &own)
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
        // Always private to the user, whatever the source says.
        fields.set("cacheScope", to_raw("private"));
    }
    fields.to_raw()
}

/// `completion/complete`
pub(super) async fn complete_argument(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
) -> Result<Box<RawValue>, RpcError> {
    let mut reference: RawFields = params.required("ref")?;
    let kind: String = reference
        .parse_field("type")
        .and_then(Result::ok)
        .ok_or_else(|| RpcError::invalid_params("params.ref.type: missing"))?;
    let view = about::client_view(state, &client.who).await?;
    let member = match kind.as_str() {
        "ref/prompt" => "name",
        "ref/resource" => "uri",
        _ => {
            return Err(RpcError::invalid_params("params.ref.type: expected `ref/prompt` or `ref/resource`"));
        }
    };
    let wanted: String = reference
        .parse_field(member)
        .and_then(Result::ok)
        .ok_or_else(|| RpcError::invalid_params(format!("params.ref.{member}: missing")))?;
    let (head, remote) = find_item_owner(&view, &kind, &wanted)
        .ok_or_else(|| RpcError::invalid_params(format!("params.ref.{member}: unknown to this user")))?;
    let completes = view.packages().any(|app| app.head.package() == head.package() && app.completes);
    if !completes {
        // An empty result is fine: clients request completions for every argument they show.
        let none = json!({ "completion": { "values": [], "hasMore": false } });
        return Ok(reply::with_result_type(&to_raw(&none), client.is_modern()));
    }
    reference.set(member, to_raw(&remote));
    let passed = ForwardedRequest {
        method: ForwardedMethod::Complete,
        name: remote,
        params: params.to_source_params("ref", &reference.to_raw()),
    };
    let sealed = SealedRequest {
        owner: &client.who.call_owner(),
        method: method::COMPLETE,
        name: &wanted,
        arguments: None,
    };
    pass_request(state, client, params, out, &head, passed, &sealed).await
}

fn find_item_owner(view: &CatalogView, kind: &str, wanted: &str) -> Option<(Arc<AppHead>, String)> {
    if kind == "ref/prompt" {
        return view.find_prompt(wanted).map(|prompt| (prompt.app.clone(), prompt.remote.to_string()));
    }
    view.find_resource(wanted).map(|(app, remote)| (app.head.clone(), remote))
}

/// `resources/subscribe` and `resources/unsubscribe` of the handshake revisions.
pub(super) async fn set_subscription(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
    wanted: bool,
) -> Result<Box<RawValue>, RpcError> {
    let uri: String = params.required("uri")?;
    let Some(session) = &client.session else { return Err(RpcError::internal_error()) };
    if !wanted {
        state.mcp.sessions.unsubscribe(session, &uri);
        return Ok(to_raw(&json!({})));
    }
    subscribe_at_source(state, client, params, out, &uri).await?;
    if !state.mcp.sessions.subscribe(session, &uri) {
        return Err(RpcError::invalid_params(format!(
            "a session can subscribe to at most {MAX_SUBSCRIPTIONS} resources, with at most {MAX_SUBSCRIBED_BYTES} bytes of URIs in total"
        )));
    }
    Ok(to_raw(&json!({})))
}

/// Subscribes to a resource at its source. Sources without subscriptions send no updates.
pub(super) async fn subscribe_at_source(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
    uri: &str,
) -> Result<(), RpcError> {
    let view = about::client_view(state, &client.who).await?;
    let (app, remote) = view.find_resource(uri).ok_or_else(|| resource_not_found(client, uri))?;
    if !app.subscribes {
        return Ok(());
    }
    let passed = ForwardedRequest {
        method: ForwardedMethod::Subscribe,
        params: to_raw(&json!({ "uri": remote })),
        name: remote,
    };
    let sealed = SealedRequest {
        owner: &client.who.call_owner(),
        method: method::RESOURCES_SUBSCRIBE,
        name: uri,
        arguments: None,
    };
    pass_request(state, client, params, out, &app.head, passed, &sealed).await.map(drop)
}

/// Passes a request on to its source and relays notices and questions meanwhile.
async fn pass_request(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
    out: &MessageSender,
    app: &Arc<AppHead>,
    passed: ForwardedRequest,
    sealed: &SealedRequest<'_>,
) -> Result<Box<RawValue>, RpcError> {
    let (now, modern) = (state.clock.now(), client.is_modern());
    let mut relay = CallRelay::new(state, client, params, out);
    let sign_in = SignInDialog { state, client, sealed };
    let asked = if modern { sealed.read_asked(params, now, &*state.secrets)? } else { None };
    let mut input = None;
    match asked {
        Some(AskedUser::SignIn(asked)) => match Box::pin(sign_in.resume(asked, params, &mut relay)).await? {
            SignInStep::Run => {}
            SignInStep::Reply(reply) => return Ok(reply),
            SignInStep::NotAsked(awaited) => return Err(to_rpc_error(&awaited.into_error())),
        },
        // Nothing but calls is approved.
        Some(AskedUser::Approval(_)) | None => input = sealed.read_input(params, now, &*state.secrets)?,
    }
    for _ in 0..=MAX_SIGN_INS {
        let mut request = call_options(client, params, &mut relay)?;
        request.input = input.take();
        let (cx, cancel) =
            calls::build_call_context(state, client.who.call_owner(), client.who.scope.clone(), request)
                .await
                .map_err(|error| to_rpc_error(&error))?;
        let _leaves = cancel.drop_guard();
        match relay.relay_until(state.executor.forward_request(cx, app, &passed)).await {
            Ok(ForwardedReply::Done(result)) => return Ok(reply::with_result_type(&result, modern)),
            Ok(ForwardedReply::AwaitingInput(awaited)) if modern => {
                return sealed.input_required_result(&awaited, state.clock.now(), &*state.secrets);
            }
            Ok(ForwardedReply::AwaitingInput(_)) => {
                let text = "its source asks for input that this client cannot provide";
                return Err(RpcError::new(RpcError::INTERNAL, text));
            }
            Ok(ForwardedReply::AwaitingSignIn(awaited)) => {
                match Box::pin(sign_in.ask(&awaited, &mut relay)).await? {
                    SignInStep::Run => {}
                    SignInStep::Reply(reply) => return Ok(reply),
                    SignInStep::NotAsked(awaited) => return Err(to_rpc_error(&awaited.into_error())),
                }
            }
            Err(error) => return Err(to_rpc_error(&error)),
        }
    }
    Err(to_rpc_error(&sign_in::rejected_error(sealed.name)))
}

/// Prompts and resources have no error results, so every failure is a protocol error. What the client caused is not an
/// internal error.
fn to_rpc_error(error: &ToolError) -> RpcError {
    let about = json!({ "code": error.code, "retryable": error.retryable });
    match reply::error_reply(error, true) {
        Err(refused) if refused.data.is_some() => refused,
        Err(refused) => refused.with_data(&about),
        Ok(_) => {
            let code = match error.code {
                ErrorCode::InvalidArguments => RpcError::INVALID_PARAMS,
                ErrorCode::RateLimited => RpcError::INVALID_REQUEST,
                _ => RpcError::INTERNAL,
            };
            RpcError::new(code, error.for_model.clone()).with_data(&about)
        }
    }
}

/// Whether the source reported that it does not have the prompt or resource.
fn is_not_found(error: &RpcError) -> bool {
    let code: Option<RawFields> = error.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok());
    let code = code.and_then(|data| data.parse_field::<ErrorCode>("code").and_then(Result::ok));
    matches!(code, Some(ErrorCode::ToolNotHandled | ErrorCode::ToolNotFound))
}

fn resource_not_found(client: &McpClientContext, uri: &str) -> RpcError {
    let code = if client.is_modern() { RpcError::INVALID_PARAMS } else { RpcError::RESOURCE_NOT_FOUND };
    RpcError::new(code, "Resource not found").with_data(&json!({ "uri": truncate_text(uri) }))
}

/// Text from the client, cut for an error.
fn truncate_text(text: &str) -> String {
    truncate_chars(text, 400).into_owned()
}
