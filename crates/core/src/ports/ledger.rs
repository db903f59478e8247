//! The ledger: one record a call, and the keys under which callers make a call once.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolyard_protocol::{
    CallId, ErrorCode, PackageName, ToolName, UserId,
    api::{StepTimes, UsageRow},
};

use super::{SourceKind, StoreError, UsageFilter};
use crate::executor::{CallOwner, Caller, Door, TraceContext};

/// What happened with one call. No arguments, no results; of a failure its message, for a limited time.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// Its id.
    pub id: CallId,
    /// For whom.
    pub user: UserId,
    /// Canonical name, or what the caller wrote where that is no tool.
    pub tool: Arc<str>,
    /// Whose tool; none where it is no tool.
    pub package: Option<PackageName>,
    /// Where it ran.
    pub source: SourceKind,
    /// Which door it came through.
    pub door: Door,
    /// Who made it.
    pub caller: Caller,
    /// The error code, if it failed.
    pub error: Option<ErrorCode>,
    /// The error message as the caller got it, truncated, if it failed and messages are recorded.
    pub error_message: Option<Arc<str>>,
    /// Whether the outcome was found under the caller's key, and nothing ran.
    pub replayed: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_us: u64,
    /// How long each step took.
    pub steps: StepTimes,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// Bytes of the result.
    pub bytes_out: u64,
    /// The trace it belongs to.
    pub trace: TraceContext,
}

/// A caller's key for one call.
#[derive(Debug, Clone)]
pub struct KeyClaim {
    /// Whose: keys of another user, or of another caller for the same user, are other keys.
    pub owner: CallOwner,
    /// The key.
    pub key: Arc<str>,
    /// What is called with what: the same key with another digest is a conflict.
    pub digest: [u8; 32],
    /// The call that claims it.
    pub call: CallId,
    /// When.
    pub at: Timestamp,
    /// Claims before this time are over.
    pub expired_before: Timestamp,
    /// How much of this there may be.
    pub quota: KeyQuota,
}

/// How much is kept under the keys of one user. A key is never given up before its time, or its call might run twice:
/// where there are too many, new ones are refused. Outcomes make room for newer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyQuota {
    /// Keys.
    pub keys: usize,
    /// Bytes of all outcomes.
    pub bytes: usize,
}

/// An outcome under a key: JSON, made and read by the executor.
pub type StoredOutcome = String;

/// What the ledger says to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The key is ours now, and that is durable.
    Fresh,
    /// The key was used with something else.
    Conflict,
    /// A call under this key began and never ended: the server died under it.
    Open,
    /// A call under this key began and has not ended, and the process that began it lives.
    Running,
    /// The user has too many keys.
    QuotaReached,
    /// The call was made; this is its outcome, if it was small enough to keep.
    Done(Option<StoredOutcome>),
}

/// How a call under a key ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyEnd {
    /// The tool did not run: the key is free again.
    Release,
    /// The outcome, if it is small enough to keep.
    Keep(Option<StoredOutcome>),
}

/// Writes the ledger.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Claims a key. Durable when it returns: nothing runs before that.
    async fn claim_key(&self, claim: &KeyClaim) -> Result<ClaimOutcome, StoreError>;
    /// Ends a claim and records its call, in one act. Durable when it returns.
    async fn end_key(&self, claim: &KeyClaim, end: KeyEnd, record: Arc<CallRecord>)
    -> Result<(), StoreError>;
    /// Records a call that has no key. Batched; waits only while the batch is full.
    async fn record_call(&self, record: Arc<CallRecord>);
}

/// Which calls.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// Of this user.
    pub user: Option<UserId>,
    /// Of this tool.
    pub tool: Option<ToolName>,
    /// Of this app.
    pub package: Option<PackageName>,
    /// Of apps of this owner.
    pub owner: Option<String>,
    /// With this outcome: `OK` or a code.
    pub outcome: Option<String>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// Before this call: ids sort by time.
    pub before: Option<CallId>,
    /// At most so many.
    pub limit: u32,
}

/// Reads the ledger.
#[async_trait]
pub trait CallLog: Send + Sync {
    /// The calls that fit, newest first.
    async fn list_calls(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError>;
    /// One call.
    async fn find_call(&self, id: &CallId) -> Result<Option<CallRecord>, StoreError>;
    /// Calls, errors and mean time a tool, most calls first.
    async fn tool_usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>, StoreError>;
}

/// The digest to which a key is bound: tool and arguments, whatever the order of members.
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
    fn the_digest_does_not_care_for_order_and_cares_for_all_else() {
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
