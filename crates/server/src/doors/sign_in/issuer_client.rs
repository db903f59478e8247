//! Requests to an identity provider: its metadata, its keys, and the exchange of a code.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use parking_lot::Mutex;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokio::time::Instant;
use toolyard_authorization::{
    issuer_id_token::{ExpectedIdToken, verify_issuer_id_token},
    jwt::{AssertionError, KeySet},
};
use toolyard_net::{Guard, GuardPolicy, HttpClient, OutsideUrl};
use toolyard_protocol::{accounts::IssuerInfo, secret::SecretText};

use crate::{
    config::{Config, IssuerConfig},
    parts::client_settings,
    serve::{ServerDependencies, ServerStartError},
};

/// Largest document of an issuer, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// How long an issuer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long its metadata is used.
const METADATA_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long its keys are used if a token fits none of them.
const KEYS_LIFETIME: Duration = Duration::from_secs(60);

/// The identity providers at which people sign in.
pub(crate) struct SignInIssuers(Vec<IssuerClient>);

/// One identity provider.
pub(super) struct IssuerClient {
    pub(super) config: IssuerConfig,
    secret: Option<SecretText>,
    guard: Guard,
    http: HttpClient,
    metadata: Mutex<Option<(Instant, Arc<IssuerMetadata>)>>,
    keys: Mutex<Option<(Instant, Arc<KeySet>)>>,
}

/// What an issuer publishes about itself.
#[derive(Debug, Deserialize)]
pub(super) struct IssuerMetadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Whether it names itself in every response (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// Why an issuer was of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IssuerError {
    #[error("{0}")]
    Unreachable(String),
    #[error("the issuer refused the code: {0}")]
    Refused(String),
    #[error("the ID token is not valid: {0}")]
    BadToken(#[from] AssertionError),
}

/// The response of the token endpoint.
#[derive(Deserialize)]
struct IssuedTokens {
    id_token: String,
    access_token: Option<SecretText>,
}

/// A code, and what proves that it is ours.
pub(super) struct CodeExchange<'a> {
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: jiff::Timestamp,
}

impl SignInIssuers {
    pub(crate) fn from_config(config: &Config, deps: &ServerDependencies) -> Result<Self, ServerStartError> {
        let client = |issuer: &IssuerConfig| {
            let secret = match &issuer.client_secret_env {
                None => None,
                Some(name) => Some((deps.environment)(name).map(SecretText::new).ok_or_else(|| {
                    ServerStartError::Config(format!(
                        "sign_in.issuers: `{}` needs the environment variable {name} with its client secret",
                        issuer.id
                    ))
                })?),
            };
            let is_private = issuer.allow_private_network;
            let guard = Guard::new(GuardPolicy {
                loopback: is_private,
                private: is_private,
                own_listener: Some(config.server.listen),
                ..GuardPolicy::default()
            });
            Ok(IssuerClient {
                http: HttpClient::new(guard.clone(), client_settings(config)),
                guard,
                secret,
                config: issuer.clone(),
                metadata: Mutex::default(),
                keys: Mutex::default(),
            })
        };
        config.sign_in.issuers.iter().map(client).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn find(&self, id: &str) -> Option<&IssuerClient> {
        self.0.iter().find(|issuer| issuer.config.id == id)
    }

    pub(super) fn list(&self) -> Vec<IssuerInfo> {
        let info = |issuer: &IssuerClient| IssuerInfo {
            id: issuer.config.id.clone(),
            name: issuer.config.name.clone(),
        };
        self.0.iter().map(info).collect()
    }

    /// The issuers whose identity assertions are accepted.
    pub(crate) fn assertion_issuers(&self) -> Vec<String> {
        let trusted = self.0.iter().filter(|issuer| issuer.config.identity_assertions);
        trusted.map(|issuer| issuer.config.issuer.clone()).collect()
    }

    /// The keys of an issuer. `is_stale`: the known ones did not fit.
    pub(crate) async fn keys_of(&self, issuer: &str, is_stale: bool) -> Result<Arc<KeySet>, IssuerError> {
        let found = self.0.iter().find(|known| known.config.issuer == issuer);
        let client = found.ok_or_else(|| IssuerError::Unreachable("it is not configured".to_owned()))?;
        let metadata = client.metadata().await?;
        client.keys(&metadata, is_stale).await
    }

    /// The name for people of an issuer, by its id.
    pub(crate) fn name_of(&self, id: &str) -> String {
        self.find(id).map_or_else(|| id.to_owned(), |issuer| issuer.config.name.clone())
    }
}

/// Whether each identity provider of a configuration answers, by its id: for `toolyard doctor`.
pub async fn check_issuers(
    config: &Config,
    deps: &ServerDependencies,
) -> Result<Vec<(String, Result<(), String>)>, ServerStartError> {
    let issuers = SignInIssuers::from_config(config, deps)?;
    let mut checked = Vec::new();
    for issuer in &issuers.0 {
        let answered = issuer.metadata().await.map(drop).map_err(|error| error.to_string());
        checked.push((issuer.config.id.clone(), answered));
    }
    Ok(checked)
}

impl IssuerClient {
    /// The metadata, fetched again after an hour.
    pub(super) async fn metadata(&self) -> Result<Arc<IssuerMetadata>, IssuerError> {
        let known = self.metadata.lock().clone();
        if let Some((at, metadata)) = known
            && at.elapsed() < METADATA_LIFETIME
        {
            return Ok(metadata);
        }
        let issuer = &self.config.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let metadata: IssuerMetadata = self.get(&url, None).await?;
        // Otherwise one provider could pass for another (OpenID Connect Discovery 4.3).
        if metadata.issuer != *issuer {
            return Err(IssuerError::Unreachable(format!(
                "{url} is about the issuer `{}`; set `issuer` of `{}` to exactly that",
                metadata.issuer, self.config.id
            )));
        }
        let metadata = Arc::new(metadata);
        *self.metadata.lock() = Some((Instant::now(), metadata.clone()));
        Ok(metadata)
    }

