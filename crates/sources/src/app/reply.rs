//! Reads an app's response: both reply forms, and everything else.

use http::StatusCode;
use serde_json::value::RawValue;
use toolyard_core::{Tool, ToolError};
use toolyard_protocol::text::truncate_chars;
use toolyard_protocol::{
    ErrorCode,
    call::{AppError, AppReply, GIVE_APP_CONTROL_OF_TOOL_RESPONSE},
    result::{McpResult, ResultExtensions, ToolResult},
};

/// Longest message of an app that is passed on to the caller, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;
/// Shown if an app claims the display without a connection.
const NOT_CONNECTED_TEXT: &str = "The app took the call, but it is not connected, so nothing was shown.";

/// A response whose body has not been read yet.
pub(super) struct AppResponse<'a> {
    pub(super) tool: &'a Tool,
    pub(super) status: StatusCode,
}

impl AppResponse<'_> {
    /// Reads the body. `is_connected` says whether the app's socket is open: without it the app cannot show anything.
    pub(super) fn read_result(
        &self,
        body: &[u8],
        is_connected: impl Fn() -> bool,
    ) -> Result<ToolResult, ToolError> {
        let reply = serde_json::from_slice::<AppReply<'_>>(body);
        match (self.status.is_success(), reply) {
            (true, Ok(reply)) => self.success_result(body, reply, is_connected),
            (true, Err(error)) => {
                let text = format!(
                    "The app of {} answered with something that is not a tool result.",
                    self.tool.name
                );
                Err(ToolError::new(ErrorCode::InvalidResponse, text).with_cause(error))
            }
            (false, Ok(reply)) => Err(self.failure_error(&reply)),
            (false, Err(_)) => Err(self.http_error()),
        }
    }

    fn success_result(
        &self,
        body: &[u8],
        reply: AppReply<'_>,
        is_connected: impl Fn() -> bool,
    ) -> Result<ToolResult, ToolError> {
        let extensions = reply.mentra_extensions.clone().unwrap_or_default();
        let result = match (reply.success, reply.status.as_deref(), reply.reply) {
            (Some(true), _, _) => ToolResult { mcp: reply_content(&reply), extensions },
            (Some(false), _, _) => return Err(self.failure_error(&reply)),
            (None, Some("success"), Some(reply)) => old_reply(reply),
            (None, Some("success"), None) => return Err(self.not_handled()),
            (None, Some("error"), _) => return Err(self.failure_error(&reply)),
            // A bare MCP result stays unchanged, whether it is an error or not.
            (None, _, None) if reply.content.is_some_and(is_list) => {
                let mcp = serde_json::from_slice(body).ok().and_then(McpResult::from_raw);
                ToolResult { mcp: mcp.unwrap_or_else(|| reply_content(&reply)), extensions }
            }
            (None, _, _) => {
                let text =
                    format!("The app of {} answered in neither form of a tool result.", self.tool.name);
                return Err(ToolError::new(ErrorCode::InvalidResponse, text));
            }
        };
        Ok(correct_display_claim(result, is_connected))
    }

    fn failure_error(&self, reply: &AppReply<'_>) -> ToolError {
        let Some(error) = reply_error(reply) else { return self.http_error() };
        let code = match ErrorCode::from_wire(&error.code) {
            Some(ErrorCode::ToolNotFound | ErrorCode::ToolNotHandled) => return self.not_handled(),
            Some(ErrorCode::HandlerError) => ErrorCode::HandlerError,
            // Any other code only means that the app failed.
            _ => ErrorCode::ExecutionError,
        };
        let message = truncate_message(&error.message);
        let message = if message.is_empty() { format!("{} failed.", self.tool.name) } else { message };
        let failed = ToolError::new(code, message);
        if error.code.is_empty() {
            failed
        } else {
            failed.with_cause(format!("the app's code: {}", error.code))
        }
    }

    fn not_handled(&self) -> ToolError {
        let text = format!(
            "The app says that it does not know {}; its list of tools may be out of date.",
            self.tool.name
        );
        ToolError::new(ErrorCode::ToolNotHandled, text)
    }

    fn http_error(&self) -> ToolError {
        let text =
            format!("The app of {} answered with HTTP status {}.", self.tool.name, self.status.as_u16());
        let harmless = self.status.is_server_error() && self.tool.definition.is_harmless();
        ToolError::new(ErrorCode::HttpError, text).retryable_if(harmless)
    }
}

/// The error of a reply, in either form.
pub(super) fn reply_error(reply: &AppReply<'_>) -> Option<AppError> {
    let error = reply.error.and_then(|raw| serde_json::from_str::<AppError>(raw.get()).ok());
    error.or_else(|| {
        let message = reply.message.as_deref()?.to_owned();
        Some(AppError { code: String::new(), message })
    })
}

/// An app's message, truncated.
pub(super) fn truncate_message(message: &str) -> String {
    truncate_chars(message, MAX_MESSAGE_CHARS).into_owned()
}

/// The content of the new form: text, content blocks, or anything structured.
fn reply_content(reply: &AppReply<'_>) -> McpResult {
    match (reply.content, reply.structured_content) {
        (Some(content), structured) if is_list_of_blocks(content) => {
            McpResult::from_blocks(content, structured)
        }
        (Some(content), None) => text_or_structured(content),
        (Some(content), Some(structured)) => match serde_json::from_str::<String>(content.get()) {
            Ok(text) => McpResult::from_text(&text).with_structured(structured),
            Err(_) => McpResult::from_structured(structured),
        },
        (None, Some(structured)) => McpResult::from_structured(structured),
        (None, None) => McpResult::empty(),
    }
}

fn old_reply(reply: &RawValue) -> ToolResult {
    if serde_json::from_str::<&str>(reply.get()).is_ok_and(|text| text == GIVE_APP_CONTROL_OF_TOOL_RESPONSE) {
        let extensions = ResultExtensions { suppress_voice_response: true, ..ResultExtensions::default() };
        return ToolResult { mcp: McpResult::empty(), extensions };
    }
    ToolResult::from_mcp(text_or_structured(reply))
}

fn text_or_structured(raw: &RawValue) -> McpResult {
    match serde_json::from_str::<std::borrow::Cow<'_, str>>(raw.get()) {
        Ok(text) => McpResult::from_text(&text),
        Err(_) => McpResult::from_structured(raw),
    }
}

/// An app that is not connected cannot show anything, whatever it claims.
fn correct_display_claim(mut result: ToolResult, is_connected: impl Fn() -> bool) -> ToolResult {
    if result.extensions.suppress_voice_response && !is_connected() {
        result.extensions.suppress_voice_response = false;
        if result.mcp.parts().content.is_empty() && result.mcp.parts().structured_content.is_none() {
            result.mcp = McpResult::from_text(NOT_CONNECTED_TEXT);
        }
    }
    result
}

fn is_list(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

fn is_list_of_blocks(raw: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct Block {
        #[expect(dead_code, reason = "its presence is what makes a block")]
        r#type: String,
    }
    is_list(raw) && serde_json::from_str::<Vec<Block>>(raw.get()).is_ok()
}
