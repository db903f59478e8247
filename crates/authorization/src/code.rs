//! Authorization codes: what a code is bound to, and whether a token request may redeem it.
//!
//! The caller stores the binding under a hash of the code, removes it with the first attempt, and revokes the grant if
//! the code comes again.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use toolyard_protocol::secret::SecretText;

use crate::{
    client::ClientId,
    client_auth::AuthenticatedClient,
    pkce::{CodeChallenge, CodeVerifier},
    redirect::RedirectUri,
    resource::ResourceIdentifier,
    token_request::GrantError,
};

/// Lifetime of a code, in seconds. Clients redeem it at once.
pub const CODE_LIFETIME_S: i64 = 60;
/// Longest code that a client may send, in bytes.
pub const MAX_CODE_BYTES: usize = 256;

/// What a code is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeBinding {
    /// The client that requested it.
    pub client_id: ClientId,
    /// Where it was sent.
    pub redirect_uri: RedirectUri,
    /// The resource that the token will be for.
    pub resource: ResourceIdentifier,
    /// The challenge of PKCE.
    pub code_challenge: CodeChallenge,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The part of a token request that redeems a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRedemption {
    /// The code.
    pub code: SecretText,
    /// Where the client received it. OAuth 2.1 no longer sends this, because PKCE proves more.
    pub redirect_uri: Option<String>,
    /// The proof that the same client asked for the code.
    pub code_verifier: CodeVerifier,
}

/// A code of 32 random bytes.
pub fn code_from_bytes(bytes: [u8; 32]) -> SecretText {
    SecretText::new(format!("tya_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

impl CodeBinding {
    /// Checks that the client that redeems the code is the one that requested it, for the same resource.
    pub fn check(
        &self,
        client: &AuthenticatedClient,
        redemption: &CodeRedemption,
        resource: Option<&str>,
        now: Timestamp,
    ) -> Result<(), GrantError> {
        if now >= self.expires_at {
            return Err(GrantError::CodeExpired);
        }
        if *client.id() != self.client_id {
            return Err(GrantError::CodeClient);
        }
        if redemption.redirect_uri.as_deref().is_some_and(|uri| uri != self.redirect_uri.as_str()) {
            return Err(GrantError::CodeRedirect);
        }
        if !self.code_challenge.verify(&redemption.code_verifier) {
            return Err(GrantError::CodeVerifier);
        }
        if resource.is_some_and(|requested| !self.resource.matches(requested)) {
            return Err(GrantError::Resource);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const RESOURCE: &str = "https://tools.example.com/mcp";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn binding() -> CodeBinding {
        CodeBinding {
            client_id: "the-client".parse().unwrap(),
            redirect_uri: "http://localhost:5000/cb".parse().unwrap(),
            resource: RESOURCE.parse().unwrap(),
            code_challenge: CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap(),
            expires_at: at(CODE_LIFETIME_S),
        }
    }

    fn check(
        client: &str,
        redirect: Option<&str>,
        verifier: &str,
        resource: Option<&str>,
        now: i64,
    ) -> Result<(), GrantError> {
        let client = AuthenticatedClient::public(client.parse().unwrap());
        let redemption = CodeRedemption {
            code: code_from_bytes([1; 32]),
            redirect_uri: redirect.map(str::to_owned),
            code_verifier: CodeVerifier::parse(verifier).unwrap(),
        };
        binding().check(&client, &redemption, resource, at(now))
    }

    #[test]
    fn the_client_that_asked_can_redeem_its_code() {
        let redirect = Some("http://localhost:5000/cb");
        assert_eq!(check("the-client", redirect, VERIFIER, Some(RESOURCE), 59), Ok(()));
        assert_eq!(check("the-client", None, VERIFIER, None, 0), Ok(()));
        assert_eq!(check("the-client", redirect, VERIFIER, Some(&format!("{RESOURCE}/")), 0), Ok(()));
    }

    #[test]
    fn everything_else_is_refused() {
        let other = "a".repeat(43);
        for (client, redirect, verifier, resource, now, expected) in [
            ("the-client", None, VERIFIER, None, 60, GrantError::CodeExpired),
            ("other", None, VERIFIER, None, 0, GrantError::CodeClient),
            // The port was free to choose in the request, not any more here.
            ("the-client", Some("http://localhost:5001/cb"), VERIFIER, None, 0, GrantError::CodeRedirect),
            ("the-client", Some("http://localhost:5000/cb/"), VERIFIER, None, 0, GrantError::CodeRedirect),
            ("the-client", None, other.as_str(), None, 0, GrantError::CodeVerifier),
            ("the-client", None, VERIFIER, Some("https://other.example/mcp"), 0, GrantError::Resource),
        ] {
            assert_eq!(check(client, redirect, verifier, resource, now), Err(expected));
        }
    }

    #[test]
    fn codes_are_long_and_stored_bindings_are_read_again() {
        assert_eq!(code_from_bytes([0; 32]).expose().len(), 47);
        let stored = serde_json::to_string(&binding()).unwrap();
        assert_eq!(serde_json::from_str::<CodeBinding>(&stored).unwrap(), binding());
    }
}
