//! Authorization at servers by OAuth 2.1, as MCP wants it of a client: each user says yes for themselves, in a browser.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `settings` | who are we, for one server? |
//! | `store`, `memory` | where tokens and flows under way are kept: two ports, and both in memory |
//! | `authorizer` | the flow of one user at one server: begin, forget |
//! | `complete` | the browser came back: is it the flow that we began, and what does the code buy? |
//! | `credentials` | a bearer for each request, renewed in time |
//! | `discover`, `register`, `refresh` | the steps, each on rmcp's authorization client |
//! | `challenge` | what does a server say when it turns a request away? |
//! | `requests` | every request of a flow, through the guard of toolyard-net and within limits |
//! | `record` | what is written down |
//! | `locks` | one change of a user's tokens at a time |
//!
//! No type of rmcp leaves this module. What is deliberately absent: endpoints guessed without metadata, servers
//! without PKCE, grants without a user, and tokens that any other server gets to see.

mod authorizer;
mod challenge;
mod complete;
mod credentials;
mod discover;
mod error;
mod locks;
mod memory;
mod record;
mod refresh;
mod register;
mod requests;
mod settings;
mod store;

pub use authorizer::{OAuth, OAuthClock, OAuthParts, OAuthUpstream, StartedFlow, UserAuthorizer};
pub use complete::OAuthCallback;
pub use credentials::OAuthCredentials;
pub use error::OAuthError;
pub use memory::{MemoryPending, MemoryTokens};
pub use settings::{OAuthSettings, RegisteredClient};
pub use store::{OAuthStoreError, PendingFlow, PendingStore, TokenKey, TokenStore};
