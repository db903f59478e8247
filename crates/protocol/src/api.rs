//! Bodies of the REST API that are not calls.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    app::AppDetails,
    device::Capabilities,
    error::ErrorCode,
    id::{CallId, TokenId, UserId},
    name::{PackageName, ToolName},
    problem::Problem,
};

/// An error outside of calls: what was wrong, where, and what to do.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApiError {
    /// A short code that programs can act on.
    pub code: ApiErrorCode,
    /// For people.
    pub message: String,
    /// Every place that is wrong, where a document was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// Body of an error outside of calls.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApiErrorBody {
    /// The error.
    pub error: ApiError,
}

/// Codes of errors outside of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ApiErrorCode {
    /// The request is not well formed.
    InvalidRequest,
    /// Nobody in particular is asking.
    Unauthorized,
    /// Known, and not allowed.
    Forbidden,
    /// Not there, or not for this caller.
    NotFound,
    /// Already there, or changed meanwhile.
    Conflict,
    /// More than a bound allows.
    TooLarge,
    /// Too many requests.
    RateLimited,
    /// The caller stores as much as a quota allows; the text names it.
    QuotaReached,
    /// Nobody set up what would be needed for it.
    NotImplemented,
    /// The server stops, or a part it needs is away.
    Unavailable,
    /// A fault of the server; the log says more.
    Internal,
}

/// What a person may do. Each includes the ones before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Uses tools.
    User,
    /// Registers apps.
    Developer,
    /// Signs plugins and calls them back.
    Curator,
    /// Runs the platform.
    Operator,
}

impl Role {
    /// Every role, in rising order.
    pub const ALL: [Self; 4] = [Self::User, Self::Developer, Self::Curator, Self::Operator];

    /// The role as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Developer => "developer",
            Self::Curator => "curator",
            Self::Operator => "operator",
        }
    }
}

/// What is known of a token. Never the token itself.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// By which it is revoked.
    pub id: TokenId,
    /// What for.
    pub name: String,
    /// Whose.
    pub subject: String,
    /// What it allows.
    pub role: Role,
    /// When it was made, ISO 8601.
    pub created_at: String,
    /// When it ends, ISO 8601.
    pub expires_at: String,
    /// By whom it was made.
    pub created_by: String,
    /// With which token, where that one is listed: it is revoked with that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_with: Option<TokenId>,
    /// When it was revoked, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

/// Answer to `GET /api/tokens`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TokenList {
    /// The newest first.
    pub tokens: Vec<TokenInfo>,
    /// The `before` of the next page; missing on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An app as the API shows it. Never a key, never a secret.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppSummary {
    /// Its name.
    pub package_name: PackageName,
    /// What its developer says of it.
    #[serde(flatten)]
    pub details: AppDetails,
    /// Who registered it.
    pub owner: String,
    /// Current version of its tools; 0 is none yet.
    pub tools_version: u64,
    /// How many tools it has.
    pub tool_count: u64,
    /// When it was registered, ISO 8601.
    pub created_at: String,
    /// When it was last changed, ISO 8601.
    pub updated_at: String,
}

/// Answer to `POST /api/apps`: the only time that key and secret are shown.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppCreated {
    /// The app.
    pub app: AppSummary,
    /// The app shows it when it connects or calls. Keep it.
    pub api_key: String,
    /// With it the app checks that a call comes from this server. Keep it.
    pub signing_secret: String,
}

/// Answer to a rotation of the key.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewKey {
    /// The new key; the old one is void.
    pub api_key: String,
}

/// Answer to a rotation of the signing secret.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSecret {
    /// The new secret; calls are signed with old and new until the app was told.
    pub signing_secret: String,
}

/// Body of `POST /api/apps/{package}/tools`: the whole set.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSet {
    /// Every tool of the app, as MCP defines them, or in the older form with `id` and `parameters`.
    #[schemars(with = "Vec<Value>")]
    pub tools: Vec<Box<RawValue>>,
    /// Every prompt of the app, as MCP defines them.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub prompts: Vec<Box<RawValue>>,
    /// Every resource of the app, as MCP defines them.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resources: Vec<Box<RawValue>>,
    /// Every resource template of the app, as MCP defines them.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resource_templates: Vec<Box<RawValue>>,
}

