//! Finding a client that registered itself.

use toolyard_authorization::client::{ClientId, OAuthClient};

use crate::{Platform, PlatformError};

/// The client with this id, if it registered itself. One that names a metadata document is described by the document.
pub async fn find_registered(
    platform: &Platform,
    id: &ClientId,
) -> Result<Option<OAuthClient>, PlatformError> {
    let Some(stored) = platform.stores.oauth.find_oauth_client(id.as_str()).await? else { return Ok(None) };
    let client = serde_json::from_str(&stored.record).map_err(|error| {
        tracing::error!(%error, client = %stored.id, "stored client cannot be read");
        PlatformError::Internal("the stored client cannot be read; see the server's log")
    })?;
    Ok(Some(client))
}
