//! In which browsers users are signed in.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::SqliteConnection;
use toolyard_core::ports::{BrowserSession, BrowserSessionStore, EndedSessions, StoreError};
use toolyard_protocol::{TokenId, UserId, api::Role};

use super::SqliteStore;
use crate::rows::{
    accounts::column_role,
    browser_sessions::{BrowserSessionRow, ended_session_ids},
    parse_column, store_error, to_timestamp,
};

/// Records that a user was seen, and returns the role of the account at that moment.
async fn mark_seen(tx: &mut SqliteConnection, user: &str, at: i64) -> Result<Option<Role>, StoreError> {
    let sql = "UPDATE accounts SET last_seen_at = MAX(COALESCE(last_seen_at, 0), ?) WHERE user_id = ? RETURNING role";
    let query = sqlx::query_scalar::<_, String>(sql).bind(at).bind(user);
    let role = query.fetch_optional(tx).await.map_err(store_error)?;
    role.as_deref().map(column_role).transpose()
}

#[async_trait]
impl BrowserSessionStore for SqliteStore {
    async fn add_browser_session(
        &self,
        session: &BrowserSession,
        max: u32,
        known_until: Timestamp,
    ) -> Result<Option<Role>, StoreError> {
        let mut tx = self.begin_write().await?;
        let now = session.started_at.as_millisecond();
        let insert = sqlx::query(
            "INSERT INTO browser_sessions (id, user_id, method, device, started_at, last_seen_at, expires_at)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
             WHERE EXISTS (SELECT 1 FROM accounts WHERE user_id = ?2 AND disabled_at IS NULL)",
        );
        let insert = insert
            .bind(session.id.as_str())
            .bind(session.user.as_str())
            .bind(session.method.as_str())
            .bind(&session.device)
            .bind(now)
            .bind(session.last_seen_at.as_millisecond())
            .bind(session.expires_at.as_millisecond());
        if insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() == 0 {
            return Ok(None);
        }
        let surplus = sqlx::query(
            "UPDATE browser_sessions SET ended_at = ?3, expires_at = MIN(expires_at, ?5) WHERE id IN (SELECT id FROM browser_sessions
                 WHERE user_id = ?1 AND ended_at IS NULL AND expires_at > ?3 AND id <> ?4
                 ORDER BY last_seen_at DESC, id LIMIT -1 OFFSET ?2)",
        );
        let surplus = surplus
            .bind(session.user.as_str())
            .bind(max.saturating_sub(1))
            .bind(now)
            .bind(session.id.as_str())
            .bind(known_until.as_millisecond());
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
        let query = sqlx::query_as::<_, BrowserSessionRow>(
            "SELECT * FROM browser_sessions WHERE user_id = ? AND ended_at IS NULL AND expires_at > ?
             ORDER BY last_seen_at DESC, id",
        );
        let query = query.bind(user.as_str()).bind(now.as_millisecond());
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(BrowserSessionRow::into_session).collect()
    }

    async fn touch_browser_session(&self, id: &TokenId, at: Timestamp) -> Result<Option<Role>, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "UPDATE browser_sessions SET last_seen_at = MAX(last_seen_at, ?)
                   WHERE id = ? AND ended_at IS NULL RETURNING user_id";
        let query = sqlx::query_scalar::<_, String>(sql).bind(at.as_millisecond()).bind(id.as_str());
        let user = query.fetch_optional(&mut *tx).await.map_err(store_error)?;
        let role = match &user {
            Some(user) => mark_seen(&mut tx, user, at.as_millisecond()).await?,
            None => None,
        };
        tx.commit().await.map_err(store_error)?;
        Ok(role)
    }

    async fn end_browser_sessions(
        &self,
        user: &UserId,
        which: EndedSessions<'_>,
        at: Timestamp,
        known_until: Timestamp,
    ) -> Result<Vec<BrowserSession>, StoreError> {
        let (one, all_but) = ended_session_ids(which);
        let query = sqlx::query_as::<_, BrowserSessionRow>(
            "UPDATE browser_sessions SET ended_at = ?4, expires_at = MIN(expires_at, ?5) WHERE user_id = ?1 AND ended_at IS NULL
             AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR id <> ?3) RETURNING *",
        );
        let query = query.bind(user.as_str()).bind(one).bind(all_but).bind(at.as_millisecond());
        let query = query.bind(known_until.as_millisecond());
        let rows = query.fetch_all(&self.write).await.map_err(store_error)?;
        rows.into_iter().map(BrowserSessionRow::into_session).collect()
    }

    async fn ended_browser_sessions(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let sql = "SELECT id, expires_at FROM browser_sessions WHERE ended_at IS NOT NULL AND expires_at > ?";
        let query = sqlx::query_as::<_, (String, i64)>(sql).bind(now.as_millisecond());
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(|(id, at)| Ok((parse_column("session id", &id)?, to_timestamp(at)))).collect()
    }

    async fn prune_browser_sessions(&self, now: Timestamp) -> Result<(), StoreError> {
        let query =
            sqlx::query("DELETE FROM browser_sessions WHERE expires_at <= ?").bind(now.as_millisecond());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }
}
