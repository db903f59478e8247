//! What browsers return: the JSON of `PublicKeyCredential.toJSON()`. Unknown members are ignored, as browsers add some.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

use super::{
    client_data::MAX_CLIENT_DATA_BYTES,
    error::PasskeyError,
    key::{MAX_PUBLIC_KEY_BYTES, MAX_SIGNATURE_BYTES},
};

/// Longest credential id, in bytes, as WebAuthn limits it.
pub const MAX_CREDENTIAL_ID_BYTES: usize = 1023;
/// Longest authenticator data, in bytes.
pub const MAX_AUTHENTICATOR_DATA_BYTES: usize = 4 * 1024;
/// Longest user handle, in bytes, as WebAuthn limits it.
pub const MAX_USER_HANDLE_BYTES: usize = 64;

/// The transports that WebAuthn defines.
const TRANSPORTS: [&str; 6] = ["ble", "hybrid", "internal", "nfc", "smart-card", "usb"];

/// The response of `navigator.credentials.create()`. Nothing is verified yet.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyRegistration {
    id: String,
    raw_id: String,
    #[serde(rename = "type")]
    kind: String,
    response: RegistrationFields,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistrationFields {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    authenticator_data: String,
    public_key: Option<String>,
    public_key_algorithm: i64,
    transports: Option<Vec<String>>,
}

/// The response of `navigator.credentials.get()`. Nothing is verified yet.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PasskeyAssertion {
    id: String,
    raw_id: String,
    #[serde(rename = "type")]
    kind: String,
    response: AssertionFields,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssertionFields {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    authenticator_data: String,
    signature: String,
    user_handle: Option<String>,
}

impl PasskeyRegistration {
    /// How the browser can reach the authenticator: a hint for later requests, limited to the values that WebAuthn defines.
    pub fn transports(&self) -> Vec<&'static str> {
        let named = self.response.transports.as_deref().unwrap_or_default();
        let is_named = |known: &&str| named.iter().any(|transport| transport == known);
        TRANSPORTS.into_iter().filter(is_named).collect()
    }

    pub(super) fn credential_id(&self) -> Result<Vec<u8>, PasskeyError> {
        read_credential_id(&self.kind, &self.id, &self.raw_id)
    }

    pub(super) fn client_data(&self) -> Result<Vec<u8>, PasskeyError> {
        decode(&self.response.client_data, "clientDataJSON", MAX_CLIENT_DATA_BYTES)
    }

    pub(super) fn authenticator_data(&self) -> Result<Vec<u8>, PasskeyError> {
        decode(&self.response.authenticator_data, "authenticatorData", MAX_AUTHENTICATOR_DATA_BYTES)
    }

    pub(super) fn public_key(&self) -> Result<Vec<u8>, PasskeyError> {
        let text = self.response.public_key.as_deref().ok_or(PasskeyError::NoPublicKey)?;
        decode(text, "publicKey", MAX_PUBLIC_KEY_BYTES)
    }

    pub(super) fn cose_algorithm(&self) -> i64 {
        self.response.public_key_algorithm
    }
}

impl PasskeyAssertion {
    /// The id of the passkey that claims to have signed. Look up the stored key with it; nothing is verified yet.
    pub fn credential_id(&self) -> Result<Vec<u8>, PasskeyError> {
        read_credential_id(&self.kind, &self.id, &self.raw_id)
    }

    pub(super) fn client_data(&self) -> Result<Vec<u8>, PasskeyError> {
        decode(&self.response.client_data, "clientDataJSON", MAX_CLIENT_DATA_BYTES)
    }

    pub(super) fn authenticator_data(&self) -> Result<Vec<u8>, PasskeyError> {
        decode(&self.response.authenticator_data, "authenticatorData", MAX_AUTHENTICATOR_DATA_BYTES)
    }

    pub(super) fn signature(&self) -> Result<Vec<u8>, PasskeyError> {
        decode(&self.response.signature, "signature", MAX_SIGNATURE_BYTES)
    }

    pub(super) fn user_handle(&self) -> Result<Option<Vec<u8>>, PasskeyError> {
        let text = self.response.user_handle.as_deref();
        text.map(|text| decode(text, "userHandle", MAX_USER_HANDLE_BYTES)).transpose()
    }
}

fn read_credential_id(kind: &str, id: &str, raw_id: &str) -> Result<Vec<u8>, PasskeyError> {
    if kind != "public-key" {
        return Err(PasskeyError::CredentialType);
    }
    if id.is_empty() || id != raw_id {
        return Err(PasskeyError::CredentialId);
    }
    decode(id, "id", MAX_CREDENTIAL_ID_BYTES)
}

/// Decodes base64url. The bound is checked first, so that nothing large is decoded.
fn decode(text: &str, member: &'static str, max_bytes: usize) -> Result<Vec<u8>, PasskeyError> {
    if text.len() > (max_bytes * 4).div_ceil(3) {
        return Err(PasskeyError::TooLong(member));
    }
    URL_SAFE_NO_PAD.decode(text).map_err(|_| PasskeyError::Encoding(member))
}
