//! How users sign in: passwords, passkeys, and identities of issuers.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::SqliteConnection;
use toolyard_core::ports::{
    RemoveMethodOutcome, SignInMethods, SignInStore, StoreError, StoredPasskey, StoredPassword,
};
use toolyard_protocol::UserId;

use super::SqliteStore;
use crate::rows::{
    sign_in::{PasskeyRow, removal_outcome},
    store_error, to_timestamp,
};

/// How many ways a user has to sign in.
async fn count_methods(tx: &mut SqliteConnection, user: &UserId) -> Result<i64, StoreError> {
    let sql = "SELECT (SELECT COUNT(*) FROM passwords WHERE user_id = ?1) + (SELECT COUNT(*) FROM passkeys WHERE user_id = ?1)
               + (SELECT COUNT(*) FROM identities WHERE user_id = ?1)";
    sqlx::query_scalar(sql).bind(user.as_str()).fetch_one(tx).await.map_err(store_error)
}

#[async_trait]
impl SignInStore for SqliteStore {
    async fn sign_in_methods(&self, user: &UserId) -> Result<SignInMethods, StoreError> {
        let sql = "SELECT hash, changed_at FROM passwords WHERE user_id = ?";
        let password = sqlx::query_as::<_, (String, i64)>(sql).bind(user.as_str());
        let password = password.fetch_optional(&self.read).await.map_err(store_error)?;
        let sql = "SELECT * FROM passkeys WHERE user_id = ? ORDER BY created_at, id";
        let passkeys = sqlx::query_as::<_, PasskeyRow>(sql).bind(user.as_str());
        let passkeys = passkeys.fetch_all(&self.read).await.map_err(store_error)?;
        let sql = "SELECT COUNT(*) FROM identities WHERE user_id = ?";
        let identities = sqlx::query_scalar::<_, u32>(sql).bind(user.as_str());
        Ok(SignInMethods {
            password: password.map(|(hash, at)| StoredPassword { hash, changed_at: to_timestamp(at) }),
            passkeys: passkeys.into_iter().map(StoredPasskey::from).collect(),
            identities: identities.fetch_one(&self.read).await.map_err(store_error)?,
        })
    }

    async fn set_password(&self, user: &UserId, password: &StoredPassword) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO passwords (user_id, hash, changed_at) VALUES (?, ?, ?)";
        let query = sqlx::query(sql)
            .bind(user.as_str())
            .bind(&password.hash)
            .bind(password.changed_at.as_millisecond());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }

    async fn remove_password(&self, user: &UserId) -> Result<RemoveMethodOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        let count = count_methods(&mut tx, user).await?;
        let query = sqlx::query("DELETE FROM passwords WHERE user_id = ?").bind(user.as_str());
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        let outcome = removal_outcome(removed, count);
        if outcome == RemoveMethodOutcome::Removed {
            tx.commit().await.map_err(store_error)?;
        }
        Ok(outcome)
    }

    async fn add_passkey(&self, passkey: &StoredPasskey, max: u32) -> Result<bool, StoreError> {
        let insert = sqlx::query(
            "INSERT OR IGNORE INTO passkeys (id, user_id, name, record, created_at, last_used_at)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT COUNT(*) FROM passkeys WHERE user_id = ?2) < ?7",
        );
        let insert = insert
            .bind(&passkey.id)
            .bind(passkey.user.as_str())
            .bind(&passkey.name)
            .bind(&passkey.record)
            .bind(passkey.created_at.as_millisecond())
            .bind(passkey.last_used_at.map(Timestamp::as_millisecond))
            .bind(max);
        Ok(insert.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn find_passkey(&self, id: &str) -> Result<Option<StoredPasskey>, StoreError> {
        let query = sqlx::query_as::<_, PasskeyRow>("SELECT * FROM passkeys WHERE id = ?").bind(id);
        Ok(query.fetch_optional(&self.read).await.map_err(store_error)?.map(StoredPasskey::from))
    }

    async fn use_passkey(
        &self,
        read: &StoredPasskey,
        record: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql =
            "UPDATE passkeys SET record = ?, last_used_at = ? WHERE id = ? AND user_id = ? AND record = ?";
        let query = sqlx::query(sql)
            .bind(record)
            .bind(at.as_millisecond())
            .bind(&read.id)
            .bind(read.user.as_str())
            .bind(&read.record);
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn remove_passkey(&self, user: &UserId, id: &str) -> Result<RemoveMethodOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        let count = count_methods(&mut tx, user).await?;
        let query =
            sqlx::query("DELETE FROM passkeys WHERE user_id = ? AND id = ?").bind(user.as_str()).bind(id);
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        let outcome = removal_outcome(removed, count);
        if outcome == RemoveMethodOutcome::Removed {
            tx.commit().await.map_err(store_error)?;
        }
        Ok(outcome)
    }

    async fn find_identity(&self, issuer: &str, subject: &str) -> Result<Option<UserId>, StoreError> {
        let sql = "SELECT user_id FROM identities WHERE issuer = ? AND subject = ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(issuer).bind(subject);
        let user = query.fetch_optional(&self.read).await.map_err(store_error)?;
        Ok(user.map(|user| UserId::from_stored(&user)))
    }

    async fn add_identity(&self, issuer: &str, subject: &str, user: &UserId) -> Result<bool, StoreError> {
        let mut tx = self.begin_write().await?;
        let sql = "INSERT OR IGNORE INTO identities (issuer, subject, user_id) VALUES (?, ?, ?)";
        let query = sqlx::query(sql).bind(issuer).bind(subject).bind(user.as_str());
        query.execute(&mut *tx).await.map_err(store_error)?;
        let sql = "SELECT user_id FROM identities WHERE issuer = ? AND subject = ?";
        let query = sqlx::query_scalar::<_, String>(sql).bind(issuer).bind(subject);
        let is_theirs = query.fetch_one(&mut *tx).await.map_err(store_error)? == user.as_str();
        tx.commit().await.map_err(store_error)?;
        Ok(is_theirs)
    }
}
