//! Pinned definitions and notes. A review is written in one transaction.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::value::RawValue;
use sqlx::SqliteConnection;
use toolyard_core::ports::{
    DefinitionNote, DefinitionPin, MAX_NOTES_PER_PACKAGE, MAX_PINS_PER_PACKAGE, MAX_USERS_WITH_PINS,
    PackagePins, PinStore, QuarantinedChange, ReviewOutcome, StoreError,
};
use toolyard_protocol::{PackageName, UserId};

use super::{SqliteStore, quarantine::insert_change};
use crate::rows::{
    from_json, parse_column,
    pins::{NoteRow, PinRow, WaitingRow, newest_notes, waiting_versions},
    store_error, to_i64, to_json, to_timestamp, user_column,
};

/// Adds or replaces a pin.
pub(super) async fn insert_pin(
    tx: &mut SqliteConnection,
    package: &PackageName,
    pin: &DefinitionPin,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT OR REPLACE INTO definition_pins
         (package, user_id, kind, name, digest, content, earlier, origin, by, at, findings)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(package.as_str())
    .bind(user_column(pin.user.as_ref()))
    .bind(pin.subject.kind().as_str())
    .bind(pin.subject.name())
    .bind(pin.version.digest.to_string())
    .bind(to_json("pinned content", &pin.version.content)?)
    .bind(to_json("digests", &pin.version.earlier)?)
    .bind(pin.origin.as_str())
    .bind(&pin.by)
    .bind(pin.at.as_millisecond())
    .bind(to_json("findings", &pin.findings)?)
    .execute(tx)
    .await
    .map(drop)
    .map_err(store_error)
}

/// Raises the revision of a package, which announces the write. False if the package does not exist.
pub(super) async fn raise_revision(
    tx: &mut SqliteConnection,
    package: &PackageName,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let query = sqlx::query(
        "INSERT INTO definition_packages (package, first_seen, revision) SELECT package, ?2, 1 FROM apps WHERE package = ?1
         ON CONFLICT (package) DO UPDATE SET revision = revision + 1",
    );
    let query = query.bind(package.as_str()).bind(at.as_millisecond());
    Ok(query.execute(tx).await.map_err(store_error)?.rows_affected() > 0)
}

/// Adds a note and removes the oldest ones over the limit.
pub(super) async fn insert_notes(
    tx: &mut SqliteConnection,
    package: &PackageName,
    notes: &[DefinitionNote],
) -> Result<(), StoreError> {
    if notes.is_empty() {
        return Ok(());
    }
    for note in newest_notes(notes) {
        let sql = "INSERT INTO definition_notes (package, kind, name, at, text) VALUES (?, ?, ?, ?, ?)";
        let query = sqlx::query(sql)
            .bind(package.as_str())
            .bind(note.subject.kind().as_str())
            .bind(note.subject.name())
            .bind(note.at.as_millisecond())
            .bind(&note.text);
        query.execute(&mut *tx).await.map_err(store_error)?;
    }
    let old = sqlx::query(
        "DELETE FROM definition_notes WHERE package = ?1 AND number NOT IN
         (SELECT number FROM definition_notes WHERE package = ?1 ORDER BY number DESC LIMIT ?2)",
    );
    let old = old.bind(package.as_str()).bind(MAX_NOTES_PER_PACKAGE);
    old.execute(tx).await.map(drop).map_err(store_error)
}

/// Replaces the changes that wait in this user's offer, or in the shared one.
async fn replace_changes(
    tx: &mut SqliteConnection,
    package: &PackageName,
    user: Option<&UserId>,
    changes: &[QuarantinedChange],
) -> Result<(), StoreError> {
    let kept: Vec<&str> = changes.iter().map(|change| change.id.as_str()).collect();
    let gone = sqlx::query(
        "DELETE FROM definition_changes WHERE package = ? AND user_id = ?
         AND id NOT IN (SELECT value FROM json_each(?))",
    );
    let gone = gone.bind(package.as_str()).bind(user_column(user)).bind(to_json("ids", &kept)?);
    gone.execute(&mut *tx).await.map_err(store_error)?;
    for change in changes {
        insert_change(tx, change).await?;
    }
    Ok(())
}

