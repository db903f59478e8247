//! `POST /prompt` and `POST /resource`: the platform asks for a prompt or a resource. The answer is one JSON object.

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
    items::ask::{AskContext, PromptAsk, ResourceAsk},
};

use super::{call::Work, request, respond, tool};
use crate::{
    items::Given,
    limits::MAX_REPLY_BYTES,
    server::AppServer,
    tool::{Failure, ToolContext, progress_channel},
};

pub(super) async fn prompt(State(app): State<AppServer>, request: Request) -> Response {
    answer(get_prompt(&app, request).await)
}

pub(super) async fn resource(State(app): State<AppServer>, request: Request) -> Response {
    answer(read_resource(&app, request).await)
}

async fn get_prompt(app: &AppServer, request: Request) -> Result<Box<RawValue>, Failure> {
    let (headers, body) = request::read(app, request).await?;
    let ask: PromptAsk = read(&body)?;
    let arguments = read(ask.arguments.get().as_bytes())?;
    let known = app.shared().prompts.iter().find(|prompt| prompt.name() == ask.name).cloned();
    let known = known.ok_or_else(|| Failure::not_found(format!("this app has no prompt `{}`", ask.name)))?;
    let what = format!("prompt `{}`", ask.name);
    run(app, &headers, what, ask.context, |cx| Box::pin(async move { (known.get)(arguments, cx).await }))
        .await
}

async fn read_resource(app: &AppServer, request: Request) -> Result<Box<RawValue>, Failure> {
    let (headers, body) = request::read(app, request).await?;
    let ResourceAsk { uri, context } = read(&body)?;
    // A resource under its own URI is meant before one that a template happens to fit.
    let (templates, resources): (Vec<_>, Vec<_>) =
        app.shared().resources.iter().partition(|resource| resource.is_template());
    let mut candidates = resources.into_iter().chain(templates);
    let found = candidates.find_map(|resource| Some((resource.clone(), resource.matches(&uri)?)));
    let (resource, values) =
        found.ok_or_else(|| Failure::not_found(format!("this app has no resource {uri}")))?;
    let what = format!("resource `{}`", resource.uri());
    run(app, &headers, what, context, |cx| Box::pin(async move { resource.read(uri, values, cx).await }))
        .await
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::new(ErrorCode::InvalidRequest, format!("not such a request: {error}")))
}

/// Sets the handler to work, in the same bounds as a tool's.
async fn run(
    app: &AppServer,
    headers: &HeaderMap,
    what: String,
    context: AskContext,
    handler: impl FnOnce(ToolContext) -> Given,
) -> Result<Box<RawValue>, Failure> {
    let room = tool::room(app)?;
    let cancel = app.shared().calls.child_token();
    let call = Some(context.call_id);
    let facts = tool::facts(headers, context.user_id, call.clone(), context.timestamp);
    let cx = ToolContext::new(facts, app.sessions().clone(), None, cancel.clone());
    let work = Work { what, call, handler: handler(cx) };
    let (_nobody, progress) = progress_channel();
    work.start(app, progress, cancel, room).end().await
}

fn answer(outcome: Result<Box<RawValue>, Failure>) -> Response {
    match outcome {
        Ok(given) if given.get().len() <= MAX_REPLY_BYTES => {
            respond(StatusCode::OK, "application/json", Bytes::from(String::from(Box::<str>::from(given))))
        }
        Ok(given) => {
            let length = given.get().len();
            let message = format!("the reply has {length} bytes; at most {MAX_REPLY_BYTES} may be sent");
            tool::whole(Err(Failure::handler(message)))
        }
        Err(failure) => tool::whole(Err(failure)),
    }
}
