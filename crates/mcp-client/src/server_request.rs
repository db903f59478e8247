//! Requests from a handshake server: for input, for a completion, for roots, or a ping.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use toolyard_protocol::mcp::{RpcError, message, method};

use crate::{hub::ConnectionHub, limits::MAX_OPEN_SERVER_REQUESTS, reply::parse_object, wire::McpConnection};

/// A request from the server. Dropping it refuses the request.
#[derive(Debug)]
pub struct ServerRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Unchanged.
    pub params: Option<Box<RawValue>>,
    /// Sends the response.
    pub answer: oneshot::Sender<Result<Box<RawValue>, RpcError>>,
    /// Cancelled when the server no longer waits for the response.
    pub cancelled: CancellationToken,
}

/// Capabilities that this client declared.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeclaredCapabilities {
    elicitation: Option<ElicitationModes>,
    sampling: Option<serde::de::IgnoredAny>,
    roots: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ElicitationModes {
    form: Option<serde::de::IgnoredAny>,
    url: Option<serde::de::IgnoredAny>,
}

impl DeclaredCapabilities {
    /// Parses a capability object; `None` if it is not an object.
    pub(crate) fn parse(capabilities: &RawValue) -> Option<Self> {
        parse_object(capabilities).ok()
    }

    /// Whether any server request is allowed.
    pub(crate) fn has_any(&self) -> bool {
        self.elicitation.is_some() || self.sampling.is_some() || self.roots.is_some()
    }

    /// Checks that the server may send this request.
    fn check_request(&self, method: &str, params: Option<&RawValue>) -> Result<(), RpcError> {
        let declared = match method {
            method::ELICIT => match &self.elicitation {
                Some(elicitation) => return elicitation.check_mode(params),
                None => false,
            },
            method::SAMPLE => self.sampling.is_some(),
            method::ROOTS_LIST => self.roots.is_some(),
            _ => false,
        };
        if declared { Ok(()) } else { Err(RpcError::method_not_found(method)) }
    }
}

impl ElicitationModes {
    /// Without a declared mode, only forms are allowed.
    fn check_mode(&self, params: Option<&RawValue>) -> Result<(), RpcError> {
        #[derive(Deserialize)]
        struct Mode {
            mode: Option<String>,
        }
        let mode =
            params.and_then(|params| serde_json::from_str::<Mode>(params.get()).ok()).and_then(|m| m.mode);
        let declared = match mode.as_deref() {
            None | Some("form") => self.form.is_some() || self.url.is_none(),
            Some("url") => self.url.is_some(),
            Some(_) => false,
        };
        if declared {
            Ok(())
        } else {
            Err(RpcError::invalid_params("this client did not declare that mode of elicitation"))
        }
    }
}

/// Unanswered server requests of one stream. Dropping it cancels them.
#[derive(Debug, Default)]
pub(crate) struct OpenServerRequests(Arc<Mutex<HashMap<String, CancellationToken>>>);

impl OpenServerRequests {
    /// Handles a server request: responds at once, or forwards it and responds when the handler has.
    pub(crate) fn accept_request(
        &self,
        wire: &McpConnection,
        to: Option<&mpsc::Sender<ServerRequest>>,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) {
        let hub = wire.hub();
        let forwarded = match self.forward_request(hub, to, id, method, params) {
            Ok(Some(forwarded)) => forwarded,
            Ok(None) => return respond_in_background(wire, message::write_result(id, &empty_object())),
            Err(error) => {
                tracing::debug!(method, %error, "server request refused");
                return respond_in_background(wire, message::write_error(Some(id), &error));
            }
        };
        let (wire, id, open) = (wire.clone(), id.to_owned(), self.0.clone());
        let ForwardedQuestion { answered, cancelled } = forwarded;
        hub.tasks.clone().spawn_until_stop(async move {
            let outcome = tokio::select! {
                biased;
                () = cancelled.cancelled() => None,
                outcome = answered => {
                    Some(outcome.unwrap_or_else(|_| Err(RpcError::new(RpcError::INTERNAL, "the client did not answer"))))
                }
            };
            lock_open_requests(&open).remove(id.get());
            let text = match outcome {
                None => return,
                Some(Ok(result)) => message::write_result(&id, &result),
                Some(Err(error)) => message::write_error(Some(&id), &error),
            };
            wire.send_response(text).await;
        });
    }

