//! Clients that connect by OAuth, and what users granted them.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{ClientGrant, OAuthStore, RedeemedCode, StoreError, StoredOAuthClient};
use toolyard_protocol::{TokenId, UserId};

use super::SqliteStore;
use crate::rows::{
    oauth::{ClientGrantRow, MAX_LISTED, REVOKED_KEPT_MS},
    parse_column, store_error, to_timestamp,
};

#[async_trait]
impl OAuthStore for SqliteStore {
    async fn add_oauth_client(&self, client: &StoredOAuthClient, max: u32) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let unneeded = sqlx::query(
            "DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients
             WHERE NOT EXISTS (SELECT 1 FROM client_grants
                 WHERE client_id = oauth_clients.id AND revoked_at IS NULL AND expires_at > ?2)
             ORDER BY created_at LIMIT MAX(0, (SELECT COUNT(*) FROM oauth_clients) - ?1 + 1))",
        );
        let now = client.created_at.as_millisecond();
        unneeded.bind(max).bind(now).execute(&mut *tx).await.map_err(store_error)?;
        let insert = sqlx::query(
            "INSERT OR IGNORE INTO oauth_clients (id, record, created_at)
             SELECT ?1, ?2, ?3 WHERE (SELECT COUNT(*) FROM oauth_clients) < ?4",
        );
        let insert =
            insert.bind(&client.id).bind(&client.record).bind(client.created_at.as_millisecond()).bind(max);
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_added)
    }

    async fn find_oauth_client(&self, id: &str) -> Result<Option<StoredOAuthClient>, StoreError> {
        let sql = "SELECT id, record, created_at FROM oauth_clients WHERE id = ?";
        let query = sqlx::query_as::<_, (String, String, i64)>(sql).bind(id);
        let row = query.fetch_optional(&self.read).await.map_err(store_error)?;
        Ok(row.map(|(id, record, at)| StoredOAuthClient { id, record, created_at: to_timestamp(at) }))
    }

    async fn add_client_grant(&self, grant: &ClientGrant, max: u32) -> Result<bool, StoreError> {
        let insert = sqlx::query(
            "INSERT INTO client_grants (id, user_id, client_id, client_name, client_host, scopes, created_at, last_used_at,
                 expires_at, generation, rotated_at, revoked_at, made_with)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?14 WHERE (SELECT COUNT(*) FROM client_grants
                 WHERE user_id = ?2 AND revoked_at IS NULL AND expires_at > ?7) < ?13
             AND (SELECT COUNT(*) FROM client_grants WHERE user_id = ?2) < 10 * ?13
             AND NOT EXISTS (SELECT 1 FROM tokens WHERE id = ?14 AND revoked_at IS NOT NULL)",
        );
        let insert = insert
            .bind(grant.id.as_str())
            .bind(grant.user.as_str())
            .bind(&grant.client_id)
            .bind(&grant.client_name)
            .bind(&grant.client_host)
            .bind(&grant.scopes)
            .bind(grant.created_at.as_millisecond())
            .bind(grant.last_used_at.as_millisecond())
            .bind(grant.expires_at.as_millisecond())
            .bind(i64::from(grant.generation))
            .bind(grant.rotated_at.map(Timestamp::as_millisecond))
            .bind(grant.revoked_at.map(Timestamp::as_millisecond))
            .bind(max)
            .bind(grant.made_with.as_ref().map(TokenId::as_str));
        Ok(insert.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn find_client_grant(&self, id: &TokenId) -> Result<Option<ClientGrant>, StoreError> {
        let query = sqlx::query_as::<_, ClientGrantRow>("SELECT * FROM client_grants WHERE id = ?");
        let row = query.bind(id.as_str()).fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(ClientGrantRow::into_grant).transpose()
    }

    async fn list_client_grants(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ClientGrant>, StoreError> {
        let query = sqlx::query_as::<_, ClientGrantRow>(
            "SELECT * FROM client_grants WHERE user_id = ? AND revoked_at IS NULL AND expires_at > ?
             ORDER BY created_at DESC, id LIMIT ?",
        );
        let query = query.bind(user.as_str()).bind(now.as_millisecond()).bind(MAX_LISTED);
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(ClientGrantRow::into_grant).collect()
    }

    async fn rotate_client_grant(
        &self,
        id: &TokenId,
        generation: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query(
            "UPDATE client_grants SET generation = generation + 1, rotated_at = ?1, last_used_at = ?1
             WHERE id = ?2 AND generation = ?3 AND revoked_at IS NULL",
        );
        let query = query.bind(now.as_millisecond()).bind(id.as_str()).bind(i64::from(generation));
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn revoke_client_grant(
        &self,
        id: &TokenId,
        user: Option<&UserId>,
        now: Timestamp,
    ) -> Result<Option<ClientGrant>, StoreError> {
        let query = sqlx::query_as::<_, ClientGrantRow>(
            "UPDATE client_grants SET revoked_at = ?1, expires_at = MIN(expires_at, ?1 + ?4)
             WHERE id = ?2 AND revoked_at IS NULL AND (?3 IS NULL OR user_id = ?3) RETURNING *",
        );
        let query = query
            .bind(now.as_millisecond())
            .bind(id.as_str())
            .bind(user.map(UserId::as_str))
            .bind(REVOKED_KEPT_MS);
        let row = query.fetch_optional(&self.write).await.map_err(store_error)?;
        row.map(ClientGrantRow::into_grant).transpose()
    }

    async fn revoke_client_grants_of(
        &self,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ClientGrant>, StoreError> {
        let query = sqlx::query_as::<_, ClientGrantRow>(
            "UPDATE client_grants SET revoked_at = ?1, expires_at = MIN(expires_at, ?1 + ?3)
             WHERE user_id = ?2 AND revoked_at IS NULL AND expires_at > ?1 RETURNING *",
        );
        let query = query.bind(now.as_millisecond()).bind(user.as_str()).bind(REVOKED_KEPT_MS);
        let rows = query.fetch_all(&self.write).await.map_err(store_error)?;
        rows.into_iter().map(ClientGrantRow::into_grant).collect()
    }

    async fn revoked_client_grants(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let sql = "SELECT id, expires_at FROM client_grants WHERE revoked_at IS NOT NULL AND expires_at > ?";
        let query = sqlx::query_as::<_, (String, i64)>(sql).bind(now.as_millisecond());
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(|(id, at)| Ok((parse_column("grant id", &id)?, to_timestamp(at)))).collect()
    }

    async fn add_code(
        &self,
        hash: &[u8; 32],
        grant: &TokenId,
        binding: &str,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO authorization_codes (hash, grant_id, binding, until) VALUES (?, ?, ?, ?)";
        let query = sqlx::query(sql)
            .bind(hash.as_slice())
            .bind(grant.as_str())
            .bind(binding)
            .bind(until.as_millisecond());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }

    async fn redeem_code(&self, hash: &[u8; 32], now: Timestamp) -> Result<RedeemedCode, StoreError> {
        let query = sqlx::query_as::<_, (String, String)>(
            "UPDATE authorization_codes SET used_at = ? WHERE hash = ? AND used_at IS NULL RETURNING grant_id, binding",
        );
        let query = query.bind(now.as_millisecond()).bind(hash.as_slice());
        if let Some((grant, binding)) = query.fetch_optional(&self.write).await.map_err(store_error)? {
            return Ok(RedeemedCode::Fresh { grant: parse_column("grant id", &grant)?, binding });
        }
        let sql = "SELECT grant_id FROM authorization_codes WHERE hash = ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(hash.as_slice());
        match query.fetch_optional(&self.write).await.map_err(store_error)? {
            Some(grant) => Ok(RedeemedCode::Used { grant: parse_column("grant id", &grant)? }),
            None => Ok(RedeemedCode::Unknown),
        }
    }

    async fn use_id_once(&self, id: &str, until: Timestamp) -> Result<bool, StoreError> {
        let sql = "INSERT OR IGNORE INTO used_ids (id, until) VALUES (?, ?)";
        let query = sqlx::query(sql).bind(id).bind(until.as_millisecond());
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn prune_oauth(&self, now: Timestamp) -> Result<(), StoreError> {
        for sql in [
            // Nobody redeemed the code, so nobody uses the grant.
            "UPDATE client_grants SET revoked_at = ?1 WHERE revoked_at IS NULL AND id IN
                 (SELECT grant_id FROM authorization_codes WHERE until <= ?1 AND used_at IS NULL)",
            "DELETE FROM used_ids WHERE until <= ?",
            "DELETE FROM authorization_codes WHERE until <= ?",
            "DELETE FROM client_grants WHERE expires_at <= ?",
        ] {
            let query = sqlx::query(sql).bind(now.as_millisecond());
            query.execute(&self.write).await.map_err(store_error)?;
        }
        Ok(())
    }
}
