//! An app as its developer registers it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{device::HardwareRequirement, name::PackageName, stream::Permission};

/// Longest display name of an app, in bytes.
pub const MAX_APP_NAME_BYTES: usize = 200;
/// Most hardware requirements, permissions or settings of one app.
pub const MAX_APP_LIST: usize = 64;
/// Longest address of a picture, in bytes; small ones may be in it.
pub const MAX_ICON_BYTES: usize = 16 * 1024;
/// Largest list of settings, in bytes of JSON.
pub const MAX_APP_SETTINGS_BYTES: usize = 64 * 1024;

/// How an app is called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppKind {
    /// Is woken before a call, connects, can show and hear.
    #[default]
    Session,
    /// Answers `POST {publicUrl}/tool` and need not run.
    ToolsOnly,
}

/// How an app shares the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AppType {
    /// One of them is in the foreground.
    Standard,
    /// Runs beside the others.
    #[default]
    #[serde(other)]
    Background,
}

/// A permission that an app declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeclaredPermission {
    /// Which one.
    #[serde(rename = "type")]
    pub kind: Permission,
    /// Why, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a user can allow an app beyond its own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppGrant {
    /// Calling the tools of the user's other apps.
    Assistant,
}

/// Body of `POST /api/apps`.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewApp {
    /// `com.example.todo`
    pub package_name: PackageName,
    /// How it is called. Where it is missing: as the server is configured, `tools-only` by default.
    #[serde(default)]
    pub kind: Option<AppKind>,
    /// Everything else that can be changed later.
    #[serde(flatten)]
    pub details: AppDetails,
    /// SHA-256 of an API key that the app has already, in hex. Then no new key is made, and `apiKey` is empty in the
    /// response.
    #[serde(default)]
    pub api_key_hash: Option<String>,
    /// Whether to read `{publicUrl}/tpa_config.json` and take from it what is missing here: name, description, tools,
    /// settings, permissions and hardware requirements.
    #[serde(default)]
    pub read_config: bool,
    /// The first set of tools, as MCP defines them, or in the older form with `id` and `parameters`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Vec<Box<RawValue>>>,
    /// The first prompts, as MCP defines them.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub prompts: Vec<Box<RawValue>>,
    /// The first resources, as MCP defines them.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resources: Vec<Box<RawValue>>,
    /// The first resource templates, as MCP defines them.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resource_templates: Vec<Box<RawValue>>,
}

/// What a developer says of an app. In `PATCH /api/apps/{package}` every field is optional and the missing ones stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppDetails {
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Its picture: an https or data URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    /// Where the app answers. Without it the app can be installed, but its tools answer APP_NOT_AVAILABLE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// How it is called.
    pub kind: AppKind,
    /// How it shares the screen.
    pub app_type: AppType,
    /// What it may hear and see.
    pub permissions: Vec<DeclaredPermission>,
    /// Grants that it asks the user for. Naming one gives nothing: each user agrees when installing, or later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<AppGrant>,
    /// What it needs.
    pub hardware_requirements: Vec<HardwareRequirement>,
    /// Its settings with their defaults, as the app defines them.
    pub settings: Vec<Value>,
    /// Built on an older SDK that wants `X-App-API-Key`. Sent over https or loopback only.
    pub legacy: bool,
    /// Longest call, in milliseconds; within the bounds of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout_ms: Option<u64>,
    /// Longest start, in milliseconds; within the bounds of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_timeout_ms: Option<u64>,
}
