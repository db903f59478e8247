//! Which root key belongs to a database. A key that is made anew opens none of its secrets and verifies none of its tokens, so
//! a server with another key than before does not start by itself.

use toolyard_core::ports::{KnownKey, SecretSealer as _, StoreError, Stores};

use crate::{
    config::Config,
    parts,
    secrets::{self, RootKeyError, RootKeys},
    serve::{ServerDependencies, ServerStartError},
};

fn to_start_error(error: StoreError) -> ServerStartError {
    ServerStartError::Config(error.to_string())
}

/// The root keys of this store. The first start makes one; what an old key sealed is sealed anew with the current one.
pub(crate) async fn load_root_keys(
    config: &Config,
    world: &ServerDependencies,
    stores: &Stores,
) -> Result<RootKeys, ServerStartError> {
    let known = stores.maintenance.known_key().await.map_err(to_start_error)?;
    let keys = check_root_keys(config, world, &known)?;
    if config.auth.old_root_key.is_some() {
        secrets::reseal_all(stores, &keys).await.map_err(to_start_error)?;
    }
    if let Some(current) = keys.key_checks().first()
        && known != KnownKey::Check(current.to_vec())
    {
        stores.maintenance.set_key_check(current).await.map_err(to_start_error)?;
    }
    Ok(keys)
}

/// The root keys for a database that is known only by what it says of its key.
pub(crate) fn check_root_keys(
    config: &Config,
    world: &ServerDependencies,
    known: &KnownKey,
) -> Result<RootKeys, RootKeyError> {
    let accepts_new = config.auth.accept_new_root_key;
    let keys = parts::root_keys(config, world, *known != KnownKey::None && !accepts_new)?;
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
        let database = config.store.path.display().to_string();
        return Err(RootKeyError::Mismatch { source_of_key, database });
    }
    if !fits {
        tracing::warn!(
            "the root key is a new one: stored secrets have to be made again, and tokens are not accepted"
        );
    }
    Ok(keys)
}
