//! Issued tokens.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{Sqlite, SqliteConnection};
use toolyard_core::ports::{
    AddTokenOutcome, IssuedToken, IssuedTokenStore, RevokedTokens, StoreError, TokenCursor, TokenQuota,
    TokenScope,
};
use toolyard_protocol::{TokenId, api::Role};

use super::SqliteStore;
use crate::rows::{parse_column, store_error, to_timestamp, tokens::TokenRow};

/// All roles up to this one, as JSON.
fn roles_up_to(up_to: Role) -> String {
    let names: Vec<_> = Role::ALL.into_iter().filter(|role| *role <= up_to).map(Role::as_str).collect();
    serde_json::json!(names).to_string()
}

/// Adds a token in the caller's transaction, if the quota allows it.
pub(super) async fn insert_token(
    to: &mut SqliteConnection,
    token: &IssuedToken,
    room: TokenQuota,
) -> Result<AddTokenOutcome, StoreError> {
    let now = token.created_at.as_millisecond();
    let count = sqlx::query_as::<Sqlite, (i64, i64)>(
        "SELECT COUNT(*), COALESCE(SUM(subject = ?1), 0) FROM tokens WHERE expires_at > ?2",
    );
    let (all, own) = count.bind(&token.subject).bind(now).fetch_one(&mut *to).await.map_err(store_error)?;
    if all >= i64::from(room.of_all) || own >= i64::from(room.of_subject) {
        return Ok(AddTokenOutcome::QuotaReached);
    }
    // The token it is issued with may have been revoked meanwhile.
    let called_back = sqlx::query_as::<Sqlite, (i64,)>(
        "SELECT EXISTS (SELECT 1 FROM tokens WHERE id = ? AND revoked_at IS NOT NULL)",
    );
    let made_with = token.made_with.as_ref().map(TokenId::as_str);
    if called_back.bind(made_with).fetch_one(&mut *to).await.map_err(store_error)?.0 != 0 {
        return Ok(AddTokenOutcome::Revoked);
    }
    let insert = sqlx::query(
        "INSERT INTO tokens (id, name, subject, role, created_at, expires_at, created_by, made_with)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    let insert = insert
        .bind(token.id.as_str())
        .bind(&token.name)
        .bind(&token.subject)
        .bind(token.role.as_str())
        .bind(now)
        .bind(token.expires_at.as_millisecond())
        .bind(&token.created_by)
        .bind(made_with);
    insert.execute(to).await.map_err(store_error)?;
    Ok(AddTokenOutcome::Listed)
}

/// What a user granted with a token ends with it; the change log tells every node.
async fn revoke_grants_made_with(
    tx: &mut SqliteConnection,
    tokens: &[TokenRow],
    at: Timestamp,
) -> Result<(), StoreError> {
    for token in tokens {
        let sql = "UPDATE client_grants SET revoked_at = ? WHERE made_with = ? AND revoked_at IS NULL";
        let ended = sqlx::query(sql).bind(at.as_millisecond()).bind(&token.id);
        ended.execute(&mut *tx).await.map_err(store_error)?;
    }
    Ok(())
}

#[async_trait]
impl IssuedTokenStore for SqliteStore {
    async fn list_tokens(
        &self,
        scope: TokenScope<'_>,
        after: Option<&TokenCursor>,
        limit: u32,
    ) -> Result<Vec<IssuedToken>, StoreError> {
        let query = sqlx::query_as::<_, TokenRow>(
            "SELECT * FROM tokens WHERE (?1 IS NULL OR subject = ?1) AND role IN (SELECT value FROM json_each(?2))
             AND (?3 IS NULL OR (created_at, id) < (?3, ?4)) ORDER BY created_at DESC, id DESC LIMIT ?5",
        );
        let query = query
            .bind(scope.subject)
            .bind(roles_up_to(scope.role))
            .bind(after.map(|place| place.created_at.as_millisecond()))
            .bind(after.map(|place| place.id.as_str()))
            .bind(limit);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(TokenRow::into_token).collect()
    }

    async fn count_valid_tokens(&self, subject: &str, now: Timestamp) -> Result<usize, StoreError> {
        let sql = "SELECT COUNT(*) FROM tokens WHERE subject = ? AND revoked_at IS NULL AND expires_at > ?";
        let query = sqlx::query_scalar::<_, u32>(sql).bind(subject).bind(now.as_millisecond());
        Ok(query.fetch_one(&self.read).await.map_err(store_error)? as usize)
    }

    async fn add_token(&self, token: &IssuedToken, room: TokenQuota) -> Result<AddTokenOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        let added = insert_token(&mut tx, token, room).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(added)
    }

    async fn revoke_token(
        &self,
        id: &TokenId,
        scope: TokenScope<'_>,
        at: Timestamp,
    ) -> Result<Vec<IssuedToken>, StoreError> {
        let query = sqlx::query_as::<_, TokenRow>(
            "WITH RECURSIVE gone (id) AS (
                 SELECT id FROM tokens WHERE id = ?1 AND (?2 IS NULL OR subject = ?2)
                 AND role IN (SELECT value FROM json_each(?3))
                 UNION SELECT ?1 WHERE ?2 IS NULL
                 UNION SELECT tokens.id FROM tokens JOIN gone ON tokens.made_with = gone.id
             )
             UPDATE tokens SET revoked_at = COALESCE(revoked_at, ?4) WHERE id IN (SELECT id FROM gone) RETURNING *",
        );
        let query = query
            .bind(id.as_str())
            .bind(scope.subject)
            .bind(roles_up_to(scope.role))
            .bind(at.as_millisecond());
        let mut tx = self.begin_write().await?;
        let rows = query.fetch_all(&mut *tx).await.map_err(store_error)?;
        revoke_grants_made_with(&mut tx, &rows, at).await?;
        tx.commit().await.map_err(store_error)?;
        rows.into_iter().map(TokenRow::into_token).collect()
    }

    async fn revoke_tokens_of(
        &self,
        subject: &str,
        which: RevokedTokens,
        at: Timestamp,
    ) -> Result<Vec<IssuedToken>, StoreError> {
        let query = sqlx::query_as::<_, TokenRow>(
            "WITH RECURSIVE gone (id) AS (
                 SELECT id FROM tokens WHERE subject = ?1 OR (?3 AND created_by = ?1)
                 UNION SELECT tokens.id FROM tokens JOIN gone ON tokens.made_with = gone.id
             )
             UPDATE tokens SET revoked_at = ?2 WHERE revoked_at IS NULL AND expires_at > ?2
             AND id IN (SELECT id FROM gone) RETURNING *",
        );
        let mut tx = self.begin_write().await?;
        let query = query.bind(subject).bind(at.as_millisecond()).bind(which == RevokedTokens::OwnAndIssued);
        let rows = query.fetch_all(&mut *tx).await.map_err(store_error)?;
        revoke_grants_made_with(&mut tx, &rows, at).await?;
        tx.commit().await.map_err(store_error)?;
        rows.into_iter().map(TokenRow::into_token).collect()
    }

    async fn revoked_tokens(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let query = sqlx::query_as::<_, (String, i64)>(
            "SELECT id, expires_at FROM tokens WHERE expires_at > ? AND revoked_at IS NOT NULL",
        );
        let rows = query.bind(now.as_millisecond()).fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(|(id, ends)| Ok((parse_column("token id", &id)?, to_timestamp(ends)))).collect()
    }

    async fn remove_expired_tokens(&self, ended: Timestamp) -> Result<(), StoreError> {
        // A token that issued others stays as long as they do, so that they can be revoked through it.
        let forget = sqlx::query(
            "DELETE FROM tokens WHERE expires_at <= ?
             AND NOT EXISTS (SELECT 1 FROM tokens AS made WHERE made.made_with = tokens.id)",
        )
        .bind(ended.as_millisecond());
        forget.execute(&self.write).await.map(drop).map_err(store_error)
    }
}
