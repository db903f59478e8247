//! Reading the audit log.

use toolyard_core::ports::{AuditFilter, AuditRecord};

use crate::{Actor, Platform, PlatformError};

/// Entries of the audit log, for operators in person.
pub async fn list(
    platform: &Platform,
    actor: &Actor,
    filter: &AuditFilter,
) -> Result<Vec<AuditRecord>, PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot read the audit log")?;
    Ok(platform.stores.audit.list_audit(filter).await?)
}
