//! Runs the calls of a round side by side, each on a task of its own with a time limit, and tells how far they are.

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

/// Most calls that run at once; the others wait for their turn.
pub const MAX_AT_ONCE: usize = 16;
/// Largest result, in bytes of JSON. What is larger is an error that says so.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// How calls are run.
#[derive(Clone)]
pub(super) struct CallRunner {
    pub(super) tools: ToolSnapshot,
    /// Asked in place of everything else.
    pub(super) on_tool_call: Option<OnToolCall>,
    pub(super) limit: Duration,
    pub(super) tasks: TaskTracker,
    pub(super) debug: bool,
}

/// A call that is over.
struct FinishedCall {
    call: ToolCall,
    outcome: Result<Value, ToolError>,
    took: Duration,
}

impl CallRunner {
    /// Runs them all. Dropping the future ends those that run.
    pub(super) async fn run_all(&self, calls: Vec<ToolCall>, teller: &EventSender) {
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
                ran = running.next() => {
                    let Some(ran) = ran else { return };
                    for progress in reports.close_call(&ran.call.id) {
                        teller.send(ChatEvent::Progress { call_id: ran.call.id.clone(), progress }).await;
                    }
                    send_outcome(ran, teller).await;
                }
                () = reports.changed() => {
                    for (call_id, progress) in reports.take_all() {
                        teller.send(ChatEvent::Progress { call_id, progress }).await;
                    }
                }
            }
        }
    }

    /// Runs one on a task of its own: a function that blocks its thread holds up neither the others nor its own time limit.
    async fn run_one(&self, call: ToolCall, reports: ProgressReports) -> FinishedCall {
        let (begun, cancel) = (Instant::now(), CancellationToken::new());
        // However this ends, the tool hears that nobody waits any more.
        let _leave = cancel.clone().drop_guard();
        let id = call.id.clone();
        let sink = Arc::new(move |progress| reports.push(&id, progress));
        let cx = ToolContext::new(&call.id, &call.tool, cancel, sink);
        let execution = execute_call(self.tools.clone(), self.on_tool_call.clone(), call.clone(), cx);
        let task = AbortOnDropHandle::new(self.tasks.spawn(execution));
        let outcome = match timeout(self.limit, task).await {
            Ok(Ok(outcome)) => outcome.and_then(check_result_size),
            Ok(Err(_panic)) => Err(ToolError(format!("the tool `{}` broke while it ran", call.tool))),
            Err(_late) => {
                Err(ToolError(format!("the tool `{}` took longer than {:?}", call.tool, self.limit)))
            }
        };
        let took = begun.elapsed();
        if self.debug {
            // Names only: what is said to tools, and by them, is nobody's business but theirs.
            let arguments = call.input.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
            let (tool, call, ok) = (&call.tool, &call.id, outcome.is_ok());
            tracing::debug!(target: TRACE_TARGET, tool, call, ?arguments, ok, ?took, "a call ran");
        }
        FinishedCall { call, outcome, took }
    }
}

/// What the program says first, then the hook, then the executor.
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

async fn send_outcome(ran: FinishedCall, teller: &EventSender) {
    let FinishedCall { call, outcome, took } = ran;
    let Some(result) = teller.transcript.with_lock(|heard| heard.record_outcome(&call, outcome)) else {
        return;
    };
    let is_error = result.is_error;
    teller.send(ChatEvent::ToolResult(result)).await;
    teller.send(ChatEvent::ToolEnd { call_id: call.id, tool: call.tool, is_error, took }).await;
}

fn check_result_size(output: Value) -> Result<Value, ToolError> {
    match output.to_string().len() {
        bytes if bytes > MAX_RESULT_BYTES => Err(ToolError(format!(
            "the result has {bytes} bytes; at most {MAX_RESULT_BYTES} can be taken. Ask for less"
        ))),
        _ => Ok(output),
    }
}
