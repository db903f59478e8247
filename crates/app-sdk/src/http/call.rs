//! Runs one handler on a task of its own: a panic ends the call and not the app, and a caller who goes away is told to the
//! handler before its future is dropped.

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

/// A call and whoever answers it.
pub(super) struct HandlerCall<T> {
    /// For people: which tool, prompt or resource.
    pub(super) what: String,
    pub(super) call: Option<CallId>,
    pub(super) handler: BoxFuture<'static, Result<T, CallFailure>>,
}

impl HandlerCall<ToolReply> {
    /// The registered tool of that name, else the old-style function.
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
    /// Sets the handler to work.
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
                () = given_up => Err(CallFailure::new(ErrorCode::Cancelled, "the caller went away".to_owned())),
            };
            let code = outcome.as_ref().map_or_else(|failure| failure.code, |_| "OK");
            let millis = began.elapsed().as_millis();
            let call = self.call.as_ref().map_or("-", CallId::as_str);
            tracing::info!(call.id = call, code, duration_ms = millis, "{}: {code}", self.what);
            drop(room);
            // Nobody waits for the outcome of a call that was cancelled.
            let _ = done.send(outcome);
        });
        RunningHandler { progress, outcome, _cancel_on_drop: guard }
    }
}

/// What the panic said is in the log of its thread; it is nothing for strangers.
fn panic_failure(what: &str) -> CallFailure {
    CallFailure::from_handler(format!("the {what} failed unexpectedly; the log of the app says more"))
}

/// A handler at work. Dropping it cancels the call.
pub(super) struct RunningHandler<T> {
    progress: mpsc::Receiver<CallProgress>,
    outcome: oneshot::Receiver<Result<T, CallFailure>>,
    _cancel_on_drop: DropGuard,
}

impl<T> RunningHandler<T> {
    /// The next word of the handler. Progress that was told before the end comes before it.
    pub(super) async fn next(&mut self) -> HandlerEvent<T> {
        tokio::select! {
            biased;
            Some(progress) = self.progress.recv() => HandlerEvent::Progress(progress),
            outcome = &mut self.outcome => {
                HandlerEvent::Done(outcome.unwrap_or_else(|_| Err(CallFailure::from_handler("the call ended without an outcome"))))
            }
        }
    }

    /// How it ended. Progress on the way is nothing to whoever only waits for that.
    pub(super) async fn wait(mut self) -> Result<T, CallFailure> {
        loop {
            if let HandlerEvent::Done(outcome) = self.next().await {
                return outcome;
            }
        }
    }
}

/// What comes out of a running call.
pub(super) enum HandlerEvent<T> {
    Progress(CallProgress),
    Done(Result<T, CallFailure>),
}
