//! Verifies user tokens of an OIDC identity provider with its published keys.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use jiff::Timestamp;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    jwk::{Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::{Duration, Instant};
use toolyard_net::HttpClient;
use toolyard_protocol::UserId;

use super::TokenError;
use crate::config::OidcConfig;

/// The claim with an e-mail address, the only claim that is case-insensitive.
const EMAIL: &str = "email";
/// Largest key set in bytes.
const MAX_KEYS_BYTES: usize = 256 * 1024;
/// How long the issuer may take to send its keys.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How far the issuer's clock may be ahead of ours, in seconds.
const SKEW_S: i64 = 60;
/// Asymmetric algorithms only: a published key must not be used as a shared secret.
const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::EdDSA,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
];

/// Verifies the tokens of one issuer.
pub struct OidcVerifier {
    config: OidcConfig,
    http: HttpClient,
    keys: Mutex<FetchedKeys>,
    fetching: tokio::sync::Mutex<()>,
}

/// A published key that may verify tokens.
struct VerificationKey {
    id: Option<String>,
    /// The only algorithm it is for, if the issuer restricts it.
    algorithm: Option<KeyAlgorithm>,
    key: DecodingKey,
}

type VerificationKeys = Vec<VerificationKey>;

/// A key set with raw keys: one that cannot be parsed must not make the others unusable.
#[derive(Deserialize)]
struct RawKeySet {
    keys: Vec<Value>,
}

impl VerificationKey {
    /// None if the key is not for verification, for example for encryption, or of an unknown type.
    fn from_json(key: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(key).ok()?;
        let common = &jwk.common;
        let for_signatures =
            common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let operations = common.key_operations.as_ref();
        if !for_signatures
            || operations.is_some_and(|operations| !operations.contains(&KeyOperations::Verify))
        {
            return None;
        }
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self { id: jwk.common.key_id, algorithm: jwk.common.key_algorithm, key })
    }

    fn can_verify(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        let is_named = id.is_none() || self.id.as_deref() == id;
        is_named && self.algorithm.is_none_or(|only| only == KeyAlgorithm::from(algorithm))
    }
}

#[derive(Default)]
struct FetchedKeys {
    keys: Arc<VerificationKeys>,
    at: Option<Instant>,
}

impl OidcVerifier {
    /// Keys are fetched with the first token.
    pub fn new(config: OidcConfig, http: HttpClient) -> Self {
        Self { config, http, keys: Mutex::default(), fetching: tokio::sync::Mutex::new(()) }
    }

    /// The user of a token, and when it expires, in seconds since 1970.
    pub async fn verify(&self, token: &str, now: Timestamp) -> Result<(UserId, i64), TokenError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Invalid)?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(TokenError::Invalid);
        }
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&self.config.issuer]);
        rules.set_audience(&[&self.config.audience]);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.validate_exp = false;
        let keys = self.keys_for(header.kid.as_deref()).await;
        let fits = |key: &&VerificationKey| key.can_verify(header.kid.as_deref(), header.alg);
        let mut candidates = keys.iter().filter(fits).map(|key| &key.key);
        let claims =
            candidates.find_map(|key| jsonwebtoken::decode::<Map<String, Value>>(token, key, &rules).ok());
        let claims = claims.ok_or(TokenError::Invalid)?.claims;
        let until = claims.get("exp").and_then(Value::as_i64).filter(|until| *until > now.as_second());
        let until = until.ok_or(TokenError::Expired)?;
        if claims.get("nbf").and_then(Value::as_i64).is_some_and(|from| from > now.as_second() + SKEW_S) {
            return Err(TokenError::Invalid);
        }
        let OidcConfig { user_claim, require_email_verified, .. } = &self.config;
        Ok((user_from_claims(&claims, user_claim, *require_email_verified)?, until))
    }

    /// The known keys, fetched again if the requested one is missing.
    async fn keys_for(&self, kid: Option<&str>) -> Arc<VerificationKeys> {
        if let Some(keys) = self.cached_keys(kid) {
            return keys;
        }
        let _one_at_a_time = self.fetching.lock().await;
        if let Some(keys) = self.cached_keys(kid) {
            return keys;
        }
        let fetched = match tokio::time::timeout(FETCH_TIMEOUT, self.fetch_keys()).await {
            Ok(Ok(keys)) => Some(Arc::new(keys)),
            Ok(Err(error)) => {
                tracing::warn!(%error, issuer = self.config.issuer, "failed to fetch the keys of the token issuer");
                None
            }
            Err(_) => {
                tracing::warn!(
                    issuer = self.config.issuer,
                    "fetching the keys of the token issuer timed out"
                );
                None
            }
        };
        let mut known = self.keys.lock();
        known.at = Some(Instant::now());
        if let Some(keys) = fetched {
            known.keys = keys;
        }
        known.keys.clone()
    }

    fn cached_keys(&self, kid: Option<&str>) -> Option<Arc<VerificationKeys>> {
        let known = self.keys.lock();
        // A token that names no key says nothing about which keys its issuer has now: only recent ones will do.
        let has = kid.is_some() && known.keys.iter().any(|known| known.id.as_deref() == kid);
        let refetch = Duration::from_secs(self.config.refetch_s);
        let recent = known.at.is_some_and(|at| at.elapsed() < refetch);
        (has || recent).then(|| known.keys.clone())
    }

    async fn fetch_keys(&self) -> Result<VerificationKeys, String> {
        let request = Request::get(&self.config.jwks_url).body(Full::<Bytes>::default());
        let answer = self.http.send(request.map_err(|e| e.to_string())?).await.map_err(|e| e.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("HTTP status {}", answer.status));
        }
        let body = answer.bytes(MAX_KEYS_BYTES).await.map_err(|e| e.to_string())?;
        let set: RawKeySet = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        Ok(set.keys.into_iter().filter_map(VerificationKey::from_json).collect())
    }
}

/// The user that the claims of an issuer name.
pub(crate) fn user_from_claims(
    claims: &Map<String, Value>,
    claim: &str,
    require_email_verified: bool,
) -> Result<UserId, TokenError> {
    let not_usable = |why: String| TokenError::NoUser(format!("its claim `{claim}` {why}"));
    let text = claims.get(claim).ok_or_else(|| not_usable("is missing".to_owned()))?;
    let text = text.as_str().ok_or_else(|| not_usable("is not a string".to_owned()))?;
    if claim != EMAIL {
        // `Ada` and `ada` can be two people at the issuer.
        return UserId::from_case_sensitive(text)
            .map_err(|error| not_usable(format!("cannot be used: {error}")));
    }
    // A user who can enter any address at the issuer must not become the owner of that address here.
    match claims.get("email_verified") {
        Some(Value::Bool(true)) => {}
        None if !require_email_verified => {}
        Some(_) => {
            return Err(not_usable(
                "is not a verified address; verify it at your identity provider".to_owned(),
            ));
        }
        None => {
            let why = "comes without `email_verified`; the operator can set `require_email_verified = false` \
                       if the issuer verifies every address";
            return Err(not_usable(why.to_owned()));
        }
    }
    text.parse().map_err(|error| not_usable(format!("cannot be used: {error}")))
}
