//! The credentials that a client presents: a Basic header, a secret in the form, an assertion, or none.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use toolyard_protocol::secret::SecretText;
use url::form_urlencoded;

use crate::{
    client::{ClientAuthMethod, ClientId, MAX_CLIENT_ID_BYTES, MAX_SECRET_BYTES},
    client_auth::ClientAuthError,
    jwt::{MAX_ASSERTION_BYTES, peek_claims},
    parameters::RequestParameters,
};

use super::TokenError;

/// Longest Basic header, in bytes.
pub const MAX_BASIC_BYTES: usize = 4 * 1024;
/// The only type of client assertions.
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Longest type of an assertion, in bytes.
const MAX_ASSERTION_TYPE_BYTES: usize = 100;

/// A client as it presents itself. Nothing is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedClient {
    /// Who it claims to be.
    pub id: ClientId,
    /// Its proof.
    pub proof: ClientProof,
}

/// The proof of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientProof {
    /// None, as a public client.
    None,
    /// A secret in a Basic header.
    SecretBasic(SecretText),
    /// A secret in the form.
    SecretPost(SecretText),
    /// A signed assertion.
    Assertion(SecretText),
}

/// The claims with which the client of an assertion is looked up. They are verified afterwards.
#[derive(Deserialize)]
struct AssertedClient {
    sub: Option<String>,
}

impl ClientProof {
    /// The method that it belongs to.
    pub const fn method(&self) -> ClientAuthMethod {
        match self {
            Self::None => ClientAuthMethod::None,
            Self::SecretBasic(_) => ClientAuthMethod::ClientSecretBasic,
            Self::SecretPost(_) => ClientAuthMethod::ClientSecretPost,
            Self::Assertion(_) => ClientAuthMethod::PrivateKeyJwt,
        }
    }
}

impl PresentedClient {
    /// Reads the credentials of a request whose parameters are there once. Two methods at once are refused: they could
    /// name two clients.
    pub fn parse(authorization: Option<&str>, form: &RequestParameters) -> Result<Self, TokenError> {
        let named = form.optional("client_id", MAX_CLIENT_ID_BYTES)?;
        let named: Option<ClientId> = named.map(parse_id).transpose()?;
        let secret = form.optional("client_secret", MAX_SECRET_BYTES)?;
        let basic = authorization.and_then(basic_credentials).transpose()?;
        let assertion = read_assertion(form)?;
        let methods = [secret.is_some(), basic.is_some(), assertion.is_some()];
        if methods.into_iter().filter(|used| *used).count() > 1 {
            return Err(ClientAuthError::TwoMethods.into());
        }
        let (proven, proof) = if let Some((id, secret)) = basic {
            // Some public clients send a Basic header with an empty secret.
            let is_empty = secret.expose().is_empty();
            (Some(id), if is_empty { ClientProof::None } else { ClientProof::SecretBasic(secret) })
        } else if let Some(assertion) = assertion {
            (Some(assertion_client(assertion)?), ClientProof::Assertion(SecretText::new(assertion)))
        } else {
            (
                None,
                secret.map_or(ClientProof::None, |secret| ClientProof::SecretPost(SecretText::new(secret))),
            )
        };
        let id = match (named, proven) {
            (Some(named), Some(proven)) if named != proven => return Err(ClientAuthError::TwoClients.into()),
            (named, proven) => named.or(proven).ok_or(ClientAuthError::MissingId)?,
        };
        Ok(Self { id, proof })
    }
}

fn parse_id(text: &str) -> Result<ClientId, ClientAuthError> {
    text.parse().map_err(|_| ClientAuthError::UnknownClient)
}

/// The credentials of a Basic header; `None` for other schemes.
fn basic_credentials(header: &str) -> Option<Result<(ClientId, SecretText), ClientAuthError>> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("basic")
        .then(|| decode_basic(encoded.trim()).ok_or(ClientAuthError::BasicHeader))
}

fn decode_basic(encoded: &str) -> Option<(ClientId, SecretText)> {
    let bytes = STANDARD.decode(Some(encoded).filter(|encoded| encoded.len() <= MAX_BASIC_BYTES)?).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (id, secret) = text.split_once(':')?;
    let secret = decode_form(secret);
    let id = decode_form(id).parse().ok()?;
    (secret.len() <= MAX_SECRET_BYTES).then(|| (id, SecretText::new(secret)))
}

/// Id and secret are form-encoded inside of the header (RFC 6749, 2.3.1).
fn decode_form(text: &str) -> String {
    // Separators that a client forgot to encode are part of the text.
    let text = text.replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

fn read_assertion(form: &RequestParameters) -> Result<Option<&str>, TokenError> {
    let kind = form.optional("client_assertion_type", MAX_ASSERTION_TYPE_BYTES)?;
    match (form.optional("client_assertion", MAX_ASSERTION_BYTES)?, kind) {
        (None, None) => Ok(None),
        (Some(assertion), Some(ASSERTION_TYPE)) => Ok(Some(assertion)),
        _ => Err(ClientAuthError::AssertionType.into()),
    }
}

fn assertion_client(assertion: &str) -> Result<ClientId, ClientAuthError> {
    let claims: AssertedClient = peek_claims(assertion).map_err(ClientAuthError::Assertion)?;
    parse_id(claims.sub.as_deref().unwrap_or_default())
}
