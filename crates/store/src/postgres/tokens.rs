//! Issued tokens.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{Connection as _, PgConnection};
use toolyard_core::ports::{
    AddTokenOutcome, IssuedToken, IssuedTokenStore, RevokedTokens, StoreError, TokenCursor, TokenQuota,
    TokenScope,
};
use toolyard_protocol::{TokenId, api::Role};

use super::{
    PostgresSettings, PostgresStore, WriteLock, locks::take_locks, maintenance::has_tables, prepare_database,
};
use crate::rows::{parse_column, store_error, to_timestamp, tokens::TokenRow};

/// All roles up to this one.
fn roles_up_to(up_to: Role) -> Vec<String> {
    Role::ALL.into_iter().filter(|role| *role <= up_to).map(|role| role.as_str().to_owned()).collect()
}

/// Adds a token in the caller's transaction, which has the tokens to itself, if the quota allows it.
pub(super) async fn insert_token(
    to: &mut PgConnection,
    token: &IssuedToken,
    room: TokenQuota,
) -> Result<AddTokenOutcome, StoreError> {
    let count = sqlx::query!(
        r#"SELECT COUNT(*) AS "all!", COUNT(*) FILTER (WHERE subject = $1) AS "own!" FROM tokens
           WHERE expires_at > $2"#,
        token.subject,
        token.created_at.as_millisecond()
    );
    let count = count.fetch_one(&mut *to).await.map_err(store_error)?;
    if count.all >= i64::from(room.of_all) || count.own >= i64::from(room.of_subject) {
        return Ok(AddTokenOutcome::QuotaReached);
    }
    let made_with = token.made_with.as_ref().map(TokenId::as_str);
    // The token it is issued with may have been revoked meanwhile.
    let is_revoked = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM tokens WHERE id = $1 AND revoked_at IS NOT NULL) AS "is_revoked!""#,
        made_with
    );
    if is_revoked.fetch_one(&mut *to).await.map_err(store_error)? {
        return Ok(AddTokenOutcome::Revoked);
    }
    let insert = sqlx::query!(
        "INSERT INTO tokens (id, name, subject, role, created_at, expires_at, created_by, made_with)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        token.id.as_str(),
        token.name,
        token.subject,
        token.role.as_str(),
        token.created_at.as_millisecond(),
        token.expires_at.as_millisecond(),
        token.created_by,
        made_with
    );
    insert.execute(&mut *to).await.map_err(store_error)?;
    Ok(AddTokenOutcome::Listed)
}

