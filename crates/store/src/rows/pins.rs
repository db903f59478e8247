//! Pinned definitions and notes.

use std::collections::BTreeMap;

use sqlx::FromRow;
use toolyard_core::{
    pinning::{AcceptedVersion, ContentDigest, PinSubject},
    ports::{DefinitionNote, DefinitionPin, MAX_NOTES_PER_PACKAGE, StoreError},
};

use super::{column_user, from_json, parse_column, to_timestamp};

#[derive(FromRow)]
pub(crate) struct PinRow {
    pub(crate) user_id: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) content: String,
    pub(crate) earlier: String,
    pub(crate) origin: String,
    pub(crate) by: Option<String>,
    pub(crate) at: i64,
    pub(crate) findings: String,
}

impl PinRow {
    pub(crate) fn into_pin(self) -> Result<DefinitionPin, StoreError> {
        Ok(DefinitionPin {
            subject: PinSubject::new(parse_column("pin kind", &self.kind)?, &self.name),
            user: column_user(&self.user_id),
            version: AcceptedVersion {
                content: from_json("pinned content", &self.content)?,
                digest: parse_column("digest", &self.digest)?,
                earlier: from_json("digests", &self.earlier)?,
            },
            origin: parse_column("pin origin", &self.origin)?,
            by: self.by,
            at: to_timestamp(self.at),
            findings: from_json("findings", &self.findings)?,
        })
    }
}

/// The version of a subject that waits for an answer.
#[derive(FromRow)]
pub(crate) struct WaitingRow {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) digest: String,
}

/// What waits, by subject.
pub(crate) fn waiting_versions(
    rows: Vec<WaitingRow>,
) -> Result<BTreeMap<PinSubject, ContentDigest>, StoreError> {
    let version = |row: WaitingRow| {
        let subject = PinSubject::new(parse_column("pin kind", &row.kind)?, &row.name);
        Ok((subject, parse_column("digest", &row.digest)?))
    };
    rows.into_iter().map(version).collect()
}

#[derive(FromRow)]
pub(crate) struct NoteRow {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) at: i64,
    pub(crate) text: String,
}

impl NoteRow {
    pub(crate) fn into_note(self) -> Result<DefinitionNote, StoreError> {
        let subject = PinSubject::new(parse_column("pin kind", &self.kind)?, &self.name);
        Ok(DefinitionNote { subject, at: to_timestamp(self.at), text: self.text })
    }
}

/// The notes that are kept if a package had no others.
pub(crate) fn newest_notes(notes: &[DefinitionNote]) -> &[DefinitionNote] {
    &notes[notes.len().saturating_sub(MAX_NOTES_PER_PACKAGE as usize)..]
}