/// One version of an app's tools.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionSummary {
    /// Counts from 1.
    pub version: u64,
    /// SHA-256 of the set.
    pub hash: String,
    /// When, ISO 8601.
    pub created_at: String,
    /// By whom.
    pub created_by: String,
    /// Whether it is the one in use.
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
    /// The prompts, where they differ.
    #[serde(default, skip_serializing_if = "ListDiff::is_empty")]
    pub prompts: ListDiff,
    /// The resources, by URI, where they differ.
    #[serde(default, skip_serializing_if = "ListDiff::is_empty")]
    pub resources: ListDiff,
    /// The resource templates, by URI template, where they differ.
    #[serde(default, skip_serializing_if = "ListDiff::is_empty")]
    pub resource_templates: ListDiff,
}

/// What changed in one list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ListDiff {
    /// What only the later one has.
    pub added: Vec<String>,
    /// What only the earlier one has.
    pub removed: Vec<String>,
    /// What is in both, with the members that differ.
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
    /// Its name, or its URI.
    pub name: String,
    /// The members that differ: `description`, `inputSchema`.
    pub fields: Vec<String>,
}

/// One installed app.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallSummary {
    /// Which app.
    pub package_name: PackageName,
    /// Its name for people; the package where it has none.
    pub name: String,
    /// Its picture: an https or data URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    /// Since when, ISO 8601.
    pub installed_at: String,
    /// Whether it may call the tools of other apps for this user.
    pub assistant: bool,
}

/// Body of `PUT /api/settings/tools/{name}`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSwitch {
    /// Whether the tool may be seen and called.
    pub enabled: bool,
}

/// One tool that the user has switched off.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSetting {
    /// Which tool.
    pub name: ToolName,
    /// Whether it may be seen and called.
    pub enabled: bool,
}

/// A hidden tool and why.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HiddenTool {
    /// Which tool.
    pub name: ToolName,
    /// Its title, where it has one and is a tool at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its description, where it is a tool at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why it is not in the list.
    pub reason: String,
}

/// The states of an app in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AppState {
    /// Not running.
    Stopped,
    /// Asked to start, not yet connected.
    Starting,
    /// Connected.
    Running,
    /// Asked to stop.
    Stopping,
    /// The socket broke; the app may come back by itself.
    Lost,
}

/// One app in a session.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningApp {
    /// Which app.
    pub package_name: PackageName,
    /// Its state.
    pub state: AppState,
    /// Whether a call started it, not the user.
    pub woken: bool,
    /// Whether it owns the screen.
    pub foreground: bool,
    /// What it listens to.
    pub subscriptions: Vec<String>,
}

/// Answer to `GET /api/session`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Whose.
    pub user_id: UserId,
    /// Whether a device is connected now.
    pub device_connected: bool,
    /// What the device can do, if that is known.
    pub capabilities: Option<Capabilities>,
    /// The apps that run or are on their way.
    pub apps: Vec<RunningApp>,
}

/// One call in the ledger.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallSummary {
    /// Its id.
    pub id: CallId,
    /// For whom; developers are not told of the calls of their apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Canonical name, or what the caller wrote where that is no tool.
    pub tool: String,
    /// Where the tool ran: `app`.
    pub source: String,
    /// Which door it came through: `rest`.
    pub door: String,
    /// Who made it: `user`, or `app:` and a package. Not for developers, as the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// `OK`, or the error code.
    pub outcome: String,
    /// What the caller was told, truncated, where the call failed. Kept for a limited time; developers see what their app
    /// did wrong, not what a user wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Whether the outcome was found under the caller's key, and nothing ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// When it began, ISO 8601 with milliseconds.
    pub started_at: String,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// How long each step took, in microseconds.
    pub steps: StepTimes,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// Bytes of the result.
    pub bytes_out: u64,
    /// The trace it belongs to. Not for developers, as it ties the calls of a user together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// Microseconds of each step of a call; a step that was not reached is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[expect(missing_docs, reason = "the names are the steps of the executor")]
pub struct StepTimes {
    pub find: u64,
    pub validate: u64,
    pub authorize: u64,
    pub ready: u64,
    pub invoke: u64,
    pub check: u64,
}

/// A page of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallPage {
    /// Newest first.
    pub calls: Vec<CallSummary>,
    /// Give it as `before` for the next page; missing on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One row of `GET /api/usage`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// Which tool.
    pub tool: String,
    /// How many calls.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// Their mean duration in microseconds.
    pub mean_us: u64,
}

/// Answer to `GET /api/usage`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// One row a tool, most calls first.
    pub tools: Vec<UsageRow>,
}

/// The text of an outcome in the ledger.
pub fn outcome_text(code: Option<ErrorCode>) -> &'static str {
    code.map_or("OK", ErrorCode::as_str)
}
