//! The root key, and the secrets that are sealed with it or derived from it.

use std::{io::Write as _, path::Path};

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use toolyard_core::ports::{
    AppChange, IdGenerator, NewUpstreamRecord, SecretSealer, StoreError, Stores, UnsealError, UpstreamRecord,
    UpstreamWrite,
};

/// The root key is missing, unreadable or malformed.
#[derive(Debug, thiserror::Error)]
pub enum RootKeyError {
    /// Not 64 hex digits.
    #[error("{0} is not a root key: expected 64 hex digits")]
    Malformed(String),
    /// The database was created with a root key, and the key file is missing.
    #[error(
        "{file} is missing, and the database {database} was created with a root key: restore the key from your backup, or \
         set auth.root_key. Without it no stored secret can be opened and no token is accepted. If it is lost, start once \
         with auth.accept_new_root_key = true"
    )]
    Missing {
        /// Where the key should be.
        file: String,
        /// The database.
        database: String,
    },
    /// The key is not the one of the database.
    #[error(
        "{source_of_key} is not the root key of the database {database}: restore the right key, or set the old one in \
         auth.old_root_key if you are rotating it. If it is lost, start once with auth.accept_new_root_key = true"
    )]
    Mismatch {
        /// Where the key came from.
        source_of_key: String,
        /// The database.
        database: String,
    },
    /// The file cannot be read or created.
    #[error("root key file {file}: {error}")]
    File {
        /// Which file.
        file: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

/// One root key, or two during a rotation.
pub struct RootKeys {
    keys: Vec<[u8; 32]>,
    seals: Vec<LessSafeKey>,
    ids: std::sync::Arc<dyn IdGenerator>,
}

impl RootKeys {
    /// Keys, the current one first.
    pub fn new(keys: Vec<[u8; 32]>, ids: std::sync::Arc<dyn IdGenerator>) -> Self {
        let seal = |root: &[u8; 32]| UnboundKey::new(&CHACHA20_POLY1305, &derive_subkey(root, "seal")).ok();
        let seals = keys.iter().filter_map(seal).map(LessSafeKey::new).collect();
        Self { keys, seals, ids }
    }

    /// Check values by which a store recognizes a root key, the current one first. They reveal nothing about the key.
    pub(crate) fn key_checks(&self) -> Vec<[u8; 32]> {
        self.derive_keys("root-key-check")
    }

    /// Reads the key from a file, or creates the file with a new key.
    pub fn load_or_create(file: &Path, ids: &dyn IdGenerator) -> Result<[u8; 32], RootKeyError> {
        let failed = |error| RootKeyError::File { file: file.display().to_string(), error };
        match std::fs::read_to_string(file) {
            Ok(text) => {
                toolyard_store::restrict_file(file);
                parse_root_key(text.trim(), &file.display().to_string())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let text = ids.new_secret();
                if let Some(folder) = file.parent() {
                    toolyard_store::create_private_folder(folder).map_err(failed)?;
                }
                let mut options = std::fs::OpenOptions::new();
                options.write(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                options.open(file).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
                parse_root_key(&text, "the new key")
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Parses a root key.
pub fn parse_root_key(text: &str, what: &str) -> Result<[u8; 32], RootKeyError> {
    let bytes = hex::decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| RootKeyError::Malformed(what.to_owned()))
}

/// Derives a subkey for a purpose. The root key is uniformly random, so a single HMAC is sound.
fn derive_subkey(root: &[u8; 32], purpose: &str) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(root).expect("HMAC takes any key");
    mac.update(b"toolyard/");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

impl SecretSealer for RootKeys {
    fn seal(&self, plain: &str) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        self.ids.fill_random(&mut nonce);
        let mut sealed = plain.as_bytes().to_vec();
        let first = self.seals.first();
        let done = first.map(|key| {
            key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
        });
        // Without a key the result is empty, which no key opens.
        if !matches!(done, Some(Ok(()))) {
            return Vec::new();
        }
        [nonce.as_slice(), &sealed].concat()
    }

    fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(UnsealError)?;
        for key in &self.seals {
            let mut text = sealed.to_vec();
            if let Ok(plain) =
                key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::empty(), &mut text)
            {
                return String::from_utf8(plain.to_vec()).map_err(|_| UnsealError);
            }
        }
        Err(UnsealError)
    }

    fn derive_keys(&self, purpose: &str) -> Vec<[u8; 32]> {
        self.keys.iter().map(|root| derive_subkey(root, purpose)).collect()
    }
}

/// Reseals all stored secrets with the current root key, so that the old one can be removed: signing secrets of apps, secrets
/// of upstreams, and upstream tokens of users. A secret that neither key opens is left as it is.
pub(crate) async fn reseal_all(stores: &Stores, secrets: &dyn SecretSealer) -> Result<(), StoreError> {
    let reseal = |sealed: &Vec<u8>| secrets.unseal(sealed).map(|plain| secrets.seal(&plain));
    for app in stores.apps.list_apps(None).await? {
        let signing = app.keys().map(|keys| keys.signing.as_slice()).unwrap_or_default();
        match signing.iter().map(reseal).collect::<Result<Vec<_>, _>>() {
            Ok(signing) => {
                stores.apps.change_app(&app.package, AppChange::Signing(signing), app.updated_at).await?;
            }
            Err(UnsealError) => {
                tracing::warn!(package = %app.package, "no root key opens the app's signing secret; create a new one");
            }
        }
    }
    for (package, owner, upstream) in stores.upstreams.list_upstreams().await? {
        let Some(app) = stores.apps.find_app(&package).await? else { continue };
        match reseal(&upstream.sealed) {
            Ok(sealed) => {
                let upstream = UpstreamRecord { sealed, ..upstream };
                let (at, write) = (app.updated_at, UpstreamWrite::Change);
                stores
                    .upstreams
                    .put_upstream(NewUpstreamRecord { package, owner, upstream, at, write, moved: false })
                    .await?;
            }
            Err(UnsealError) => {
                tracing::warn!(%package, "no root key opens the upstream's secrets; set them again");
            }
        }
    }
    for (package, user, token) in stores.upstream_tokens.all_tokens().await? {
        match reseal(&token) {
            Ok(sealed) => drop(stores.upstream_tokens.set_token(&package, &user, Some(sealed)).await?),
            Err(UnsealError) => {
                tracing::warn!(%package, "no root key opens a user's upstream token; the user must authorize again");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolyard_core::ports::SystemIds;

    use super::*;

    #[test]
    fn seals_and_opens_and_two_keys_open_during_a_rotation() {
        let old = RootKeys::new(vec![[1; 32]], Arc::new(SystemIds));
        let both = RootKeys::new(vec![[2; 32], [1; 32]], Arc::new(SystemIds));
        let new = RootKeys::new(vec![[2; 32]], Arc::new(SystemIds));
        let sealed = old.seal("secret");
        assert_ne!(sealed, old.seal("secret"));
        assert_eq!(both.unseal(&sealed).unwrap(), "secret");
        assert_eq!(new.unseal(&sealed), Err(UnsealError));
        assert_eq!(new.unseal(&both.seal("x")).unwrap(), "x");
        assert_eq!(old.unseal(b"short"), Err(UnsealError));
        assert_ne!(old.derive_keys("a"), old.derive_keys("b"));
    }

    #[test]
    fn a_key_file_is_made_once_and_only_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/root.key");
        let key = RootKeys::load_or_create(&file, &SystemIds).unwrap();
        assert_eq!(RootKeys::load_or_create(&file, &SystemIds).unwrap(), key);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions()) & 0o777,
            0o600
        );
        std::fs::write(&file, "junk").unwrap();
        assert!(matches!(RootKeys::load_or_create(&file, &SystemIds), Err(RootKeyError::Malformed(_))));
    }
}
