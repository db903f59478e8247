//! The tasks extension: tools that return a task, and the methods to query it later. Modern era only.
//!
//! Nothing runs in the background: a job knows when it is done, and reports it when it is queried.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    message::{RpcFailure, UpstreamCall, text_result, tool_error},
    questions::{self, ClientQuestion, GatherOutcome, form_question},
    state::UpstreamShared,
};

/// The name of the extension.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Maximum number of jobs; more are rejected.
const MAX_JOBS: usize = 1_000;

/// Longest duration of `slow_compute`.
const MAX_SECONDS: u64 = 60;

/// Start time of every job: fixtures do not read the clock.
const BEGAN: &str = "2026-01-02T03:04:05Z";

/// The tools, and whether they require a task.
const TOOLS: [(&str, &str, &str); 6] = [
    ("slow_compute", "Takes its time.", "optional"),
    ("failing_job", "Fails as a task.", "required"),
    ("protocol_error_job", "Breaks as a task.", "required"),
    ("confirm_delete", "Asks before it deletes, as a task.", "required"),
    ("multi_input", "Asks two things at once, as a task.", "required"),
    ("test_tool_with_task", "Asks first, and then becomes a task.", "required"),
];

pub(super) fn job_tools() -> Vec<Value> {
    let greet = json!({
        "name": "greet",
        "description": "Greets.",
        "inputSchema": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
    });
    let jobs = TOOLS.map(|(name, description, support)| {
        let mut properties = json!({});
        if name == "slow_compute" {
            properties = json!({ "seconds": { "type": "integer" }, "label": { "type": "string" } });
        } else if name == "confirm_delete" {
            properties = json!({ "filename": { "type": "string" } });
        }
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties },
            "execution": { "taskSupport": support },
        })
    });
    [greet].into_iter().chain(jobs).collect()
}

/// The outcome of a job.
#[derive(Clone)]
enum JobOutcome {
    Result(Value),
    Error(Value),
}

struct UpstreamJob {
    done_at: Instant,
    outcome: JobOutcome,
    /// The input that it still requires.
    open: Map<String, Value>,
    cancelled: bool,
}

impl UpstreamJob {
    fn is_over(&self) -> bool {
        self.cancelled || (self.open.is_empty() && Instant::now() >= self.done_at)
    }

    fn status(&self) -> &'static str {
        match &self.outcome {
            _ if self.cancelled => "cancelled",
            _ if !self.open.is_empty() => "input_required",
            _ if !self.is_over() => "working",
            JobOutcome::Result(_) => "completed",
            JobOutcome::Error(_) => "failed",
        }
    }

    fn describe(&self, id: &str) -> Value {
        json!({
            "taskId": id,
            "status": self.status(),
            "createdAt": BEGAN,
            "lastUpdatedAt": BEGAN,
            "ttlMs": 600_000,
            "pollIntervalMs": 100,
        })
    }
}

/// The jobs of an upstream.
#[derive(Default)]
pub(super) struct JobTable(Mutex<HashMap<String, UpstreamJob>>);

fn declares_tasks(call: &UpstreamCall) -> bool {
    call.is_modern() && call.own_meta("clientCapabilities")["extensions"][EXTENSION].is_object()
}

fn missing_tasks_failure() -> RpcFailure {
    RpcFailure::missing_capability(json!({ "extensions": { EXTENSION: {} } }))
}

