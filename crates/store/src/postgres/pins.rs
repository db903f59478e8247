//! Pinned definitions and notes. A review is written in one transaction, which has the package to itself.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use toolyard_core::{
    pinning::{PinSubject, PinnedContent},
    ports::{
        DefinitionNote, DefinitionPin, MAX_NOTES_PER_PACKAGE, MAX_PINS_PER_PACKAGE, MAX_USERS_WITH_PINS,
        PackagePins, PinStore, QuarantinedChange, ReviewOutcome, StoreError,
    },
};
use toolyard_protocol::{PackageName, UserId};

use super::{PostgresStore, WriteLock, quarantine::insert_change};
use crate::rows::{
    from_json, parse_column,
    pins::{NoteRow, PinRow, WaitingRow, newest_notes, waiting_versions},
    store_error, to_i64, to_json, to_timestamp, user_column,
};

/// Adds or replaces a pin.
pub(super) async fn insert_pin(
    tx: &mut PgConnection,
    package: &PackageName,
    pin: &DefinitionPin,
) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO definition_pins
         (package, user_id, kind, name, digest, content, earlier, origin, by, at, findings)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (package, user_id, kind, name) DO UPDATE SET digest = $5, content = $6, earlier = $7, origin = $8,
         by = $9, at = $10, findings = $11",
        package.as_str(),
        user_column(pin.user.as_ref()),
        pin.subject.kind().as_str(),
        pin.subject.name(),
        pin.version.digest.to_string(),
        to_json("pinned content", &pin.version.content)?,
        to_json("digests", &pin.version.earlier)?,
        pin.origin.as_str(),
        pin.by.as_deref(),
        pin.at.as_millisecond(),
        to_json("findings", &pin.findings)?
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

/// Raises the revision of a package, which announces the write. False if the package does not exist.
pub(super) async fn raise_revision(
    tx: &mut PgConnection,
    package: &PackageName,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let query = sqlx::query!(
        "INSERT INTO definition_packages AS known (package, first_seen, revision)
         SELECT package, $2::BIGINT, 1 FROM apps WHERE package = $1
         ON CONFLICT (package) DO UPDATE SET revision = known.revision + 1",
        package.as_str(),
        at.as_millisecond()
    );
    Ok(query.execute(tx).await.map_err(store_error)?.rows_affected() > 0)
}

