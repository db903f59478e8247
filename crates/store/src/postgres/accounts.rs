//! Accounts.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::PgConnection;
use toolyard_core::ports::{AccountQuery, AccountStore, SaveAccountOutcome, StoreError, UserAccount};
use toolyard_protocol::UserId;

use super::{PostgresStore, WriteLock};
use crate::rows::{accounts::AccountRow, like_pattern, store_error, to_json};

macro_rules! select_accounts {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            AccountRow,
            "SELECT user_id, email, name, role, groups, managed_by, created_at, links_from, last_seen_at, disabled_at
             FROM accounts " + $rest
            $(, $value)*
        )
    };
}

/// Whether another account has the e-mail address.
async fn is_email_taken(tx: &mut PgConnection, account: &UserAccount) -> Result<bool, StoreError> {
    let query = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM accounts WHERE email = $1 AND user_id <> $2) AS "is_taken!""#,
        account.email.as_deref(),
        account.id.as_str()
    );
    query.fetch_one(tx).await.map_err(store_error)
}

#[async_trait]
impl AccountStore for PostgresStore {
    async fn find_account(&self, user: &UserId) -> Result<Option<UserAccount>, StoreError> {
        let query = select_accounts!("WHERE user_id = $1", user.as_str());
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(AccountRow::into_account).transpose()
    }

    async fn find_account_by_email(&self, email: &str) -> Result<Option<UserAccount>, StoreError> {
        // What somebody typed; PostgreSQL would refuse it.
        if email.contains('\0') {
            return Ok(None);
        }
        let query = select_accounts!("WHERE email = $1", email);
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(AccountRow::into_account).transpose()
    }

    async fn list_accounts(&self, query: AccountQuery<'_>) -> Result<Vec<UserAccount>, StoreError> {
        let rows = select_accounts!(
            "WHERE user_id > $1 AND (user_id ILIKE $2 OR email ILIKE $2 OR name ILIKE $2)
             ORDER BY user_id LIMIT $3",
            query.after.map_or("", UserId::as_str),
            like_pattern(query.text),
            i64::from(query.limit)
        );
        let rows = rows.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(AccountRow::into_account).collect()
    }

    async fn add_account(&self, account: &UserAccount, max: u32) -> Result<SaveAccountOutcome, StoreError> {
        let mut tx = self.begin(&[WriteLock::Table("accounts")]).await?;
        if is_email_taken(&mut tx, account).await? {
            return Ok(SaveAccountOutcome::EmailTaken);
        }
        let count = sqlx::query_scalar!(r#"SELECT COUNT(*) AS "count!" FROM accounts"#);
        if count.fetch_one(&mut *tx).await.map_err(store_error)? >= i64::from(max) {
            return Ok(SaveAccountOutcome::QuotaReached);
        }
        let insert = sqlx::query!(
            "INSERT INTO accounts
             (user_id, email, name, role, groups, managed_by, created_at, links_from, last_seen_at, disabled_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
            account.id.as_str(),
            account.email.as_deref(),
            account.name.as_deref(),
            account.role.as_str(),
            to_json("groups", &account.groups)?,
            account.managed_by.as_deref(),
            account.created_at.as_millisecond(),
            account.links_from.as_millisecond(),
            account.last_seen_at.map(Timestamp::as_millisecond),
            account.disabled_at.map(Timestamp::as_millisecond)
        );
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(if is_added { SaveAccountOutcome::Saved } else { SaveAccountOutcome::WrongState })
    }

    async fn change_account(
        &self,
        before: &UserAccount,
        account: &UserAccount,
    ) -> Result<SaveAccountOutcome, StoreError> {
        // All accounts: two operators who disable each other would both find another one. The user: a session that begins now
        // is committed before its account is disabled, so that it ends with the others, or finds the account disabled.
        let locks = [WriteLock::Table("accounts"), WriteLock::User(&account.id)];
        let mut tx = self.begin(&locks).await?;
        if is_email_taken(&mut tx, account).await? {
            return Ok(SaveAccountOutcome::EmailTaken);
        }
        let update = sqlx::query!(
            "UPDATE accounts SET email = $2, name = $3, role = $4, groups = $5, managed_by = $6, disabled_at = $7,
             links_from = $8 WHERE user_id = $1 AND role = $9 AND groups = $10 AND disabled_at IS NOT DISTINCT FROM $11",
            account.id.as_str(),
            account.email.as_deref(),
            account.name.as_deref(),
            account.role.as_str(),
            to_json("groups", &account.groups)?,
            account.managed_by.as_deref(),
            account.disabled_at.map(Timestamp::as_millisecond),
            account.links_from.as_millisecond(),
            before.role.as_str(),
            to_json("groups", &before.groups)?,
            before.disabled_at.map(Timestamp::as_millisecond)
        );
        let had_operator = has_operator(&mut tx).await?;
        let is_changed = update.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        if !is_changed {
            return Ok(SaveAccountOutcome::WrongState);
        }
        // Dropped without a commit, the transaction changes nothing.
        if had_operator && !has_operator(&mut tx).await? {
            return Ok(SaveAccountOutcome::LastOperator);
        }
        tx.commit().await.map_err(store_error)?;
        Ok(SaveAccountOutcome::Saved)
    }

    async fn disabled_users(&self) -> Result<Vec<UserId>, StoreError> {
        let query = sqlx::query_scalar!("SELECT user_id FROM accounts WHERE disabled_at IS NOT NULL");
        let users = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(users.iter().map(|user| UserId::from_stored(user)).collect())
    }

    async fn has_operator(&self) -> Result<bool, StoreError> {
        let mut connection = self.connect().await?;
        has_operator(&mut connection).await
    }
}

async fn has_operator(on: &mut PgConnection) -> Result<bool, StoreError> {
    let query = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM accounts WHERE role = 'operator' AND disabled_at IS NULL) AS "has_operator!""#
    );
    query.fetch_one(on).await.map_err(store_error)
}
