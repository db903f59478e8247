//! The store's own state: whether it accepts writes, and which root key belongs to it.

use std::{path::Path, time::Duration};

use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use toolyard_core::ports::{KnownKey, StoreError};

use super::SqliteStore;
use crate::rows::store_error;

impl SqliteStore {
    /// Writes something, to check whether writes work.
    pub(super) async fn write_probe(&self) -> Result<(), StoreError> {
        let sql = "INSERT INTO store_state (name, value) VALUES ('probe', randomblob(8))
            ON CONFLICT DO UPDATE SET value = excluded.value";
        sqlx::query(sql).execute(&self.write).await.map(drop).map_err(store_error)
    }

    pub(super) async fn read_known_key(&self) -> Result<KnownKey, StoreError> {
        let mut connection = self.read.acquire().await.map_err(store_error)?;
        known_key(&mut connection).await.map_err(store_error)
    }

    pub(super) async fn write_key_check(&self, before: &KnownKey, check: &[u8]) -> Result<bool, StoreError> {
        let sql = "INSERT INTO store_state (name, value) VALUES ('root_key_check', ?1)
            ON CONFLICT DO UPDATE SET value = excluded.value WHERE value = ?2";
        let query = sqlx::query(sql).bind(check).bind(before.check());
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }
}

/// What is known about the root key of a store that another process may have open. Does not create or change tables.
pub(crate) async fn known_key_of(path: &Path) -> Result<KnownKey, StoreError> {
    if !path.exists() {
        return Ok(KnownKey::None);
    }
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(Duration::from_secs(5));
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(store_error)?;
    let known = known_key(&mut connection).await;
    connection.close().await.map_err(store_error)?;
    known.map_err(store_error)
}

/// What is known about the root key.
pub(crate) async fn known_key(connection: &mut SqliteConnection) -> Result<KnownKey, sqlx::Error> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('store_state', 'apps')";
    let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
    if tables.iter().any(|name| name == "store_state") {
        let sql = "SELECT value FROM store_state WHERE name = 'root_key_check'";
        if let Some(check) = sqlx::query_scalar(sql).fetch_optional(&mut *connection).await? {
            return Ok(KnownKey::Check(check));
        }
    }
    if tables.iter().any(|name| name == "apps") {
        // Upstreams have no signing secret, and an app that was taken over may have an empty one.
        let sql = "SELECT signing FROM apps WHERE length(signing) > 0 ORDER BY created_at DESC LIMIT 1";
        if let Some(sealed) = sqlx::query_scalar(sql).fetch_optional(&mut *connection).await? {
            return Ok(KnownKey::Sealed(sealed));
        }
    }
    Ok(KnownKey::None)
}
