//! Client data: what the browser says about the page that used a passkey.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, de::IgnoredAny};
use subtle::ConstantTimeEq as _;

use super::{RelyingParty, error::PasskeyError};

/// Longest client data, in bytes.
pub const MAX_CLIENT_DATA_BYTES: usize = 8 * 1024;
/// Shortest challenge, in bytes. A shorter one would be a mistake of the caller, and could be guessed.
pub const MIN_CHALLENGE_BYTES: usize = 16;

/// What a passkey is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PasskeyCeremony {
    Registration,
    Assertion,
}

/// Unknown members are ignored, as browsers add some on purpose. A member that occurs twice is an error.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<IgnoredAny>,
}

impl PasskeyCeremony {
    fn client_data_type(self) -> &'static str {
        match self {
            Self::Registration => "webauthn.create",
            Self::Assertion => "webauthn.get",
        }
    }
}

/// Checks that a page of this server did what was asked for, and just now.
pub(super) fn check_client_data(
    bytes: &[u8],
    ceremony: PasskeyCeremony,
    challenge: &[u8],
    relying_party: &RelyingParty,
) -> Result<(), PasskeyError> {
    let client_data: ClientData = serde_json::from_slice(bytes).map_err(|_| PasskeyError::ClientData)?;
    if client_data.kind != ceremony.client_data_type() {
        return Err(PasskeyError::Ceremony);
    }
    let expected = URL_SAFE_NO_PAD.encode(challenge);
    let is_ours: bool = expected.as_bytes().ct_eq(client_data.challenge.as_bytes()).into();
    if challenge.len() < MIN_CHALLENGE_BYTES || !is_ours {
        return Err(PasskeyError::Challenge);
    }
    if client_data.origin != relying_party.origin {
        return Err(PasskeyError::Origin);
    }
    // The sign-in page is never embedded. A page that embeds it could trick the person into using the passkey.
    if client_data.cross_origin || client_data.top_origin.is_some() {
        return Err(PasskeyError::CrossOrigin);
    }
    Ok(())
}
