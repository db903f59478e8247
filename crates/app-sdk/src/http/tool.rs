//! `POST /tool`: the platform calls a tool. The response is one JSON object, or lines if the platform accepts them and the
//! handler reports progress.

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::{
    CallId, ErrorCode, JsonLine, UserId,
    call::{CallProgress, IDEMPOTENCY_KEY, MAX_KEY_CHARS, NDJSON, ReceivedToolCall},
    raw::to_raw,
};

use super::{
    call::{HandlerCall, HandlerEvent, RunningHandler},
    request::{self, RequestRejection, header_text},
    respond,
};
use crate::{
    server::AppServer,
    tool::{
        CallFacts, CallFailure, CallResponse, HandlerOutcome, ResponseLine, ToolContext, ToolReply,
        progress_channel,
    },
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

pub(super) async fn post_tool(State(app): State<AppServer>, request: Request) -> Response {
    match begin_call(&app, request).await {
        Ok(running) => handler_response(running).await,
        Err(failure) => outcome_response(Err(failure)),
    }
}

/// Reads the call and starts its handler.
async fn begin_call(app: &AppServer, request: Request) -> Result<RunningHandler<ToolReply>, CallFailure> {
    let (headers, body) = request::read_request(app, request).await?;
    let call = ReceivedToolCall::parse(&body)
        .map_err(|error| CallFailure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let room = acquire_call_room(app)?;
    let (sender, progress) = progress_channel();
    let sender = takes_lines(&headers).then_some(sender);
    let cancel = app.shared().calls.child_token();
    let cx = call_context(app, &headers, &call, sender, &cancel);
    let work = HandlerCall::for_tool(app, call, cx)?;
    Ok(work.start(app, progress, cancel, room))
}

/// Takes one of the call permits.
pub(super) fn acquire_call_room(app: &AppServer) -> Result<OwnedSemaphorePermit, CallFailure> {
    app.shared().call_room.clone().try_acquire_owned().map_err(|_| {
        CallFailure::new(
            ErrorCode::Overloaded,
            "this app has reached its limit of concurrent calls".to_owned(),
        )
    })
}

impl From<RequestRejection> for CallFailure {
    fn from(rejected: RequestRejection) -> Self {
        let code = match rejected {
            // The error codes are for calls, and this is not a call yet.
            RequestRejection::NotSigned(_) => "UNAUTHORIZED",
            RequestRejection::NotJson | RequestRejection::TooLarge | RequestRejection::Broken => {
                ErrorCode::InvalidRequest.as_str()
            }
        };
        Self { status: rejected.status(), code, message: rejected.to_string() }
    }
}

fn call_context(
    app: &AppServer,
    headers: &HeaderMap,
    call: &ReceivedToolCall,
    progress: Option<tokio::sync::mpsc::Sender<CallProgress>>,
    cancel: &CancellationToken,
) -> ToolContext {
    let facts = call_facts(headers, call.user.clone(), call.call.clone(), call.timestamp.clone());
    let facts = CallFacts { activated_for_tool: call.activated_for_tool, ..facts };
    ToolContext::new(facts, app.sessions().clone(), progress, cancel.clone())
}

/// The facts in a request's headers and context, for an app that was not started for the call.
pub(super) fn call_facts(
    headers: &HeaderMap,
    user: UserId,
    call: Option<CallId>,
    timestamp: String,
) -> CallFacts {
    let key = header_text(headers, &HeaderName::from_static(IDEMPOTENCY_KEY));
    CallFacts {
        user,
        call,
        timestamp,
        activated_for_tool: false,
        idempotency_key: key.filter(|key| key.len() <= MAX_KEY_CHARS).map(str::to_owned),
        traceparent: header_text(headers, &TRACEPARENT).and_then(|header| header.parse().ok()),
    }
}

fn takes_lines(headers: &HeaderMap) -> bool {
    let types = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    types
        .flat_map(|value| value.split(','))
        .any(|accepted| accepted.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(NDJSON))
}

/// Waits for the first event of the handler, which decides the format of the response.
async fn handler_response(mut running: RunningHandler<ToolReply>) -> Response {
    match running.next().await {
        HandlerEvent::Done(outcome) => outcome_response(outcome),
        first @ HandlerEvent::Progress(_) => {
            let lines =
                futures_util::stream::unfold((Some(first), Some(running)), |(event, running)| async move {
                    let mut running = running?;
                    let event = match event {
                        Some(event) => event,
                        None => running.next().await,
                    };
                    let (bytes, running) = match event {
                        HandlerEvent::Progress(progress) => {
                            (encode_line(&ResponseLine::Progress(&progress)), Some(running))
                        }
                        HandlerEvent::Done(outcome) => (last_line(outcome), None),
                    };
                    Some((Ok::<_, std::convert::Infallible>(Bytes::from(bytes)), (None, running)))
                });
            respond(StatusCode::OK, NDJSON, Body::from_stream(lines))
        }
    }
}

pub(super) fn outcome_response(outcome: HandlerOutcome) -> Response {
    let (status, body) =
        CallResponse::encode_outcome(outcome, |answer| to_raw(answer).get().as_bytes().to_vec());
    respond(status, "application/json", body)
}

fn last_line(outcome: HandlerOutcome) -> Vec<u8> {
    CallResponse::encode_outcome(outcome, |answer| encode_line(&ResponseLine::Result(answer))).1
}

fn encode_line(line: &ResponseLine<'_>) -> Vec<u8> {
    JsonLine::new(line).into_terminated().into_bytes()
}
