//! Answering a question: once, by the user, about exactly what they saw.

use jiff::SignedDuration;
use serde_json::json;
use toolyard_core::ports::{AnswerOutcome, ApprovalRecord, Change, StoredAnswer, StoredGrant};
use toolyard_protocol::{
    ApprovalId,
    approval::{
        AnswerRequest, ApprovalAnswer, ApprovalReason, ApprovalState, ApprovalSurface, MAX_NOTE_BYTES,
        RememberScope, RiskLevel,
    },
    audit::AuditAction,
};

use super::after_days;
use crate::{Actor, ActorOfUser, Platform, PlatformError, audit::AuditSubject};

/// How long ago a press of the button may be that confirms an answer, in seconds.
const PRESS_VALID_S: i64 = 60;
/// Questions that one sweep ends.
const EXPIRED_AT_ONCE: u32 = 200;

/// Answers a question. A second answer is a conflict.
pub async fn answer(
    platform: &Platform,
    actor: &ActorOfUser,
    id: &ApprovalId,
    request: AnswerRequest,
) -> Result<ApprovalRecord, PlatformError> {
    let missing = || PlatformError::not_found(format_args!("approval {id}"));
    let record = platform.stores.approvals.find_approval(id).await?.ok_or_else(missing)?;
    if record.owner.user != actor.user {
        return Err(missing());
    }
    let surface = check_surface(platform, actor, &record, &request)?;
    let answer = StoredAnswer {
        answer: request.answer,
        by: actor.actor.name(),
        surface,
        at: platform.clock.now(),
        remember: request.remember.unwrap_or(RememberScope::Once),
        note: request.note,
    };
    check_answer(&record, &answer, request.arguments_digest.as_deref())?;
    let grant = remembered_grant(&record, &answer)?;
    if grant.is_some() {
        check_grant_quota(platform, actor).await?;
    }
    let stored = platform.stores.approvals.answer_approval(id, &actor.user, &answer, grant.as_ref()).await?;
    let record = match stored {
        AnswerOutcome::Answered(record) => *record,
        AnswerOutcome::Conflict(record) => return Err(conflict_error(&record)),
        AnswerOutcome::NotFound => return Err(missing()),
    };
    let user = actor.user.clone();
    if grant.is_some() {
        platform.stores.announcements.announce(Change::ApprovalRulesChanged(user.clone())).await;
    }
    platform.stores.announcements.announce(Change::ApprovalAnswered { user, id: id.clone() }).await;
    let detail = json!({
        "answer": answer.answer,
        "tool": record.subject.tool,
        "surface": surface.as_str(),
        "remembered": grant.is_some(),
    });
    let subject = AuditSubject::of_user(id, &actor.user);
    platform.audit(&actor.actor, AuditAction::ApprovalAnswered, subject, detail).await;
    Ok(record)
}

/// Ends questions that nobody answered in time, and announces it.
pub async fn expire_unanswered(platform: &Platform) -> Result<usize, PlatformError> {
    let expired = platform.stores.approvals.expire_approvals(platform.clock.now(), EXPIRED_AT_ONCE).await?;
    let count = expired.len();
    for record in expired {
        let change = Change::ApprovalAnswered { user: record.owner.user, id: record.id };
        platform.stores.announcements.announce(change).await;
    }
    Ok(count)
}

/// Where the answer comes from, if that is allowed. An app answers only if the operator trusts it to ask people.
fn check_surface(
    platform: &Platform,
    actor: &ActorOfUser,
    record: &ApprovalRecord,
    request: &AnswerRequest,
) -> Result<ApprovalSurface, PlatformError> {
    let surface = request.surface.unwrap_or(ApprovalSurface::Api);
    match &actor.actor {
        Actor::App(app) if !platform.config.load().approval_apps.contains(app.head.package()) => {
            return Err(PlatformError::forbidden(
                "this app may not answer for the user; the operator can add it to `approvals.apps`",
            ));
        }
        Actor::Person { .. } if !actor.is_user_in_person() => {
            return Err(PlatformError::forbidden("only the user can answer"));
        }
        Actor::App(_) | Actor::Person { .. } => {}
    }
    let is_app = matches!(actor.actor, Actor::App(_));
    let is_yes = request.answer == ApprovalAnswer::Approve;
    let is_risky_yes = is_yes && record.risk == RiskLevel::High;
    let refusal = match surface {
        ApprovalSurface::Button if is_yes && is_app && !was_button_pressed(platform, record) => {
            "the glasses have not reported a press of their button since the question; press it, or use another surface"
        }
        ApprovalSurface::Button => return Ok(surface),
        // What an app says about the surface proves nothing, so only a press that the platform has seen counts.
        _ if is_risky_yes && is_app && surface != ApprovalSurface::Voice => {
            "an app's yes is not enough for a call of high risk; press the button, or answer on the approvals page"
        }
        ApprovalSurface::Voice if is_risky_yes => {
            "a spoken yes is not enough for a call of high risk; press the button, or use another surface"
        }
        ApprovalSurface::Mcp if is_risky_yes => {
            "a yes through an MCP client is not enough for a call of high risk; use the approvals page"
        }
        _ => return Ok(surface),
    };
    Err(PlatformError::forbidden(refusal))
}

