//! The ledger: one record for each call, and the idempotency keys of callers.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolyard_protocol::{
    ApprovalId, CallId, ErrorCode, PackageName, ToolName, UserId,
    api::{AWAITING_APPROVAL, AWAITING_SIGN_IN, StepTimes, UsageRow, outcome_text},
};

use super::{SourceKind, StoreError, UsageFilter};
use crate::executor::{CallOwner, Caller, Door, TraceContext};

/// The record of one call. It has no arguments and no results; the message of a failure is kept for a limited time.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// Its id.
    pub id: CallId,
    /// The user the call was for.
    pub user: UserId,
    /// Canonical name, or the name that the caller sent if there is no such tool.
    pub tool: Arc<str>,
    /// The package of the tool, if the tool exists.
    pub package: Option<PackageName>,
    /// Where it ran.
    pub source: SourceKind,
    /// The door it came through.
    pub door: Door,
    /// Who made it.
    pub caller: Caller,
    /// The error code, if it failed.
    pub error: Option<ErrorCode>,
    /// The error message as the caller got it, truncated, if it failed and messages are recorded.
    pub error_message: Option<Arc<str>>,
    /// Whether the outcome was replayed from the caller's key, without running the tool.
    pub replayed: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_us: u64,
    /// How long each step took.
    pub steps: StepTimes,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// Bytes of the result.
    pub bytes_out: u64,
    /// Its trace.
    pub trace: TraceContext,
    /// The approval that it waits for, or that it redeemed.
    pub approval: Option<ApprovalId>,
    /// What it waited for when it ended.
    pub waiting: Option<CallWait>,
}

/// What a call that did not run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallWait {
    /// The user's approval.
    Approval,
    /// The user's sign-in at an upstream.
    SignIn,
}

impl CallRecord {
    /// How it ended: `OK`, `AWAITING_APPROVAL`, `AWAITING_SIGN_IN`, or an error code.
    pub fn outcome_text(&self) -> &'static str {
        match self.waiting {
            Some(CallWait::Approval) => AWAITING_APPROVAL,
            Some(CallWait::SignIn) => AWAITING_SIGN_IN,
            None => outcome_text(self.error),
        }
    }
}

/// A claim of an idempotency key for one call.
#[derive(Debug, Clone)]
pub struct KeyClaim {
    /// Who owns the key. Another user, or another caller of the same user, has separate keys.
    pub owner: CallOwner,
    /// The key.
    pub key: Arc<str>,
    /// Digest of tool and arguments. The same key with another digest is a conflict.
    pub digest: [u8; 32],
    /// The call that claims it.
    pub call: CallId,
    /// When it was claimed.
    pub at: Timestamp,
    /// Claims before this time are expired.
    pub expired_before: Timestamp,
    /// The limits of the owner's keys.
    pub quota: KeyQuota,
}

/// How much is stored under the keys of one user. A key is never dropped before it expires, or its call might run
/// twice; if there are too many, new keys are refused. Old outcomes are evicted for newer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyQuota {
    /// Number of keys.
    pub keys: usize,
    /// Total size of the outcomes, in bytes.
    pub bytes: usize,
}

/// An outcome under a key: JSON, written and read by the executor.
pub type StoredOutcome = String;

/// The ledger's answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The key was claimed durably.
    Fresh,
    /// The key was used for another call.
    Conflict,
    /// A call under this key started and never ended: its server died.
    Open,
    /// A call under this key is still running in a live process.
    Running,
    /// The user has too many keys.
    QuotaReached,
    /// The call ended; this is its outcome, if it was small enough to store.
    Done(Option<StoredOutcome>),
}

/// How a call under a key ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyEnd {
    /// The tool did not run: the key is free again.
    Release,
    /// The outcome, if it is small enough to store.
    Keep(Option<StoredOutcome>),
}

/// Writes the ledger.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Claims a key. Durable when it returns; the tool must not run before that.
    async fn claim_key(&self, claim: &KeyClaim) -> Result<ClaimOutcome, StoreError>;
    /// Ends a claim and records its call, in one transaction. Durable when it returns.
    async fn end_key(&self, claim: &KeyClaim, end: KeyEnd, record: Arc<CallRecord>)
    -> Result<(), StoreError>;
    /// Records a call without a key. Batched; waits only while the backlog is full.
    async fn record_call(&self, record: Arc<CallRecord>);
}

/// Selects calls.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// For this user.
    pub user: Option<UserId>,
    /// Of this tool.
    pub tool: Option<ToolName>,
    /// Of this package.
    pub package: Option<PackageName>,
    /// Of apps of this owner.
    pub owner: Option<String>,
    /// With this outcome: `OK` or a code.
    pub outcome: Option<String>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// Before this call; ids sort by time.
    pub before: Option<CallId>,
    /// Maximum number of calls.
    pub limit: u32,
}

/// Reads the ledger.
#[async_trait]
pub trait CallLog: Send + Sync {
    /// The matching calls, newest first.
    async fn list_calls(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError>;
    /// One call.
    async fn find_call(&self, id: &CallId) -> Result<Option<CallRecord>, StoreError>;
    /// Calls, errors and mean duration for each tool, most calls first.
    async fn tool_usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError>;
}

/// The digest that a key is bound to: tool and arguments, independent of the order of members.
pub fn call_digest(tool: &str, arguments: &Value) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash_value(&mut hash, arguments);
    hash.finalize().into()
}

fn hash_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            hash.update(b"{");
            for (name, value) in sorted {
                hash.update((name.len() as u64).to_be_bytes());
                hash.update(name.as_bytes());
                hash_value(hash, value);
            }
            hash.update(b"}");
        }
        Value::Array(items) => {
            hash.update(b"[");
            items.iter().for_each(|item| hash_value(hash, item));
            hash.update(b"]");
        }
        other => {
            let text = other.to_string();
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_ignores_only_the_order_of_members() {
        let base = call_digest("a:b", &json!({ "x": 1, "y": { "a": [1, 2], "b": null } }));
        let text = r#"{"y":{"b":null,"a":[1,2]},"x":1}"#;
        assert_eq!(base, call_digest("a:b", &serde_json::from_str(text).unwrap()));
        for other in [
            json!({ "x": 1 }),
            json!({ "x": 1, "y": { "a": [2, 1], "b": null } }),
            json!({ "x1": "", "y": 1 }),
        ] {
            assert_ne!(base, call_digest("a:b", &other));
        }
        assert_ne!(base, call_digest("a:c", &json!({ "x": 1, "y": { "a": [1, 2], "b": null } })));
    }
}
