//! Reads and validates the query of the authorization endpoint.

use toolyard_protocol::visible::strip_invisible;

use super::{AuthorizeError, AuthorizePageError, AuthorizeRefusal, PromptSet, ValidAuthorizeRequest};
use crate::{
    client::{ClientId, MAX_CLIENT_ID_BYTES, OAuthClient},
    grant_type::GrantType,
    issuer::IssuerOrigin,
    parameters::{ParameterError, RequestParameters},
    pkce::{CHALLENGE_METHOD, CodeChallenge},
    redirect::{MAX_REDIRECT_BYTES, RedirectUri, error_redirect},
    resource::{AcceptedResources, MAX_RESOURCE_BYTES},
    scope::{MAX_SCOPE_BYTES, ScopeSet},
};

/// Longest `state`, in bytes. Some clients keep a whole record in it.
pub const MAX_STATE_BYTES: usize = 4 * 1024;
/// Longest `nonce`, in bytes.
pub const MAX_NONCE_BYTES: usize = 512;
/// Longest `login_hint`, in bytes: the longest e-mail address, and some more.
pub const MAX_LOGIN_HINT_BYTES: usize = 320;
/// Longest value of a parameter that is one of a few words, in bytes.
const MAX_WORD_BYTES: usize = 100;

/// What this server accepts.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizeRules<'a> {
    /// This server.
    pub issuer: &'a IssuerOrigin,
    /// Its resources.
    pub resources: &'a AcceptedResources,
    /// The scopes of a request that names none of ours.
    pub default_scopes: &'a ScopeSet,
}

/// A request whose client is not loaded yet.
#[derive(Debug, Clone)]
pub struct AuthorizeQuery {
    parameters: RequestParameters,
    client_id: ClientId,
}

impl AuthorizeQuery {
    /// Reads the client id. Failures are shown to the person.
    pub fn parse(parameters: RequestParameters) -> Result<Self, AuthorizePageError> {
        // Which of two clients or addresses is meant must not depend on the reader.
        for name in ["client_id", "redirect_uri"] {
            if parameters.is_duplicated(name) {
                return Err(ParameterError::Duplicated(name).into());
            }
        }
        let client_id = parameters.required("client_id", MAX_CLIENT_ID_BYTES)?.parse()?;
        Ok(Self { parameters, client_id })
    }

    /// The client to load, by its id or from its metadata document.
    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// Validates the request of this client.
    pub fn validate(
        &self,
        client: &OAuthClient,
        rules: &AuthorizeRules<'_>,
    ) -> Result<ValidAuthorizeRequest, AuthorizeRefusal> {
        let redirect_uri = self.redirect_uri(client)?;
        // A state that cannot be returned unchanged is not returned at all.
        let state = self.parameters.optional("state", MAX_STATE_BYTES).ok().flatten().map(str::to_owned);
        self.read_request(client, rules, &redirect_uri, state.as_ref()).map_err(|error| {
            let (code, text) = (error.code(), error.to_string());
            let location = error_redirect(&redirect_uri, code, &text, state.as_deref(), rules.issuer);
            AuthorizeRefusal::Redirect { error, location }
        })
    }

    fn redirect_uri(&self, client: &OAuthClient) -> Result<RedirectUri, AuthorizePageError> {
        if client.id != self.client_id {
            return Err(AuthorizePageError::UnknownClient);
        }
        let requested = self.parameters.required("redirect_uri", MAX_REDIRECT_BYTES)?;
        Ok(client.find_redirect(requested)?)
    }

    fn read_request(
        &self,
        client: &OAuthClient,
        rules: &AuthorizeRules<'_>,
        redirect_uri: &RedirectUri,
        state: Option<&String>,
    ) -> Result<ValidAuthorizeRequest, AuthorizeError> {
        let parameters = &self.parameters;
        parameters.refuse_duplicates()?;
        parameters.optional("state", MAX_STATE_BYTES)?;
        self.check_response_type(client)?;
        let code_challenge = self.code_challenge()?;
        let requested = parameters.optional("resource", MAX_RESOURCE_BYTES)?;
        let resource = rules.resources.find(requested).ok_or(AuthorizeError::Resource)?.clone();
        let scope = parameters.optional("scope", MAX_SCOPE_BYTES)?.unwrap_or_default();
        let parsed = ScopeSet::parse(scope)?;
        let scopes = if parsed.scopes.is_empty() { rules.default_scopes.clone() } else { parsed.scopes };
        let text = |name: &'static str, max: usize| {
            parameters.optional(name, max).map(|text| text.map(str::to_owned))
        };
        Ok(ValidAuthorizeRequest {
            client_id: self.client_id.clone(),
            redirect_uri: redirect_uri.clone(),
            state: state.cloned(),
            scopes,
            unknown_scopes: parsed.unknown,
            code_challenge,
            resource,
            prompt: PromptSet::parse(parameters.get("prompt").unwrap_or_default())?,
            login_hint: text("login_hint", MAX_LOGIN_HINT_BYTES)?
                .map(|hint| strip_invisible(&hint).into_owned()),
            nonce: text("nonce", MAX_NONCE_BYTES)?,
            max_age_s: self.max_age()?,
        })
    }

    fn check_response_type(&self, client: &OAuthClient) -> Result<(), AuthorizeError> {
        let parameters = &self.parameters;
        if parameters.get("request").is_some() {
            return Err(AuthorizeError::RequestObject);
        }
        if parameters.get("request_uri").is_some() {
            return Err(AuthorizeError::RequestUri);
        }
        if parameters.required("response_type", MAX_WORD_BYTES)? != "code" {
            return Err(AuthorizeError::ResponseType);
        }
        // A code in a fragment or a form would reach other readers than the client expects.
        if parameters.get("response_mode").is_some_and(|mode| mode != "query") {
            return Err(ParameterError::Invalid("response_mode", "only `query` is supported").into());
        }
        if !client.allows_grant(GrantType::AuthorizationCode) {
            return Err(AuthorizeError::UnauthorizedClient);
        }
        Ok(())
    }

    fn code_challenge(&self) -> Result<CodeChallenge, AuthorizeError> {
        let challenge = self.parameters.get("code_challenge").ok_or(AuthorizeError::PkceMissing)?;
        if self.parameters.get("code_challenge_method") != Some(CHALLENGE_METHOD) {
            return Err(AuthorizeError::PkceMethod);
        }
        Ok(CodeChallenge::parse(challenge)?)
    }

    fn max_age(&self) -> Result<Option<u32>, ParameterError> {
        let invalid = ParameterError::Invalid("max_age", "it must be a number of seconds");
        self.parameters.get("max_age").map(|text| text.parse().map_err(|_| invalid)).transpose()
    }
}