/// Whether the user pressed the button of the glasses after the question. One press confirms one answer.
fn was_button_pressed(platform: &Platform, record: &ApprovalRecord) -> bool {
    let recent = platform.clock.now().checked_sub(SignedDuration::from_secs(PRESS_VALID_S));
    let since = recent.map_or(record.created_at, |recent| recent.max(record.created_at));
    platform.sessions.take_button_press(&record.owner.user, since)
}

fn check_answer(
    record: &ApprovalRecord,
    answer: &StoredAnswer,
    seen_digest: Option<&str>,
) -> Result<(), PlatformError> {
    if answer.note.as_ref().is_some_and(|note| note.len() > MAX_NOTE_BYTES) {
        return Err(PlatformError::invalid(format!("note: longer than {MAX_NOTE_BYTES} bytes")));
    }
    let is_other = |seen: &str| !seen.eq_ignore_ascii_case(&hex::encode(record.subject.arguments));
    if seen_digest.is_some_and(is_other) {
        let text = "argumentsDigest: the approval is for other arguments than the ones shown";
        return Err(PlatformError::conflict(text));
    }
    match (&answer.remember, answer.answer) {
        (RememberScope::Once, _) => Ok(()),
        (_, ApprovalAnswer::Deny) => Err(PlatformError::invalid(
            "remember: only a yes can be remembered; to refuse a tool always, set it to never",
        )),
        (_, ApprovalAnswer::Approve) if !record.can_remember => Err(PlatformError::invalid(
            "remember: the operator requires a question for each call of this tool",
        )),
        (RememberScope::Tool { .. }, _) if record.reason == ApprovalReason::DataFlow => {
            Err(PlatformError::invalid(
                "remember: what this conversation has read can be different next time; remember the yes for this \
                 conversation or for these arguments",
            ))
        }
        (RememberScope::Conversation, _) if record.conversation.is_none() => {
            Err(PlatformError::invalid("remember: the call does not belong to a conversation"))
        }
        _ => Ok(()),
    }
}

/// The grant that follows from a remembered yes.
fn remembered_grant(
    record: &ApprovalRecord,
    answer: &StoredAnswer,
) -> Result<Option<StoredGrant>, PlatformError> {
    let (arguments, conversation, days) = match &answer.remember {
        RememberScope::Once => return Ok(None),
        RememberScope::Conversation => (None, record.conversation.clone(), None),
        RememberScope::Tool { days } => (None, None, *days),
        RememberScope::Arguments { days } => (Some(record.subject.arguments), None, *days),
    };
    Ok(Some(StoredGrant {
        id: record.id.clone(),
        user: record.owner.user.clone(),
        tool: record.subject.tool.clone(),
        definition: record.subject.definition,
        arguments,
        predicates: Vec::new(),
        conversation,
        at: answer.at,
        until: after_days(answer.at, days)?,
        uses: None,
    }))
}

async fn check_grant_quota(platform: &Platform, actor: &ActorOfUser) -> Result<(), PlatformError> {
    let rules = platform.stores.approval_rules.user_rules(&actor.user).await?;
    let count: usize = rules.grants.values().map(Vec::len).sum();
    let max = platform.approvals.settings().max_grants;
    if count as u64 >= max {
        let text =
            format!("{max} remembered approvals is the limit; revoke one, or answer without remembering");
        return Err(PlatformError::QuotaReached(text));
    }
    Ok(())
}

fn conflict_error(record: &ApprovalRecord) -> PlatformError {
    let text = match (record.state, &record.answer) {
        (ApprovalState::Pending | ApprovalState::Expired, _) => "this question has expired".to_owned(),
        (_, Some(first)) => {
            let word = match first.answer {
                ApprovalAnswer::Approve => "approved",
                ApprovalAnswer::Deny => "denied",
            };
            format!("this question was {word} before, on {}", first.surface.as_str())
        }
        (ApprovalState::Void, None) => "the caller has withdrawn this call".to_owned(),
        (state, None) => format!("this question is {}", state.as_str()),
    };
    PlatformError::conflict(text)
}
