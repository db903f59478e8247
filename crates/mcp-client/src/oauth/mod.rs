//! OAuth 2.1 as MCP requires it of clients: each user consents in a browser.
//!
//! | file | what it does |
//! | --- | --- |
//! | `settings` | how this client identifies itself to one server |
//! | `store`, `memory` | the ports for tokens and pending flows, and both in memory |
//! | `authorizer` | the flow of one user at one server: start, forget |
//! | `complete` | the browser returns: check the flow, redeem the code |
//! | `credentials` | a bearer token for each request, renewed in time |
//! | `discover` | from an upstream to its authorization server, by `resource` and `server_metadata` |
//! | `challenge` | parses the challenge of a server |
//! | `register` | a client id |
//! | `link`, `pkce` | the link that the user opens, and its secrets |
//! | `token`, `refresh` | requests tokens, renews them |
//! | `requests` | every request of a flow, through the guard of toolyard-net and within limits |
//! | `record` | what is stored |
//! | `locks` | one change of a user's tokens at a time |
//!
//! Deliberately absent: endpoints guessed without metadata, servers without PKCE, grants without a user, and sending
//! tokens to any other server.

mod authorizer;
mod challenge;
mod complete;
mod credentials;
mod discover;
mod error;
mod link;
mod locks;
mod memory;
mod pkce;
mod record;
mod refresh;
mod register;
mod requests;
mod resource;
mod server_metadata;
mod settings;
mod store;
mod token;

pub use authorizer::{
    OAuth, OAuthClock, OAuthParts, OAuthRandom, OAuthUpstream, StartedFlow, UserAuthorizer,
};
pub use complete::OAuthCallback;
pub use credentials::OAuthCredentials;
pub use error::OAuthError;
pub use memory::{MAX_FLOWS_OF_USER, MemoryPending, MemoryTokens};
pub use settings::{OAuthSettings, RegisteredClient};
pub use store::{OAuthStoreError, PendingFlow, PendingStore, TokenKey, TokenStore};
