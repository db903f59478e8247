//! Authenticator data: hash of the relying party (32 bytes), flags (1), signature counter (4), and at a registration the
//! model (16), the length of the credential id (2), the credential id and its key. Extensions may follow.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{RelyingParty, error::PasskeyError};

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// Parsed authenticator data.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuthenticatorData<'a> {
    relying_party_hash: &'a [u8; 32],
    flags: u8,
    pub(super) sign_count: u32,
    /// The id of the new credential, at a registration.
    pub(super) credential_id: Option<&'a [u8]>,
}

impl<'a> AuthenticatorData<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, PasskeyError> {
        Self::read(bytes).ok_or(PasskeyError::AuthenticatorData)
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (relying_party_hash, rest) = bytes.split_first_chunk()?;
        let (&flags, rest) = rest.split_first()?;
        let (sign_count, rest) = rest.split_first_chunk()?;
        let credential_id = if flags & HAS_CREDENTIAL != 0 {
            Some(read_credential_id(rest)?)
        } else if (flags & HAS_EXTENSIONS != 0) != rest.is_empty() {
            None
        } else {
            return None;
        };
        Some(Self { relying_party_hash, flags, sign_count: u32::from_be_bytes(*sign_count), credential_id })
    }

    /// Checks whom the data is for, and what the authenticator asked of the person.
    pub(super) fn check(&self, relying_party: &RelyingParty) -> Result<(), PasskeyError> {
        let expected = Sha256::digest(relying_party.id.as_bytes());
        let is_ours: bool = expected.as_slice().ct_eq(self.relying_party_hash).into();
        if !is_ours {
            return Err(PasskeyError::RelyingParty);
        }
        if !self.has(USER_PRESENT) {
            return Err(PasskeyError::UserNotPresent);
        }
        // A passkey replaces the password and the second factor, so a stolen device alone must not be enough.
        if !self.has(USER_VERIFIED) {
            return Err(PasskeyError::UserNotVerified);
        }
        if self.is_backed_up() && !self.has(BACKUP_ELIGIBLE) {
            return Err(PasskeyError::BackupFlags);
        }
        Ok(())
    }

    /// Whether the passkey is synchronized to other devices, or otherwise survives the loss of this one.
    pub(super) fn is_backed_up(&self) -> bool {
        self.has(BACKED_UP)
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Model, length, credential id, key. The key must be there, but is not read: see the module `passkey`.
fn read_credential_id(bytes: &[u8]) -> Option<&[u8]> {
    let (_model, rest) = bytes.split_first_chunk::<16>()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (credential_id, key) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    (!key.is_empty()).then_some(credential_id)
}