/// Adds a note and removes the oldest ones over the limit.
pub(super) async fn insert_notes(
    tx: &mut PgConnection,
    package: &PackageName,
    notes: &[DefinitionNote],
) -> Result<(), StoreError> {
    if notes.is_empty() {
        return Ok(());
    }
    for note in newest_notes(notes) {
        let query = sqlx::query!(
            "INSERT INTO definition_notes (package, kind, name, at, text) VALUES ($1, $2, $3, $4, $5)",
            package.as_str(),
            note.subject.kind().as_str(),
            note.subject.name(),
            note.at.as_millisecond(),
            note.text
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
    }
    let old = sqlx::query!(
        "DELETE FROM definition_notes WHERE package = $1 AND number NOT IN
         (SELECT number FROM definition_notes WHERE package = $1 ORDER BY number DESC LIMIT $2)",
        package.as_str(),
        i64::from(MAX_NOTES_PER_PACKAGE)
    );
    old.execute(tx).await.map(drop).map_err(store_error)
}

/// Replaces the changes that wait in this user's offer, or in the shared one.
async fn replace_changes(
    tx: &mut PgConnection,
    package: &PackageName,
    user: Option<&UserId>,
    changes: &[QuarantinedChange],
) -> Result<(), StoreError> {
    let kept: Vec<String> = changes.iter().map(|change| change.id.as_str().to_owned()).collect();
    let gone = sqlx::query!(
        "DELETE FROM definition_changes WHERE package = $1 AND user_id = $2 AND id <> ALL($3)",
        package.as_str(),
        user_column(user),
        &kept
    );
    gone.execute(&mut *tx).await.map_err(store_error)?;
    for change in changes {
        insert_change(tx, change).await?;
    }
    Ok(())
}

/// Removes pins over the limit: those of subjects that are no longer offered, the oldest first.
async fn forget_old_pins(
    tx: &mut PgConnection,
    package: &PackageName,
    offered: &[PinSubject],
) -> Result<(), StoreError> {
    let (kinds, names): (Vec<String>, Vec<String>) =
        offered.iter().map(|subject| (subject.kind().as_str().to_owned(), subject.name().to_owned())).unzip();
    let query = sqlx::query!(
        "DELETE FROM definition_pins WHERE package = $1 AND user_id = '' AND (kind, name) IN
         (SELECT kind, name FROM definition_pins WHERE package = $1 AND user_id = '' AND (kind, name) NOT IN
             (SELECT kind, name FROM UNNEST($2::TEXT[], $3::TEXT[]) AS offered (kind, name))
          ORDER BY at LIMIT GREATEST(0, (SELECT COUNT(*) FROM definition_pins WHERE package = $1 AND user_id = '') - $4))",
        package.as_str(),
        &kinds,
        &names,
        to_i64(MAX_PINS_PER_PACKAGE)
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl PinStore for PostgresStore {
    async fn find_pins(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<PackagePins, StoreError> {
        let mut connection = self.connect().await?;
        let first_seen = sqlx::query_scalar!(
            "SELECT first_seen FROM definition_packages WHERE package = $1",
            package.as_str()
        );
        let Some(first_seen) = first_seen.fetch_optional(&mut *connection).await.map_err(store_error)? else {
            return Ok(PackagePins::default());
        };
        // Bounded by the limits of both scopes.
        let pins = sqlx::query_as!(
            PinRow,
            "SELECT user_id, kind, name, digest, content, earlier, origin, by, at, findings FROM definition_pins
             WHERE package = $1 AND user_id IN ('', $2) ORDER BY kind, name, user_id",
            package.as_str(),
            user_column(user)
        );
        let pins = pins.fetch_all(&mut *connection).await.map_err(store_error)?;
        let waiting = sqlx::query_as!(
            WaitingRow,
            "SELECT kind, name, digest FROM definition_changes WHERE package = $1 AND user_id = $2",
            package.as_str(),
            user_column(user)
        );
        let waiting = waiting.fetch_all(&mut *connection).await.map_err(store_error)?;
        Ok(PackagePins {
            first_seen: Some(to_timestamp(first_seen)),
            pins: pins.into_iter().map(PinRow::into_pin).collect::<Result<_, _>>()?,
            waiting: waiting_versions(waiting)?,
        })
    }

    async fn users_with_pins(&self, package: &PackageName) -> Result<Vec<UserId>, StoreError> {
        let query = sqlx::query_scalar!(
            "SELECT DISTINCT user_id FROM definition_pins WHERE package = $1 AND user_id <> '' LIMIT $2",
            package.as_str(),
            i64::from(MAX_USERS_WITH_PINS)
        );
        let users = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(users.iter().map(|user| UserId::from_stored(user)).collect())
    }

    async fn save_review(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        outcome: &ReviewOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Package(package)]).await?;
        if !raise_revision(&mut tx, package, at).await? {
            return Ok(false);
        }
        for pin in &outcome.pins {
            insert_pin(&mut tx, package, pin).await?;
        }
        for subject in &outcome.ended_user_pins {
            let query = sqlx::query!(
                "DELETE FROM definition_pins WHERE package = $1 AND kind = $2 AND name = $3 AND user_id <> ''",
                package.as_str(),
                subject.kind().as_str(),
                subject.name()
            );
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        replace_changes(&mut tx, package, user, &outcome.changes).await?;
        insert_notes(&mut tx, package, &outcome.notes).await?;
        forget_old_pins(&mut tx, package, &outcome.offered).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn list_notes(&self, package: &PackageName) -> Result<Vec<DefinitionNote>, StoreError> {
        let query = sqlx::query_as!(
            NoteRow,
            "SELECT kind, name, at, text FROM definition_notes WHERE package = $1 ORDER BY number DESC LIMIT $2",
            package.as_str(),
            i64::from(MAX_NOTES_PER_PACKAGE)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(NoteRow::into_note).collect()
    }

    async fn tools_of_others(
        &self,
        package: &PackageName,
        limit: u32,
    ) -> Result<Vec<(PackageName, Box<RawValue>)>, StoreError> {
        let query = sqlx::query!(
            "SELECT package, content FROM definition_pins
             WHERE kind = 'tool' AND user_id = '' AND package <> $1 LIMIT $2",
            package.as_str(),
            i64::from(limit)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        // Parsed here: JSONB refuses U+0000, which the content of a pin may have.
        let tool = |package: &str, content: &str| {
            let content: PinnedContent = from_json("pinned content", content)?;
            Ok((parse_column("package name", package)?, from_json("pinned definition", &content.text)?))
        };
        rows.iter().map(|row| tool(&row.package, &row.content)).collect()
    }
}
