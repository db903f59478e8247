//! `POST /tool`: the platform calls a tool. The answer is one JSON object, or lines where the platform takes them and the
//! handler has told of progress.

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
    call::{IDEMPOTENCY_KEY, MAX_KEY_CHARS, NDJSON, Progress, ToolCall},
    raw::to_raw,
};

use super::{
    call::{Running, Said, Work},
    request::{self, Rejected, text},
    respond,
};
use crate::{
    server::AppServer,
    tool::{Answer, CallFacts, Failure, Line, Outcome, ToolContext, ToolReply, progress_channel},
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

pub(super) async fn tool(State(app): State<AppServer>, request: Request) -> Response {
    match begin(&app, request).await {
        Ok(running) => answer(running).await,
        Err(failure) => whole(Err(failure)),
    }
}

/// Reads the call and sets its handler to work.
async fn begin(app: &AppServer, request: Request) -> Result<Running<ToolReply>, Failure> {
    let (headers, body) = request::read(app, request).await?;
    let call =
        ToolCall::read(&body).map_err(|error| Failure::new(ErrorCode::InvalidRequest, error.to_string()))?;
    let room = room(app)?;
    let (sender, progress) = progress_channel();
    let sender = takes_lines(&headers).then_some(sender);
    let cancel = app.shared().calls.child_token();
    let cx = context(app, &headers, &call, sender, &cancel);
    let work = Work::find(app, call, cx)?;
    Ok(work.start(app, progress, cancel, room))
}

/// A place among the calls under way.
pub(super) fn room(app: &AppServer) -> Result<OwnedSemaphorePermit, Failure> {
    app.shared().call_room.clone().try_acquire_owned().map_err(|_| {
        Failure::new(ErrorCode::Overloaded, "this app has all the calls that it can handle".to_owned())
    })
}

impl From<Rejected> for Failure {
    fn from(rejected: Rejected) -> Self {
        let code = match rejected {
            // The table of codes is for calls; this is not one yet.
            Rejected::NotSigned(_) => "UNAUTHORIZED",
            Rejected::NotJson | Rejected::TooLarge | Rejected::Broken => ErrorCode::InvalidRequest.as_str(),
        };
        Self { status: rejected.status(), code, message: rejected.to_string() }
    }
}

fn context(
    app: &AppServer,
    headers: &HeaderMap,
    call: &ToolCall,
    progress: Option<tokio::sync::mpsc::Sender<Progress>>,
    cancel: &CancellationToken,
) -> ToolContext {
    let facts = facts(headers, call.user.clone(), call.call.clone(), call.timestamp.clone());
    let facts = CallFacts { activated_for_tool: call.activated_for_tool, ..facts };
    ToolContext::new(facts, app.sessions().clone(), progress, cancel.clone())
}

/// What a request says of itself, for an app that was not started for it.
pub(super) fn facts(headers: &HeaderMap, user: UserId, call: Option<CallId>, timestamp: String) -> CallFacts {
    let key = text(headers, &HeaderName::from_static(IDEMPOTENCY_KEY));
    CallFacts {
        user,
        call,
        timestamp,
        activated_for_tool: false,
        idempotency_key: key.filter(|key| key.len() <= MAX_KEY_CHARS).map(str::to_owned),
        traceparent: text(headers, &TRACEPARENT).and_then(|header| header.parse().ok()),
    }
}

fn takes_lines(headers: &HeaderMap) -> bool {
    let types = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    types
        .flat_map(|value| value.split(','))
        .any(|accepted| accepted.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(NDJSON))
}

/// Waits for the first word of the handler, which decides the form.
async fn answer(mut running: Running<ToolReply>) -> Response {
    match running.next().await {
        Said::Done(outcome) => whole(outcome),
        first @ Said::Progress(_) => {
            let lines =
                futures_util::stream::unfold((Some(first), Some(running)), |(said, running)| async move {
                    let mut running = running?;
                    let said = match said {
                        Some(said) => said,
                        None => running.next().await,
                    };
                    let (bytes, running) = match said {
                        Said::Progress(progress) => (line(&Line::Progress(&progress)), Some(running)),
                        Said::Done(outcome) => (last_line(outcome), None),
                    };
                    Some((Ok::<_, std::convert::Infallible>(Bytes::from(bytes)), (None, running)))
                });
            respond(StatusCode::OK, NDJSON, Body::from_stream(lines))
        }
    }
}

pub(super) fn whole(outcome: Outcome) -> Response {
    let (status, body) = Answer::write(outcome, |answer| to_raw(answer).get().as_bytes().to_vec());
    respond(status, "application/json", body)
}

fn last_line(outcome: Outcome) -> Vec<u8> {
    Answer::write(outcome, |answer| line(&Line::Result(answer))).1
}

fn line(line: &Line<'_>) -> Vec<u8> {
    JsonLine::new(line).into_terminated().into_bytes()
}
