//! What is read from or added to a store without serving from it. A server may have it open meanwhile.

use tokio_util::task::TaskTracker;
use toolyard_core::ports::{
    AddTokenOutcome, IssuedToken, IssuedTokenStore as _, KnownKey, StoreError, StoreMaintenance as _,
    TokenQuota,
};

use crate::{PostgresSettings, PostgresStore, StoreSettings, postgres, sqlite};

/// What is known about the root key of a store.
pub async fn known_key_of(settings: &StoreSettings) -> Result<KnownKey, StoreError> {
    match settings {
        StoreSettings::Sqlite(settings) => sqlite::known_key_of(&settings.path).await,
        StoreSettings::Postgres(settings) => postgres::known_key_of(settings).await,
    }
}

/// Adds a token to the list of a store. Creates the store if needed, so that a token from before the first start can be listed and
/// revoked as well.
pub async fn list_token(
    settings: &StoreSettings,
    token: &IssuedToken,
    room: TokenQuota,
) -> Result<AddTokenOutcome, StoreError> {
    match settings {
        StoreSettings::Sqlite(settings) => sqlite::list_token(&settings.path, token, room).await,
        StoreSettings::Postgres(settings) => {
            let store = open_shared(settings).await?;
            let added = store.add_token(token, room).await;
            store.close().await;
            added
        }
    }
}

/// Any number of processes may have the database open.
async fn open_shared(settings: &PostgresSettings) -> Result<PostgresStore, StoreError> {
    let opened = PostgresStore::open(settings.clone(), &TaskTracker::new()).await;
    opened.map_err(|error| StoreError::Failed(error.to_string()))
}
