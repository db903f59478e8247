//! Which root key belongs to a database. A key that is made anew opens none of its secrets and verifies none of its tokens, so
//! a server with another key than before does not start by itself.

use toolyard_core::ports::{KnownKey, Secrets as _, StoreError, Stores};

use crate::{
    config::Config,
    parts,
    secrets::{self, RootKeyError, RootKeys},
    serve::{StartError, World},
};

fn failed(error: StoreError) -> StartError {
    StartError::Config(error.to_string())
}

/// The root keys of this store. The first start makes one; what an old key sealed is sealed anew with the current one.
pub(crate) async fn load(config: &Config, world: &World, stores: &Stores) -> Result<RootKeys, StartError> {
    let known = stores.maintenance.known_key().await.map_err(failed)?;
    let keys = checked(config, world, &known)?;
    if config.auth.old_root_key.is_some() {
        secrets::seal_anew(stores, &keys).await.map_err(failed)?;
    }
    if let Some(current) = keys.checks().first()
        && known != KnownKey::Check(current.to_vec())
    {
        stores.maintenance.set_key_check(current).await.map_err(failed)?;
    }
    Ok(keys)
}

/// The root keys for a database that is known only by what it says of its key.
pub(crate) fn checked(config: &Config, world: &World, known: &KnownKey) -> Result<RootKeys, RootKeyError> {
    let accepts_new = config.auth.accept_new_root_key;
    let keys = parts::root_keys(config, world, *known != KnownKey::None && !accepts_new)?;
    let fits = match known {
        KnownKey::None => true,
        KnownKey::Check(check) => keys.checks().iter().any(|key| key.as_slice() == check.as_slice()),
        KnownKey::Sealed(sealed) => keys.open(sealed).is_ok(),
    };
    if !fits && !accepts_new {
        let source_of_key = match config.auth.root_key {
            Some(_) => "auth.root_key".to_owned(),
            None => parts::root_key_file(config).display().to_string(),
        };
        let database = config.store.path.display().to_string();
        return Err(RootKeyError::Other { source_of_key, database });
    }
    if !fits {
        tracing::warn!(
            "the root key is a new one: stored secrets have to be made again, and tokens are not accepted"
        );
    }
    Ok(keys)
}
