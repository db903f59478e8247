//! Requests to the token endpoint: who asks, and with what grant.

mod credentials;
mod error;

use toolyard_protocol::secret::SecretText;

use crate::{
    code::{CodeRedemption, MAX_CODE_BYTES},
    device::MAX_DEVICE_CODE_BYTES,
    grant_type::GrantType,
    jwt::MAX_ASSERTION_BYTES,
    parameters::RequestParameters,
    pkce::{CodeVerifier, MAX_VERIFIER_CHARS},
    redirect::MAX_REDIRECT_BYTES,
    refresh::MAX_REFRESH_TOKEN_BYTES,
    resource::{AcceptedResources, MAX_RESOURCE_BYTES, ResourceIdentifier},
    scope::{MAX_SCOPE_BYTES, ScopeSet},
};

pub use credentials::{ClientProof, MAX_BASIC_BYTES, PresentedClient};
pub use error::{GrantError, TokenError};

/// Longest `grant_type`, in bytes.
const MAX_GRANT_TYPE_BYTES: usize = 100;

/// What a client offers for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenGrant {
    /// A code of the authorization endpoint.
    AuthorizationCode(CodeRedemption),
    /// A refresh token.
    RefreshToken(SecretText),
    /// Nothing but its own identity.
    ClientCredentials,
    /// An identity assertion (ID-JAG).
    JwtBearer(SecretText),
    /// A device code.
    DeviceCode(SecretText),
}

impl TokenGrant {
    /// Its type.
    pub const fn grant_type(&self) -> GrantType {
        match self {
            Self::AuthorizationCode(_) => GrantType::AuthorizationCode,
            Self::RefreshToken(_) => GrantType::RefreshToken,
            Self::ClientCredentials => GrantType::ClientCredentials,
            Self::JwtBearer(_) => GrantType::JwtBearer,
            Self::DeviceCode(_) => GrantType::DeviceCode,
        }
    }
}

/// A request to the token endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// Who asks, not yet authenticated.
    pub client: PresentedClient,
    /// The grant.
    pub grant: TokenGrant,
    /// The resource that the token should be for, if the client names one.
    pub resource: Option<String>,
    /// The scopes that the token should have, if the client names any of ours.
    pub scopes: Option<ScopeSet>,
}

impl TokenRequest {
    /// Reads a request: the `Authorization` header, and the form.
    pub fn parse(authorization: Option<&str>, form: &RequestParameters) -> Result<Self, TokenError> {
        form.refuse_duplicates()?;
        let grant_type: GrantType = form.required("grant_type", MAX_GRANT_TYPE_BYTES)?.parse()?;
        let client = PresentedClient::parse(authorization, form)?;
        let scope = form.optional("scope", MAX_SCOPE_BYTES)?.map(ScopeSet::parse).transpose()?;
        Ok(Self {
            client,
            grant: read_grant(grant_type, form)?,
            resource: form.optional("resource", MAX_RESOURCE_BYTES)?.map(str::to_owned),
            scopes: scope.map(|parsed| parsed.scopes).filter(|scopes| !scopes.is_empty()),
        })
    }

    /// The resource of a request that is bound to nothing yet: the one it names, or the default.
    pub fn find_resource<'a>(
        &self,
        resources: &'a AcceptedResources,
    ) -> Result<&'a ResourceIdentifier, GrantError> {
        resources.find(self.resource.as_deref()).ok_or(GrantError::Resource)
    }

    /// The scopes of a new token: what the grant permits, narrowed to what the request names. A request for more than was
    /// granted fails (RFC 6749, 6).
    pub fn effective_scopes(&self, granted: &ScopeSet) -> Result<ScopeSet, GrantError> {
        match &self.scopes {
            None => Ok(granted.clone()),
            Some(requested) if granted.covers(requested) => {
                requested.narrow(granted).ok_or(GrantError::ScopeExceeded)
            }
            Some(_) => Err(GrantError::ScopeExceeded),
        }
    }
}

fn read_grant(grant_type: GrantType, form: &RequestParameters) -> Result<TokenGrant, TokenError> {
    let secret = |name: &'static str, max: usize| form.required(name, max).map(SecretText::new);
    Ok(match grant_type {
        GrantType::AuthorizationCode => {
            let code = secret("code", MAX_CODE_BYTES)?;
            let redirect_uri = form.optional("redirect_uri", MAX_REDIRECT_BYTES)?.map(str::to_owned);
            let code_verifier = CodeVerifier::parse(form.required("code_verifier", MAX_VERIFIER_CHARS)?)?;
            TokenGrant::AuthorizationCode(CodeRedemption { code, redirect_uri, code_verifier })
        }
        GrantType::RefreshToken => {
            TokenGrant::RefreshToken(secret("refresh_token", MAX_REFRESH_TOKEN_BYTES)?)
        }
        GrantType::ClientCredentials => TokenGrant::ClientCredentials,
        GrantType::JwtBearer => TokenGrant::JwtBearer(secret("assertion", MAX_ASSERTION_BYTES)?),
        GrantType::DeviceCode => TokenGrant::DeviceCode(secret("device_code", MAX_DEVICE_CODE_BYTES)?),
    })
}

#[cfg(test)]
mod tests;
