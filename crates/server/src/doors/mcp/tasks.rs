//! The extension for tasks: a call that waits for the user's approval, as a handle that the client polls.
//!
//! A task is the approval itself: its id, its owner and its state in the store. So it survives a restart, and only the
//! caller that made the call can see it. There are no other tasks: all other calls end with their response.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;
use toolyard_core::{
    CallReply, Door,
    bounded_cache::BoundedCache,
    executor::AwaitedApproval,
    ports::{ApprovalRecord, IdGenerator, StoreError},
};
use toolyard_platform::approvals as verbs;
use toolyard_protocol::{
    ApprovalId, ErrorCode,
    approval::ApprovalState,
    mcp::{COMPLETE, RpcError, TASK, TASKS_EXTENSION},
    raw::{RawFields, to_raw},
    session::iso_millis,
};

use super::{
    asked_client::AskedClient, client::McpClientContext, elicitation::ElicitationAnswer, params::RpcParams,
    reply::outcome_reply,
};
use crate::{approvals::find_own, state::ServerState};

/// How often a client should poll.
const POLL_INTERVAL_MS: u64 = 2_000;
/// Tasks whose question is known to be handled by the client. For older ones the client is asked again.
const MAX_HANDLED: usize = 10_000;

/// What this process knows about the questions of tasks. All of it may be lost.
pub(super) struct TaskQuestions {
    /// The key of the question in a task. Another one after a restart: a key that was answered is not used again.
    key: String,
    handled: BoundedCache<ApprovalId, ()>,
}

impl TaskQuestions {
    pub(super) fn new(ids: &dyn IdGenerator) -> Self {
        let mut nonce = [0; 6];
        ids.fill_random(&mut nonce);
        Self { key: format!("approval-{}", hex::encode(nonce)), handled: BoundedCache::new(MAX_HANDLED) }
    }
}

/// The members that every description of a task has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskFields<'a> {
    result_type: &'static str,
    task_id: &'a ApprovalId,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<String>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: i64,
    poll_interval_ms: u64,
    /// `inputRequests`, `result` or `error`.
    #[serde(flatten)]
    detail: Option<Value>,
}

impl<'a> TaskFields<'a> {
    fn new(record: &'a ApprovalRecord, result_type: &'static str, status: &'static str) -> Self {
        let updated = record.answer.as_ref().map_or(record.created_at, |answer| answer.at);
        Self {
            result_type,
            task_id: &record.id,
            status,
            status_message: None,
            created_at: iso_millis(record.created_at),
            last_updated_at: iso_millis(updated),
            ttl_ms: record.expires_at.as_millisecond().saturating_sub(record.created_at.as_millisecond()),
            poll_interval_ms: POLL_INTERVAL_MS,
            detail: None,
        }
    }
}

/// The task of a call that waits, in place of its result.
pub(super) async fn create_task(
    state: &ServerState,
    client: &McpClientContext,
    awaited: &AwaitedApproval,
) -> Result<Box<RawValue>, RpcError> {
    let record = find_own(state, &client.who.user, &awaited.id).await.map_err(|error| not_read(&error))?;
    let record = record.ok_or_else(RpcError::internal_error)?;
    let mut task = TaskFields::new(&record, TASK, "working");
    task.status_message = Some(waiting_text(awaited));
    Ok(to_raw(&task))
}

/// `tasks/get`
pub(super) async fn get_task(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
) -> Result<Box<RawValue>, RpcError> {
    let record = find_task(state, client, params).await?;
    let ended = state.approvals.wait_for_outcome(&record.id, &client.who.user, Instant::now());
    let outcome = ended.await.map_err(|error| not_read(&error))?;
    let task = |status| TaskFields::new(&record, COMPLETE, status);
    let task = match &outcome {
        Ok(CallReply::AwaitingApproval(awaited)) => match open_question(state, client, &record, awaited) {
            Some(questions) => TaskFields {
                status_message: Some(waiting_text(awaited)),
                detail: Some(json!({ "inputRequests": questions })),
                ..task("input_required")
            },
            None => {
                let text = match record.state {
                    ApprovalState::Pending => waiting_text(awaited),
                    // Until the next sweep.
                    ApprovalState::Expired => "Nobody answered in time.".to_owned(),
                    _ => "The user approved the call.".to_owned(),
                };
                TaskFields { status_message: Some(text), ..task("working") }
            }
        },
        Err(error) if error.code == ErrorCode::Cancelled => {
            TaskFields { status_message: Some(error.for_model.clone()), ..task("cancelled") }
        }
        ended => match outcome_reply(ended, true) {
            Ok(result) => TaskFields { detail: Some(json!({ "result": result })), ..task("completed") },
            Err(error) => TaskFields {
                status_message: Some(error.message.clone()),
                detail: Some(json!({ "error": { "code": error.code, "message": error.message } })),
                ..task("failed")
            },
        },
    };
    Ok(to_raw(&task))
}

