//! Passkeys: the rules of a WebAuthn (level 3) relying party.
//!
//! The caller makes a random challenge, stores it for one use, and passes it to `navigator.credentials`. What the browser
//! returns is the JSON of `PublicKeyCredential.toJSON()`: [`verify_registration`] turns it into a [`PasskeyKey`] to store,
//! [`verify_assertion`] checks it against the stored key.
//!
//! Request attestation `none` and user verification `required`. With `none`, no attestation signature covers a
//! registration, so the attestation object proves nothing beyond the public key that the browser reports next to it. That
//! is why no CBOR is read here, and why nothing about the model of an authenticator is known or trusted.

mod authenticator_data;
mod client_data;
mod error;
mod key;
mod response;
mod verify;

use url::{Host, Url};

pub use self::{
    client_data::{MAX_CLIENT_DATA_BYTES, MIN_CHALLENGE_BYTES},
    error::PasskeyError,
    key::{
        MAX_PUBLIC_KEY_BYTES, MAX_RSA_BITS, MAX_SIGNATURE_BYTES, MIN_RSA_BITS, PasskeyAlgorithm, PasskeyKey,
    },
    response::{
        MAX_AUTHENTICATOR_DATA_BYTES, MAX_CREDENTIAL_ID_BYTES, MAX_USER_HANDLE_BYTES, PasskeyAssertion,
        PasskeyRegistration,
    },
    verify::{AssertedPasskey, verify_assertion, verify_registration},
};
use crate::issuer::IssuerOrigin;

/// This server, as browsers and authenticators know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// The domain that passkeys are bound to, such as `tools.example.com`. If it changes, all passkeys are lost.
    pub id: String,
    /// The origin of the sign-in page as browsers write it, such as `https://tools.example.com:8443`.
    pub origin: String,
}

impl RelyingParty {
    /// The relying party of a server. `None` if its host is an IP address: browsers refuse passkeys there.
    pub fn from_issuer(issuer: &IssuerOrigin) -> Option<Self> {
        let url = Url::parse(issuer.as_str()).ok()?;
        match url.host()? {
            Host::Domain(domain) => {
                Some(Self { id: domain.to_owned(), origin: url.origin().ascii_serialization() })
            }
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }
}
