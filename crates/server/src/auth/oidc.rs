//! User tokens of another issuer, verified with its published keys.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde_json::{Map, Value};
use tokio::time::{Duration, Instant};
use toolyard_net::HttpClient;
use toolyard_protocol::UserId;

use super::TokenError;
use crate::config::OidcConfig;

/// Largest list of keys.
const MAX_KEYS_BYTES: usize = 256 * 1024;
/// How long the issuer may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How far the issuer's clock may be ahead of ours, in seconds.
const SKEW_S: i64 = 60;
/// Asymmetric ones only: a published key must not serve as a shared secret.
const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::EdDSA,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
];

/// The issuer.
pub struct Oidc {
    config: OidcConfig,
    http: HttpClient,
    keys: Mutex<Fetched>,
    fetching: tokio::sync::Mutex<()>,
}

/// Keys by their id.
type Keys = Vec<(Option<String>, DecodingKey)>;

#[derive(Default)]
struct Fetched {
    keys: Arc<Keys>,
    at: Option<Instant>,
}

impl Oidc {
    /// Keys are fetched when the first token comes.
    pub fn new(config: OidcConfig, http: HttpClient) -> Self {
        Self { config, http, keys: Mutex::default(), fetching: tokio::sync::Mutex::new(()) }
    }

    /// Whose token it is, and when it ends, in seconds since 1970.
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
        let fits = |kid: &Option<String>| header.kid.is_none() || *kid == header.kid;
        let mut candidates = keys.iter().filter(|(kid, _)| fits(kid)).map(|(_, key)| key);
        let claims =
            candidates.find_map(|key| jsonwebtoken::decode::<Map<String, Value>>(token, key, &rules).ok());
        let claims = claims.ok_or(TokenError::Invalid)?.claims;
        let until = claims.get("exp").and_then(Value::as_i64).filter(|until| *until > now.as_second());
        let until = until.ok_or(TokenError::Expired)?;
        if claims.get("nbf").and_then(Value::as_i64).is_some_and(|from| from > now.as_second() + SKEW_S) {
            return Err(TokenError::Invalid);
        }
        // Whoever can enter any address at the issuer must not become its owner here.
        if self.config.user_claim == "email" && claims.get("email_verified").is_some_and(|v| *v != true) {
            return Err(TokenError::Invalid);
        }
        let user = claims.get(&self.config.user_claim).and_then(Value::as_str).ok_or(TokenError::Invalid)?;
        Ok((user.parse().map_err(|_| TokenError::Invalid)?, until))
    }

    /// The known keys, fetched anew where the one that is asked for is not among them.
    async fn keys_for(&self, kid: Option<&str>) -> Arc<Keys> {
        if let Some(keys) = self.fresh_enough(kid) {
            return keys;
        }
        let _one_at_a_time = self.fetching.lock().await;
        if let Some(keys) = self.fresh_enough(kid) {
            return keys;
        }
        let fetched = match tokio::time::timeout(FETCH_TIMEOUT, self.fetch()).await {
            Ok(Ok(keys)) => Some(Arc::new(keys)),
            Ok(Err(error)) => {
                tracing::warn!(%error, issuer = self.config.issuer, "the issuer's keys could not be fetched");
                None
            }
            Err(_) => None,
        };
        let mut known = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        known.at = Some(Instant::now());
        if let Some(keys) = fetched {
            known.keys = keys;
        }
        known.keys.clone()
    }

    fn fresh_enough(&self, kid: Option<&str>) -> Option<Arc<Keys>> {
        let known = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let has = known.keys.iter().any(|(known, _)| kid.is_none() || known.as_deref() == kid);
        let refetch = Duration::from_secs(self.config.refetch_s);
        let recent = known.at.is_some_and(|at| at.elapsed() < refetch);
        (has || recent).then(|| known.keys.clone())
    }

    async fn fetch(&self) -> Result<Keys, String> {
        let request = Request::get(&self.config.jwks_url).body(Full::<Bytes>::default());
        let answer = self.http.send(request.map_err(|e| e.to_string())?).await.map_err(|e| e.to_string())?;
        if !answer.status.is_success() {
            return Err(format!("HTTP status {}", answer.status));
        }
        let body = answer.bytes(MAX_KEYS_BYTES).await.map_err(|e| e.to_string())?;
        let keys: JwkSet = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        let read = |jwk| DecodingKey::from_jwk(jwk).ok();
        Ok(keys.keys.iter().filter_map(|jwk| Some((jwk.common.key_id.clone(), read(jwk)?))).collect())
    }
}
