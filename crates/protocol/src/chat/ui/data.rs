//! Data in chunks: ours, that of other vendors, and chunks that are not known here.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    PackageName,
    approval::{ApprovalSummary, RiskLevel},
    raw::RawFields,
};

/// Which app a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolData {
    /// The call.
    pub tool_call_id: String,
    /// `package:tool`
    pub name: String,
    /// Human-readable title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The app's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// URL of its icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressData {
    /// The call.
    pub tool_call_id: String,
    /// Progress so far, in the unit of `total`.
    pub progress: f64,
    /// The total, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Human-readable message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What the user is asked before a call runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalData {
    /// The call.
    pub tool_call_id: String,
    /// `package:tool`
    pub name: String,
    /// What will run.
    pub summary: ApprovalSummary,
    /// How much a wrong yes can cost.
    pub risk: RiskLevel,
    /// The page where a person can answer.
    pub url: String,
    /// Until when it can be answered, ISO 8601.
    pub expires_at: String,
}

/// Where the user signs in, so that a waiting call can run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInData {
    /// The call.
    pub tool_call_id: String,
    /// The upstream at which the user signs in.
    pub package_name: PackageName,
    /// Its name for people.
    pub name: String,
    /// The page where the user signs in.
    pub url: String,
}

/// Why a response ends early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeData {
    /// `steps`, `tokens`, `time`
    pub code: String,
    /// Human-readable message.
    pub message: String,
}

/// Data of another vendor.
#[derive(Debug, Clone, Serialize)]
pub struct DataChunk {
    /// The whole type: `data-` and a name.
    #[serde(rename = "type")]
    pub kind: String,
    /// A later chunk with the same type and id replaces this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it is not part of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transient: Option<bool>,
    /// The data.
    pub data: Box<RawValue>,
}

/// A chunk of an unknown type, as received.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct OtherChunk {
    #[serde(skip)]
    kind: String,
    fields: RawFields,
}

impl OtherChunk {
    pub(super) fn new(kind: String, fields: RawFields) -> Self {
        Self { kind, fields }
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}