/// `tasks/update`: what the client says about the question of a task. Other keys are ignored.
pub(super) async fn update_task(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
) -> Result<Box<RawValue>, RpcError> {
    let record = find_task(state, client, params).await?;
    let _members: RawFields = params.required("inputResponses")?;
    let answer = ElicitationAnswer::from_responses(&state.mcp.tasks.key, params.raw("inputResponses"));
    if let Some(answer) = answer.filter(|_| record.state == ApprovalState::Pending) {
        let awaited = state.approvals.awaited_approval(&record);
        let asked = AskedClient { state, client };
        if let Some(mode) = asked.choose_mode(&awaited) {
            // Whatever it is: the user can still answer elsewhere, and the client is not asked twice.
            asked.take_answer(&record.id, mode, answer).await;
            state.mcp.tasks.handled.insert(record.id, ());
        }
    }
    Ok(acknowledged())
}

/// `tasks/cancel`: withdraws a call that still waits. One that was answered runs on.
pub(super) async fn cancel_task(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
) -> Result<Box<RawValue>, RpcError> {
    let record = find_task(state, client, params).await?;
    verbs::withdraw(&state.platform, &client.who.call_owner(), &record.id).await.map_err(|error| {
        tracing::error!(%error, approval = %record.id, "approval not withdrawn");
        RpcError::internal_error()
    })?;
    Ok(acknowledged())
}

/// The error for a client that uses tasks without declaring the extension.
pub(super) fn missing_extension() -> RpcError {
    let text = "this request must declare the extension for tasks in its client capabilities";
    let needed = json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } });
    RpcError::new(RpcError::MISSING_CAPABILITY, text).with_data(&needed)
}

/// The task that a request names, if it belongs to the caller.
async fn find_task(
    state: &ServerState,
    client: &McpClientContext,
    params: &RpcParams,
) -> Result<ApprovalRecord, RpcError> {
    if !client.has_tasks {
        return Err(missing_extension());
    }
    let missing = || RpcError::invalid_params("params.taskId: no such task");
    let id: ApprovalId = params.required::<String>("taskId")?.parse().map_err(|_| missing())?;
    let record = find_own(state, &client.who.user, &id).await.map_err(|error| not_read(&error))?;
    let is_own =
        |record: &ApprovalRecord| record.owner == client.who.call_owner() && record.door == Door::Mcp;
    record.filter(is_own).ok_or_else(missing)
}

/// The question that the client should put to the user, if it can and has not.
fn open_question(
    state: &ServerState,
    client: &McpClientContext,
    record: &ApprovalRecord,
    awaited: &AwaitedApproval,
) -> Option<Box<RawValue>> {
    let tasks = &state.mcp.tasks;
    if record.state != ApprovalState::Pending || tasks.handled.get(&record.id).is_some() {
        return None;
    }
    let mode = AskedClient { state, client }.choose_mode(awaited)?;
    Some(mode.input_requests(&tasks.key, awaited, client.revision))
}

fn waiting_text(awaited: &AwaitedApproval) -> String {
    format!("{} waits for the user's approval at {}", awaited.summary.title, awaited.url)
}

fn acknowledged() -> Box<RawValue> {
    to_raw(&json!({ "resultType": COMPLETE }))
}

fn not_read(error: &StoreError) -> RpcError {
    tracing::error!(%error, "approval not read");
    RpcError::internal_error()
}
