//! Rejecting a changed definition.

use toolyard_core::ports::Change;
use toolyard_protocol::{UserId, audit::AuditAction};

use super::{ChangeAnswer, audit_answer, check_answer, require_stored};
use crate::{Actor, Platform, PlatformError};

/// Keeps the pinned version. The rejected one stays known and is not asked about again.
pub async fn reject(
    platform: &Platform,
    actor: &Actor,
    user: Option<&UserId>,
    answer: &ChangeAnswer,
) -> Result<(), PlatformError> {
    let (change, stored) = check_answer(platform, actor, user, answer).await?;
    require_stored(platform.stores.quarantine.reject_change(&stored).await?, &answer.id)?;
    let (subject, detail) = audit_answer(&change, &stored);
    platform.stores.announcements.announce(Change::DefinitionsChanged(change.package)).await;
    platform.audit(actor, AuditAction::DefinitionRejected, subject, detail).await;
    Ok(())
}
