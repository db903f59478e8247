//! The answer to a request: JSON, or a stream of events that ends with it.

use http::{StatusCode, header as names};
use serde_json::value::RawValue;
use toolyard_net::{Events, NetError, Response};
use toolyard_protocol::mcp::{Incoming, method};

use crate::{
    ask::OpenAsks,
    error::ClientError,
    http::{Http, stream::Resume},
    inbox::{Inbox, own_id, token_of},
    limits::{STREAM_IDLE, shown},
    request::Call,
    session::{ExchangeError, SessionDoubt},
    wire::Wire,
};

impl Http {
    /// Reads the answer to a call, which was made in a session or not.
    pub(super) async fn read(
        &self,
        wire: &Wire,
        call: &mut Call,
        response: Response,
        in_session: bool,
    ) -> Result<Box<RawValue>, ExchangeError> {
        if !response.status.is_success() {
            let code = response.status;
            // The session is gone. Whatever words the server has for that, it is not the method's own answer.
            let error = match code {
                StatusCode::NOT_FOUND if in_session => status(code, b""),
                _ => self.refusal(response).await,
            };
            let doubt = SessionDoubt::from_status(code, &error, in_session);
            return Err(ExchangeError { error, doubt });
        }
        if is_stream(&response) {
            let read = self.read_stream(wire, call, response.events(self.message_bytes)).await;
            return read.map_err(ExchangeError::from);
        }
        let code = response.status;
        let body = response.bytes(self.message_bytes).await.map_err(ClientError::from)?;
        let answer = match Incoming::read(&body) {
            Ok(Incoming::Response { id, outcome }) if id.is_none_or(|id| own_id(id) == Some(call.id)) => {
                outcome.map(RawValue::to_owned).map_err(ClientError::Rpc)
            }
            Ok(_) => Err(ClientError::Malformed("it is not the answer to this request".to_owned())),
            Err(_) if body.is_empty() => Err(ClientError::Malformed(format!("{code} without a body"))),
            Err(bad) => Err(ClientError::Malformed(format!("{}: {}", bad.error.message, shown(&body)))),
        };
        answer.map_err(ExchangeError::from)
    }

    /// Why the server refused.
    pub(super) async fn refusal(&self, response: Response) -> ClientError {
        let code = response.status;
        let elsewhere = response.headers.get(names::LOCATION).filter(|_| code.is_redirection());
        if let Some(place) = elsewhere {
            // Not followed: what may be called was decided for this URL.
            let place = shown(place.as_bytes());
            return ClientError::Status { status: code, text: format!("it points to {place}; try that URL") };
        }
        let body = response.bytes(self.message_bytes).await.unwrap_or_default();
        match Incoming::read(&body) {
            Ok(Incoming::Response { outcome: Err(error), .. }) => ClientError::Rpc(error),
            _ => status(code, &body),
        }
    }

    async fn read_stream(
        &self,
        wire: &Wire,
        call: &mut Call,
        mut events: Events,
    ) -> Result<Box<RawValue>, ClientError> {
        if call.method == method::LISTEN {
            events = events.idle(STREAM_IDLE);
        }
        let asks = OpenAsks::default();
        let mut resume = Resume::new(self.back_off.clone());
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    resume.goes_on();
                    if let Some(answer) = receive(wire, Some(call), &asks, &event.data) {
                        return answer;
                    }
                }
                Err(error @ NetError::TooLarge { .. }) => return Err(error.into()),
                ended => {
                    let why = match ended {
                        Err(error) => error.to_string(),
                        Ok(_) => "the stream ended before the answer".to_owned(),
                    };
                    // The modern era has no way back to a stream.
                    if call.is_modern() {
                        return Err(ClientError::PerhapsSent(why));
                    }
                    resume.ended(&events);
                    events = self.resume(&mut resume, &why).await?;
                }
            }
        }
    }
}

/// Takes one message of a stream. What cannot be read is passed over: it must not lose what comes after it.
pub(super) fn receive(
    wire: &Wire,
    call: Option<&mut Call>,
    asks: &OpenAsks,
    data: &[u8],
) -> Option<Result<Box<RawValue>, ClientError>> {
    // An event without data only sets the point to go on from.
    if data.is_empty() {
        return None;
    }
    match Incoming::read(data) {
        Ok(Incoming::Response { id, outcome }) => {
            let call = call?;
            let ours = id.is_none_or(|id| own_id(id) == Some(call.id));
            ours.then(|| outcome.map(RawValue::to_owned).map_err(ClientError::Rpc))
        }
        Ok(Incoming::Request { id, method, params }) => {
            let to = match call {
                Some(call) => call.inbox.asks.as_ref(),
                None => wire.hub().asks.as_ref(),
            };
            asks.take(wire, to, id, &method, params);
            None
        }
        Ok(Incoming::Notification { method, params }) => {
            if method == method::CANCELLED {
                asks.cancel(params);
            } else {
                notified(wire, call.map(|call| (call.id, &mut call.inbox)), &method, params);
            }
            None
        }
        Err(bad) => {
            tracing::debug!(error = %bad.error, "an event that is no message was passed over");
            None
        }
    }
}

/// A notification on the stream of a request, or on the standing one.
fn notified(wire: &Wire, call: Option<(u64, &mut Inbox)>, method: &str, params: Option<&RawValue>) {
    match (method, params, call) {
        (method::PROGRESS, Some(params), Some((id, inbox))) if token_of(params) == Some(id) => {
            inbox.progress(params);
        }
        (method::MESSAGE, Some(params), Some((_, inbox))) => {
            if !inbox.log(params) {
                wire.hub().log(params);
            }
        }
        (method::ACKNOWLEDGED, _, Some((_, inbox))) => inbox.stands(),
        (_, params, _) => wire.hub().notified(method, params),
    }
}

pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers.get(names::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| {
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
    })
}

pub(super) fn status(status: StatusCode, body: &[u8]) -> ClientError {
    ClientError::Status { status, text: shown(body) }
}
