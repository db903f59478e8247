//! Pinned definitions: reviewing what packages offer, and answering changes.

mod accept;
mod find;
mod reject;
mod review;

use serde_json::{Value, json};
use toolyard_core::ports::{QuarantineAnswer, QuarantineOutcome, QuarantinedChange};
use toolyard_protocol::{
    DefinitionChangeId, UserId,
    definitions::{AnswerScope, DefinitionChangeState},
};

pub use self::{
    accept::accept,
    find::{find_change, visible_packages},
    reject::reject,
    review::{DefinitionReviewer, review_stored},
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// An answer as a person gives it.
#[derive(Debug, Clone)]
pub struct ChangeAnswer {
    /// Which change.
    pub id: DefinitionChangeId,
    /// The digest of the version that was shown.
    pub digest: String,
    /// Whom it is for; by default everyone if an operator answers, otherwise the user.
    pub scope: Option<AnswerScope>,
}

/// Checks that this actor may give this answer, and returns it as it is stored.
async fn check_answer(
    platform: &Platform,
    actor: &Actor,
    user: Option<&UserId>,
    answer: &ChangeAnswer,
) -> Result<(QuarantinedChange, QuarantineAnswer), PlatformError> {
    actor.require_person("an app cannot answer for people")?;
    actor.refuse_client("a connected client cannot answer for its user")?;
    let is_operator = actor.is_operator();
    let default = if is_operator { AnswerScope::Everyone } else { AnswerScope::Me };
    let scope = answer.scope.unwrap_or(default);
    if scope == AnswerScope::Everyone && !is_operator {
        return Err(PlatformError::forbidden("only an operator can answer for everyone; use the scope `me`"));
    }
    let change = find_change(platform, actor, user, &answer.id).await?;
    let for_user = match scope {
        AnswerScope::Everyone => None,
        AnswerScope::Me => {
            let user = user.ok_or_else(|| PlatformError::invalid("scope: name the user in X-User-Id"))?;
            if change.user.as_ref().is_some_and(|other| other != user) {
                return Err(PlatformError::forbidden("this is offered to another user"));
            }
            Some(user.clone())
        }
    };
    let may_be_refused =
        for_user.is_some() && !is_operator && change.state == DefinitionChangeState::Rejected;
    if may_be_refused && platform.stores.quarantine.is_rejected_for_all(&change).await? {
        return Err(PlatformError::forbidden("an operator rejected this version for everyone"));
    }
    let digest =
        answer.digest.parse().map_err(|_| PlatformError::invalid("digest: expected 64 hex digits"))?;
    let stored = QuarantineAnswer {
        id: answer.id.clone(),
        digest,
        user: for_user,
        by: actor.name(),
        at: platform.clock.now(),
    };
    Ok((change, stored))
}

/// An answer as the audit log names it.
fn audit_answer(change: &QuarantinedChange, answer: &QuarantineAnswer) -> (AuditSubject, Value) {
    let subject = match &answer.user {
        Some(user) => AuditSubject::of_user(&change.package, user),
        None => AuditSubject::named(&change.package),
    };
    let detail = json!({
        "change": answer.id,
        "kind": change.subject.kind(),
        "name": change.subject.name(),
        "digest": answer.digest.to_string(),
        "forEveryone": answer.user.is_none(),
    });
    (subject, detail)
}

/// The error of an answer that was not stored.
fn require_stored(outcome: QuarantineOutcome, id: &DefinitionChangeId) -> Result<(), PlatformError> {
    match outcome {
        QuarantineOutcome::Stored => Ok(()),
        QuarantineOutcome::Conflict => Err(PlatformError::conflict(
            "digest: the definition changed again since it was shown; look at the new version first",
        )),
        QuarantineOutcome::NotFound => Err(PlatformError::not_found(format_args!("changed definition {id}"))),
        QuarantineOutcome::Full => Err(PlatformError::QuotaReached(
            "you accepted as many definitions for yourself as one user may; ask an operator to accept for everyone"
                .to_owned(),
        )),
    }
}
