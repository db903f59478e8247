//! Checks that the root key belongs to the database. With another key no stored secret can be opened and no token verified, so
//! the server refuses to start unless the operator accepts a new key.

use toolyard_core::ports::{KnownKey, StoreError, Stores};

use crate::{
    config::Config,
    parts,
    reseal::reseal_all,
    secrets::{RootKeyError, RootKeys},
    serve::{ServerDependencies, ServerStartError},
};

fn to_start_error(error: StoreError) -> ServerStartError {
    ServerStartError::Config(error.to_string())
}

/// The root keys of this store. The first start creates one. During a rotation, secrets of the old key are resealed with the current one.
pub(crate) async fn load_root_keys(
    config: &Config,
    deps: &ServerDependencies,
    stores: &Stores,
) -> Result<RootKeys, ServerStartError> {
    let known = stores.maintenance.known_key().await.map_err(to_start_error)?;
    let keys = check_root_keys(config, deps, &known)?;
    if config.auth.old_root_key.is_some() {
        let resealed = reseal_all(stores, &keys).await;
        resealed.map_err(|error| ServerStartError::Config(error.to_string()))?;
    }
    if let Some(current) = keys.key_checks().first()
        && known.check() != Some(current.as_slice())
        && !stores.maintenance.set_key_check(&known, current).await.map_err(to_start_error)?
    {
        // Another node saved its key at the same moment; it must be the same one.
        let known = stores.maintenance.known_key().await.map_err(to_start_error)?;
        check_root_keys(config, deps, &known)?;
    }
    Ok(keys)
}

/// The root keys, checked against what the database knows about its key.
pub(crate) fn check_root_keys(
    config: &Config,
    deps: &ServerDependencies,
    known: &KnownKey,
) -> Result<RootKeys, RootKeyError> {
    let accepts_new = config.auth.accept_new_root_key;
    let keys = parts::root_keys(config, deps, *known != KnownKey::None && !accepts_new)?;
    let fits = keys.key_of_store(known).is_some();
    if !fits && !accepts_new {
        return Err(parts::root_key_mismatch(config));
    }
    if !fits {
        tracing::warn!(
            "the root key has changed: replace all stored secrets and tokens, the old ones are invalid"
        );
    }
    Ok(keys)
}
