//! Accounts.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::SqliteConnection;
use toolyard_core::ports::{AccountQuery, AccountStore, SaveAccountOutcome, StoreError, UserAccount};
use toolyard_protocol::UserId;

use super::SqliteStore;
use crate::rows::{accounts::AccountRow, like_pattern, store_error, to_json};

/// Whether another account has the e-mail address.
async fn is_email_taken(tx: &mut SqliteConnection, account: &UserAccount) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM accounts WHERE email = ? AND user_id <> ?)";
    let query = sqlx::query_scalar::<_, bool>(sql).bind(&account.email).bind(account.id.as_str());
    query.fetch_one(tx).await.map_err(store_error)
}

#[async_trait]
impl AccountStore for SqliteStore {
    async fn find_account(&self, user: &UserId) -> Result<Option<UserAccount>, StoreError> {
        let query = sqlx::query_as::<_, AccountRow>("SELECT * FROM accounts WHERE user_id = ?");
        let row = query.bind(user.as_str()).fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(AccountRow::into_account).transpose()
    }

    async fn find_account_by_email(&self, email: &str) -> Result<Option<UserAccount>, StoreError> {
        let query = sqlx::query_as::<_, AccountRow>("SELECT * FROM accounts WHERE email = ?");
        let row = query.bind(email).fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(AccountRow::into_account).transpose()
    }

    async fn list_accounts(&self, query: AccountQuery<'_>) -> Result<Vec<UserAccount>, StoreError> {
        let rows = sqlx::query_as::<_, AccountRow>(
            r"SELECT * FROM accounts WHERE user_id > ?1
              AND (user_id LIKE ?2 ESCAPE '\' OR email LIKE ?2 ESCAPE '\' OR name LIKE ?2 ESCAPE '\')
              ORDER BY user_id LIMIT ?3",
        );
        let rows = rows
            .bind(query.after.map_or("", UserId::as_str))
            .bind(like_pattern(query.text))
            .bind(query.limit);
        let rows = rows.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(AccountRow::into_account).collect()
    }

    async fn add_account(&self, account: &UserAccount, max: u32) -> Result<SaveAccountOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        if is_email_taken(&mut tx, account).await? {
            return Ok(SaveAccountOutcome::EmailTaken);
        }
        let sql = "SELECT COUNT(*) FROM accounts";
        let count: i64 = sqlx::query_scalar(sql).fetch_one(&mut *tx).await.map_err(store_error)?;
        if count >= i64::from(max) {
            return Ok(SaveAccountOutcome::QuotaReached);
        }
        let insert = sqlx::query(
            "INSERT OR IGNORE INTO accounts
             (user_id, email, name, role, groups, managed_by, created_at, links_from, last_seen_at, disabled_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        );
        let insert = insert
            .bind(account.id.as_str())
            .bind(&account.email)
            .bind(&account.name)
            .bind(account.role.as_str())
            .bind(to_json("groups", &account.groups)?)
            .bind(&account.managed_by)
            .bind(account.created_at.as_millisecond())
            .bind(account.links_from.as_millisecond())
            .bind(account.last_seen_at.map(Timestamp::as_millisecond))
            .bind(account.disabled_at.map(Timestamp::as_millisecond));
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(if is_added { SaveAccountOutcome::Saved } else { SaveAccountOutcome::WrongState })
    }

    async fn change_account(
        &self,
        before: &UserAccount,
        account: &UserAccount,
    ) -> Result<SaveAccountOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        if is_email_taken(&mut tx, account).await? {
            return Ok(SaveAccountOutcome::EmailTaken);
        }
        let update = sqlx::query(
            "UPDATE accounts SET email = ?2, name = ?3, role = ?4, groups = ?5, managed_by = ?6, disabled_at = ?7,
             links_from = ?8 WHERE user_id = ?1 AND role = ?9 AND groups = ?10 AND disabled_at IS ?11",
        );
        let update = update
            .bind(account.id.as_str())
            .bind(&account.email)
            .bind(&account.name)
            .bind(account.role.as_str())
            .bind(to_json("groups", &account.groups)?)
            .bind(&account.managed_by)
            .bind(account.disabled_at.map(Timestamp::as_millisecond))
            .bind(account.links_from.as_millisecond())
            .bind(before.role.as_str())
            .bind(to_json("groups", &before.groups)?)
            .bind(before.disabled_at.map(Timestamp::as_millisecond));
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
        let sql = "SELECT user_id FROM accounts WHERE disabled_at IS NOT NULL";
        let users: Vec<String> = sqlx::query_scalar(sql).fetch_all(&self.read).await.map_err(store_error)?;
        Ok(users.iter().map(|user| UserId::from_stored(user)).collect())
    }

    async fn has_operator(&self) -> Result<bool, StoreError> {
        let mut connection = self.read.acquire().await.map_err(store_error)?;
        has_operator(&mut connection).await
    }
}

async fn has_operator(on: &mut SqliteConnection) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM accounts WHERE role = 'operator' AND disabled_at IS NULL)";
    sqlx::query_scalar(sql).fetch_one(on).await.map_err(store_error)
}
