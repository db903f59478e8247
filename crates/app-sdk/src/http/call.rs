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
    call::{Progress, ToolCall},
};

use super::tool::Said;
use crate::{
    server::AppServer,
    tool::{Failure, Outcome, ToolContext},
};

/// A call and whoever answers it.
pub(super) struct Work {
    tool: String,
    call: Option<CallId>,
    handler: BoxFuture<'static, Outcome>,
}

impl Work {
    /// The registered tool of that name, else the old-style function.
    pub(super) fn find(app: &AppServer, call: ToolCall, cx: ToolContext) -> Result<Self, Failure> {
        let ToolCall { tool, arguments, call, .. } = call;
        let shared = app.shared();
        let handler: BoxFuture<'static, Outcome> =
            if let Some(found) = shared.tools.iter().find(|t| t.name() == tool) {
                let run = found.run.clone();
                Box::pin(async move { run(arguments, cx).await })
            } else if let Some(old_style) = shared.old_style.clone() {
                Box::pin(old_style.run(tool.clone(), arguments, cx))
            } else {
                return Err(Failure::no_such_tool(&tool));
            };
        Ok(Self { tool, call, handler })
    }

    /// Sets the handler to work.
    pub(super) fn start(
        self,
        app: &AppServer,
        progress: mpsc::Receiver<Progress>,
        cancel: CancellationToken,
        room: OwnedSemaphorePermit,
    ) -> Running {
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
                outcome = AssertUnwindSafe(self.handler).catch_unwind() => outcome.unwrap_or_else(|_| Err(panicked(&self.tool))),
                () = given_up => Err(Failure::new(ErrorCode::Cancelled, "the caller went away".to_owned())),
            };
            let code = outcome.as_ref().map_or_else(|failure| failure.code, |_| "OK");
            let millis = began.elapsed().as_millis();
            let call = self.call.as_ref().map_or("-", CallId::as_str);
            tracing::info!(call.id = call, code, duration_ms = millis, "tool `{}`: {code}", self.tool);
            drop(room);
            // Nobody waits for the outcome of a call that was cancelled.
            let _ = done.send(outcome);
        });
        Running { progress, outcome, _cancel_on_drop: guard }
    }
}

/// What the panic said is in the log of its thread; it is nothing for strangers.
fn panicked(tool: &str) -> Failure {
    Failure::handler(format!("the tool `{tool}` failed unexpectedly; the log of the app says more"))
}

/// A handler at work. Dropping it cancels the call.
pub(super) struct Running {
    progress: mpsc::Receiver<Progress>,
    outcome: oneshot::Receiver<Outcome>,
    _cancel_on_drop: DropGuard,
}

impl Running {
    /// The next word of the handler. Progress that was told before the end comes before it.
    pub(super) async fn next(&mut self) -> Said {
        tokio::select! {
            biased;
            Some(progress) = self.progress.recv() => Said::Progress(progress),
            outcome = &mut self.outcome => {
                Said::Done(outcome.unwrap_or_else(|_| Err(Failure::handler("the call ended without an outcome"))))
            }
        }
    }
}
