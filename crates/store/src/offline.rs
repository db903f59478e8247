//! What is read from or added to a store without serving from it. A server may have it open meanwhile.

use toolyard_core::ports::{AddTokenOutcome, IssuedToken, KnownKey, StoreError, TokenQuota};

use crate::{StoreSettings, postgres, sqlite};

/// What is known about the root key of a store. Does not create or change tables.
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
        StoreSettings::Postgres(settings) => postgres::list_token(settings, token, room).await,
    }
}
