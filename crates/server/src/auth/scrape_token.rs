//! The token with which a monitoring system reads metrics, and nothing else.

use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::identity::bearer_credential;
use crate::{
    config::TelemetryConfig,
    serve::{ServerDependencies, ServerStartError},
};

/// Shorter tokens can be guessed.
const MIN_BYTES: usize = 16;

/// The hash of the token.
pub(crate) struct ScrapeToken([u8; 32]);

impl ScrapeToken {
    /// The token of the configuration, if there is one.
    pub(crate) fn from_config(
        config: &TelemetryConfig,
        deps: &ServerDependencies,
    ) -> Result<Option<Self>, ServerStartError> {
        let Some(name) = &config.scrape_token_env else { return Ok(None) };
        let wrong = |why: String| ServerStartError::Config(format!("telemetry.scrape_token_env: {why}"));
        let token = (deps.environment)(name).map(|token| token.trim().to_owned()).unwrap_or_default();
        if token.is_empty() {
            return Err(wrong(format!("the variable {name} is not set")));
        }
        if token.len() < MIN_BYTES {
            return Err(wrong(format!(
                "the token in {name} is too short; use at least {MIN_BYTES} characters"
            )));
        }
        Ok(Some(Self(Sha256::digest(token).into())))
    }

    /// Whether a request carries it.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        bearer_credential(headers).is_some_and(|token| Sha256::digest(token).ct_eq(&self.0).into())
    }
}
