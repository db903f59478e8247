//! Calls in the ledger, and counts of them.

use serde::{Deserialize, Serialize};

use crate::{
    error::ErrorCode,
    id::{ApprovalId, CallId, UserId},
};

/// One call in the ledger.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallSummary {
    /// The call id.
    pub id: CallId,
    /// The user. Not shown to developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Canonical name, or what the caller wrote if that is not a tool.
    pub tool: String,
    /// Where the tool ran: `app`.
    pub source: String,
    /// The door it came through: `rest`.
    pub door: String,
    /// Who made it: `user`, or `app:` and a package. Not shown to developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// `OK`, or the error code.
    pub outcome: String,
    /// The error message, truncated, if the call failed. Stored for a limited time. Developers see what their app did
    /// wrong, not what a user wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Whether the outcome was stored under the idempotency key, so that the tool did not run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// When it started, ISO 8601 with milliseconds.
    pub started_at: String,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// How long each step took, in microseconds.
    pub steps: StepTimes,
    /// Size of the arguments in bytes.
    pub bytes_in: u64,
    /// Size of the result in bytes.
    pub bytes_out: u64,
    /// The trace id. Not shown to developers, because it links the calls of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The approval that it waits for, or that it redeemed. Not shown to developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
}

/// Microseconds of each step of a call; 0 if the step was not reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[expect(missing_docs, reason = "the names are the steps of the executor")]
pub struct StepTimes {
    pub find: u64,
    pub validate: u64,
    pub authorize: u64,
    pub ready: u64,
    pub invoke: u64,
    pub check: u64,
}

/// A page of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallPage {
    /// Newest first.
    pub calls: Vec<CallSummary>,
    /// Pass it as `before` to get the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One row of `GET /api/usage`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// The tool.
    pub tool: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of failed calls.
    pub errors: u64,
    /// Mean duration in microseconds.
    pub mean_us: u64,
}

/// Response to `GET /api/usage`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// One row per tool, most calls first.
    pub tools: Vec<UsageRow>,
}

/// The outcome of a call that waits for the user's approval.
pub const AWAITING_APPROVAL: &str = "AWAITING_APPROVAL";

/// The outcome of a call that waits for the user's sign-in at an upstream.
pub const AWAITING_SIGN_IN: &str = "AWAITING_SIGN_IN";

/// The outcome as the ledger writes it.
pub fn outcome_text(code: Option<ErrorCode>) -> &'static str {
    code.map_or("OK", ErrorCode::as_str)
}
