//! Clients that connect by OAuth, and what users granted them.
//!
//! Every transaction that writes several grants locks the tokens: grants end with the token that they were made with, and
//! two transactions that lock the same grants in different orders would wait for each other.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{ClientGrant, OAuthStore, RedeemedCode, StoreError, StoredOAuthClient};
use toolyard_protocol::{TokenId, UserId};

use super::{PostgresStore, WriteLock};
use crate::rows::{
    oauth::{ClientGrantRow, MAX_LISTED, REVOKED_KEPT_MS},
    parse_column, store_error, to_timestamp,
};

#[async_trait]
impl OAuthStore for PostgresStore {
    async fn add_oauth_client(&self, client: &StoredOAuthClient, max: u32) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Table("oauth_clients")]).await?;
        let unneeded = sqlx::query!(
            "DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients
             WHERE NOT EXISTS (SELECT 1 FROM client_grants
                 WHERE client_id = oauth_clients.id AND revoked_at IS NULL AND expires_at > $2)
             ORDER BY created_at LIMIT GREATEST(0, (SELECT COUNT(*) FROM oauth_clients) - $1 + 1))",
            i64::from(max),
            client.created_at.as_millisecond()
        );
        unneeded.execute(&mut *tx).await.map_err(store_error)?;
        let insert = sqlx::query!(
            "INSERT INTO oauth_clients (id, record, created_at)
             SELECT $1, $2, $3 WHERE (SELECT COUNT(*) FROM oauth_clients) < $4 ON CONFLICT DO NOTHING",
            client.id,
            client.record,
            client.created_at.as_millisecond(),
            i64::from(max)
        );
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_added)
    }

    async fn find_oauth_client(&self, id: &str) -> Result<Option<StoredOAuthClient>, StoreError> {
        let query = sqlx::query!("SELECT id, record, created_at FROM oauth_clients WHERE id = $1", id);
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(row.map(|row| StoredOAuthClient {
            id: row.id,
            record: row.record,
            created_at: to_timestamp(row.created_at),
        }))
    }

    async fn add_client_grant(&self, grant: &ClientGrant, max: u32) -> Result<bool, StoreError> {
        // The token it is made with is not revoked between the check and the insert.
        let mut tx = self.begin(&[WriteLock::Table("tokens"), WriteLock::User(&grant.user)]).await?;
        let insert = sqlx::query!(
            "INSERT INTO client_grants (id, user_id, client_id, client_name, client_host, scopes, created_at,
                 last_used_at, expires_at, generation, rotated_at, revoked_at, made_with)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $14 WHERE (SELECT COUNT(*) FROM client_grants
                 WHERE user_id = $2 AND revoked_at IS NULL AND expires_at > $7) < $13
             AND (SELECT COUNT(*) FROM client_grants WHERE user_id = $2) < 10 * $13
             AND NOT EXISTS (SELECT 1 FROM tokens WHERE id = $14 AND revoked_at IS NOT NULL)",
            grant.id.as_str(),
            grant.user.as_str(),
            grant.client_id,
            grant.client_name,
            grant.client_host,
            grant.scopes,
            grant.created_at.as_millisecond(),
            grant.last_used_at.as_millisecond(),
            grant.expires_at.as_millisecond(),
            i64::from(grant.generation),
            grant.rotated_at.map(Timestamp::as_millisecond),
            grant.revoked_at.map(Timestamp::as_millisecond),
            i64::from(max),
            grant.made_with.as_ref().map(TokenId::as_str)
        );
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_added)
    }

    async fn find_client_grant(&self, id: &TokenId) -> Result<Option<ClientGrant>, StoreError> {
        let query = sqlx::query_as!(
            ClientGrantRow,
            "SELECT id, user_id, client_id, client_name, client_host, scopes, made_with, created_at, last_used_at,
                 expires_at, generation, rotated_at, revoked_at
             FROM client_grants WHERE id = $1",
            id.as_str()
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(ClientGrantRow::into_grant).transpose()
    }

    async fn list_client_grants(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ClientGrant>, StoreError> {
        let query = sqlx::query_as!(
            ClientGrantRow,
            "SELECT id, user_id, client_id, client_name, client_host, scopes, made_with, created_at, last_used_at,
                 expires_at, generation, rotated_at, revoked_at
             FROM client_grants WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2
             ORDER BY created_at DESC, id LIMIT $3",
            user.as_str(),
            now.as_millisecond(),
            MAX_LISTED
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(ClientGrantRow::into_grant).collect()
    }

    async fn rotate_client_grant(
        &self,
        id: &TokenId,
        generation: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "UPDATE client_grants SET generation = generation + 1, rotated_at = $1, last_used_at = $1
             WHERE id = $2 AND generation = $3 AND revoked_at IS NULL",
            now.as_millisecond(),
            id.as_str(),
            i64::from(generation)
        );
        let rotated = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(rotated.rows_affected() > 0)
    }

    async fn revoke_client_grant(
        &self,
        id: &TokenId,
        user: Option<&UserId>,
        now: Timestamp,
    ) -> Result<Option<ClientGrant>, StoreError> {
        let query = sqlx::query_as!(
            ClientGrantRow,
            "UPDATE client_grants SET revoked_at = $1, expires_at = LEAST(expires_at, $1::BIGINT + $4)
             WHERE id = $2 AND revoked_at IS NULL AND ($3::TEXT IS NULL OR user_id = $3)
             RETURNING id, user_id, client_id, client_name, client_host, scopes, made_with, created_at, last_used_at,
                 expires_at, generation, rotated_at, revoked_at",
            now.as_millisecond(),
            id.as_str(),
            user.map(UserId::as_str),
            REVOKED_KEPT_MS
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(ClientGrantRow::into_grant).transpose()
    }

    async fn revoke_client_grants_of(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ClientGrant>, StoreError> {
        let mut tx = self.begin(&[WriteLock::Table("tokens")]).await?;
        let query = sqlx::query_as!(
            ClientGrantRow,
            "UPDATE client_grants SET revoked_at = $1, expires_at = LEAST(expires_at, $1::BIGINT + $3)
             WHERE user_id = $2 AND revoked_at IS NULL AND expires_at > $1
             RETURNING id, user_id, client_id, client_name, client_host, scopes, made_with, created_at, last_used_at,
                 expires_at, generation, rotated_at, revoked_at",
            now.as_millisecond(),
            user.as_str(),
            REVOKED_KEPT_MS
        );
        let rows = query.fetch_all(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        rows.into_iter().map(ClientGrantRow::into_grant).collect()
    }

    async fn revoked_client_grants(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let query = sqlx::query!(
            "SELECT id, expires_at FROM client_grants WHERE revoked_at IS NOT NULL AND expires_at > $1",
            now.as_millisecond()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let grant = |id: &str, ends| Ok((parse_column("grant id", id)?, to_timestamp(ends)));
        rows.into_iter().map(|row| grant(&row.id, row.expires_at)).collect()
    }

    async fn add_code(
        &self,
        hash: &[u8; 32],
        grant: &TokenId,
        binding: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO authorization_codes (hash, grant_id, binding, until) VALUES ($1, $2, $3, $4)",
            hash.as_slice(),
            grant.as_str(),
            binding,
            until.as_millisecond()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn redeem_code(&self, hash: &[u8; 32], now: Timestamp) -> Result<RedeemedCode, StoreError> {
        let mut connection = self.connect().await?;
        let query = sqlx::query!(
            "UPDATE authorization_codes SET used_at = $1 WHERE hash = $2 AND used_at IS NULL
             RETURNING grant_id, binding",
            now.as_millisecond(),
            hash.as_slice()
        );
        if let Some(row) = query.fetch_optional(&mut *connection).await.map_err(store_error)? {
            let grant = parse_column("grant id", &row.grant_id)?;
            return Ok(RedeemedCode::Fresh { grant, binding: row.binding });
        }
        let query =
            sqlx::query_scalar!("SELECT grant_id FROM authorization_codes WHERE hash = $1", hash.as_slice());
        match query.fetch_optional(&mut *connection).await.map_err(store_error)? {
            Some(grant) => Ok(RedeemedCode::Used { grant: parse_column("grant id", &grant)? }),
            None => Ok(RedeemedCode::Unknown),
        }
    }

    async fn use_id_once(&self, id: &str, until: Timestamp) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "INSERT INTO used_ids (id, until) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            id,
            until.as_millisecond()
        );
        let used = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(used.rows_affected() > 0)
    }

    async fn prune_oauth(&self, now: Timestamp) -> Result<(), StoreError> {
        let now = now.as_millisecond();
        let mut tx = self.begin(&[WriteLock::Table("tokens")]).await?;
        for query in [
            // Nobody redeemed the code, so nobody uses the grant.
            sqlx::query!(
                "UPDATE client_grants SET revoked_at = $1 WHERE revoked_at IS NULL AND id IN
                     (SELECT grant_id FROM authorization_codes WHERE until <= $1 AND used_at IS NULL)",
                now
            ),
            sqlx::query!("DELETE FROM used_ids WHERE until <= $1", now),
            sqlx::query!("DELETE FROM authorization_codes WHERE until <= $1", now),
            sqlx::query!("DELETE FROM client_grants WHERE expires_at <= $1", now),
        ] {
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)
    }
}
