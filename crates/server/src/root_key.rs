//! Checks that the root key belongs to the database. With another key no stored secret can be opened and no token verified, so
//! the server refuses to start unless the operator accepts a new key.

use toolyard_core::ports::{KnownKey, SecretSealer as _, StoreError, Stores};

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
    let fits = match known {
        KnownKey::None => true,
        KnownKey::Check(check) => keys.key_checks().iter().any(|key| key.as_slice() == check.as_slice()),
        KnownKey::Sealed(sealed) => keys.unseal(sealed).is_ok(),
    };
    if !fits && !accepts_new {
        let source_of_key = match config.auth.root_key {
            Some(_) => "auth.root_key".to_owned(),
            None => parts::root_key_file(config).display().to_string(),
        };
        let database = parts::shown_store(config);
        return Err(RootKeyError::Mismatch { source_of_key, database });
    }
    if !fits {
        tracing::warn!(
            "the root key has changed: replace all stored secrets and tokens, the old ones are invalid"
        );
    }
    Ok(keys)
}
