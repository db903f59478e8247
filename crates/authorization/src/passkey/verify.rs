//! The two ceremonies: registration and sign-in.

use sha2::{Digest as _, Sha256};

use super::{
    RelyingParty,
    authenticator_data::AuthenticatorData,
    client_data::{PasskeyCeremony, check_client_data},
    error::PasskeyError,
    key::{PasskeyAlgorithm, PasskeyKey},
    response::{PasskeyAssertion, PasskeyRegistration},
};

/// A verified sign-in. Store both values with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssertedPasskey {
    /// The new signature counter.
    pub sign_count: u32,
    /// Whether the passkey is synchronized to other devices now.
    pub backed_up: bool,
}

/// Verifies the registration of a passkey.
///
/// The challenge must be usable once, and belong to the session of the person. The caller also refuses a credential id
/// that any account has already.
pub fn verify_registration(
    registration: &PasskeyRegistration,
    challenge: &[u8],
    relying_party: &RelyingParty,
) -> Result<PasskeyKey, PasskeyError> {
    let credential_id = registration.credential_id()?;
    check_client_data(&registration.client_data()?, PasskeyCeremony::Registration, challenge, relying_party)?;
    let bytes = registration.authenticator_data()?;
    let data = AuthenticatorData::parse(&bytes)?;
    data.check(relying_party)?;
    if data.credential_id.ok_or(PasskeyError::NoCredential)? != credential_id {
        return Err(PasskeyError::OtherCredential);
    }
    let algorithm = PasskeyAlgorithm::from_cose_number(registration.cose_algorithm())?;
    Ok(PasskeyKey {
        credential_id,
        public_key: algorithm.canonical_public_key(&registration.public_key()?)?,
        algorithm,
        sign_count: data.sign_count,
        backed_up: data.is_backed_up(),
    })
}

/// Verifies a sign-in with a stored passkey.
///
/// `key` is the stored key with the [id of the response](PasskeyAssertion::credential_id), `user_handle` the handle of the
/// account that the key belongs to. The challenge must be usable once.
pub fn verify_assertion(
    assertion: &PasskeyAssertion,
    challenge: &[u8],
    relying_party: &RelyingParty,
    key: &PasskeyKey,
    user_handle: &[u8],
) -> Result<AssertedPasskey, PasskeyError> {
    if assertion.credential_id()? != key.credential_id {
        return Err(PasskeyError::UnknownPasskey);
    }
    // Authenticators that store no account with the key send none. The key is bound to its account here as well.
    if assertion.user_handle()?.is_some_and(|named| named != user_handle) {
        return Err(PasskeyError::UserHandle);
    }
    let client_data = assertion.client_data()?;
    check_client_data(&client_data, PasskeyCeremony::Assertion, challenge, relying_party)?;
    let mut message = assertion.authenticator_data()?;
    let data = AuthenticatorData::parse(&message)?;
    data.check(relying_party)?;
    let asserted = AssertedPasskey { sign_count: data.sign_count, backed_up: data.is_backed_up() };
    message.extend_from_slice(&Sha256::digest(&client_data));
    key.verify_signature(&message, &assertion.signature()?)?;
    // After the signature, so that only the key itself, or a copy of it, can raise the alarm.
    check_sign_count(key.sign_count, asserted.sign_count)?;
    Ok(asserted)
}

/// A counter must increase with each use. Authenticators that synchronize their keys have none and always send zero.
fn check_sign_count(stored: u32, new: u32) -> Result<(), PasskeyError> {
    if new > stored || (new == 0 && stored == 0) { Ok(()) } else { Err(PasskeyError::ClonedKey) }
}
