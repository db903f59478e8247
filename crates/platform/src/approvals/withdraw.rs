//! Withdrawing a call that waits: by the caller that made it.

use toolyard_core::{CallOwner, approvals::withdrawn_outcome, ports::Change};
use toolyard_protocol::ApprovalId;

use crate::{Platform, PlatformError};

/// Withdraws a call before the user has answered, so that nobody is asked any more. False if it is too late for that.
pub async fn withdraw(
    platform: &Platform,
    owner: &CallOwner,
    id: &ApprovalId,
) -> Result<bool, PlatformError> {
    let record = platform.stores.approvals.find_approval(id).await?;
    if record.is_none_or(|record| record.owner != *owner) {
        return Err(PlatformError::not_found(format_args!("approval {id}")));
    }
    let is_withdrawn = platform.stores.approvals.withdraw_approval(id, withdrawn_outcome()).await?;
    if is_withdrawn {
        let change = Change::ApprovalAnswered { user: owner.user.clone(), id: id.clone() };
        platform.stores.announcements.announce(change).await;
    }
    Ok(is_withdrawn)
}
