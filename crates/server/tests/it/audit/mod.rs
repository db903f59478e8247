//! The audit log: what is recorded, read and exported, and that it stays verifiable.

mod people;
mod reading;
pub(crate) mod routes;
mod upkeep;

use toolyard_core::ports::{AuditCursor, AuditRecord};

use crate::platform::Platform;

/// All entries, oldest first.
pub(crate) async fn audit_entries(p: &Platform) -> Vec<AuditRecord> {
    p.state.stores.audit.list_audit(&AuditCursor::OldestAfter(0).into()).await.unwrap()
}

/// The actions of all entries, oldest first.
pub(crate) async fn audit_actions(p: &Platform) -> Vec<String> {
    audit_entries(p).await.into_iter().map(|entry| entry.action).collect()
}

/// The newest entry, which must be of this action.
pub(crate) async fn last_audit(p: &Platform, action: &str) -> AuditRecord {
    let last = audit_entries(p).await.pop().unwrap();
    assert_eq!(last.action, action, "{last:?}");
    last
}
