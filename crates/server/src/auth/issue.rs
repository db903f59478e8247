//! Issuing tokens where no server runs.

use jiff::Timestamp;
use toolyard_core::ports::AddTokenOutcome;
use toolyard_platform::tokens::{IssuedSecret, TokenDetails, TokenSigner, sign_listed};
use toolyard_protocol::TokenId;

use crate::{
    config::Config,
    root_key,
    serve::{ServerDependencies, ServerStartError},
};

/// A token that was made where no server runs.
#[derive(Debug)]
pub struct OfflineToken {
    /// The token.
    pub token: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// Whether it can be called back.
    pub listing: TokenListing,
}

/// Whether a token is in the list of the store. It is good all the same, and can be called back only if it is.
#[derive(Debug)]
pub enum TokenListing {
    /// Listed under this id.
    Listed(TokenId),
    /// The store did not take it, and why.
    NotListed(String),
}

/// Makes a token as the server with this configuration would, and lists it in its store, which is made if need be.
pub async fn issue_offline(
    config: &Config,
    details: TokenDetails<'_>,
) -> Result<OfflineToken, ServerStartError> {
    let world = ServerDependencies::default();
    let known = toolyard_store::known_key_of(&config.store.path).await;
    let known = known.map_err(|error| ServerStartError::Config(error.to_string()))?;
    let signer = TokenSigner::new(&root_key::check_root_keys(config, &world, &known)?)?;
    let IssuedSecret { token, listed: issued } = sign_listed(&signer, &*world.clock, &*world.ids, details)?;
    let room = config.quotas.token_quota();
    let listing = match toolyard_store::list_token(&config.store.path, &issued, room).await {
        Ok(AddTokenOutcome::Listed) => TokenListing::Listed(issued.id),
        // With no token it was made, so none of it is called back.
        Ok(AddTokenOutcome::QuotaReached | AddTokenOutcome::Revoked) => {
            TokenListing::NotListed(format!("{} has too many tokens already", issued.subject))
        }
        Err(error) => TokenListing::NotListed(error.to_string()),
    };
    Ok(OfflineToken { token, expires_at: issued.expires_at, listing })
}
