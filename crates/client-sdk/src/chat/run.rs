//! Runs the calls of a round concurrently, each on its own task with a time limit, and reports their progress.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use super::{ChatEvent, EventSender, progress::ProgressReports};
use crate::{
    TRACE_TARGET,
    plugin::ToolSnapshot,
    tool::{CallRun, OnToolCall, ToolCall, ToolContext, ToolError},
};

/// Most calls that run at once. The others wait.
pub const MAX_AT_ONCE: usize = 16;
/// Largest result, in bytes of JSON. A larger one becomes an error.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// Runs calls of this client.
#[derive(Clone)]
pub(super) struct CallRunner {
    pub(super) tools: ToolSnapshot,
    /// If set, runs the calls in place of hooks and executors.
    pub(super) on_tool_call: Option<OnToolCall>,
    pub(super) limit: Duration,
    pub(super) tasks: TaskTracker,
    pub(super) debug: bool,
}

/// A call that has ended.
struct FinishedCall {
    call: ToolCall,
    outcome: Result<Value, ToolError>,
    took: Duration,
}

impl CallRunner {
    /// Runs all calls. Dropping the future cancels those that run.
    pub(super) async fn run_all(&self, calls: Vec<ToolCall>, sender: &EventSender) {
        let (reports, mut waiting) = (ProgressReports::default(), VecDeque::from(calls));
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < MAX_AT_ONCE
                && let Some(call) = waiting.pop_front()
            {
                reports.open_call(&call.id);
                running.push(self.run_one(call, reports.clone()));
            }
            tokio::select! {
                finished = running.next() => {
                    let Some(finished) = finished else { return };
                    for progress in reports.close_call(&finished.call.id) {
                        sender.send(ChatEvent::Progress { call_id: finished.call.id.clone(), progress }).await;
                    }
                    send_outcome(finished, sender).await;
                }
                () = reports.changed() => {
                    for (call_id, progress) in reports.take_all() {
                        sender.send(ChatEvent::Progress { call_id, progress }).await;
                    }
                }
            }
        }
    }

    /// Runs one call on its own task: a function that blocks its thread delays neither the other calls nor its own timeout.
    async fn run_one(&self, call: ToolCall, reports: ProgressReports) -> FinishedCall {
        let (begun, cancel) = (Instant::now(), CancellationToken::new());
        // However this ends, the tool is notified that nothing waits for it any more.
        let _leave = cancel.clone().drop_guard();
        let id = call.id.clone();
        let sink = Arc::new(move |progress| reports.push(&id, progress));
        let cx = ToolContext::new(&call.id, &call.tool, cancel, sink);
        let execution = execute_call(self.tools.clone(), self.on_tool_call.clone(), call.clone(), cx);
        let task = AbortOnDropHandle::new(self.tasks.spawn(execution));
        let outcome = match timeout(self.limit, task).await {
            Ok(Ok(outcome)) => outcome.and_then(check_result_size),
            Ok(Err(_panic)) => Err(ToolError(format!("the tool `{}` panicked", call.tool))),
            Err(_late) => {
                Err(ToolError(format!("the tool `{}` took longer than {:?}", call.tool, self.limit)))
            }
        };
        let took = begun.elapsed();
        if self.debug {
            // Names only: arguments and results are private.
            let arguments = call.input.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
            let (tool, call, ok) = (&call.tool, &call.id, outcome.is_ok());
            let duration_ms = took.as_millis();
            tracing::debug!(target: TRACE_TARGET, tool, call, ?arguments, ok, duration_ms, "tool call finished");
        }
        FinishedCall { call, outcome, took }
    }
}

/// The program's own handler if there is one, else the hook, else the executor.
async fn execute_call(
    tools: ToolSnapshot,
    over: Option<OnToolCall>,
    call: ToolCall,
    cx: ToolContext,
) -> Result<Value, ToolError> {
    match over {
        Some(over) => over(CallRun::new(call, cx, tools)).await,
        None => tools.run_call(&call, &cx).await,
    }
}

async fn send_outcome(finished: FinishedCall, sender: &EventSender) {
    let FinishedCall { call, outcome, took } = finished;
    let Some(result) = sender.transcript.with_lock(|transcript| transcript.record_outcome(&call, outcome))
    else {
        return;
    };
    let is_error = result.is_error;
    sender.send(ChatEvent::ToolResult(result)).await;
    sender.send(ChatEvent::ToolEnd { call_id: call.id, tool: call.tool, is_error, took }).await;
}

fn check_result_size(output: Value) -> Result<Value, ToolError> {
    match output.to_string().len() {
        bytes if bytes > MAX_RESULT_BYTES => Err(ToolError(format!(
            "the result has {bytes} bytes; at most {MAX_RESULT_BYTES} can be taken. Ask for less"
        ))),
        _ => Ok(output),
    }
}