/// What a user granted with a token ends with it; the change log tells every node.
async fn revoke_grants_made_with(
    tx: &mut PgConnection,
    tokens: &[TokenRow],
    at: Timestamp,
) -> Result<(), StoreError> {
    let ids: Vec<String> = tokens.iter().map(|token| token.id.clone()).collect();
    let query = sqlx::query!(
        "UPDATE client_grants SET revoked_at = $1 WHERE made_with = ANY($2) AND revoked_at IS NULL",
        at.as_millisecond(),
        &ids
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl IssuedTokenStore for PostgresStore {
    async fn list_tokens(
        &self,
        scope: TokenScope<'_>,
        after: Option<&TokenCursor>,
        limit: u32,
    ) -> Result<Vec<IssuedToken>, StoreError> {
        let query = sqlx::query_as!(
            TokenRow,
            "SELECT id, name, subject, role, created_at, expires_at, created_by, made_with, revoked_at FROM tokens
             WHERE ($1::TEXT IS NULL OR subject = $1) AND role = ANY($2)
             AND ($3::BIGINT IS NULL OR (created_at, id) < ($3, $4)) ORDER BY created_at DESC, id DESC LIMIT $5",
            scope.subject,
            &roles_up_to(scope.role),
            after.map(|place| place.created_at.as_millisecond()),
            after.map(|place| place.id.as_str()),
            i64::from(limit)
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(TokenRow::into_token).collect()
    }

    async fn count_valid_tokens(&self, subject: &str, now: Timestamp) -> Result<usize, StoreError> {
        let query = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM tokens
               WHERE subject = $1 AND revoked_at IS NULL AND expires_at > $2"#,
            subject,
            now.as_millisecond()
        );
        let count = query.fetch_one(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    async fn add_token(&self, token: &IssuedToken, room: TokenQuota) -> Result<AddTokenOutcome, StoreError> {
        // The bounds are for all tokens together; and no token is revoked between the check and the insert.
        let mut tx = self.begin(&[WriteLock::Table("tokens")]).await?;
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
        let mut tx = self.begin(&[WriteLock::Table("tokens")]).await?;
        let query = sqlx::query_as!(
            TokenRow,
            "WITH RECURSIVE gone (id) AS (
                 SELECT id FROM tokens WHERE id = $1 AND ($2::TEXT IS NULL OR subject = $2) AND role = ANY($3)
                 UNION SELECT $1 WHERE $2 IS NULL
                 UNION SELECT tokens.id FROM tokens JOIN gone ON tokens.made_with = gone.id
             )
             UPDATE tokens SET revoked_at = COALESCE(revoked_at, $4) WHERE id IN (SELECT id FROM gone)
             RETURNING id, name, subject, role, created_at, expires_at, created_by, made_with, revoked_at",
            id.as_str(),
            scope.subject,
            &roles_up_to(scope.role),
            at.as_millisecond()
        );
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
        let mut tx = self.begin(&[WriteLock::Table("tokens")]).await?;
        let query = sqlx::query_as!(
            TokenRow,
            "WITH RECURSIVE gone (id) AS (
                 SELECT id FROM tokens WHERE subject = $1 OR ($3 AND created_by = $1)
                 UNION SELECT tokens.id FROM tokens JOIN gone ON tokens.made_with = gone.id
             )
             UPDATE tokens SET revoked_at = $2 WHERE revoked_at IS NULL AND expires_at > $2
             AND id IN (SELECT id FROM gone)
             RETURNING id, name, subject, role, created_at, expires_at, created_by, made_with, revoked_at",
            subject,
            at.as_millisecond(),
            which == RevokedTokens::OwnAndIssued
        );
        let rows = query.fetch_all(&mut *tx).await.map_err(store_error)?;
        revoke_grants_made_with(&mut tx, &rows, at).await?;
        tx.commit().await.map_err(store_error)?;
        rows.into_iter().map(TokenRow::into_token).collect()
    }

    async fn revoked_tokens(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let query = sqlx::query!(
            "SELECT id, expires_at FROM tokens WHERE expires_at > $1 AND revoked_at IS NOT NULL",
            now.as_millisecond()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let token = |id: &str, ends| Ok((parse_column("token id", id)?, to_timestamp(ends)));
        rows.into_iter().map(|row| token(&row.id, row.expires_at)).collect()
    }

    async fn remove_expired_tokens(&self, ended: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.begin(&[WriteLock::Table("tokens")]).await?;
        // A token that issued others stays as long as they do, so that they can be revoked through it.
        let query = sqlx::query!(
            "DELETE FROM tokens WHERE expires_at <= $1
             AND NOT EXISTS (SELECT 1 FROM tokens AS made WHERE made.made_with = tokens.id)",
            ended.as_millisecond()
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)
    }
}

/// Adds a token to the list of a store that a server may have open. Does not migrate tables, because that server may be older.
/// Creates them if there are none.
pub(crate) async fn list_token(
    settings: &PostgresSettings,
    token: &IssuedToken,
    room: TokenQuota,
) -> Result<AddTokenOutcome, StoreError> {
    let mut connection = settings.connect_once().await.map_err(store_error)?;
    if !has_tables(&mut connection).await.map_err(store_error)? {
        let prepared = prepare_database(settings).await;
        prepared.map_err(|error| StoreError::Failed(error.to_string()))?;
    }
    let mut tx = connection.begin().await.map_err(store_error)?;
    take_locks(&mut tx, &[WriteLock::Table("tokens")]).await?;
    let added = insert_token(&mut tx, token, room).await?;
    tx.commit().await.map_err(store_error)?;
    connection.close().await.map_err(store_error)?;
    Ok(added)
}
