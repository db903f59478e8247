//! Changed definitions that wait for an answer.

use sqlx::FromRow;
use toolyard_core::{
    pinning::{AcceptedVersion, PinSubject},
    ports::{
        DefinitionNote, DefinitionPin, QuarantineAnswer, QuarantineOutcome, QuarantinePlace,
        QuarantinedChange, StoreError,
    },
};
use toolyard_protocol::definitions::{DefinitionChangeKind, DefinitionChangeState, PinOrigin};

use super::{column_user, from_json, parse_column, to_timestamp};

/// Most rows of a page.
pub(crate) const MAX_PAGE: u32 = 200;

#[derive(FromRow)]
pub(crate) struct ChangeRow {
    pub(crate) id: String,
    pub(crate) package: String,
    pub(crate) user_id: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) change: String,
    pub(crate) other: Option<String>,
    pub(crate) digest: String,
    pub(crate) content: String,
    pub(crate) changes: String,
    pub(crate) findings: String,
    pub(crate) at: i64,
    pub(crate) is_rejected: bool,
}

impl ChangeRow {
    fn into_change(self) -> Result<QuarantinedChange, StoreError> {
        Ok(QuarantinedChange {
            id: parse_column("change id", &self.id)?,
            package: parse_column("package name", &self.package)?,
            user: column_user(&self.user_id),
            subject: PinSubject::new(parse_column("pin kind", &self.kind)?, &self.name),
            kind: parse_column("change kind", &self.change)?,
            other: self.other,
            content: from_json("changed content", &self.content)?,
            digest: parse_column("digest", &self.digest)?,
            changes: from_json("changes", &self.changes)?,
            findings: from_json("findings", &self.findings)?,
            at: to_timestamp(self.at),
            state: if self.is_rejected {
                DefinitionChangeState::Rejected
            } else {
                DefinitionChangeState::Pending
            },
        })
    }

    /// The change with its place in the order of the list.
    pub(crate) fn into_entry(self) -> Result<(QuarantinedChange, QuarantinePlace), StoreError> {
        let place = QuarantinePlace([&self.package, &self.kind, &self.name, &self.user_id].map(Clone::clone));
        Ok((self.into_change()?, place))
    }
}

/// The change that is answered, if it is still the version that was shown.
pub(crate) fn answered_change(
    row: Option<ChangeRow>,
    answer: &QuarantineAnswer,
) -> Result<Result<QuarantinedChange, QuarantineOutcome>, StoreError> {
    let Some(row) = row else { return Ok(Err(QuarantineOutcome::NotFound)) };
    let change = row.into_change()?;
    Ok(if change.digest == answer.digest { Ok(change) } else { Err(QuarantineOutcome::Conflict) })
}

/// The pin of an accepted change, after the one that the subject had.
pub(crate) fn accepted_pin(
    change: &QuarantinedChange,
    answer: &QuarantineAnswer,
    old: Option<&DefinitionPin>,
) -> DefinitionPin {
    DefinitionPin {
        subject: change.subject.clone(),
        user: answer.user.clone(),
        version: AcceptedVersion {
            content: change.content.clone(),
            digest: change.digest,
            earlier: old.map(|old| old.earlier_than_next(&change.digest)).unwrap_or_default(),
        },
        origin: PinOrigin::Accepted,
        by: Some(answer.by.clone()),
        at: answer.at,
        findings: change.findings.clone(),
    }
}

/// The note about an accepted change.
pub(crate) fn acceptance_note(change: &QuarantinedChange, answer: &QuarantineAnswer) -> DefinitionNote {
    let whom = answer.user.as_ref().map_or_else(String::new, |user| format!(" for {user}"));
    let text = format!("{} accepted the new version{whom}", answer.by);
    DefinitionNote { subject: change.subject.clone(), at: answer.at, text }
}

/// The name that a renamed tool had.
pub(crate) fn old_name(change: &QuarantinedChange) -> Option<&str> {
    change.other.as_deref().filter(|_| change.kind == DefinitionChangeKind::Renamed)
}