    /// Exchanges a code for the claims of the person.
    pub(super) async fn exchange(
        &self,
        exchange: CodeExchange<'_>,
    ) -> Result<Map<String, Value>, IssuerError> {
        let metadata = self.metadata().await?;
        let tokens = self.request_tokens(&metadata, &exchange).await?;
        let expected = ExpectedIdToken {
            issuer: &self.config.issuer,
            client_id: &self.config.client_id,
            nonce: exchange.nonce,
            now: exchange.now,
        };
        let keys = self.keys(&metadata, false).await?;
        let claims = match verify_issuer_id_token(&tokens.id_token, &keys, expected) {
            // The issuer may have changed its keys.
            Err(AssertionError::UnknownKey | AssertionError::Signature) => {
                verify_issuer_id_token(&tokens.id_token, &*self.keys(&metadata, true).await?, expected)?
            }
            verified => verified?,
        };
        match (&metadata.userinfo_endpoint, tokens.access_token) {
            (Some(url), Some(access)) if self.is_incomplete(&claims) => {
                self.with_userinfo(claims, url, &access).await
            }
            _ => Ok(claims),
        }
    }

    /// Many issuers put only the subject into the ID token.
    fn is_incomplete(&self, claims: &Map<String, Value>) -> bool {
        let top = |claim: &str| {
            claim.strip_prefix('/').unwrap_or(claim).split('/').next().unwrap_or_default().to_owned()
        };
        let rules = self.config.rules.iter().filter_map(|rule| rule.claim.as_deref());
        rules.chain([self.config.user_claim.as_str()]).any(|claim| !claims.contains_key(&top(claim)))
    }

    /// Adds the claims of the userinfo endpoint. What is signed wins.
    async fn with_userinfo(
        &self,
        claims: Map<String, Value>,
        url: &str,
        access: &SecretText,
    ) -> Result<Map<String, Value>, IssuerError> {
        let mut info: Map<String, Value> = self.get(url, Some(access)).await?;
        if info.get("sub") != claims.get("sub") {
            return Err(IssuerError::Unreachable("userinfo is about someone else".to_owned()));
        }
        info.extend(claims);
        Ok(info)
    }

