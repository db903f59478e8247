//! Identity assertion grants (ID-JAG): a company's identity provider lets its people in without a consent page.
//!
//! The provider signs who the person is, for which client, and for which resource. All of it is checked: without the
//! resource, a grant for another server of the company would open this one.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    client_auth::{AuthenticatedClient, UsedAssertion},
    issuer::IssuerOrigin,
    jwt::{
        AssertionError, KeySet, MAX_JTI_BYTES, NumericDate, OneOrMany, peek_claims, required_claim,
        times::AssertionTimes, verify_signature,
    },
    resource::{AcceptedResources, ResourceIdentifier},
    scope::ScopeSet,
    token_request::GrantError,
};

/// The type in the header of an identity assertion.
pub const ID_JAG_TYPE: &str = "oauth-id-jag+jwt";
/// The grant profile that is announced in the metadata.
pub const ID_JAG_PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";
/// Longest subject, in bytes.
pub const MAX_SUBJECT_BYTES: usize = 255;
/// Longest e-mail address, in bytes.
pub const MAX_EMAIL_BYTES: usize = 254;

/// What an identity assertion is checked against.
#[derive(Debug, Clone, Copy)]
pub struct IdJagRules<'a> {
    /// The trusted identity provider, as [`select_issuer`] returned it.
    pub provider: &'a str,
    /// Its current keys.
    pub provider_keys: &'a KeySet,
    /// This server.
    pub issuer: &'a IssuerOrigin,
    /// Its resources.
    pub resources: &'a AcceptedResources,
    /// The client that sent the assertion.
    pub client: &'a AuthenticatedClient,
    /// Whether a client that proves nothing may send one. The draft advises against it.
    pub allow_public_clients: bool,
    /// The `resource` parameter of the token request, if any.
    pub requested_resource: Option<&'a str>,
    /// The current time.
    pub now: Timestamp,
}

/// A verified identity assertion: a person, as the identity provider knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityGrant {
    /// The identity provider. A subject is unique for its provider only.
    pub provider: String,
    /// The person's id there. Mapped to an account first.
    pub subject: String,
    /// The person's e-mail address. Mapped to an account if the subject is not known.
    pub email: Option<AssertedEmail>,
    /// The resource that the token will be for.
    pub resource: ResourceIdentifier,
    /// The scopes that the provider permits; `None` if it leaves that to this server, empty if it names only scopes of
    /// others.
    pub scopes: Option<ScopeSet>,
    /// To be recorded, so that it is not used twice.
    pub used: UsedAssertion,
}

/// An e-mail address in an identity assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertedEmail {
    /// The address.
    pub address: String,
    /// Whether the provider verified it; `None` if it does not say. An address that is not verified must not be mapped.
    pub verified: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct IssuerClaim {
    iss: Option<String>,
}

#[derive(Debug, Deserialize)]
struct IdJagClaims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<OneOrMany>,
    client_id: Option<String>,
    resource: Option<OneOrMany>,
    scope: Option<String>,
    jti: Option<String>,
    exp: Option<NumericDate>,
    nbf: Option<NumericDate>,
    iat: Option<NumericDate>,
    email: Option<String>,
    email_verified: Option<Value>,
}

/// The trusted identity provider that an assertion claims to be from. Its keys are fetched next; nothing is verified yet.
pub fn select_issuer<'a>(assertion: &str, trusted: &'a [String]) -> Result<&'a str, GrantError> {
    let claims: IssuerClaim = peek_claims(assertion)?;
    let named = claims.iss.as_deref().unwrap_or_default();
    trusted.iter().map(String::as_str).find(|issuer| *issuer == named).ok_or(GrantError::UntrustedIssuer)
}

/// Verifies an identity assertion.
pub fn verify_id_jag(assertion: &str, rules: &IdJagRules<'_>) -> Result<IdentityGrant, GrantError> {
    if !rules.allow_public_clients && !rules.client.method().is_confidential() {
        return Err(GrantError::PublicClient);
    }
    let claims: IdJagClaims = verify_signature(assertion, rules.provider_keys, is_id_jag)?;
    if claims.iss.as_deref() != Some(rules.provider) {
        return Err(AssertionError::Issuer.into());
    }
    if !claims.aud.as_ref().is_some_and(|audience| audience.all(|text| text == rules.issuer.as_str())) {
        return Err(AssertionError::Audience.into());
    }
    if claims.client_id.as_deref() != Some(rules.client.id().as_str()) {
        return Err(AssertionError::Client.into());
    }
    let resource = check_resource(claims.resource.as_ref(), rules)?;
    // The draft requires the issue time, and the lifetime is measured from it.
    claims.iat.ok_or(AssertionError::Claim("iat"))?;
    let times = AssertionTimes { expires: claims.exp, not_before: claims.nbf, issued: claims.iat };
    let remember_until = times.check(rules.now)?;
    let jti = required_claim(claims.jti.as_deref(), "jti", MAX_JTI_BYTES)?;
    let subject = required_claim(claims.sub.as_deref(), "sub", MAX_SUBJECT_BYTES)?;
    let scope = claims.scope.as_deref().map(ScopeSet::parse).transpose();
    let scopes = scope.map_err(|_| AssertionError::Claim("scope"))?.map(|parsed| parsed.scopes);
    Ok(IdentityGrant {
        provider: rules.provider.to_owned(),
        subject: subject.to_owned(),
        email: read_email(claims.email.as_deref(), claims.email_verified.as_ref())?,
        resource,
        scopes,
        used: UsedAssertion::new(rules.provider, jti, remember_until),
    })
}

/// The resource must be there and ours. A list may name several of ours; the first one counts.
fn check_resource(
    claim: Option<&OneOrMany>,
    rules: &IdJagRules<'_>,
) -> Result<ResourceIdentifier, GrantError> {
    let find = |text: &str| rules.resources.find(Some(text));
    let claim =
        claim.filter(|claim| claim.all(|text| find(text).is_some())).ok_or(AssertionError::Resource)?;
    let first = match claim {
        OneOrMany::One(text) => Some(text),
        OneOrMany::Many(texts) => texts.first(),
    };
    let resource = first.and_then(|text| find(text)).ok_or(AssertionError::Resource)?;
    match rules.requested_resource {
        Some(requested) if !resource.matches(requested) => Err(GrantError::Resource),
        _ => Ok(resource.clone()),
    }
}

fn read_email(
    address: Option<&str>,
    verified: Option<&Value>,
) -> Result<Option<AssertedEmail>, AssertionError> {
    let Some(address) = address.filter(|address| !address.is_empty()) else { return Ok(None) };
    required_claim(Some(address), "email", MAX_EMAIL_BYTES)?;
    // Anything but `true` does not verify it; some providers write texts.
    let verified = verified.map(|value| *value == Value::Bool(true));
    Ok(Some(AssertedEmail { address: address.to_owned(), verified }))
}

/// Only tokens of this type: an ID token or access token of the same provider must not be usable as a grant.
fn is_id_jag(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| {
        let kind = kind.to_ascii_lowercase();
        kind.strip_prefix("application/").unwrap_or(&kind) == ID_JAG_TYPE
    })
}

#[cfg(test)]
mod tests;
