//! Accepting a changed definition.

use toolyard_core::{pinning::FirstUse, ports::Change};
use toolyard_protocol::{UserId, audit::AuditAction};

use super::{ChangeAnswer, audit_answer, check_answer, require_stored};
use crate::{Actor, Platform, PlatformError};

/// Makes the version that was shown the pinned one: for everyone, or for the user who accepts.
pub async fn accept(
    platform: &Platform,
    actor: &Actor,
    user: Option<&UserId>,
    answer: &ChangeAnswer,
) -> Result<(), PlatformError> {
    let (change, stored) = check_answer(platform, actor, user, answer).await?;
    if stored.user.is_some() && platform.definitions.policy().first_use == FirstUse::Approve {
        let pins = platform.stores.pins.find_pins(&change.package, None).await?;
        if !pins.effective().contains_key(&change.subject) {
            return Err(PlatformError::forbidden("an operator must accept it first"));
        }
    }
    let outcome = {
        let _no_review = platform.definitions.lock(&change.package).await;
        platform.stores.quarantine.accept_change(&stored).await?
    };
    require_stored(outcome, &answer.id)?;
    let (subject, detail) = audit_answer(&change, &stored);
    platform.stores.announcements.announce(Change::DefinitionsChanged(change.package)).await;
    platform.audit(actor, AuditAction::DefinitionAccepted, subject, detail).await;
    Ok(())
}