    async fn keys(&self, metadata: &IssuerMetadata, is_stale: bool) -> Result<Arc<KeySet>, IssuerError> {
        let known = self.keys.lock().clone();
        if let Some((at, keys)) = known
            && (!is_stale || at.elapsed() < KEYS_LIFETIME)
            && at.elapsed() < METADATA_LIFETIME
        {
            return Ok(keys);
        }
        let body = self.send(&metadata.jwks_uri, Request::get(&metadata.jwks_uri), Bytes::new()).await?;
        let keys = KeySet::parse(&body).map_err(|error| IssuerError::Unreachable(error.to_string()))?;
        let keys = Arc::new(keys);
        *self.keys.lock() = Some((Instant::now(), keys.clone()));
        Ok(keys)
    }

    async fn request_tokens(
        &self,
        metadata: &IssuerMetadata,
        exchange: &CodeExchange<'_>,
    ) -> Result<IssuedTokens, IssuerError> {
        let (request, form) = self.token_request(metadata, exchange);
        let body = self.send(&metadata.token_endpoint, request, form.into()).await?;
        serde_json::from_slice(&body)
            .map_err(|_| IssuerError::Refused("its response has no ID token".to_owned()))
    }

    fn token_request(
        &self,
        metadata: &IssuerMetadata,
        exchange: &CodeExchange<'_>,
    ) -> (http::request::Builder, String) {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", exchange.code)
            .append_pair("redirect_uri", exchange.redirect_uri)
            .append_pair("code_verifier", exchange.verifier);
        let request = Request::post(&metadata.token_endpoint)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
        // The default of the specification is `client_secret_basic`.
        let takes_basic =
            methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        if let Some(secret) = self.secret.as_ref().filter(|_| takes_basic) {
            let encode =
                |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encode(&self.config.client_id), encode(secret.expose()));
            let basic = format!("Basic {}", BASE64_STANDARD.encode(pair));
            return (request.header(header::AUTHORIZATION, basic), form.finish());
        }
        form.append_pair("client_id", &self.config.client_id);
        if let Some(secret) = &self.secret {
            form.append_pair("client_secret", secret.expose());
        }
        (request, form.finish())
    }

    async fn get<T: DeserializeOwned>(
        &self,
        url: &str,
        access: Option<&SecretText>,
    ) -> Result<T, IssuerError> {
        let mut request = Request::get(url).header(header::ACCEPT, "application/json");
        if let Some(access) = access {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", access.expose()));
        }
        let body = self.send(url, request, Bytes::new()).await?;
        serde_json::from_slice(&body)
            .map_err(|_| IssuerError::Unreachable(format!("{url} is not the expected JSON")))
    }

    async fn send(
        &self,
        url: &str,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<Bytes, IssuerError> {
        let unreachable = |error: String| {
            let hint = if self.config.allow_private_network {
                ""
            } else {
                "; for an issuer on a private network or on this machine, set `allow_private_network = true` in its \
                 `[[sign_in.issuers]]`"
            };
            IssuerError::Unreachable(format!("{url}: {error}{hint}"))
        };
        OutsideUrl::parse(url, &self.guard).map_err(|error| unreachable(error.to_string()))?;
        let request = request.body(Full::new(body)).map_err(|error| unreachable(error.to_string()))?;
        let exchange = async {
            let response = self.http.send(request).await.map_err(|error| unreachable(error.to_string()))?;
            let status = response.status;
            let body = response.bytes(MAX_BYTES).await.map_err(|error| unreachable(error.to_string()))?;
            if status.is_success() {
                return Ok(body);
            }
            // The error code of OAuth says what is wrong with our registration.
            let document: Value = serde_json::from_slice(&body).unwrap_or_default();
            let code = document.get("error").and_then(Value::as_str).unwrap_or("no error code");
            Err(IssuerError::Refused(format!(
                "HTTP status {status}, {}",
                code.chars().take(80).collect::<String>()
            )))
        };
        tokio::time::timeout(TIMEOUT, exchange)
            .await
            .unwrap_or_else(|_| Err(unreachable(format!("no response within {} s", TIMEOUT.as_secs()))))
    }
}
