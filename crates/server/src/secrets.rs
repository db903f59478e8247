//! The root key, and the secrets that are sealed with it or derived from it.

use std::{io::Write as _, path::Path};

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use toolyard_core::ports::{IdGenerator, KnownKey, SealError, SecretSealer, UnsealError};

/// What the check value of a root key is derived for.
const KEY_CHECK: &str = "root-key-check";

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

/// A stored secret during a rotation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resealed {
    /// It is sealed with the current key already.
    Current,
    /// It was sealed with an older key; this is how to store it now.
    Changed(Vec<u8>),
    /// No key opens it.
    Unreadable,
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
        let seals = keys.iter().map(sealing_key).collect();
        Self { keys, seals, ids }
    }

    /// Seals a text with the current key, if it is sealed with an older one.
    pub(crate) fn reseal(&self, sealed: &[u8]) -> Result<Resealed, SealError> {
        let open = |key: &LessSafeKey| open_sealed(key, sealed).ok();
        match self.seals.iter().enumerate().find_map(|(at, key)| Some((at, open(key)?))) {
            Some((0, _)) => Ok(Resealed::Current),
            Some((_, plain)) => Ok(Resealed::Changed(self.seal(&plain)?)),
            None => Ok(Resealed::Unreadable),
        }
    }

    /// Check values by which a store recognizes a root key, the current one first. They reveal nothing about the key.
    pub(crate) fn key_checks(&self) -> Vec<[u8; 32]> {
        self.derive_keys(KEY_CHECK)
    }

    /// The key that a store was written with. The current one if the store knows none.
    pub(crate) fn key_of_store(&self, known: &KnownKey) -> Option<[u8; 32]> {
        let at = match known {
            KnownKey::None => Some(0),
            KnownKey::Check(check) => {
                self.key_checks().iter().position(|key| key.as_slice() == check.as_slice())
            }
            KnownKey::Sealed(sealed) => self.seals.iter().position(|key| open_sealed(key, sealed).is_ok()),
        };
        at.and_then(|at| self.keys.get(at).copied())
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
                create_key_file(file, &text)?;
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

/// Writes a root key to a new file, which only its owner can read.
pub(crate) fn create_key_file(file: &Path, text: &str) -> Result<(), RootKeyError> {
    let failed = |error| RootKeyError::File { file: file.display().to_string(), error };
    if let Some(folder) = file.parent() {
        toolyard_store::create_private_folder(folder).map_err(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = |mut file: std::fs::File| file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    options.open(file).and_then(write).map_err(failed)
}

/// The check value by which a store recognizes this root key.
pub(crate) fn root_key_check(root: &[u8; 32]) -> [u8; 32] {
    derive_subkey(root, KEY_CHECK)
}

/// Derives a subkey for a purpose. The root key is uniformly random, so a single HMAC is sound.
fn derive_subkey(root: &[u8; 32], purpose: &str) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(root).expect("HMAC takes any key");
    mac.update(b"toolyard/");
    mac.update(purpose.as_bytes());
    mac.finalize().into_bytes().into()
}

fn sealing_key(root: &[u8; 32]) -> LessSafeKey {
    #[expect(clippy::expect_used, reason = "a subkey has the length that the cipher needs")]
    let key = UnboundKey::new(&CHACHA20_POLY1305, &derive_subkey(root, "seal")).expect("a key of 32 bytes");
    LessSafeKey::new(key)
}

fn open_sealed(key: &LessSafeKey, sealed: &[u8]) -> Result<String, UnsealError> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(UnsealError)?;
    let mut text = sealed.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plain = key.open_in_place(nonce, Aad::empty(), &mut text).map_err(|_| UnsealError)?;
    String::from_utf8(plain.to_vec()).map_err(|_| UnsealError)
}

impl SecretSealer for RootKeys {
    fn seal(&self, plain: &str) -> Result<Vec<u8>, SealError> {
        let key = self.seals.first().ok_or(SealError)?;
        let mut nonce = [0; NONCE_LEN];
        self.ids.fill_random(&mut nonce);
        let mut sealed = plain.as_bytes().to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
            .map_err(|_| SealError)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    fn unseal(&self, sealed: &[u8]) -> Result<String, UnsealError> {
        self.seals.iter().find_map(|key| open_sealed(key, sealed).ok()).ok_or(UnsealError)
    }

    fn derive_keys(&self, purpose: &str) -> Vec<[u8; 32]> {
        self.keys.iter().map(|root| derive_subkey(root, purpose)).collect()
    }
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
        let sealed = old.seal("secret").unwrap();
        assert_ne!(sealed, old.seal("secret").unwrap());
        assert_eq!(both.unseal(&sealed).unwrap(), "secret");
        assert_eq!(new.unseal(&sealed), Err(UnsealError));
        assert_eq!(new.unseal(&both.seal("x").unwrap()).unwrap(), "x");
        assert_eq!(old.unseal(b"short"), Err(UnsealError));
        assert_ne!(old.derive_keys("a"), old.derive_keys("b"));
    }

    #[test]
    fn without_a_root_key_nothing_is_sealed() {
        assert_eq!(RootKeys::new(Vec::new(), Arc::new(SystemIds)).seal("secret"), Err(SealError));
    }

    #[test]
    fn only_what_an_older_key_sealed_is_sealed_again() {
        let old = RootKeys::new(vec![[1; 32]], Arc::new(SystemIds));
        let both = RootKeys::new(vec![[2; 32], [1; 32]], Arc::new(SystemIds));
        let Ok(Resealed::Changed(resealed)) = both.reseal(&old.seal("secret").unwrap()) else {
            panic!("the old key sealed it")
        };
        assert_eq!(both.reseal(&resealed), Ok(Resealed::Current));
        assert_eq!(old.reseal(&resealed), Ok(Resealed::Unreadable));
        assert_eq!(RootKeys::new(vec![[2; 32]], Arc::new(SystemIds)).unseal(&resealed).unwrap(), "secret");
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
