//! Health checks and shutdown of the store.

use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection};
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{KnownKey, LedgerBacklog, PruneBefore, StoreError, StoreMaintenance};

use super::{PostgresSettings, PostgresStore};
use crate::rows::store_error;

impl PostgresStore {
    /// Writes something: a database that was failed over may accept connections but no writes.
    async fn write_probe(&self) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "INSERT INTO store_state (name, value) VALUES ('probe', uuid_send(gen_random_uuid()))
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}

#[async_trait]
impl StoreMaintenance for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.probe.check(self.write_probe()).await?;
        self.ledger.check()
    }

    fn backlog(&self) -> LedgerBacklog {
        self.ledger.backlog()
    }

    async fn prune(&self, before: PruneBefore, stopping: &CancellationToken) -> Result<(), StoreError> {
        self.prune_all(before, stopping).await
    }

    async fn known_key(&self) -> Result<KnownKey, StoreError> {
        known_key(&mut *self.connect().await?).await.map_err(store_error)
    }

    async fn set_key_check(&self, before: &KnownKey, check: &[u8]) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "INSERT INTO store_state AS known (name, value) VALUES ('root_key_check', $1)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE known.value = $2",
            check,
            before.check()
        );
        let saved = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(saved.rows_affected() > 0)
    }

    async fn close(&self) {
        self.ledger.stop().await;
        self.node.end().await;
        self.pool.close().await;
    }
}

/// What is known about the root key of a store that another server may have open. Does not create or change tables.
pub(crate) async fn known_key_of(settings: &PostgresSettings) -> Result<KnownKey, StoreError> {
    let mut connection = settings.connect_once().await.map_err(store_error)?;
    let known = match has_tables(&mut connection).await.map_err(store_error)? {
        false => Ok(KnownKey::None),
        true => known_key(&mut connection).await.map_err(store_error),
    };
    connection.close().await.map_err(store_error)?;
    known
}

/// Whether a server has used this database.
pub(super) async fn has_tables(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let query = sqlx::query_scalar!(r#"SELECT to_regclass('store_state') IS NOT NULL AS "has_tables!""#);
    query.fetch_one(connection).await
}

/// What is known about the root key.
pub(crate) async fn known_key(connection: &mut PgConnection) -> Result<KnownKey, sqlx::Error> {
    let check = sqlx::query_scalar!("SELECT value FROM store_state WHERE name = 'root_key_check'");
    if let Some(check) = check.fetch_optional(&mut *connection).await? {
        return Ok(KnownKey::Check(check));
    }
    // A copy of an older store has no check. Upstreams have no signing secret, and an app that was taken over may have an empty
    // one.
    let sealed = sqlx::query_scalar!(
        "SELECT signing FROM apps WHERE OCTET_LENGTH(signing) > 0 ORDER BY created_at DESC LIMIT 1"
    );
    Ok(sealed.fetch_optional(connection).await?.map_or(KnownKey::None, KnownKey::Sealed))
}
