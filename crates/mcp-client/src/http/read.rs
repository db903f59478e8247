//! The response to a request: JSON, or an event stream that ends with the result.

use http::{StatusCode, header as names};
use serde_json::value::RawValue;
use toolyard_net::{HttpResponse, NetError, SseStream};
use toolyard_protocol::mcp::{RpcMessage, method};

use crate::{
    error::McpClientError,
    http::{HttpConnection, stream::StreamResumption},
    inbox::{RequestInbox, own_id, progress_token},
    limits::{STREAM_IDLE, truncate_text},
    request::PreparedRequest,
    server_request::OpenServerRequests,
    session::{ExchangeError, SessionDoubt},
    wire::McpConnection,
};

impl HttpConnection {
    /// Reads the response to a request. `in_session`: the request carried a session id.
    pub(super) async fn read_reply(
        &self,
        wire: &McpConnection,
        call: &mut PreparedRequest,
        response: HttpResponse,
        in_session: bool,
    ) -> Result<Box<RawValue>, ExchangeError> {
        if !response.status.is_success() {
            let code = response.status;
            // The session is gone. Whatever the body says, it is not the method's own response.
            let error = match code {
                StatusCode::NOT_FOUND if in_session => status_error(code, b""),
                _ => self.read_refusal(response).await,
            };
            let doubt = SessionDoubt::from_status(code, &error, in_session);
            return Err(ExchangeError { error, doubt });
        }
        if is_stream(&response) {
            let read = self.read_stream(wire, call, response.into_events(self.message_bytes)).await;
            return read.map_err(ExchangeError::from);
        }
        let code = response.status;
        let body = response.bytes(self.message_bytes).await.map_err(McpClientError::from)?;
        let answer = match RpcMessage::parse(&body) {
            Ok(RpcMessage::Response { id, outcome }) if id.is_none_or(|id| own_id(id) == Some(call.id)) => {
                outcome.map(RawValue::to_owned).map_err(McpClientError::Rpc)
            }
            Ok(_) => Err(McpClientError::Malformed("it is not the response to this request".to_owned())),
            Err(_) if body.is_empty() => Err(McpClientError::Malformed(format!("{code} without a body"))),
            Err(bad) => {
                Err(McpClientError::Malformed(format!("{}: {}", bad.error.message, truncate_text(&body))))
            }
        };
        answer.map_err(ExchangeError::from)
    }

    /// Reads why the server refused.
    pub(super) async fn read_refusal(&self, response: HttpResponse) -> McpClientError {
        let code = response.status;
        let elsewhere = response.headers.get(names::LOCATION).filter(|_| code.is_redirection());
        if let Some(place) = elsewhere {
            // Not followed: only this URL was allowed.
            let place = truncate_text(place.as_bytes());
            return McpClientError::Status {
                status: code,
                text: format!("it redirects to {place}; try that URL"),
            };
        }
        let body = response.bytes(self.message_bytes).await.unwrap_or_default();
        match RpcMessage::parse(&body) {
            Ok(RpcMessage::Response { outcome: Err(error), .. }) => McpClientError::Rpc(error),
            _ => status_error(code, &body),
        }
    }

    async fn read_stream(
        &self,
        wire: &McpConnection,
        call: &mut PreparedRequest,
        mut events: SseStream,
    ) -> Result<Box<RawValue>, McpClientError> {
        if call.method == method::LISTEN {
            events = events.with_idle_timeout(STREAM_IDLE);
        }
        let asks = OpenServerRequests::default();
        let mut resume = StreamResumption::new(self.back_off.clone());
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    resume.record_event();
                    if let Some(answer) = handle_message(wire, Some(call), &asks, &event.data) {
                        return answer;
                    }
                }
                Err(error @ NetError::TooLarge { .. }) => return Err(error.into()),
                ended => {
                    let why = match ended {
                        Err(error) => error.to_string(),
                        Ok(_) => "the stream ended before the response".to_owned(),
                    };
                    // Streams of the modern era cannot be resumed.
                    if call.is_modern() {
                        return Err(McpClientError::PerhapsSent(why));
                    }
                    resume.record_end(&events);
                    events = self.resume_stream(&mut resume, &why).await?;
                }
            }
        }
    }
}

/// Handles one message of a stream. Unreadable messages are skipped, so that the ones after them are not lost.
pub(super) fn handle_message(
    wire: &McpConnection,
    call: Option<&mut PreparedRequest>,
    asks: &OpenServerRequests,
    data: &[u8],
) -> Option<Result<Box<RawValue>, McpClientError>> {
    // An event without data only sets the position to resume from.
    if data.is_empty() {
        return None;
    }
    match RpcMessage::parse(data) {
        Ok(RpcMessage::Response { id, outcome }) => {
            let call = call?;
            let ours = id.is_none_or(|id| own_id(id) == Some(call.id));
            ours.then(|| outcome.map(RawValue::to_owned).map_err(McpClientError::Rpc))
        }
        Ok(RpcMessage::Request { id, method, params }) => {
            let to = match call {
                Some(call) => call.inbox.asks.as_ref(),
                None => wire.hub().asks.as_ref(),
            };
            asks.accept_request(wire, to, id, &method, params);
            None
        }
        Ok(RpcMessage::Notification { method, params }) => {
            if method == method::CANCELLED {
                asks.cancel(params);
            } else {
                dispatch_notification(wire, call.map(|call| (call.id, &mut call.inbox)), &method, params);
            }
            None
        }
        Err(bad) => {
            tracing::debug!(error = %bad.error, "event skipped: not a JSON-RPC message");
            None
        }
    }
}

/// Handles a notification on the stream of a request, or on the standing stream.
fn dispatch_notification(
    wire: &McpConnection,
    call: Option<(u64, &mut RequestInbox)>,
    method: &str,
    params: Option<&RawValue>,
) {
    match (method, params, call) {
        (method::PROGRESS, Some(params), Some((id, inbox))) if progress_token(params) == Some(id) => {
            inbox.forward_progress(params);
        }
        (method::MESSAGE, Some(params), Some((_, inbox))) => {
            if !inbox.forward_log(params) {
                wire.hub().forward_log(params);
            }
        }
        (method::ACKNOWLEDGED, _, Some((_, inbox))) => inbox.notify_acknowledged(),
        (_, params, _) => wire.hub().dispatch_notification(method, params),
    }
}

pub(super) fn is_stream(response: &HttpResponse) -> bool {
    let kind = response.headers.get(names::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| {
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
    })
}

pub(super) fn status_error(status: StatusCode, body: &[u8]) -> McpClientError {
    McpClientError::Status { status, text: truncate_text(body) }
}
