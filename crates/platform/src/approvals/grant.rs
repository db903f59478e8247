//! A yes in advance, within bounds: for callers that run when nobody can answer.

use jiff::Timestamp;
use serde_json::json;
use toolyard_core::ports::{Change, StoredGrant};
use toolyard_protocol::{ApprovalId, approval::GrantRequest, audit::AuditAction, raw::to_raw};

use super::{after_days, require_user, visible_tool};
use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Largest conditions on the arguments, in bytes of JSON. They are cached, and tested with every call of the tool.
const MAX_CONDITION_BYTES: usize = 4 * 1024;
/// Most calls that one grant covers.
const MAX_USES: u64 = 100_000;

/// Allows calls of a tool in advance.
pub async fn grant(
    platform: &Platform,
    actor: &ActorOfUser,
    request: GrantRequest,
) -> Result<StoredGrant, PlatformError> {
    require_user(actor)?;
    if request.uses == 0 || request.uses > MAX_USES {
        return Err(PlatformError::invalid(format!("uses: expected 1 to {MAX_USES}, got {}", request.uses)));
    }
    if to_raw(&request.arguments).get().len() > MAX_CONDITION_BYTES {
        let text = format!("arguments: the conditions are larger than {MAX_CONDITION_BYTES} bytes");
        return Err(PlatformError::invalid(text));
    }
    for test in &request.arguments {
        test.check().map_err(|text| PlatformError::invalid(format!("arguments: {text}")))?;
    }
    let tool = visible_tool(platform, &actor.user, &request.tool).await?;
    let now: Timestamp = platform.clock.now();
    let mut id = [0; 16];
    platform.ids.fill_random(&mut id);
    let grant = StoredGrant {
        id: ApprovalId::from_bytes(id),
        user: actor.user.clone(),
        tool: request.tool,
        definition: tool.definition_digest(),
        arguments: None,
        predicates: request.arguments,
        conversation: None,
        at: now,
        until: after_days(now, Some(request.days))?,
        uses: Some(request.uses),
    };
    let max = platform.approvals.settings().max_grants;
    if !platform.stores.approval_rules.add_grant(&grant, max).await? {
        return Err(PlatformError::QuotaReached(format!("{max} grants is the limit; revoke one")));
    }
    announce_rules(platform, actor).await;
    let detail = json!({ "tool": grant.tool, "uses": grant.uses, "days": request.days });
    let subject = AuditSubject::of_user(&grant.id, &actor.user);
    platform.audit(&actor.actor, AuditAction::ApprovalGrantAdded, subject, detail).await;
    Ok(grant)
}

/// Revokes a grant, or a remembered yes.
pub async fn revoke_grant(
    platform: &Platform,
    actor: &ActorOfUser,
    id: &ApprovalId,
) -> Result<(), PlatformError> {
    if !platform.stores.approval_rules.remove_grant(&actor.user, id).await? {
        return Err(PlatformError::not_found(format_args!("grant {id}")));
    }
    announce_rules(platform, actor).await;
    let subject = AuditSubject::of_user(id, &actor.user);
    platform.audit(&actor.actor, AuditAction::ApprovalGrantRevoked, subject, json!({})).await;
    Ok(())
}

async fn announce_rules(platform: &Platform, actor: &ActorOfUser) {
    let change = Change::ApprovalRulesChanged(actor.user.clone());
    platform.stores.announcements.announce(change).await;
}
