//! A call: as callers send it, as apps receive it, and the reply of the app.
//!
//! The body to an app carries the MCP-style form and the form of older SDKs at once, and both reply forms are
//! accepted, so apps of either generation work.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    id::{CallId, UserId},
    result::ResultExtensions,
};

/// The reply of an app that presents the result itself; the assistant stays silent.
pub const GIVE_APP_CONTROL_OF_TOOL_RESPONSE: &str = "GIVE_APP_CONTROL_OF_TOOL_RESPONSE";

/// Content type of a reply in lines: progress lines, then one result line.
pub const NDJSON: &str = "application/x-ndjson";
/// `Accept` header of calls to apps.
pub const ACCEPT_FROM_APPS: &str = "application/x-ndjson, application/json";
/// Header with the caller's id of the conversation that a call belongs to.
pub const CONVERSATION_HEADER: &str = "x-conversation-id";
/// Header with the caller's idempotency key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Longest idempotency key.
pub const MAX_KEY_CHARS: usize = 255;

/// Body of `POST /api/tools/execute`.
#[derive(Debug, Deserialize)]
pub struct ExecuteRequest<'a> {
    /// Canonical name or alias.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// The arguments, an object. Missing means empty.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

/// Body of `POST {publicUrl}/tool`, both forms in one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AppCall<'a> {
    name: &'a str,
    arguments: &'a RawValue,
    context: AppCallContext<'a>,
    tool_id: &'a str,
    tool_parameters: &'a RawValue,
    user_id: &'a str,
    timestamp: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AppCallContext<'a> {
    user_id: &'a str,
    timestamp: &'a str,
    activated_for_tool: bool,
    call_id: &'a str,
}

/// Whether the app was started for this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppActivation {
    /// It was running before, or needs no start.
    WasReady,
    /// It was started for this call.
    StartedForCall,
}

impl<'a> AppCall<'a> {
    /// The body for one call. `arguments` is a JSON object, `timestamp` ISO 8601 in UTC.
    pub fn new(
        tool: &'a str,
        arguments: &'a RawValue,
        user: &'a UserId,
        call: &'a CallId,
        timestamp: &'a str,
        activation: AppActivation,
    ) -> Self {
        let context = AppCallContext {
            user_id: user.as_str(),
            timestamp,
            activated_for_tool: activation == AppActivation::StartedForCall,
            call_id: call.as_str(),
        };
        Self {
            name: tool,
            arguments,
            context,
            tool_id: tool,
            tool_parameters: arguments,
            user_id: user.as_str(),
            timestamp,
        }
    }
}

/// A call as an app receives it, in either form.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawToolCall {
    name: Option<String>,
    tool_id: Option<String>,
    arguments: Option<Map<String, Value>>,
    tool_parameters: Option<Map<String, Value>>,
    context: Option<RawCallContext>,
    user_id: Option<String>,
    timestamp: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawCallContext {
    user_id: Option<String>,
    timestamp: Option<Value>,
    activated_for_tool: bool,
    call_id: Option<String>,
}

/// A call with both forms merged.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedToolCall {
    /// The tool's local name.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The user.
    pub user: UserId,
    /// When it was sent, as the caller wrote it.
    pub timestamp: String,
    /// Whether the app was started for this call.
    pub activated_for_tool: bool,
    /// The call's id on the platform.
    pub call: Option<CallId>,
}

/// The body is not a tool call. The message says which part is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a tool call: {0}")]
pub struct InvalidToolCall(String);

impl ReceivedToolCall {
    /// Parses the body of `POST /tool` in either form.
    pub fn parse(body: &[u8]) -> Result<Self, InvalidToolCall> {
        let call: RawToolCall =
            serde_json::from_slice(body).map_err(|error| InvalidToolCall(error.to_string()))?;
        let missing = |what: &str| InvalidToolCall(format!("`{what}` is missing"));
        let context = call.context.unwrap_or_default();
        let user = context.user_id.or(call.user_id).ok_or_else(|| missing("userId"))?;
        let timestamp = match context.timestamp.or(call.timestamp) {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => String::new(),
        };
        Ok(Self {
            tool: call.name.or(call.tool_id).ok_or_else(|| missing("name"))?,
            arguments: call.arguments.or(call.tool_parameters).unwrap_or_default(),
            user: user.parse().map_err(|error: crate::id::InvalidId| InvalidToolCall(error.to_string()))?,
            timestamp,
            activated_for_tool: context.activated_for_tool,
            call: context.call_id.and_then(|id| id.parse().ok()),
        })
    }
}

