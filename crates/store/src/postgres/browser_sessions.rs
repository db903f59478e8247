//! In which browsers users are signed in.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::PgConnection;
use toolyard_core::ports::{BrowserSession, BrowserSessionStore, EndedSessions, StoreError};
use toolyard_protocol::{TokenId, UserId, api::Role};

use super::{PostgresStore, WriteLock};
use crate::rows::{
    accounts::column_role,
    browser_sessions::{BrowserSessionRow, ended_session_ids},
    parse_column, store_error, to_timestamp,
};

/// Records that a user was seen, and returns the role of the account at that moment.
async fn mark_seen(on: &mut PgConnection, user: &str, at: i64) -> Result<Option<Role>, StoreError> {
    let query = sqlx::query_scalar!(
        "UPDATE accounts SET last_seen_at = GREATEST(COALESCE(last_seen_at, 0), $1) WHERE user_id = $2 RETURNING role",
        at,
        user
    );
    let role = query.fetch_optional(on).await.map_err(store_error)?;
    role.as_deref().map(column_role).transpose()
}

#[async_trait]
impl BrowserSessionStore for PostgresStore {
    async fn add_browser_session(
        &self,
        session: &BrowserSession,
        max: u32,
        known_until: Timestamp,
    ) -> Result<Option<Role>, StoreError> {
        // The account is not disabled, and its sessions are not ended, between the check and the insert.
        let mut tx = self.begin(&[WriteLock::User(&session.user)]).await?;
        let now = session.started_at.as_millisecond();
        let insert = sqlx::query!(
            "INSERT INTO browser_sessions (id, user_id, method, device, started_at, last_seen_at, expires_at)
             SELECT $1, $2, $3, $4, $5, $6, $7
             WHERE EXISTS (SELECT 1 FROM accounts WHERE user_id = $2 AND disabled_at IS NULL)",
            session.id.as_str(),
            session.user.as_str(),
            session.method.as_str(),
            session.device,
            now,
            session.last_seen_at.as_millisecond(),
            session.expires_at.as_millisecond()
        );
        if insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() == 0 {
            return Ok(None);
        }
        let surplus = sqlx::query!(
            "UPDATE browser_sessions SET ended_at = $3, expires_at = LEAST(expires_at, $5) WHERE id IN
             (SELECT id FROM browser_sessions
                 WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $3 AND id <> $4
                 ORDER BY last_seen_at DESC, id OFFSET $2)",
            session.user.as_str(),
            i64::from(max.saturating_sub(1)),
            now,
            session.id.as_str(),
            known_until.as_millisecond()
        );
        surplus.execute(&mut *tx).await.map_err(store_error)?;
        let role = mark_seen(&mut tx, session.user.as_str(), now).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(role)
    }

    async fn list_browser_sessions(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<BrowserSession>, StoreError> {
        let query = sqlx::query_as!(
            BrowserSessionRow,
            "SELECT id, user_id, method, device, started_at, last_seen_at, expires_at FROM browser_sessions
             WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY last_seen_at DESC, id",
            user.as_str(),
            now.as_millisecond()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(BrowserSessionRow::into_session).collect()
    }

    async fn touch_browser_session(&self, id: &TokenId, at: Timestamp) -> Result<Option<Role>, StoreError> {
        // No transaction: it would lock the session and then the account, and `delete_user` locks them in the opposite order.
        let mut connection = self.connect().await?;
        let query = sqlx::query_scalar!(
            "UPDATE browser_sessions SET last_seen_at = GREATEST(last_seen_at, $1)
             WHERE id = $2 AND ended_at IS NULL RETURNING user_id",
            at.as_millisecond(),
            id.as_str()
        );
        let user = query.fetch_optional(&mut *connection).await.map_err(store_error)?;
        match &user {
            Some(user) => mark_seen(&mut connection, user, at.as_millisecond()).await,
            None => Ok(None),
        }
    }

    async fn end_browser_sessions(
        &self,
        user: &UserId,
        which: EndedSessions<'_>,
        at: Timestamp,
        known_until: Timestamp,
    ) -> Result<Vec<BrowserSession>, StoreError> {
        let (one, all_but) = ended_session_ids(which);
        // A session that is being added is committed before, and ends as well, or begins after.
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let query = sqlx::query_as!(
            BrowserSessionRow,
            "UPDATE browser_sessions SET ended_at = $4, expires_at = LEAST(expires_at, $5)
             WHERE user_id = $1 AND ended_at IS NULL AND ($2::TEXT IS NULL OR id = $2) AND ($3::TEXT IS NULL OR id <> $3)
             RETURNING id, user_id, method, device, started_at, last_seen_at, expires_at",
            user.as_str(),
            one,
            all_but,
            at.as_millisecond(),
            known_until.as_millisecond()
        );
        let rows = query.fetch_all(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        rows.into_iter().map(BrowserSessionRow::into_session).collect()
    }

    async fn ended_browser_sessions(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let query = sqlx::query!(
            "SELECT id, expires_at FROM browser_sessions WHERE ended_at IS NOT NULL AND expires_at > $1",
            now.as_millisecond()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let session = |id: &str, ends| Ok((parse_column("session id", id)?, to_timestamp(ends)));
        rows.into_iter().map(|row| session(&row.id, row.expires_at)).collect()
    }

    async fn prune_browser_sessions(&self, now: Timestamp) -> Result<(), StoreError> {
        // What another transaction has locked is removed next time: neither waits for the other.
        let query = sqlx::query!(
            "DELETE FROM browser_sessions WHERE id IN
             (SELECT id FROM browser_sessions WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)",
            now.as_millisecond()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}
