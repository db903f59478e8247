//! A user's choice for one tool: always, ask or never.

use serde_json::json;
use toolyard_core::ports::{Change, StoredChoice};
use toolyard_protocol::{
    ToolName,
    approval::{ChoiceRequest, ToolChoice},
    audit::AuditAction,
};

use super::{after_days, require_user, visible_tool};
use crate::{ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// Sets or removes the user's choice for a tool.
pub async fn choose(
    platform: &Platform,
    actor: &ActorOfUser,
    tool: &ToolName,
    request: Option<ChoiceRequest>,
) -> Result<Option<StoredChoice>, PlatformError> {
    require_user(actor)?;
    let (user, now) = (&actor.user, platform.clock.now());
    let choice = match request {
        // The choice for a tool that no longer exists can be removed.
        None => None,
        Some(request) => {
            let is_always = request.choice == ToolChoice::Always;
            let found = visible_tool(platform, user, tool).await?;
            let until = after_days(now, request.days.filter(|_| is_always))?;
            let is_bound = is_always && request.until_changed.unwrap_or(true);
            let definition = is_bound.then(|| found.definition_digest());
            Some(StoredChoice { choice: request.choice, at: now, until, definition })
        }
    };
    platform.stores.approval_rules.set_choice(user, tool, choice.as_ref()).await?;
    platform.stores.announcements.announce(Change::ApprovalRulesChanged(user.clone())).await;
    let detail = json!({ "choice": choice.as_ref().map(|choice| choice.choice) });
    let subject = AuditSubject::of_user(tool, user);
    platform.audit(&actor.actor, AuditAction::ApprovalChoiceChanged, subject, detail).await;
    Ok(choice)
}
