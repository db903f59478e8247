//! Changed definitions that wait for an answer. An answer names the version that was shown, so that of an answer and a newer
//! version one wins.

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};
use toolyard_core::ports::{
    DefinitionPin, MAX_PINS_PER_USER, MAX_USERS_WITH_PINS, QuarantineAnswer, QuarantineFilter,
    QuarantineOutcome, QuarantinePlace, QuarantineStore, QuarantinedChange, StoreError,
};
use toolyard_protocol::{PackageName, definitions::DefinitionChangeState};

use super::{
    SqliteStore, count_rows,
    pins::{insert_notes, insert_pin, raise_revision},
};
use crate::rows::{
    pins::PinRow,
    quarantine::{ChangeRow, MAX_PAGE, acceptance_note, accepted_pin, answered_change, old_name},
    store_error, to_json, user_column,
};

const COLUMNS: &str = "c.id, c.package, c.user_id, c.kind, c.name, c.change, c.other, c.digest, c.content, c.changes, c.findings, c.at";

/// Adds or replaces a change. The same version keeps its time.
pub(super) async fn insert_change(
    tx: &mut SqliteConnection,
    change: &QuarantinedChange,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO definition_changes
         (id, package, user_id, kind, name, change, other, digest, content, changes, findings, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (package, kind, name, user_id) DO UPDATE SET change = ?6, other = ?7, content = ?9, changes = ?10,
         findings = ?11, at = CASE WHEN digest = ?8 THEN at ELSE ?12 END, digest = ?8",
    )
    .bind(change.id.as_str())
    .bind(change.package.as_str())
    .bind(user_column(change.user.as_ref()))
    .bind(change.subject.kind().as_str())
    .bind(change.subject.name())
    .bind(change.kind.as_str())
    .bind(&change.other)
    .bind(change.digest.to_string())
    .bind(to_json("changed content", &change.content)?)
    .bind(to_json("changes", &change.changes)?)
    .bind(to_json("findings", &change.findings)?)
    .bind(change.at.as_millisecond())
    .execute(tx)
    .await
    .map(drop)
    .map_err(store_error)
}

/// The change that is answered, if it is still the version that was shown.
async fn find_answered(
    tx: &mut SqliteConnection,
    answer: &QuarantineAnswer,
) -> Result<Result<QuarantinedChange, QuarantineOutcome>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
    query.push(COLUMNS).push(", 0 AS is_rejected FROM definition_changes c WHERE c.id = ");
    query.push_bind(answer.id.as_str().to_owned());
    let row = query.build_query_as::<ChangeRow>().fetch_optional(tx).await.map_err(store_error)?;
    answered_change(row, answer)
}

/// The pin that a subject has in this scope.
async fn find_pin(
    tx: &mut SqliteConnection,
    change: &QuarantinedChange,
    user: &str,
) -> Result<Option<DefinitionPin>, StoreError> {
    let query = sqlx::query_as::<_, PinRow>(
        "SELECT user_id, kind, name, digest, content, earlier, origin, by, at, findings FROM definition_pins
         WHERE package = ? AND kind = ? AND name = ? AND user_id IN ('', ?) ORDER BY user_id DESC LIMIT 1",
    );
    let query = query
        .bind(change.package.as_str())
        .bind(change.subject.kind().as_str())
        .bind(change.subject.name())
        .bind(user);
    query.fetch_optional(tx).await.map_err(store_error)?.map(PinRow::into_pin).transpose()
}

/// Removes what the accepted version replaces for everyone: the same change in other offers, and pins of single users who are
/// offered it.
async fn end_replaced(tx: &mut SqliteConnection, change: &QuarantinedChange) -> Result<(), StoreError> {
    let subject = (change.package.as_str(), change.subject.kind().as_str(), change.subject.name());
    let digest = change.digest.to_string();
    let pins = "DELETE FROM definition_pins WHERE package = ?1 AND kind = ?2 AND name = ?3 AND user_id <> ''
         AND (?5 OR digest = ?4 OR user_id IN (SELECT user_id FROM definition_changes
              WHERE package = ?1 AND kind = ?2 AND name = ?3 AND digest = ?4))";
    let pins = sqlx::query(pins).bind(subject.0).bind(subject.1).bind(subject.2).bind(&digest);
    pins.bind(change.user.is_none()).execute(&mut *tx).await.map_err(store_error)?;
    let changes = "DELETE FROM definition_changes WHERE package = ? AND kind = ? AND name = ? AND digest = ?";
    let changes = sqlx::query(changes).bind(subject.0).bind(subject.1).bind(subject.2).bind(&digest);
    changes.execute(tx).await.map(drop).map_err(store_error)
}

