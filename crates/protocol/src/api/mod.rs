//! Request and response bodies of the REST API, except calls.

mod ledger;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    app::AppDetails,
    device::Capabilities,
    id::{TokenId, UserId},
    name::{PackageName, ToolName},
    problem::Problem,
};

pub use self::ledger::{
    AWAITING_APPROVAL, AWAITING_SIGN_IN, CallPage, CallSummary, StepTimes, Usage, UsageRow, outcome_text,
};

/// An API error that does not come from a tool call: what was wrong, where, and what to do.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApiError {
    /// A short code for programs.
    pub code: ApiErrorCode,
    /// Human-readable message.
    pub message: String,
    /// Every invalid place, if a document was rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// Body of an API error.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApiErrorBody {
    /// The error.
    pub error: ApiError,
}

/// Codes of API errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ApiErrorCode {
    /// The request is malformed.
    InvalidRequest,
    /// The request is not authenticated.
    Unauthorized,
    /// A sign-in failed. The message does not say why.
    SignInFailed,
    /// The change needs a more recent sign-in.
    SignInAgain,
    /// Authenticated, but not allowed.
    Forbidden,
    /// Does not exist, or is not visible to this caller.
    NotFound,
    /// Already exists, or was changed in the meantime.
    Conflict,
    /// Exceeds a limit.
    TooLarge,
    /// Too many requests.
    RateLimited,
    /// The caller has reached a quota; the message names it.
    QuotaReached,
    /// Not configured on this server.
    NotImplemented,
    /// The server is shutting down, or a part it needs is unavailable.
    Unavailable,
    /// Internal server error; see the log.
    Internal,
}

/// What a person may do. Each role includes the ones before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Uses tools.
    User,
    /// Registers apps.
    Developer,
    /// Signs and revokes plugins.
    Curator,
    /// Runs the platform.
    Operator,
}

impl Role {
    /// Every role, in ascending order.
    pub const ALL: [Self; 4] = [Self::User, Self::Developer, Self::Curator, Self::Operator];

    /// The wire name of the role.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Developer => "developer",
            Self::Curator => "curator",
            Self::Operator => "operator",
        }
    }
}

/// A token without its secret part.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// The id to revoke it by.
    pub id: TokenId,
    /// What it is for.
    pub name: String,
    /// The user it was issued to.
    pub subject: String,
    /// The role it grants.
    pub role: Role,
    /// When it was issued, ISO 8601.
    pub created_at: String,
    /// When it expires, ISO 8601.
    pub expires_at: String,
    /// Who issued it.
    pub created_by: String,
    /// The token it was issued with, if that one is listed. Revoking that one revokes this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_with: Option<TokenId>,
    /// When it was revoked, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

/// Response to `GET /api/tokens`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TokenList {
    /// Newest first.
    pub tokens: Vec<TokenInfo>,
    /// Pass it as `before` to get the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An app as the API shows it, without key and secret.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppSummary {
    /// The package name.
    pub package_name: PackageName,
    /// What its developer configured.
    #[serde(flatten)]
    pub details: AppDetails,
    /// Who registered it.
    pub owner: String,
    /// Current version of its tools; 0 if there is none yet.
    pub tools_version: u64,
    /// How many tools it has.
    pub tool_count: u64,
    /// When it was registered, ISO 8601.
    pub created_at: String,
    /// When it was last changed, ISO 8601.
    pub updated_at: String,
}

/// Response to `POST /api/apps`. Key and secret are shown only here.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppCreated {
    /// The app.
    pub app: AppSummary,
    /// The app sends it when it connects or calls. Store it now.
    pub api_key: String,
    /// The app uses it to verify that a call comes from this server. Store it now.
    pub signing_secret: String,
}

/// Response to a key rotation.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewKey {
    /// The new key. The old one is invalid.
    pub api_key: String,
}

/// Response to a rotation of the signing secret.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSecret {
    /// The new secret. Calls are signed with both until the rotation is finished.
    pub signing_secret: String,
}

/// Body of `POST /api/apps/{package}/tools`: the complete set.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSet {
    /// Every tool of the app as an MCP definition, or in the older form with `id` and `parameters`.
    #[schemars(with = "Vec<Value>")]
    pub tools: Vec<Box<RawValue>>,
    /// Every prompt of the app as an MCP definition.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub prompts: Vec<Box<RawValue>>,
    /// Every resource of the app as an MCP definition.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resources: Vec<Box<RawValue>>,
    /// Every resource template of the app as an MCP definition.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resource_templates: Vec<Box<RawValue>>,
}