/// Removes pins over the limit: those of subjects that are no longer offered, the oldest first.
async fn forget_old_pins(
    tx: &mut SqliteConnection,
    package: &PackageName,
    offered: &[(&str, &str)],
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "DELETE FROM definition_pins WHERE package = ?1 AND user_id = '' AND (kind, name) IN
         (SELECT kind, name FROM definition_pins WHERE package = ?1 AND user_id = '' AND (kind, name) NOT IN
             (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?2))
          ORDER BY at LIMIT MAX(0, (SELECT COUNT(*) FROM definition_pins WHERE package = ?1 AND user_id = '') - ?3))",
    );
    let query =
        query.bind(package.as_str()).bind(to_json("subjects", &offered)?).bind(to_i64(MAX_PINS_PER_PACKAGE));
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl PinStore for SqliteStore {
    async fn find_pins(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
    ) -> Result<PackagePins, StoreError> {
        let sql = "SELECT first_seen FROM definition_packages WHERE package = ?";
        let first_seen = sqlx::query_scalar::<_, i64>(sql).bind(package.as_str());
        let Some(first_seen) = first_seen.fetch_optional(&self.read).await.map_err(store_error)? else {
            return Ok(PackagePins::default());
        };
        // Bounded by the limits of both scopes.
        let rows = sqlx::query_as::<_, PinRow>(
            "SELECT user_id, kind, name, digest, content, earlier, origin, by, at, findings FROM definition_pins
             WHERE package = ? AND user_id IN ('', ?) ORDER BY kind, name, user_id",
        );
        let rows = rows.bind(package.as_str()).bind(user_column(user)).fetch_all(&self.read);
        let pins: Result<_, _> = rows.await.map_err(store_error)?.into_iter().map(PinRow::into_pin).collect();
        let sql = "SELECT kind, name, digest FROM definition_changes WHERE package = ? AND user_id = ?";
        let waiting = sqlx::query_as::<_, WaitingRow>(sql).bind(package.as_str()).bind(user_column(user));
        let waiting = waiting_versions(waiting.fetch_all(&self.read).await.map_err(store_error)?)?;
        Ok(PackagePins { first_seen: Some(to_timestamp(first_seen)), pins: pins?, waiting })
    }

    async fn users_with_pins(&self, package: &PackageName) -> Result<Vec<UserId>, StoreError> {
        let sql = "SELECT DISTINCT user_id FROM definition_pins WHERE package = ? AND user_id <> '' LIMIT ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(package.as_str()).bind(MAX_USERS_WITH_PINS);
        let users = query.fetch_all(&self.read).await.map_err(store_error)?;
        Ok(users.iter().map(|user| UserId::from_stored(user)).collect())
    }

    async fn save_review(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        outcome: &ReviewOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        if !raise_revision(&mut tx, package, at).await? {
            return Ok(false);
        }
        for pin in &outcome.pins {
            insert_pin(&mut tx, package, pin).await?;
        }
        for subject in &outcome.ended_user_pins {
            let sql =
                "DELETE FROM definition_pins WHERE package = ? AND kind = ? AND name = ? AND user_id <> ''";
            let query =
                sqlx::query(sql).bind(package.as_str()).bind(subject.kind().as_str()).bind(subject.name());
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        replace_changes(&mut tx, package, user, &outcome.changes).await?;
        insert_notes(&mut tx, package, &outcome.notes).await?;
        let offered: Vec<_> =
            outcome.offered.iter().map(|subject| (subject.kind().as_str(), subject.name())).collect();
        forget_old_pins(&mut tx, package, &offered).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn list_notes(&self, package: &PackageName) -> Result<Vec<DefinitionNote>, StoreError> {
        let sql = "SELECT kind, name, at, text FROM definition_notes WHERE package = ?
             ORDER BY number DESC LIMIT ?";
        let query = sqlx::query_as::<_, NoteRow>(sql).bind(package.as_str()).bind(MAX_NOTES_PER_PACKAGE);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(NoteRow::into_note).collect()
    }

    async fn tools_of_others(
        &self,
        package: &PackageName,
        limit: u32,
    ) -> Result<Vec<(PackageName, Box<RawValue>)>, StoreError> {
        let sql = "SELECT package, json_extract(content, '$.text') FROM definition_pins
             WHERE kind = 'tool' AND user_id = '' AND package <> ? LIMIT ?";
        let query = sqlx::query_as::<_, (String, String)>(sql).bind(package.as_str()).bind(limit);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        let tool = |(package, text): (String, String)| {
            Ok((parse_column("package name", &package)?, from_json("pinned definition", &text)?))
        };
        rows.into_iter().map(tool).collect()
    }
}
