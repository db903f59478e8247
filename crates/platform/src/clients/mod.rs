//! Clients that users connect by OAuth, and what they were granted.
//!
//! Nothing waits in memory: a consent in progress and an authorization code are sealed texts, a refresh token is verified by
//! its key, and what must happen once is decided by the store. So any node can answer each request of a flow.

mod access;
mod connect;
mod disconnect;
mod find;
mod issue;
mod list;
mod redeem;
mod refresh;
mod register;
mod revoke_token;
mod without_person;

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use toolyard_core::ports::ClientGrant;
use toolyard_protocol::session::iso_millis;

pub use self::{
    access::{ClientAccess, scope_for},
    connect::{ClientConsent, connect, credential_end, host_name},
    disconnect::disconnect,
    find::find_registered,
    list::list,
    redeem::{redeem, user_profile, view_scope},
    refresh::refresh,
    register::{RegisterError, register},
    revoke_token::{find_token, revoke_token},
    without_person::{MachineGrant, issue_for_identity, issue_to_machine},
};

use crate::audit::AuditSubject;

/// Longest time for which a client is connected, in days.
pub const MAX_GRANT_DAYS: u32 = 365;

/// Limits and lifetimes of connected clients.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Clients that registered themselves.
    pub max_clients: u32,
    /// Connected clients of one user.
    pub clients_per_user: u32,
    /// How long an access token is valid.
    pub access_token: Duration,
    /// How long access tokens are valid for clients on these hosts, in lower case.
    pub access_token_hosts: BTreeMap<String, Duration>,
    /// How long a client is connected by default, in days.
    pub grant_days: u32,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            max_clients: 10_000,
            clients_per_user: 200,
            access_token: Duration::from_secs(60 * 60),
            access_token_hosts: BTreeMap::new(),
            grant_days: 90,
        }
    }
}

/// A grant as the audit log names it.
fn audit_grant(grant: &ClientGrant) -> (AuditSubject, Value) {
    let detail = json!({
        "client": grant.client_id,
        "name": grant.client_name,
        "host": grant.client_host,
        "scopes": grant.scopes,
        "expiresAt": iso_millis(grant.expires_at),
    });
    (AuditSubject::of_user(&grant.id, &grant.user), detail)
}