/// One version of an app's tools.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionSummary {
    /// Starts at 1.
    pub version: u64,
    /// SHA-256 of the set.
    pub hash: String,
    /// When it was published, ISO 8601.
    pub created_at: String,
    /// Who published it.
    pub created_by: String,
    /// Whether it is the current version.
    pub current: bool,
    /// How many tools it has.
    pub tool_count: u64,
}

/// What changed between two versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionDiff {
    /// The tools.
    #[serde(flatten)]
    pub tools: ListDiff,
    /// The prompts, if they differ.
    #[serde(default, skip_serializing_if = "ListDiff::is_empty")]
    pub prompts: ListDiff,
    /// The resources by URI, if they differ.
    #[serde(default, skip_serializing_if = "ListDiff::is_empty")]
    pub resources: ListDiff,
    /// The resource templates by URI template, if they differ.
    #[serde(default, skip_serializing_if = "ListDiff::is_empty")]
    pub resource_templates: ListDiff,
}

/// What changed in one list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ListDiff {
    /// Only in the later version.
    pub added: Vec<String>,
    /// Only in the earlier version.
    pub removed: Vec<String>,
    /// In both, with the members that differ.
    pub changed: Vec<EntryDiff>,
}

impl ListDiff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What changed in one tool, prompt, resource or template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EntryDiff {
    /// Its name or URI.
    pub name: String,
    /// The members that differ: `description`, `inputSchema`.
    pub fields: Vec<String>,
}

/// One installed app.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallSummary {
    /// The package name.
    pub package_name: PackageName,
    /// The display name; the package name if it has none.
    pub name: String,
    /// Its icon: an https or data URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    /// When it was installed, ISO 8601.
    pub installed_at: String,
    /// Whether it may call the tools of other apps for this user.
    pub assistant: bool,
}

/// Body of `PUT /api/settings/tools/{name}`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSwitch {
    /// Whether the tool is visible and callable.
    pub enabled: bool,
}

/// One tool that the user has disabled.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSetting {
    /// The tool.
    pub name: ToolName,
    /// Whether it is visible and callable.
    pub enabled: bool,
}

/// The kind of reason why a tool is hidden, for programs. [`HiddenTool::reason`] is for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HiddenKind {
    /// The device lacks hardware that the app requires.
    Hardware,
    /// The user switched the tool off.
    SwitchedOff,
    /// The whole package cannot run: its plugin is not trusted, or its upstream is disabled.
    PackageDisabled,
    /// The definition cannot be used.
    InvalidDefinition,
    /// Another tool has the alias.
    AliasTaken,
    /// The view reached its limit of tools or bytes.
    ViewFull,
    /// The definition is new or changed, and nobody accepted it.
    NotAccepted,
    /// Only read, never sent: an older server sends no kind, a newer one may send another.
    #[default]
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// A hidden tool and the reason.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HiddenTool {
    /// The tool.
    pub name: ToolName,
    /// Its title, if it has one and the tool exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its description, if the tool exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The kind of reason.
    #[serde(default)]
    #[schemars(!default)]
    pub kind: HiddenKind,
    /// Why it is not listed, for people.
    pub reason: String,
}

/// The states of an app in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AppState {
    /// Not running.
    Stopped,
    /// Starting, not yet connected.
    Starting,
    /// Connected.
    Running,
    /// Stopping.
    Stopping,
    /// The socket broke; the app may reconnect.
    Lost,
}

/// One app in a session.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningApp {
    /// The package name.
    pub package_name: PackageName,
    /// Its state.
    pub state: AppState,
    /// Whether a call started it, and not the user.
    pub woken: bool,
    /// Whether it owns the display.
    pub foreground: bool,
    /// The streams it is subscribed to.
    pub subscriptions: Vec<String>,
}

/// Response to `GET /api/session`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The user.
    pub user_id: UserId,
    /// Whether a device is connected.
    pub device_connected: bool,
    /// What the device can do, if known.
    pub capabilities: Option<Capabilities>,
    /// The apps that are running or starting.
    pub apps: Vec<RunningApp>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hidden_tool_is_read_from_older_and_newer_servers() {
        let kind = |tool: serde_json::Value| serde_json::from_value::<HiddenTool>(tool).unwrap().kind;
        let older = json!({ "name": "com.ex:a", "reason": "switched off by the user" });
        assert_eq!(kind(older), HiddenKind::Unknown);
        let newer = json!({ "name": "com.ex:a", "kind": "quarantined", "reason": "under review" });
        assert_eq!(kind(newer), HiddenKind::Unknown);
        let current =
            json!({ "name": "com.ex:a", "kind": "switched-off", "reason": "switched off by the user" });
        assert_eq!(kind(current), HiddenKind::SwitchedOff);
    }
}
