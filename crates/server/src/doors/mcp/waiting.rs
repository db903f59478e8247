//! Calls that wait for the user, while their client stays connected.

use serde_json::value::RawValue;
use tokio::{
    sync::oneshot,
    time::{Duration, Instant, interval_at},
};
use toolyard_protocol::mcp::RpcError;

use super::{call::CallRelay, client::McpClientContext, elicitation::ElicitationAnswer};
use crate::{connections::StreamSlot, state::ServerState};

/// Longest wait of one modern request. Clients often end a request after a minute, and repeat one that has to come back
/// about ten times.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(50);
/// Interval at which a waiting call reports progress and checks its credential.
const WAIT_BEAT: Duration = Duration::from_secs(15);

/// A client whose call waits for the user.
#[derive(Clone, Copy)]
pub(super) struct WaitingClient<'a> {
    pub(super) state: &'a ServerState,
    pub(super) client: &'a McpClientContext,
}

/// How a wait ended during which the client was asked.
pub(super) enum AskedWait<T> {
    /// It is over.
    Over {
        over: T,
        /// The question, if the client has not answered it.
        unanswered: Option<Box<RawValue>>,
    },
    /// The client did not ask the user.
    Refused,
}

impl WaitingClient<'_> {
    /// A waiting call holds no call permit, so it counts as a stream of the user.
    pub(super) fn reserve_wait(&self) -> Option<StreamSlot> {
        self.state.process.streams.reserve(self.client.who.user.as_str()).ok()
    }

    /// How long one request of the client waits. A session's call waits as long as the operator allows.
    pub(super) fn longest_wait(&self) -> Duration {
        let longest = self.state.config.load().approvals.mcp_wait();
        if self.client.is_modern() { longest.min(MAX_RETRY_WAIT) } else { longest }
    }

    /// Waits, and shows the client that it does. None if the server stops meanwhile.
    pub(super) async fn wait_for<T>(
        &self,
        awaited: impl Future<Output = T>,
        text: &str,
        relay: &mut CallRelay<'_>,
    ) -> Result<Option<T>, RpcError> {
        tokio::pin!(awaited);
        let mut beat = interval_at(Instant::now() + WAIT_BEAT, WAIT_BEAT);
        loop {
            tokio::select! {
                biased;
                awaited = &mut awaited => return Ok(Some(awaited)),
                () = self.state.lifecycle.stopping.cancelled() => return Ok(None),
                _ = beat.tick() => {}
            }
            if self.client.who.lease.is_expired(&self.state.tokens, self.state.clock.now()) {
                return Err(RpcError::new(
                    RpcError::INVALID_REQUEST,
                    "the token of this request is no longer valid",
                ));
            }
            relay.report_waiting(text);
        }
    }
}

/// A question that the client of a session was asked, on the stream of its call.
pub(super) struct ClientQuestion {
    pub(super) id: Box<RawValue>,
    pub(super) answer: oneshot::Receiver<Result<Box<RawValue>, RpcError>>,
}

impl ClientQuestion {
    /// Waits for something, and meanwhile for the client's answer. `accepts` takes the answer, and says whether waiting still
    /// makes sense.
    pub(super) async fn answered_during<T, F: Future<Output = bool>>(
        mut self,
        awaited: impl Future<Output = Result<T, RpcError>>,
        accepts: impl Fn(ElicitationAnswer) -> F,
    ) -> Result<AskedWait<T>, RpcError> {
        tokio::pin!(awaited);
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                over = &mut awaited => {
                    let unanswered = is_open.then_some(self.id);
                    return Ok(AskedWait::Over { over: over?, unanswered });
                }
                result = &mut self.answer, if is_open => {
                    is_open = false;
                    let answer = result.ok().and_then(Result::ok);
                    let answer = answer.and_then(|result| ElicitationAnswer::from_result(&result));
                    if !accepts(answer.unwrap_or(ElicitationAnswer::Refused)).await {
                        return Ok(AskedWait::Refused);
                    }
                }
            }
        }
    }
}
