//! Making tokens that can be listed and called back: behind the API, and where no server runs.

use jiff::Timestamp;
use toolyard_core::ports::{Clock, Ids, IssuedToken, TokenAdded};
use toolyard_protocol::TokenId;

use super::{Role, TokenError, Tokens};
use crate::{
    config::Config,
    root_key,
    serve::{StartError, World},
};

/// A token as it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What for.
    pub name: &'a str,
    /// Whose.
    pub subject: &'a str,
    /// What it allows.
    pub role: Role,
    /// How long it is good.
    pub seconds: i64,
    /// By whom it is made.
    pub by: &'a str,
    /// With which token, where that one is listed.
    pub with: Option<&'a TokenId>,
}

/// Makes a token, and what is to be listed of it.
pub(crate) fn issue(
    tokens: &Tokens,
    clock: &dyn Clock,
    ids: &dyn Ids,
    wanted: Wanted<'_>,
) -> Result<(String, IssuedToken), TokenError> {
    let Wanted { name, subject, role, seconds, by, with } = wanted;
    let mut bytes = [0; 16];
    ids.fill(&mut bytes);
    let (id, now) = (TokenId::from_bytes(bytes), clock.now());
    let token = tokens.make_listed(Some(id.clone()), subject, role, now, seconds)?;
    let ends = Timestamp::from_second(now.as_second().saturating_add(seconds)).unwrap_or(Timestamp::MAX);
    let issued = IssuedToken {
        id,
        name: name.to_owned(),
        subject: subject.to_owned(),
        role,
        created_at: now,
        expires_at: ends,
        created_by: by.to_owned(),
        made_with: with.cloned(),
        revoked_at: None,
    };
    Ok((token, issued))
}

/// A token that was made where no server runs.
#[derive(Debug)]
pub struct OfflineToken {
    /// The token.
    pub token: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// Whether it can be called back.
    pub listing: Listing,
}

/// Whether a token is in the list of the store. It is good all the same, and can be called back only if it is.
#[derive(Debug)]
pub enum Listing {
    /// Listed under this id.
    Listed(TokenId),
    /// The store did not take it, and why.
    NotTaken(String),
}

/// Makes a token as the server with this configuration would, and lists it in its store, which is made if need be.
pub async fn issue_offline(config: &Config, wanted: Wanted<'_>) -> Result<OfflineToken, StartError> {
    let world = World::default();
    let known = toolyard_store::known_key_of(&config.store.path).await;
    let known = known.map_err(|error| StartError::Config(error.to_string()))?;
    let tokens = Tokens::new(&root_key::checked(config, &world, &known)?)?;
    let (token, issued) = issue(&tokens, &*world.clock, &*world.ids, wanted)?;
    let room = config.quotas.of_tokens();
    let listing = match toolyard_store::list_token(&config.store.path, &issued, room).await {
        Ok(TokenAdded::Listed) => Listing::Listed(issued.id),
        // With no token it was made, so none of it is called back.
        Ok(TokenAdded::NoRoom | TokenAdded::Revoked) => {
            Listing::NotTaken(format!("{} has too many tokens already", issued.subject))
        }
        Err(error) => Listing::NotTaken(error.to_string()),
    };
    Ok(OfflineToken { token, expires_at: issued.expires_at, listing })
}
