//! A client registers itself.

use toolyard_authorization::client::{
    ClientMetadataError, RegistrationBytes, RegistrationResponse, register_client,
};
use toolyard_core::ports::StoredOAuthClient;

use crate::{Platform, PlatformError};

/// Why a client was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Its metadata is invalid.
    #[error(transparent)]
    Metadata(#[from] ClientMetadataError),
    /// It cannot be stored.
    #[error(transparent)]
    Platform(#[from] PlatformError),
}

/// Registers a client (RFC 7591). Anyone may: a registration permits nothing before a user agrees.
pub async fn register(platform: &Platform, body: &[u8]) -> Result<RegistrationResponse, RegisterError> {
    let mut bytes = RegistrationBytes { id: [0; 16], secret: zeroize::Zeroizing::new([0; 32]) };
    platform.ids.fill_random(&mut bytes.id);
    platform.ids.fill_random(&mut *bytes.secret);
    let now = platform.clock.now();
    let registered = register_client(body, bytes, now)?;
    let record = serde_json::to_string(&registered.client)
        .map_err(|_| PlatformError::Internal("the client could not be stored"))?;
    let stored = StoredOAuthClient { id: registered.client.id.as_str().to_owned(), record, created_at: now };
    let max = platform.config.load().clients.max_clients;
    let is_added = platform.stores.oauth.add_oauth_client(&stored, max).await.map_err(PlatformError::from)?;
    if !is_added {
        let text =
            format!("{max} clients are registered and connected; the operator can raise `oauth.max_clients`");
        return Err(PlatformError::QuotaReached(text).into());
    }
    Ok(registered.response)
}
