//! Changed definitions that wait for an answer. An answer names the version that was shown, so that of an answer and a newer
//! version one wins.

use async_trait::async_trait;
use sqlx::{PgConnection, Postgres, Transaction};
use toolyard_core::ports::{
    DefinitionPin, MAX_PINS_PER_USER, MAX_USERS_WITH_PINS, QuarantineAnswer, QuarantineFilter,
    QuarantineOutcome, QuarantinePlace, QuarantineStore, QuarantinedChange, StoreError,
};
use toolyard_protocol::{PackageName, definitions::DefinitionChangeState};

use super::{
    PostgresStore, WriteLock,
    pins::{insert_notes, insert_pin, raise_revision},
};
use crate::rows::{
    parse_column,
    pins::PinRow,
    quarantine::{ChangeRow, MAX_PAGE, acceptance_note, accepted_pin, answered_change, old_name},
    store_error, to_json, to_u64, user_column,
};

/// Adds or replaces a change. The same version keeps its time.
pub(super) async fn insert_change(
    tx: &mut PgConnection,
    change: &QuarantinedChange,
) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO definition_changes AS known
         (id, package, user_id, kind, name, change, other, digest, content, changes, findings, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (package, kind, name, user_id) DO UPDATE SET change = $6, other = $7, content = $9, changes = $10,
         findings = $11, at = CASE WHEN known.digest = $8 THEN known.at ELSE $12 END, digest = $8",
        change.id.as_str(),
        change.package.as_str(),
        user_column(change.user.as_ref()),
        change.subject.kind().as_str(),
        change.subject.name(),
        change.kind.as_str(),
        change.other.as_deref(),
        change.digest.to_string(),
        to_json("changed content", &change.content)?,
        to_json("changes", &change.changes)?,
        to_json("findings", &change.findings)?,
        change.at.as_millisecond()
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

/// The change that is answered, if it is still the version that was shown.
async fn find_answered(
    tx: &mut PgConnection,
    package: &PackageName,
    answer: &QuarantineAnswer,
) -> Result<Result<QuarantinedChange, QuarantineOutcome>, StoreError> {
    let query = sqlx::query_as!(
        ChangeRow,
        r#"SELECT id, package, user_id, kind, name, change, other, digest, content, changes, findings, at,
               FALSE AS "is_rejected!" FROM definition_changes WHERE id = $1 AND package = $2"#,
        answer.id.as_str(),
        package.as_str()
    );
    answered_change(query.fetch_optional(tx).await.map_err(store_error)?, answer)
}

/// The pin that a subject has in this scope.
async fn find_pin(
    tx: &mut PgConnection,
    change: &QuarantinedChange,
    user: &str,
) -> Result<Option<DefinitionPin>, StoreError> {
    let query = sqlx::query_as!(
        PinRow,
        "SELECT user_id, kind, name, digest, content, earlier, origin, by, at, findings FROM definition_pins
         WHERE package = $1 AND kind = $2 AND name = $3 AND user_id IN ('', $4) ORDER BY user_id DESC LIMIT 1",
        change.package.as_str(),
        change.subject.kind().as_str(),
        change.subject.name(),
        user
    );
    query.fetch_optional(tx).await.map_err(store_error)?.map(PinRow::into_pin).transpose()
}

/// Removes what the accepted version replaces for everyone: the same change in other offers, and pins of single users who are
/// offered it.
async fn end_replaced(tx: &mut PgConnection, change: &QuarantinedChange) -> Result<(), StoreError> {
    let (package, kind, name) =
        (change.package.as_str(), change.subject.kind().as_str(), change.subject.name());
    let digest = change.digest.to_string();
    let pins = sqlx::query!(
        "DELETE FROM definition_pins WHERE package = $1 AND kind = $2 AND name = $3 AND user_id <> ''
         AND ($5 OR digest = $4 OR user_id IN (SELECT user_id FROM definition_changes
              WHERE package = $1 AND kind = $2 AND name = $3 AND digest = $4))",
        package,
        kind,
        name,
        digest,
        change.user.is_none()
    );
    pins.execute(&mut *tx).await.map_err(store_error)?;
    let changes = sqlx::query!(
        "DELETE FROM definition_changes WHERE package = $1 AND kind = $2 AND name = $3 AND digest = $4",
        package,
        kind,
        name,
        digest
    );
    changes.execute(tx).await.map(drop).map_err(store_error)
}

/// Removes the pin of a tool that was renamed: if the old name returns, that is a change again.
async fn end_old_name(
    tx: &mut PgConnection,
    change: &QuarantinedChange,
    user: &str,
) -> Result<(), StoreError> {
    let Some(old_name) = old_name(change) else { return Ok(()) };
    let query = sqlx::query!(
        "DELETE FROM definition_pins WHERE package = $1 AND kind = $2 AND name = $3 AND user_id = $4",
        change.package.as_str(),
        change.subject.kind().as_str(),
        old_name,
        user
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

async fn has_room(tx: &mut PgConnection, package: &PackageName, user: &str) -> Result<bool, StoreError> {
    let query = sqlx::query!(
        r#"SELECT (SELECT COUNT(*) FROM definition_pins WHERE user_id = $1) AS "own!",
           (SELECT COUNT(DISTINCT user_id) FROM definition_pins WHERE package = $2 AND user_id <> '') AS "users!""#,
        user,
        package.as_str()
    );
    let count = query.fetch_one(tx).await.map_err(store_error)?;
    Ok(to_u64(count.own) < MAX_PINS_PER_USER && count.users < i64::from(MAX_USERS_WITH_PINS))
}

impl PostgresStore {
    /// Begins the transaction of an answer, with the change that is answered. It has the package to itself, and the user whose
    /// pins are counted. An id never moves to another package, so it can be read before the locks are taken.
    async fn begin_answer(
        &self,
        answer: &QuarantineAnswer,
    ) -> Result<Result<(Transaction<'static, Postgres>, QuarantinedChange), QuarantineOutcome>, StoreError>
    {
        let package =
            sqlx::query_scalar!("SELECT package FROM definition_changes WHERE id = $1", answer.id.as_str());
        let package = package.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        let Some(package) = package else { return Ok(Err(QuarantineOutcome::NotFound)) };
        let package: PackageName = parse_column("package name", &package)?;
        let user = answer.user.as_ref().map(WriteLock::User);
        let locks: Vec<_> = std::iter::once(WriteLock::Package(&package)).chain(user).collect();
        let mut tx = self.begin(&locks).await?;
        let change = find_answered(&mut tx, &package, answer).await?;
        Ok(change.map(|change| (tx, change)))
    }
}

#[async_trait]
impl QuarantineStore for PostgresStore {
    async fn list_quarantined(
        &self,
        filter: &QuarantineFilter,
    ) -> Result<Vec<(QuarantinedChange, QuarantinePlace)>, StoreError> {
        let (viewer, packages) = filter.viewer.as_ref().map(|(user, packages)| (user, packages)).unzip();
        let packages: Vec<String> =
            packages.into_iter().flatten().map(|package| package.as_str().to_owned()).collect();
        let after = filter.after.as_ref().map(|QuarantinePlace(place)| place.each_ref().map(String::as_str));
        // A rejection for everyone counts for each user; that of a user counts for this user only.
        let query = sqlx::query_as!(
            ChangeRow,
            r#"SELECT c.id, c.package, c.user_id, c.kind, c.name, c.change, c.other, c.digest, c.content, c.changes,
                   c.findings, c.at, answered.is_rejected AS "is_rejected!"
               FROM definition_changes c CROSS JOIN LATERAL (SELECT EXISTS (
                   SELECT 1 FROM definition_rejections r WHERE r.package = c.package AND r.kind = c.kind
                   AND r.name = c.name AND r.digest = c.digest AND r.user_id IN ('', $1)) AS is_rejected) AS answered
               WHERE ($1::TEXT IS NULL OR (c.user_id IN ('', $1) AND c.package = ANY($2) AND NOT EXISTS (
                   SELECT 1 FROM definition_pins p WHERE p.package = c.package AND p.kind = c.kind
                   AND p.name = c.name AND p.digest = c.digest AND p.user_id = $1)))
               AND ($3::TEXT IS NULL OR c.package = $3) AND ($4::TEXT IS NULL OR c.id = $4)
               AND ($5::TEXT IS NULL OR (c.package, c.kind, c.name, c.user_id) > ($5, $6, $7, $8))
               AND ($9::BOOLEAN IS NULL OR answered.is_rejected = $9)
               ORDER BY c.package, c.kind, c.name, c.user_id LIMIT $10"#,
            viewer.map(|user| user.as_str()),
            &packages,
            filter.package.as_ref().map(PackageName::as_str),
            filter.id.as_ref().map(|id| id.as_str()),
            after.map(|place| place[0]),
            after.map(|place| place[1]),
            after.map(|place| place[2]),
            after.map(|place| place[3]),
            filter.state.map(|state| state == DefinitionChangeState::Rejected),
            i64::from(filter.limit.min(MAX_PAGE))
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(ChangeRow::into_entry).collect()
    }

    async fn accept_change(&self, answer: &QuarantineAnswer) -> Result<QuarantineOutcome, StoreError> {
        let (mut tx, change) = match self.begin_answer(answer).await? {
            Ok(begun) => begun,
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
            let gone = sqlx::query!("DELETE FROM definition_changes WHERE id = $1", answer.id.as_str());
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
        let query = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM definition_rejections
               WHERE package = $1 AND kind = $2 AND name = $3 AND digest = $4 AND user_id = '') AS "is_rejected!""#,
            change.package.as_str(),
            change.subject.kind().as_str(),
            change.subject.name(),
            change.digest.to_string()
        );
        query.fetch_one(&mut *self.connect().await?).await.map_err(store_error)
    }

    async fn reject_change(&self, answer: &QuarantineAnswer) -> Result<QuarantineOutcome, StoreError> {
        let (mut tx, change) = match self.begin_answer(answer).await? {
            Ok(begun) => begun,
            Err(outcome) => return Ok(outcome),
        };
        let query = sqlx::query!(
            "INSERT INTO definition_rejections (package, user_id, kind, name, digest, by, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (package, user_id, kind, name) DO UPDATE SET digest = $5, by = $6, at = $7",
            change.package.as_str(),
            user_column(answer.user.as_ref()),
            change.subject.kind().as_str(),
            change.subject.name(),
            change.digest.to_string(),
            answer.by,
            answer.at.as_millisecond()
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        raise_revision(&mut tx, &change.package, answer.at).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(QuarantineOutcome::Stored)
    }
}
