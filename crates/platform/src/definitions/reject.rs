//! Rejecting a changed definition.

use toolyard_core::ports::Change;
use toolyard_protocol::UserId;

use super::{ChangeAnswer, check_answer, require_stored};
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
    platform.stores.announcements.announce(Change::DefinitionsChanged(change.package)).await;
    Ok(())
}
