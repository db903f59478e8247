//! The first line of a backup: its format, and how it is encrypted. It is the only part that is never encrypted.

use aws_lc_rs::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::secret::SecretText;

use super::seal::CHUNK_BYTES;

/// The name in every header.
pub(super) const FORMAT_NAME: &str = "toolyard-backup";
/// The version of the format that is written, and the newest that is read.
pub(super) const FORMAT_VERSION: u32 = 1;
/// The shortest passphrase. Length is what protects a backup that was stolen.
pub const MIN_PASSPHRASE_CHARS: usize = 12;

/// Memory, passes and lanes of argon2id: what RFC 9106 recommends where 2 GiB of memory are too much.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 4;
/// The most that is accepted of them, so that a file cannot make a restore take all memory or run for hours.
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 16;
const MAX_LANES: u32 = 16;
const SALT_BYTES: usize = 16;

/// The format of a file, before anything else is known about it.
#[derive(Debug, Deserialize)]
pub(super) struct ArchiveFormat {
    pub(super) format: String,
    pub(super) version: u32,
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArchiveHeader {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) compression: CompressionName,
    pub(super) encryption: Option<EncryptionHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CompressionName {
    Gzip,
}

#[derive(Debug, Serialize, Deserialize)]
enum CipherName {
    #[serde(rename = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeyDerivation {
    Argon2id,
}

/// How the key is derived from the passphrase, and what is encrypted with it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EncryptionHeader {
    cipher: CipherName,
    chunk_bytes: usize,
    derivation: KeyDerivation,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: String,
    /// Tells a wrong passphrase from a damaged file.
    key_check: String,
}

/// Why no key was derived.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyError {
    WrongPassphrase,
    /// The header asks for something that is not supported.
    Unsupported(&'static str),
}

/// The key of one file.
#[derive(Clone)]
pub(super) struct ArchiveKey([u8; 32]);

impl ArchiveKey {
    /// The key in the form that the cipher needs.
    pub(super) fn to_cipher(&self) -> LessSafeKey {
        #[expect(clippy::expect_used, reason = "the key has the length that the cipher needs")]
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.0).expect("a key of 32 bytes");
        LessSafeKey::new(key)
    }

    fn check_value(&self) -> [u8; 32] {
        Sha256::new().chain_update(b"toolyard/backup-key-check").chain_update(self.0).finalize().into()
    }
}

impl EncryptionHeader {
    /// New parameters, and the key that belongs to them and the passphrase.
    pub(super) fn create(
        passphrase: &SecretText,
        ids: &dyn IdGenerator,
    ) -> Result<(Self, ArchiveKey), KeyError> {
        let mut salt = [0; SALT_BYTES];
        ids.fill_random(&mut salt);
        let mut header = Self {
            cipher: CipherName::ChaCha20Poly1305,
            chunk_bytes: CHUNK_BYTES,
            derivation: KeyDerivation::Argon2id,
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: hex::encode(salt),
            key_check: String::new(),
        };
        let key = header.derive(passphrase)?;
        header.key_check = hex::encode(key.check_value());
        Ok((header, key))
    }

    /// The key of the file, if the passphrase is right.
    pub(super) fn open(&self, passphrase: &SecretText) -> Result<ArchiveKey, KeyError> {
        let key = self.derive(passphrase)?;
        let check = hex::decode(&self.key_check).unwrap_or_default();
        if bool::from(check.ct_eq(&key.check_value())) { Ok(key) } else { Err(KeyError::WrongPassphrase) }
    }

    fn derive(&self, passphrase: &SecretText) -> Result<ArchiveKey, KeyError> {
        let is_bounded =
            self.memory_kib <= MAX_MEMORY_KIB && self.passes <= MAX_PASSES && self.lanes <= MAX_LANES;
        if !is_bounded {
            return Err(KeyError::Unsupported("the key derivation costs too much"));
        }
        if self.chunk_bytes != CHUNK_BYTES {
            return Err(KeyError::Unsupported("unknown size of chunks"));
        }
        let unsupported = |_| KeyError::Unsupported("invalid parameters of the key derivation");
        let params = argon2::Params::new(self.memory_kib, self.passes, self.lanes, Some(32));
        let params = params.map_err(unsupported)?;
        let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
        let salt =
            hex::decode(&self.salt).map_err(|_| KeyError::Unsupported("the salt is not hexadecimal"))?;
        let mut key = [0; 32];
        argon2.hash_password_into(passphrase.expose().as_bytes(), &salt, &mut key).map_err(unsupported)?;
        Ok(ArchiveKey(key))
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;

    #[test]
    fn a_key_needs_its_passphrase_and_salt() {
        let passphrase = SecretText::new("correct horse battery");
        let (header, key) = EncryptionHeader::create(&passphrase, &SystemIds).unwrap();
        assert_eq!(header.open(&passphrase).unwrap().0, key.0);
        let wrong = header.open(&SecretText::new("wrong horse battery")).err();
        assert_eq!(wrong, Some(KeyError::WrongPassphrase));
        let (other, other_key) = EncryptionHeader::create(&passphrase, &SystemIds).unwrap();
        assert_ne!(key.0, other_key.0, "each file has its own key");
        assert_ne!(header.salt, other.salt);
    }

    #[test]
    fn a_header_cannot_ask_for_everything() {
        let passphrase = SecretText::new("correct horse battery");
        let (header, _) = EncryptionHeader::create(&passphrase, &SystemIds).unwrap();
        let text = serde_json::to_string(&header).unwrap();
        for (from, to) in [
            (format!("\"memoryKib\":{MEMORY_KIB}"), format!("\"memoryKib\":{}", MAX_MEMORY_KIB + 1)),
            (format!("\"passes\":{PASSES}"), format!("\"passes\":{}", MAX_PASSES + 1)),
            (format!("\"lanes\":{LANES}"), format!("\"lanes\":{}", MAX_LANES + 1)),
            (format!("\"lanes\":{LANES}"), "\"lanes\":0".to_owned()),
            (format!("\"chunkBytes\":{CHUNK_BYTES}"), "\"chunkBytes\":99999999".to_owned()),
            (header.salt.clone(), "salt".to_owned()),
        ] {
            let changed: EncryptionHeader = serde_json::from_str(&text.replace(&from, &to)).unwrap();
            let refused = changed.open(&passphrase).err();
            assert!(matches!(refused, Some(KeyError::Unsupported(_))), "{to}: {refused:?}");
        }
    }
}
