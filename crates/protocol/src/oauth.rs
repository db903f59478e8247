//! Connected clients: what a user decides about them, and what is listed.

use serde::{Deserialize, Serialize};

use crate::{id::TokenId, id::UserId, name::PackageName};

/// How the server knows a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectingClientKind {
    /// The operator registered it.
    Preregistered,
    /// Its id is the URL of a document that describes it.
    MetadataDocument,
    /// It registered itself. Its name is its own claim.
    Dynamic,
}

/// The client that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConnectingClient {
    /// Its id.
    pub id: String,
    /// What it calls itself.
    pub name: String,
    /// How the server knows it.
    pub kind: ConnectingClientKind,
    /// Its home page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// An app that a client can be restricted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConsentApp {
    /// The app.
    pub package: PackageName,
    /// Its name.
    pub name: String,
}

/// Response to `GET /api/oauth/consent`: what a client asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsentInfo {
    /// The client.
    pub client: ConnectingClient,
    /// Where the browser returns to.
    pub redirect_host: String,
    /// Whether that is a program on the user's own computer.
    pub is_loopback: bool,
    /// Who is asked.
    pub user: UserId,
    /// What the client asks for, without apps.
    pub scopes: Vec<String>,
    /// The apps that the client asks for; empty means all.
    pub requested_apps: Vec<PackageName>,
    /// The user's apps.
    pub apps: Vec<ConsentApp>,
    /// For how many days it is connected by default.
    pub days: u32,
    /// At most.
    pub max_days: u32,
    /// Until when the user can decide, ISO 8601.
    pub expires_at: String,
}

/// Body of `POST /api/oauth/consent`: what the user decides.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConsentDecision {
    /// The text from the address of the consent page.
    pub request: String,
    /// Yes or no.
    pub approve: bool,
    /// What is allowed of what the client asked for. Default: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Only these apps. Default: what the client asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apps: Option<Vec<PackageName>>,
    /// For how many days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// Response to `POST /api/oauth/consent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConsentOutcome {
    /// Where the browser goes next.
    pub redirect: String,
}

/// A client that the user connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedClient {
    /// The id of the grant.
    pub id: TokenId,
    /// The client.
    pub client_id: String,
    /// What it called itself.
    pub name: String,
    /// Where the browser returned to.
    pub host: String,
    /// What it may do, without apps.
    pub scopes: Vec<String>,
    /// The apps that it is restricted to; empty means all.
    pub apps: Vec<PackageName>,
    /// When it was connected, ISO 8601.
    pub created_at: String,
    /// When it last got a token, ISO 8601.
    pub last_used_at: String,
    /// When it ends, ISO 8601.
    pub expires_at: String,
}

/// Response to `GET /api/clients`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConnectedClientList {
    /// Newest first.
    pub clients: Vec<ConnectedClient>,
}
