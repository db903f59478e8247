//! The section `[oauth]`: clients that users connect, and the authorization server for them.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_platform::clients::ClientSettings;
use toolyard_protocol::UserId;

/// Clients that users connect with one click: the authorization server of this server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// Whether clients can connect by OAuth.
    pub enabled: bool,
    /// Whether clients may register themselves (RFC 7591). Clients that name a metadata document need no registration.
    pub registration: bool,
    /// Clients that registered themselves and are kept. The oldest without a grant make room.
    pub max_clients: u32,
    /// Connected clients of one user.
    pub clients_per_user: u32,
    /// How long an access token is valid, in seconds. A client gets the next one by itself.
    pub access_token_s: u64,
    /// How long access tokens of some clients are valid, in seconds, by the host that the browser returns to. For clients that do
    /// not renew tokens while a conversation lasts.
    pub access_token_hosts: BTreeMap<String, u64>,
    /// Clients that the operator registers.
    pub clients: Vec<OAuthClientConfig>,
    /// How long a client stays connected by default, in days. The user can choose less or more, up to a year.
    pub grant_days: u32,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            registration: true,
            max_clients: 10_000,
            clients_per_user: 200,
            access_token_s: 60 * 60,
            access_token_hosts: BTreeMap::from([("claude.ai".to_owned(), 24 * 60 * 60)]),
            clients: Vec::new(),
            grant_days: 90,
        }
    }
}

/// A client that the operator registers: one that cannot register itself, or a program that acts without a person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OAuthClientConfig {
    /// Its client id.
    pub id: String,
    /// Its name on the consent page.
    pub name: String,
    /// Where the browser may return to. Empty for a program that acts without a person.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// The environment variable that holds its secret. Without it and `keys_url`, the client is public.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The URL of its public keys, if it authenticates with signed assertions (`private_key_jwt`).
    #[serde(default)]
    pub keys_url: Option<String>,
    /// The user that the client acts as with the grant `client_credentials`.
    #[serde(default)]
    pub acts_for: Option<UserId>,
    /// What it may do without a person. Default: `tools:read` and `tools:write`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// How long its access tokens are valid, in seconds. Default: `oauth.access_token_s`.
    #[serde(default)]
    pub access_token_s: Option<u32>,
}

impl OAuthConfig {
    pub(crate) fn settings(&self) -> ClientSettings {
        let hosts = self.access_token_hosts.iter();
        ClientSettings {
            max_clients: self.max_clients,
            clients_per_user: self.clients_per_user,
            access_token: Duration::from_secs(self.access_token_s.max(1)),
            access_token_hosts: hosts
                .map(|(host, seconds)| (host.to_ascii_lowercase(), Duration::from_secs((*seconds).max(1))))
                .collect(),
            grant_days: self.grant_days.clamp(1, toolyard_platform::clients::MAX_GRANT_DAYS),
        }
    }
}
