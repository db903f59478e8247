//! `POST /prompt` and `POST /resource`: the platform requests a prompt or a resource. The response is one JSON object.

use axum::{
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use toolyard_protocol::{
    ErrorCode,
    items::request::{AppRequestContext, PromptRequest, ResourceRequest},
};

use super::{call::HandlerCall, request, respond, tool};
use crate::{
    items::ItemFuture,
    limits::MAX_REPLY_BYTES,
    server::AppServer,
    tool::{CallFailure, ToolContext, progress_channel},
};

pub(super) async fn post_prompt(State(app): State<AppServer>, request: Request) -> Response {
    item_response(get_prompt(&app, request).await)
}

pub(super) async fn post_resource(State(app): State<AppServer>, request: Request) -> Response {
    item_response(read_resource(&app, request).await)
}

async fn get_prompt(app: &AppServer, request: Request) -> Result<Box<RawValue>, CallFailure> {
    let (headers, body) = request::read_request(app, request).await?;
    let ask: PromptRequest = parse_body(&body)?;
    let arguments = parse_body(ask.arguments.get().as_bytes())?;
    let known = app.shared().prompts.iter().find(|prompt| prompt.name() == ask.name).cloned();
    let known =
        known.ok_or_else(|| CallFailure::not_found(format!("this app has no prompt `{}`", ask.name)))?;
    let what = format!("prompt `{}`", ask.name);
    run_handler(app, &headers, what, ask.context, |cx| {
        Box::pin(async move { (known.get)(arguments, cx).await })
    })
    .await
}

async fn read_resource(app: &AppServer, request: Request) -> Result<Box<RawValue>, CallFailure> {
    let (headers, body) = request::read_request(app, request).await?;
    let ResourceRequest { uri, context } = parse_body(&body)?;
    // A resource with this exact URI takes precedence over a template that matches it.
    let (templates, resources): (Vec<_>, Vec<_>) =
        app.shared().resources.iter().partition(|resource| resource.is_template());
    let mut candidates = resources.into_iter().chain(templates);
    let found = candidates.find_map(|resource| Some((resource.clone(), resource.match_uri(&uri)?)));
    let (resource, values) =
        found.ok_or_else(|| CallFailure::not_found(format!("this app has no resource {uri}")))?;
    let what = format!("resource `{}`", resource.uri());
    run_handler(app, &headers, what, context, |cx| {
        Box::pin(async move { resource.read_contents(uri, values, cx).await })
    })
    .await
}

fn parse_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, CallFailure> {
    serde_json::from_slice(body).map_err(|error| {
        CallFailure::new(ErrorCode::InvalidRequest, format!("invalid request body: {error}"))
    })
}

/// Runs the handler with the same limits as a tool.
async fn run_handler(
    app: &AppServer,
    headers: &HeaderMap,
    what: String,
    context: AppRequestContext,
    handler: impl FnOnce(ToolContext) -> ItemFuture,
) -> Result<Box<RawValue>, CallFailure> {
    let room = tool::acquire_call_room(app)?;
    let cancel = app.shared().calls.child_token();
    let call = Some(context.call_id);
    let facts = tool::call_facts(headers, context.user_id, call.clone(), context.timestamp);
    let cx = ToolContext::new(facts, app.sessions().clone(), None, cancel.clone());
    let work = HandlerCall { what, call, handler: handler(cx) };
    let (_unused, progress) = progress_channel();
    work.start(app, progress, cancel, room).wait().await
}

fn item_response(outcome: Result<Box<RawValue>, CallFailure>) -> Response {
    match outcome {
        Ok(given) if given.get().len() <= MAX_REPLY_BYTES => {
            respond(StatusCode::OK, "application/json", Bytes::from(String::from(Box::<str>::from(given))))
        }
        Ok(given) => {
            let length = given.get().len();
            let message = format!("the reply has {length} bytes; at most {MAX_REPLY_BYTES} may be sent");
            tool::outcome_response(Err(CallFailure::from_handler(message)))
        }
        Err(failure) => tool::outcome_response(Err(failure)),
    }
}