    /// Forwards a request to its handler; `None` for a ping, which needs none.
    fn forward_request(
        &self,
        hub: &ConnectionHub,
        to: Option<&mpsc::Sender<ServerRequest>>,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Option<ForwardedQuestion>, RpcError> {
        if method == method::PING {
            return Ok(None);
        }
        let to =
            to.filter(|_| hub.allows_server_requests()).ok_or_else(|| RpcError::method_not_found(method))?;
        hub.declared.check_request(method, params)?;
        let busy = || RpcError::new(RpcError::INTERNAL, "too many open requests");
        let mut open = lock_open_requests(&self.0);
        if open.len() >= MAX_OPEN_SERVER_REQUESTS {
            return Err(busy());
        }
        let (answer, answered) = oneshot::channel();
        let cancelled = hub.tasks.stop_token().child_token();
        let ask = ServerRequest {
            method: method.to_owned(),
            params: params.map(RawValue::to_owned),
            answer,
            cancelled: cancelled.clone(),
        };
        to.try_send(ask).map_err(|_| busy())?;
        open.insert(id.get().to_owned(), cancelled.clone());
        Ok(Some(ForwardedQuestion { answered, cancelled }))
    }

    /// The server cancelled a request.
    pub(crate) fn cancel(&self, params: Option<&RawValue>) {
        if let Some(cancelled) =
            params.and_then(cancelled_id).and_then(|id| lock_open_requests(&self.0).remove(id.get()))
        {
            cancelled.cancel();
        }
    }
}

impl Drop for OpenServerRequests {
    fn drop(&mut self) {
        for (_, cancelled) in lock_open_requests(&self.0).drain() {
            cancelled.cancel();
        }
    }
}

struct ForwardedQuestion {
    answered: oneshot::Receiver<Result<Box<RawValue>, RpcError>>,
    cancelled: CancellationToken,
}

/// The request id in a `notifications/cancelled`.
pub(crate) fn cancelled_id(params: &RawValue) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(rename = "requestId", borrow)]
        id: &'a RawValue,
    }
    serde_json::from_str::<Cancelled<'_>>(params.get()).ok().map(|cancelled| cancelled.id)
}

/// Responds without a handler. A server that sends pings and does not read the responses gets none.
fn respond_in_background(wire: &McpConnection, text: String) {
    let Ok(permit) = wire.hub().answering.clone().try_acquire_owned() else {
        tracing::debug!("response to the server dropped: too many are pending");
        return;
    };
    let to = wire.clone();
    wire.hub().tasks.spawn_until_stop(async move {
        to.send_response(text).await;
        drop(permit);
    });
}

fn empty_object() -> Box<RawValue> {
    toolyard_protocol::raw::to_raw(&serde_json::Map::new())
}

fn lock_open_requests(
    open: &Mutex<HashMap<String, CancellationToken>>,
) -> parking_lot::MutexGuard<'_, HashMap<String, CancellationToken>> {
    open.lock()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    #[test]
    fn only_declared_server_requests_are_allowed() {
        let may = |capabilities: serde_json::Value, method: &str, params: serde_json::Value| {
            DeclaredCapabilities::parse(&to_raw(&capabilities))
                .unwrap()
                .check_request(method, Some(&to_raw(&params)))
                .is_ok()
        };
        let (form, url, none) = (json!({ "mode": "form" }), json!({ "mode": "url" }), json!({}));
        assert!(!may(json!({}), method::ELICIT, none.clone()));
        assert!(!may(json!({ "sampling": {} }), method::ROOTS_LIST, none.clone()));
        assert!(!may(json!({ "sampling": {} }), "tools/list", none.clone()));
        assert!(may(json!({ "sampling": {} }), method::SAMPLE, none.clone()));
        assert!(may(json!({ "roots": { "listChanged": true } }), method::ROOTS_LIST, none.clone()));
        let plain = json!({ "elicitation": {} });
        assert!(
            may(plain.clone(), method::ELICIT, none.clone())
                && may(plain.clone(), method::ELICIT, form.clone())
        );
        assert!(!may(plain.clone(), method::ELICIT, url.clone()));
        assert!(!may(plain, method::ELICIT, json!({ "mode": "telepathy" })));
        let urls = json!({ "elicitation": { "url": {} } });
        assert!(may(urls.clone(), method::ELICIT, url.clone()) && !may(urls, method::ELICIT, form.clone()));
        let both = json!({ "elicitation": { "url": {}, "form": {} } });
        assert!(may(both.clone(), method::ELICIT, url) && may(both, method::ELICIT, form));
    }
}
