//! An app as its developer registers it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{device::HardwareRequirement, name::PackageName, stream::Permission};

/// Longest display name of an app, in bytes.
pub const MAX_APP_NAME_BYTES: usize = 200;
/// Maximum number of hardware requirements, permissions or settings of one app.
pub const MAX_APP_LIST: usize = 64;
/// Longest icon URL, in bytes. Small icons may be data URLs.
pub const MAX_ICON_BYTES: usize = 16 * 1024;
/// Largest list of settings, in bytes of JSON.
pub const MAX_APP_SETTINGS_BYTES: usize = 64 * 1024;

/// How the platform calls an app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppKind {
    /// Woken before a call; connects over a WebSocket and can use the device.
    #[default]
    Session,
    /// Responds to `POST {publicUrl}/tool`. Needs no session.
    ToolsOnly,
}

/// How an app shares the display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AppType {
    /// Only one runs in the foreground.
    Standard,
    /// Runs beside the others.
    #[default]
    #[serde(other)]
    Background,
}

/// A permission that an app declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeclaredPermission {
    /// The permission.
    #[serde(rename = "type")]
    pub kind: Permission,
    /// Why it is needed, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What a user can grant an app beyond its own tools.
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
    /// How it is called. The default is set in the server configuration: `tools-only` unless changed.
    #[serde(default)]
    pub kind: Option<AppKind>,
    /// Everything else; can be changed later.
    #[serde(flatten)]
    pub details: AppDetails,
    /// SHA-256 of an existing API key, in hex. Then no new key is generated, and `apiKey` is empty in the
    /// response.
    #[serde(default)]
    pub api_key_hash: Option<String>,
    /// Whether to read `{publicUrl}/tpa_config.json` and take what is missing here from it: name, description, tools,
    /// settings, permissions and hardware requirements.
    #[serde(default)]
    pub read_config: bool,
    /// The first set of tools as MCP definitions, or in the older form with `id` and `parameters`.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Vec<Box<RawValue>>>,
    /// The first prompts as MCP definitions.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub prompts: Vec<Box<RawValue>>,
    /// The first resources as MCP definitions.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resources: Vec<Box<RawValue>>,
    /// The first resource templates as MCP definitions.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub resource_templates: Vec<Box<RawValue>>,
}

/// What a developer configures for an app. In `PATCH /api/apps/{package}` every field is optional; missing ones keep their value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppDetails {
    /// Display name.
    pub name: String,
    /// Human-readable description.
    pub description: String,
    /// Its icon: an https or data URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    /// Base URL of the app. Without it the app can be installed, but calls to its tools fail with APP_NOT_AVAILABLE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// How it is called.
    pub kind: AppKind,
    /// How it shares the display.
    pub app_type: AppType,
    /// The device data it needs.
    pub permissions: Vec<DeclaredPermission>,
    /// Grants that it asks the user for. Each user must agree, when installing or later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<AppGrant>,
    /// The hardware it needs.
    pub hardware_requirements: Vec<HardwareRequirement>,
    /// Its settings with their defaults, as the app defines them.
    pub settings: Vec<Value>,
    /// Built on an older SDK that expects `X-App-API-Key`. Sent over https or loopback only.
    pub legacy: bool,
    /// Timeout of a call in milliseconds, within the server's limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_timeout_ms: Option<u64>,
    /// Timeout of a start in milliseconds, within the server's limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_timeout_ms: Option<u64>,
}
