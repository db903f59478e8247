//! Listing tokens, the newest first.

use toolyard_core::ports::{IssuedToken, TokenCursor};

use super::TokenHolder;
use crate::{Actor, Platform, PlatformError};

/// At most `limit` of the actor's tokens, after a position in the list; operators see all.
pub async fn list(
    platform: &Platform,
    actor: &Actor,
    after: Option<&TokenCursor>,
    limit: u32,
) -> Result<Vec<IssuedToken>, PlatformError> {
    let holder = TokenHolder::new(actor)?;
    Ok(platform.stores.tokens.list_tokens(holder.token_scope(), after, limit).await?)
}
