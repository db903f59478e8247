//! Tokens that were made.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{FromRow, Sqlite, SqliteConnection};
use toolyard_core::ports::{IssuedToken, IssuedTokens, StoreError, TokenRoom};
use toolyard_protocol::{TokenId, api::Role};

use super::{
    SqliteStore, damaged, failed,
    rows::{parsed, time},
};

/// Most tokens in one list.
const MAX_LISTED: i64 = 1_000;

#[derive(FromRow)]
struct TokenRow {
    id: String,
    name: String,
    subject: String,
    role: String,
    created_at: i64,
    expires_at: i64,
    created_by: String,
    revoked_at: Option<i64>,
}

impl TokenRow {
    fn read(self) -> Result<IssuedToken, StoreError> {
        let role = Role::ALL.into_iter().find(|role| role.as_str() == self.role);
        Ok(IssuedToken {
            id: parsed("token id", &self.id)?,
            name: self.name,
            subject: self.subject,
            role: role.ok_or_else(|| damaged("role", self.role))?,
            created_at: time(self.created_at),
            expires_at: time(self.expires_at),
            created_by: self.created_by,
            revoked_at: self.revoked_at.map(time),
        })
    }
}

/// Adds a token in whatever transaction there is. False where there is no room.
pub(super) async fn insert(
    to: &mut SqliteConnection,
    token: &IssuedToken,
    room: TokenRoom,
) -> Result<bool, StoreError> {
    let now = token.created_at.as_millisecond();
    let count = sqlx::query_as::<Sqlite, (i64, i64)>(
        "SELECT COUNT(*), COALESCE(SUM(subject = ?1), 0) FROM tokens WHERE expires_at > ?2",
    );
    let (all, own) = count.bind(&token.subject).bind(now).fetch_one(&mut *to).await.map_err(failed)?;
    if all >= i64::from(room.of_all) || own >= i64::from(room.of_subject) {
        return Ok(false);
    }
    let insert = sqlx::query(
        "INSERT INTO tokens (id, name, subject, role, created_at, expires_at, created_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    let insert = insert
        .bind(token.id.as_str())
        .bind(&token.name)
        .bind(&token.subject)
        .bind(token.role.as_str())
        .bind(now)
        .bind(token.expires_at.as_millisecond())
        .bind(&token.created_by);
    insert.execute(to).await.map_err(failed)?;
    Ok(true)
}

#[async_trait]
impl IssuedTokens for SqliteStore {
    async fn issued(&self, subject: Option<&str>) -> Result<Vec<IssuedToken>, StoreError> {
        let query = sqlx::query_as::<_, TokenRow>(
            "SELECT * FROM tokens WHERE (?1 IS NULL OR subject = ?1) ORDER BY created_at DESC, id LIMIT ?2",
        );
        let rows = query.bind(subject).bind(MAX_LISTED).fetch_all(&self.read).await.map_err(failed)?;
        rows.into_iter().map(TokenRow::read).collect()
    }

    async fn add_token(&self, token: &IssuedToken, room: TokenRoom) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let added = insert(&mut tx, token, room).await?;
        tx.commit().await.map_err(failed)?;
        Ok(added)
    }

    async fn revoke_token(
        &self,
        id: &TokenId,
        subject: Option<&str>,
        at: Timestamp,
    ) -> Result<Option<IssuedToken>, StoreError> {
        let query = sqlx::query_as::<_, TokenRow>(
            "UPDATE tokens SET revoked_at = COALESCE(revoked_at, ?3) WHERE id = ?1 AND (?2 IS NULL OR subject = ?2)
             RETURNING *",
        );
        let query = query.bind(id.as_str()).bind(subject).bind(at.as_millisecond());
        query.fetch_optional(&self.write).await.map_err(failed)?.map(TokenRow::read).transpose()
    }

    async fn revoked_tokens(&self, now: Timestamp) -> Result<Vec<(TokenId, Timestamp)>, StoreError> {
        let query = sqlx::query_as::<_, (String, i64)>(
            "SELECT id, expires_at FROM tokens WHERE expires_at > ? AND revoked_at IS NOT NULL",
        );
        let rows = query.bind(now.as_millisecond()).fetch_all(&self.read).await.map_err(failed)?;
        rows.into_iter().map(|(id, ends)| Ok((parsed("token id", &id)?, time(ends)))).collect()
    }

    async fn forget_tokens(&self, ended: Timestamp) -> Result<(), StoreError> {
        let forget = sqlx::query("DELETE FROM tokens WHERE expires_at <= ?").bind(ended.as_millisecond());
        forget.execute(&self.write).await.map(drop).map_err(failed)
    }
}
