//! The operator's policy at run time. It replaces that of the configuration file.

use toolyard_core::{approvals::ApprovalPolicy, ports::Change};

use crate::{Actor, Platform, PlatformError};

/// Replaces the policy.
pub async fn set_policy(
    platform: &Platform,
    actor: &Actor,
    policy: &ApprovalPolicy,
) -> Result<(), PlatformError> {
    actor.require_operator()?;
    policy.check().map_err(|problems| PlatformError::invalid_with("the policy is not valid", problems))?;
    let text = serde_json::to_string(policy)
        .map_err(|error| PlatformError::invalid(format!("the policy cannot be stored: {error}")))?;
    platform.stores.approval_rules.set_stored_policy(Some(&text)).await?;
    platform.stores.announcements.announce(Change::ApprovalPolicyChanged).await;
    Ok(())
}

/// Returns to the policy of the configuration file.
pub async fn reset_policy(platform: &Platform, actor: &Actor) -> Result<(), PlatformError> {
    actor.require_operator()?;
    platform.stores.approval_rules.set_stored_policy(None).await?;
    platform.stores.announcements.announce(Change::ApprovalPolicyChanged).await;
    Ok(())
}