/// The reply of an app, both forms in one. The fields decide which form it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppReply<'a> {
    /// New form: whether it succeeded.
    #[serde(default)]
    pub success: Option<bool>,
    /// New form: text, object, or MCP content blocks.
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    /// New form: the structured result.
    #[serde(borrow, default)]
    pub structured_content: Option<&'a RawValue>,
    /// New form: what failed.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    /// New form: our extensions.
    #[serde(default)]
    pub mentra_extensions: Option<ResultExtensions>,
    /// Old form: `success` or `error`.
    #[serde(borrow, default)]
    pub status: Option<Cow<'a, str>>,
    /// Old form: the result; `null` means that the app does not know the tool.
    #[serde(borrow, default)]
    pub reply: Option<&'a RawValue>,
    /// Old form: what failed.
    #[serde(borrow, default)]
    pub message: Option<Cow<'a, str>>,
}

/// The error as an app reports it.
#[derive(Debug, Default, Deserialize)]
pub struct AppError {
    /// Its own code, or one of `ErrorCode`.
    #[serde(default)]
    pub code: String,
    /// What was wrong.
    #[serde(default)]
    pub message: String,
}

/// Progress of a call, sent before the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallProgress {
    /// Progress so far, in the unit of `total`.
    pub progress: f64,
    /// The total, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Human-readable message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One line of a reply in lines.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ReplyLine {
    /// Progress.
    Progress(CallProgress),
    /// The last line: the members of a reply, next to `type`.
    Result,
    /// A line type of a newer SDK.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::to_raw;

    fn body(activation: AppActivation) -> String {
        let (user, call) = ("ada@example.com".parse().unwrap(), "c1".parse().unwrap());
        let arguments = to_raw(&serde_json::json!({ "todo_item": "milk" }));
        let time = "2026-01-02T03:04:05.678Z";
        serde_json::to_string(&AppCall::new("add_todo", &arguments, &user, &call, time, activation)).unwrap()
    }

    #[test]
    fn both_forms_travel_in_one_body() {
        assert_eq!(
            body(AppActivation::StartedForCall),
            concat!(
                r#"{"name":"add_todo","arguments":{"todo_item":"milk"},"context":{"userId":"ada@example.com","#,
                r#""timestamp":"2026-01-02T03:04:05.678Z","activatedForTool":true,"callId":"c1"},"#,
                r#""toolId":"add_todo","toolParameters":{"todo_item":"milk"},"userId":"ada@example.com","#,
                r#""timestamp":"2026-01-02T03:04:05.678Z"}"#
            )
        );
    }

    #[test]
    fn an_app_reads_either_form() {
        let both = ReceivedToolCall::parse(body(AppActivation::StartedForCall).as_bytes()).unwrap();
        assert!(both.activated_for_tool);
        let old = br#"{"toolId":"add_todo","toolParameters":{"todo_item":"milk"},"userId":"Ada@example.com","timestamp":5}"#;
        let old = ReceivedToolCall::parse(old).unwrap();
        assert_eq!(
            (old.tool.as_str(), old.user.as_str(), old.timestamp.as_str()),
            ("add_todo", "ada@example.com", "5")
        );
        let new = br#"{"name":"a","arguments":{},"context":{"userId":"u","timestamp":"t","activatedForTool":false}}"#;
        assert_eq!(ReceivedToolCall::parse(new).unwrap().tool, "a");
    }

    #[test]
    fn an_invalid_call_says_why() {
        for (body, word) in
            [("{}", "userId"), (r#"{"userId":"u"}"#, "name"), ("[]", "expected"), ("x", "expected")]
        {
            let error = ReceivedToolCall::parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