/// Runs a tool of the extension. `None` if it is not one of them.
pub(super) async fn call_job_tool(
    inner: &UpstreamShared,
    call: &UpstreamCall,
) -> Option<Result<Value, RpcFailure>> {
    if call.target() == "greet" {
        let name = call.argument("name").as_str().unwrap_or("stranger");
        return Some(Ok(text_result(format!("Hello, {name}!"))));
    }
    let (name, _, support) = TOOLS.into_iter().find(|(name, ..)| *name == call.target())?;
    let seconds = call.argument("seconds").as_u64().unwrap_or(0).min(MAX_SECONDS);
    let wait = Duration::from_secs(seconds);
    if !declares_tasks(call) {
        return Some(match support {
            "required" if call.is_modern() => Err(missing_tasks_failure()),
            "required" => Ok(tool_error("This tool runs only as a task.")),
            _ => {
                tokio::time::sleep(wait).await;
                Ok(text_result("Computed."))
            }
        });
    }
    let (mut open, mut outcome) = (Vec::new(), JobOutcome::Result(text_result("Done.")));
    let confirm = |key| form_question(key, "Are you sure?", json!({ "confirm": { "type": "boolean" } }));
    match name {
        "failing_job" => outcome = JobOutcome::Result(tool_error("The job failed.")),
        "protocol_error_job" => {
            outcome = JobOutcome::Error(json!({ "code": -32603, "message": "The job broke." }))
        }
        "confirm_delete" => open = vec![confirm("confirm")],
        "multi_input" => open = vec![confirm("first"), confirm("second")],
        "test_tool_with_task" => match questions::ask_user_name(inner, call).await {
            Ok(GatherOutcome::All(answers)) => {
                let name = answers["user_name"]["content"]["name"].as_str().unwrap_or("stranger");
                outcome = JobOutcome::Result(text_result(format!("Hello, {name}!")));
            }
            Ok(GatherOutcome::Respond(result)) => return Some(Ok(result)),
            Err(failure) => return Some(Err(failure)),
        },
        _ => {}
    }
    let open = open.iter().map(ClientQuestion::to_entry).collect();
    Some(inner.begin_job(UpstreamJob { done_at: Instant::now() + wait, outcome, open, cancelled: false }))
}

impl UpstreamShared {
    fn begin_job(&self, job: UpstreamJob) -> Result<Value, RpcFailure> {
        let mut jobs = self.jobs.0.lock().unwrap();
        if jobs.len() >= MAX_JOBS {
            return Err(RpcFailure::new(-32603, 200, "there are too many tasks"));
        }
        let id = format!("task-{}", self.next_number());
        let mut created = job.describe(&id);
        created["resultType"] = json!("task");
        jobs.insert(id, job);
        Ok(created)
    }

    /// `tasks/get`, `tasks/update` and `tasks/cancel`.
    pub(super) fn handle_task(&self, call: &UpstreamCall) -> Result<Value, RpcFailure> {
        if !declares_tasks(call) {
            return Err(missing_tasks_failure());
        }
        let id = call.params["taskId"].as_str().unwrap_or_default();
        let mut jobs = self.jobs.0.lock().unwrap();
        let job =
            jobs.get_mut(id).ok_or_else(|| RpcFailure::invalid_params(format!("Unknown task: {id}")))?;
        match call.method.as_str() {
            "tasks/update" => {
                let given = call.params["inputResponses"].as_object();
                job.open.retain(|key, _| given.is_none_or(|given| !given.contains_key(key)));
                Ok(json!({}))
            }
            "tasks/cancel" => {
                job.cancelled = job.cancelled || !job.is_over();
                Ok(json!({}))
            }
            _ => {
                let mut task = job.describe(id);
                match (job.status(), &job.outcome) {
                    ("input_required", _) => task["inputRequests"] = Value::Object(job.open.clone()),
                    ("completed", JobOutcome::Result(result)) => task["result"] = result.clone(),
                    ("failed", JobOutcome::Error(error)) => task["error"] = error.clone(),
                    _ => {}
                }
                Ok(task)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::UpstreamOptions;

    #[test]
    fn only_so_many_tasks_are_kept() {
        let inner = UpstreamShared::new(UpstreamOptions::default());
        let job = || UpstreamJob {
            done_at: Instant::now(),
            outcome: JobOutcome::Result(json!({})),
            open: Map::new(),
            cancelled: false,
        };
        assert!((0..MAX_JOBS).all(|_| inner.begin_job(job()).is_ok()));
        assert!(inner.begin_job(job()).is_err());
    }
}
