//! Runs one handler on its own task. A panic ends the call, not the app. If the caller disconnects, the handler is notified
//! before its future is dropped.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, oneshot},
    time::{Instant, sleep},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_protocol::{
    CallId, ErrorCode,
    call::{CallProgress, ReceivedToolCall},
};

use crate::{
    server::AppServer,
    tool::{CallFailure, HandlerOutcome, ToolContext, ToolReply},
};

/// A call and its handler.
pub(super) struct HandlerCall<T> {
    /// Names the tool, prompt or resource in messages.
    pub(super) what: String,
    pub(super) call: Option<CallId>,
    pub(super) handler: BoxFuture<'static, Result<T, CallFailure>>,
}

impl HandlerCall<ToolReply> {
    /// The registered tool of that name, or else the fallback handler.
    pub(super) fn for_tool(
        app: &AppServer,
        call: ReceivedToolCall,
        cx: ToolContext,
    ) -> Result<Self, CallFailure> {
        let ReceivedToolCall { tool, arguments, call, .. } = call;
        let shared = app.shared();
        let handler: BoxFuture<'static, HandlerOutcome> =
            if let Some(found) = shared.tools.iter().find(|t| t.name() == tool) {
                let run = found.run.clone();
                Box::pin(async move { run(arguments, cx).await })
            } else if let Some(old_style) = shared.fallback.clone() {
                Box::pin(old_style.handle_call(tool.clone(), arguments, cx))
            } else {
                return Err(CallFailure::no_such_tool(&tool));
            };
        Ok(Self { what: format!("tool `{tool}`"), call, handler })
    }
}

impl<T: Send + 'static> HandlerCall<T> {
    /// Starts the handler.
    pub(super) fn start(
        self,
        app: &AppServer,
        progress: mpsc::Receiver<CallProgress>,
        cancel: CancellationToken,
        room: OwnedSemaphorePermit,
    ) -> RunningHandler<T> {
        let (done, outcome) = oneshot::channel();
        let grace = app.shared().limits.cancel_grace;
        let guard = cancel.clone().drop_guard();
        app.shared().tasks.spawn(async move {
            let began = Instant::now();
            let given_up = async {
                cancel.cancelled().await;
                sleep(grace).await;
            };
            let outcome = tokio::select! {
                outcome = AssertUnwindSafe(self.handler).catch_unwind() => outcome.unwrap_or_else(|_| Err(panic_failure(&self.what))),
                () = given_up => Err(CallFailure::new(ErrorCode::Cancelled, "the caller disconnected".to_owned())),
            };
            let code = outcome.as_ref().map_or_else(|failure| failure.code, |_| "OK");
            let duration_ms = began.elapsed().as_millis();
            let call = self.call.as_ref().map_or("-", CallId::as_str);
            tracing::info!(call.id = call, handler = self.what, code, duration_ms, "handler finished");
            drop(room);
            // A cancelled call has no receiver any more.
            let _ = done.send(outcome);
        });
        RunningHandler { progress, outcome, _cancel_on_drop: guard }
    }
}

/// The panic message is in the app's log. It is not sent to callers.
fn panic_failure(what: &str) -> CallFailure {
    CallFailure::from_handler(format!("the {what} failed unexpectedly; the log of the app says more"))
}

/// A running handler. Dropping it cancels the call.
pub(super) struct RunningHandler<T> {
    progress: mpsc::Receiver<CallProgress>,
    outcome: oneshot::Receiver<Result<T, CallFailure>>,
    _cancel_on_drop: DropGuard,
}

impl<T> RunningHandler<T> {
    /// The next event of the handler. Progress reported before the end comes first.
    pub(super) async fn next(&mut self) -> HandlerEvent<T> {
        tokio::select! {
            biased;
            Some(progress) = self.progress.recv() => HandlerEvent::Progress(progress),
            outcome = &mut self.outcome => {
                HandlerEvent::Done(outcome.unwrap_or_else(|_| Err(CallFailure::from_handler("the call ended without a result"))))
            }
        }
    }

    /// Waits for the outcome and ignores progress.
    pub(super) async fn wait(mut self) -> Result<T, CallFailure> {
        loop {
            if let HandlerEvent::Done(outcome) = self.next().await {
                return outcome;
            }
        }
    }
}

/// An event of a running handler.
pub(super) enum HandlerEvent<T> {
    Progress(CallProgress),
    Done(Result<T, CallFailure>),
}