/// Removes the pin of a tool that was renamed: if the old name returns, that is a change again.
async fn end_old_name(
    tx: &mut SqliteConnection,
    change: &QuarantinedChange,
    user: &str,
) -> Result<(), StoreError> {
    let Some(old_name) = old_name(change) else { return Ok(()) };
    let sql = "DELETE FROM definition_pins WHERE package = ? AND kind = ? AND name = ? AND user_id = ?";
    let query = sqlx::query(sql)
        .bind(change.package.as_str())
        .bind(change.subject.kind().as_str())
        .bind(old_name)
        .bind(user);
    query.execute(tx).await.map(drop).map_err(store_error)
}

async fn has_room(tx: &mut SqliteConnection, package: &PackageName, user: &str) -> Result<bool, StoreError> {
    let own = count_rows(tx, "SELECT COUNT(*) FROM definition_pins WHERE user_id = ?", user).await?;
    let sql = "SELECT COUNT(DISTINCT user_id) FROM definition_pins WHERE package = ? AND user_id <> ''";
    let users = count_rows(tx, sql, package.as_str()).await?;
    Ok(own < MAX_PINS_PER_USER && users < u64::from(MAX_USERS_WITH_PINS))
}

#[async_trait]
impl QuarantineStore for SqliteStore {
    async fn list_quarantined(
        &self,
        filter: &QuarantineFilter,
    ) -> Result<Vec<(QuarantinedChange, QuarantinePlace)>, StoreError> {
        let viewer = filter.viewer.as_ref().map(|(user, _)| user.as_str().to_owned());
        // A rejection for everyone counts for each user; that of a user counts for this user only.
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM (SELECT ");
        query.push(COLUMNS).push(
            ", EXISTS (SELECT 1 FROM definition_rejections r WHERE r.package = c.package AND r.kind = c.kind
             AND r.name = c.name AND r.digest = c.digest AND r.user_id IN ('', ",
        );
        query.push_bind(viewer.clone().unwrap_or_default());
        query.push(")) AS is_rejected FROM definition_changes c WHERE 1");
        if let (Some(user), Some((_, packages))) = (viewer, &filter.viewer) {
            query
                .push(" AND c.user_id IN ('', ")
                .push_bind(user.clone())
                .push(") AND c.package IN (SELECT value FROM json_each(");
            query.push_bind(to_json("packages", packages)?);
            query.push(
                ")) AND NOT EXISTS (SELECT 1 FROM definition_pins p WHERE p.package = c.package AND p.kind = c.kind
                 AND p.name = c.name AND p.digest = c.digest AND p.user_id = ",
            );
            query.push_bind(user).push(")");
        }
        if let Some(package) = &filter.package {
            query.push(" AND c.package = ").push_bind(package.as_str().to_owned());
        }
        if let Some(id) = &filter.id {
            query.push(" AND c.id = ").push_bind(id.as_str().to_owned());
        }
        if let Some(after) = &filter.after {
            let QuarantinePlace([package, kind, name, user]) = after.clone();
            query.push(" AND (c.package, c.kind, c.name, c.user_id) > (").push_bind(package).push(", ");
            query.push_bind(kind).push(", ").push_bind(name).push(", ").push_bind(user).push(")");
        }
        query.push(")");
        if let Some(state) = filter.state {
            query.push(" WHERE is_rejected = ").push_bind(state == DefinitionChangeState::Rejected);
        }
        query.push(" ORDER BY package, kind, name, user_id LIMIT ").push_bind(filter.limit.min(MAX_PAGE));
        let rows = query.build_query_as::<ChangeRow>().fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(ChangeRow::into_entry).collect()
    }

    async fn accept_change(&self, answer: &QuarantineAnswer) -> Result<QuarantineOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        let change = match find_answered(&mut tx, answer).await? {
            Ok(change) => change,
            Err(outcome) => return Ok(outcome),
        };
        let user = user_column(answer.user.as_ref());
        let old = find_pin(&mut tx, &change, user).await?;
        let has_own = old.as_ref().is_some_and(|pin| pin.user.is_some());
        if answer.user.is_some() && !has_own && !has_room(&mut tx, &change.package, user).await? {
            return Ok(QuarantineOutcome::Full);
        }
        if answer.user.is_none() {
            end_replaced(&mut tx, &change).await?;
        } else if change.user.is_some() {
            let gone = sqlx::query("DELETE FROM definition_changes WHERE id = ?").bind(answer.id.as_str());
            gone.execute(&mut *tx).await.map_err(store_error)?;
        }
        insert_pin(&mut tx, &change.package, &accepted_pin(&change, answer, old.as_ref())).await?;
        end_old_name(&mut tx, &change, user).await?;
        insert_notes(&mut tx, &change.package, &[acceptance_note(&change, answer)]).await?;
        raise_revision(&mut tx, &change.package, answer.at).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(QuarantineOutcome::Stored)
    }

    async fn is_rejected_for_all(&self, change: &QuarantinedChange) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM definition_rejections
             WHERE package = ? AND kind = ? AND name = ? AND digest = ? AND user_id = '')";
        let query = sqlx::query_scalar::<_, bool>(sql)
            .bind(change.package.as_str())
            .bind(change.subject.kind().as_str())
            .bind(change.subject.name())
            .bind(change.digest.to_string());
        query.fetch_one(&self.read).await.map_err(store_error)
    }

    async fn reject_change(&self, answer: &QuarantineAnswer) -> Result<QuarantineOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        let change = match find_answered(&mut tx, answer).await? {
            Ok(change) => change,
            Err(outcome) => return Ok(outcome),
        };
        let query = sqlx::query(
            "INSERT OR REPLACE INTO definition_rejections (package, user_id, kind, name, digest, by, at)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        );
        let query = query
            .bind(change.package.as_str())
            .bind(user_column(answer.user.as_ref()))
            .bind(change.subject.kind().as_str())
            .bind(change.subject.name())
            .bind(change.digest.to_string())
            .bind(&answer.by)
            .bind(answer.at.as_millisecond());
        query.execute(&mut *tx).await.map_err(store_error)?;
        raise_revision(&mut tx, &change.package, answer.at).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(QuarantineOutcome::Stored)
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;
    use toolyard_core::ports::StoreMaintenance as _;

    use super::*;
    use crate::SqliteSettings;

    #[tokio::test]
    async fn pins_of_one_user_and_users_with_pins_are_limited() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        let package: PackageName = "com.a".parse().unwrap();
        let mut tx = store.begin_write().await.unwrap();
        for sql in [
            "INSERT INTO apps (package, details, owner, key_hash, signing, created_at, updated_at)
             VALUES ('com.a', '{}', 'dev', x'', x'', 0, 0)",
            "INSERT INTO definition_packages VALUES ('com.a', 0, 1)",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
             INSERT INTO definition_pins SELECT 'com.a', 'ada', 'tool', i, '', '', '', '', NULL, 0, '' FROM n",
        ] {
            sqlx::query(sql).execute(&mut *tx).await.unwrap();
        }
        assert!(has_room(&mut tx, &package, "ada").await.unwrap());
        let one_more =
            "INSERT INTO definition_pins VALUES ('com.a', 'ada', 'tool', 'x', '', '', '', '', NULL, 0, '')";
        sqlx::query(one_more).execute(&mut *tx).await.unwrap();
        assert!(!has_room(&mut tx, &package, "ada").await.unwrap());
        assert!(has_room(&mut tx, &package, "bob").await.unwrap());
        let users = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
             INSERT INTO definition_pins SELECT 'com.a', 'u' || i, 'tool', 'x', '', '', '', '', NULL, 0, '' FROM n";
        sqlx::query(users).bind(MAX_USERS_WITH_PINS).execute(&mut *tx).await.unwrap();
        assert!(!has_room(&mut tx, &package, "bob").await.unwrap());
        drop(tx);
        store.close().await;
    }
}
