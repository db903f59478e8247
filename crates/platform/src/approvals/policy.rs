//! The operator's policy at run time. It replaces that of the configuration file.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use toolyard_core::{approvals::ApprovalPolicy, ports::Change};
use toolyard_protocol::audit::AuditAction;

use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

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
    // A policy may be long. Its digest says whether a policy that is kept elsewhere is the same.
    let detail = json!({ "policyDigest": hex::encode(Sha256::digest(&text)) });
    platform.audit(actor, AuditAction::ApprovalPolicyChanged, AuditSubject::named("policy"), detail).await;
    Ok(())
}

/// Returns to the policy of the configuration file.
pub async fn reset_policy(platform: &Platform, actor: &Actor) -> Result<(), PlatformError> {
    actor.require_operator()?;
    platform.stores.approval_rules.set_stored_policy(None).await?;
    platform.stores.announcements.announce(Change::ApprovalPolicyChanged).await;
    let detail = json!({ "reset": true });
    platform.audit(actor, AuditAction::ApprovalPolicyChanged, AuditSubject::named("policy"), detail).await;
    Ok(())
}
