//! How users sign in: passwords, passkeys, and identities of issuers.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::PgConnection;
use toolyard_core::ports::{
    RemoveMethodOutcome, SignInMethods, SignInStore, StoreError, StoredPasskey, StoredPassword,
};
use toolyard_protocol::UserId;

use super::{PostgresStore, WriteLock};
use crate::rows::{
    sign_in::{PasskeyRow, removal_outcome},
    store_error, to_timestamp,
};

/// How many ways a user has to sign in. Removals lock the user: of two at once, the second counts what the first left.
async fn count_methods(tx: &mut PgConnection, user: &UserId) -> Result<i64, StoreError> {
    let query = sqlx::query_scalar!(
        r#"SELECT (SELECT COUNT(*) FROM passwords WHERE user_id = $1) + (SELECT COUNT(*) FROM passkeys WHERE user_id = $1)
               + (SELECT COUNT(*) FROM identities WHERE user_id = $1) AS "count!""#,
        user.as_str()
    );
    query.fetch_one(tx).await.map_err(store_error)
}

#[async_trait]
impl SignInStore for PostgresStore {
    async fn sign_in_methods(&self, user: &UserId) -> Result<SignInMethods, StoreError> {
        let mut connection = self.connect().await?;
        let password =
            sqlx::query!("SELECT hash, changed_at FROM passwords WHERE user_id = $1", user.as_str());
        let password = password.fetch_optional(&mut *connection).await.map_err(store_error)?;
        let passkeys = sqlx::query_as!(
            PasskeyRow,
            "SELECT id, user_id, name, record, created_at, last_used_at FROM passkeys WHERE user_id = $1
             ORDER BY created_at, id",
            user.as_str()
        );
        let passkeys = passkeys.fetch_all(&mut *connection).await.map_err(store_error)?;
        let identities = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM identities WHERE user_id = $1"#,
            user.as_str()
        );
        let identities = identities.fetch_one(&mut *connection).await.map_err(store_error)?;
        Ok(SignInMethods {
            password: password
                .map(|row| StoredPassword { hash: row.hash, changed_at: to_timestamp(row.changed_at) }),
            passkeys: passkeys.into_iter().map(StoredPasskey::from).collect(),
            identities: u32::try_from(identities).unwrap_or(u32::MAX),
        })
    }

    async fn set_password(&self, user: &UserId, password: &StoredPassword) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO passwords (user_id, hash, changed_at) VALUES ($1, $2, $3)
             ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at",
            user.as_str(),
            password.hash,
            password.changed_at.as_millisecond()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn remove_password(&self, user: &UserId) -> Result<RemoveMethodOutcome, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let count = count_methods(&mut tx, user).await?;
        let query = sqlx::query!("DELETE FROM passwords WHERE user_id = $1", user.as_str());
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        let outcome = removal_outcome(removed, count);
        if outcome == RemoveMethodOutcome::Removed {
            tx.commit().await.map_err(store_error)?;
        }
        Ok(outcome)
    }

    async fn add_passkey(&self, passkey: &StoredPasskey, max: u32) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(&passkey.user)]).await?;
        let insert = sqlx::query!(
            "INSERT INTO passkeys (id, user_id, name, record, created_at, last_used_at)
             SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT COUNT(*) FROM passkeys WHERE user_id = $2) < $7
             ON CONFLICT DO NOTHING",
            passkey.id,
            passkey.user.as_str(),
            passkey.name,
            passkey.record,
            passkey.created_at.as_millisecond(),
            passkey.last_used_at.map(Timestamp::as_millisecond),
            i64::from(max)
        );
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_added)
    }

    async fn find_passkey(&self, id: &str) -> Result<Option<StoredPasskey>, StoreError> {
        let query = sqlx::query_as!(
            PasskeyRow,
            "SELECT id, user_id, name, record, created_at, last_used_at FROM passkeys WHERE id = $1",
            id
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(row.map(StoredPasskey::from))
    }

    async fn use_passkey(
        &self,
        read: &StoredPasskey,
        record: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "UPDATE passkeys SET record = $1, last_used_at = $2 WHERE id = $3 AND user_id = $4 AND record = $5",
            record,
            at.as_millisecond(),
            read.id,
            read.user.as_str(),
            read.record
        );
        let used = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(used.rows_affected() > 0)
    }

    async fn remove_passkey(&self, user: &UserId, id: &str) -> Result<RemoveMethodOutcome, StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let count = count_methods(&mut tx, user).await?;
        let query = sqlx::query!("DELETE FROM passkeys WHERE user_id = $1 AND id = $2", user.as_str(), id);
        let removed = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected();
        let outcome = removal_outcome(removed, count);
        if outcome == RemoveMethodOutcome::Removed {
            tx.commit().await.map_err(store_error)?;
        }
        Ok(outcome)
    }

    async fn find_identity(&self, issuer: &str, subject: &str) -> Result<Option<UserId>, StoreError> {
        let query = sqlx::query_scalar!(
            "SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2",
            issuer,
            subject
        );
        let user = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(user.map(|user| UserId::from_stored(&user)))
    }

    async fn add_identity(&self, issuer: &str, subject: &str, user: &UserId) -> Result<bool, StoreError> {
        // The update changes nothing. It returns the row that is there, which may be gone for a second statement.
        let query = sqlx::query_scalar!(
            "INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3)
             ON CONFLICT (issuer, subject) DO UPDATE SET user_id = identities.user_id RETURNING user_id",
            issuer,
            subject,
            user.as_str()
        );
        let owner = query.fetch_one(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(owner == user.as_str())
    }
}
