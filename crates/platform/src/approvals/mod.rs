//! Approvals: answering questions, withdrawing them, and deciding about future calls.

mod answer;
mod choose;
mod grant;
mod policy;
mod preview;
mod withdraw;

use jiff::{SignedDuration, Timestamp};
use toolyard_core::Tool;
use toolyard_protocol::{ToolName, UserId, approval::MAX_REMEMBER_DAYS};

pub use self::{
    answer::{answer, expire_unanswered},
    choose::choose,
    grant::{grant, revoke_grant},
    policy::{reset_policy, set_policy},
    preview::preview_rule,
    withdraw::withdraw,
};
use crate::{ActorOfUser, Platform, PlatformError};

/// Refuses everyone but the user.
fn require_user(actor: &ActorOfUser) -> Result<(), PlatformError> {
    if actor.is_user_in_person() {
        return Ok(());
    }
    Err(PlatformError::forbidden("only the user can decide what runs without a question"))
}

/// The time after this many days.
fn after_days(now: Timestamp, days: Option<u32>) -> Result<Option<Timestamp>, PlatformError> {
    let Some(days) = days else { return Ok(None) };
    if days == 0 || days > MAX_REMEMBER_DAYS {
        let text = format!("days: expected 1 to {MAX_REMEMBER_DAYS}, got {days}");
        return Err(PlatformError::invalid(text));
    }
    Ok(now.checked_add(SignedDuration::from_hours(i64::from(days) * 24)).ok())
}

/// A tool that the user can see.
async fn visible_tool(
    platform: &Platform,
    user: &UserId,
    name: &ToolName,
) -> Result<std::sync::Arc<Tool>, PlatformError> {
    let view = platform.catalog.view(user, toolyard_core::catalog::ViewScope::Everything).await?;
    let found = view.tools().find(|tool| tool.name == *name).cloned();
    found.ok_or_else(|| PlatformError::not_found(format_args!("tool {name}")))
}
