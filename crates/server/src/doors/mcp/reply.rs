//! Converts the outcome of a call to an MCP result.
//!
//! Unknown tools and malformed requests are protocol errors. All other failures are error results, with a text that the
//! model can act on.

use serde::Serialize;
use serde_json::value::RawValue;
use toolyard_core::{
    CallReply, ToolError,
    executor::{AwaitedSignIn, CallOutcome},
};
use toolyard_protocol::{
    ErrorCode,
    mcp::{COMPLETE, RpcError, meta},
    raw::{RawFields, to_raw},
    result::{McpResult, ToolResult},
};

/// The result of a call that has ended. One that still waits becomes a text that says how to continue.
pub(super) fn outcome_reply(outcome: &CallOutcome, modern: bool) -> Result<Box<RawValue>, RpcError> {
    let text = match outcome {
        Ok(CallReply::Done(result)) => return Ok(result_reply(result, modern)),
        Ok(CallReply::AwaitingInput(_)) => {
            "This tool asks for input that this client cannot provide.".to_owned()
        }
        Ok(CallReply::AwaitingApproval(awaited)) => awaited.to_model_text(),
        Ok(CallReply::AwaitingSignIn(awaited)) => {
            return error_reply(&AwaitedSignIn::clone(awaited).into_error(), modern);
        }
        Err(error) => return error_reply(error, modern),
    };
    Ok(with_result_type(McpResult::from_error_text(&text).raw(), modern))
}

/// A tool result for a client of either era.
pub(super) fn result_reply(result: &ToolResult, modern: bool) -> Box<RawValue> {
    let parts = result.mcp.parts();
    let odd = parts.structured_content.filter(|raw| !modern && !raw.get().starts_with('{'));
    // Clients that do not read structured content need text.
    let text = parts.structured_content.filter(|_| parts.content.is_empty());
    if text.is_none() && odd.is_none() && result.extensions.is_empty() {
        return with_result_type(result.mcp.raw(), modern);
    }
    let mut fields: RawFields = serde_json::from_str(result.mcp.raw().get()).unwrap_or_default();
    if let Some(structured) = text {
        fields.set("content", to_raw(&[McpTextBlock { r#type: "text", text: structured.get() }]));
    }
    if odd.is_some() {
        fields.remove("structuredContent");
    }
    if !result.extensions.is_empty() {
        let mut about: RawFields = fields.parse_field("_meta").and_then(Result::ok).unwrap_or_default();
        about.set(meta::EXTENSIONS, to_raw(&result.extensions));
        fields.set("_meta", about.to_raw());
    }
    with_result_type(&fields.to_raw(), modern)
}

#[derive(Serialize)]
struct McpTextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// A failed call: an error result, or a protocol error.
pub(super) fn error_reply(error: &ToolError, modern: bool) -> Result<Box<RawValue>, RpcError> {
    if let Some(missing) = &error.missing_capability {
        let needed: Option<Box<RawValue>> = serde_json::from_str(missing).ok();
        let refused = RpcError::new(RpcError::MISSING_CAPABILITY, error.for_model.clone());
        return Err(refused.with_data(&serde_json::json!({ "requiredCapabilities": needed })));
    }
    if matches!(error.code, ErrorCode::ToolNotFound | ErrorCode::InvalidToolName | ErrorCode::InvalidRequest)
    {
        return Err(RpcError::invalid_params(error.for_model.clone()));
    }
    let result = McpResult::from_error_text(&error.for_model);
    let mut fields: RawFields = serde_json::from_str(result.raw().get()).unwrap_or_default();
    let about = serde_json::json!({ meta::ERROR: { "code": error.code, "retryable": error.retryable } });
    fields.set("_meta", to_raw(&about));
    Ok(with_result_type(&fields.to_raw(), modern))
}

/// Adds the result type that modern clients need, and removes it for others. The rest of the result is unchanged.
pub(super) fn with_result_type(result: &RawValue, modern: bool) -> Box<RawValue> {
    let text = result.get();
    // A modern source has set the type already. Searching for the word is cheap; parsing a large result is not.
    let may_have_type = text.contains("\"resultType\"");
    if !modern && !may_have_type {
        return result.to_owned();
    }
    if may_have_type {
        let mut fields: RawFields = serde_json::from_str(text).unwrap_or_default();
        match modern {
            true => fields.set("resultType", to_raw(COMPLETE)),
            false => fields.remove("resultType"),
        }
        return fields.to_raw();
    }
    let inside = text.strip_prefix('{').unwrap_or_default().trim_start();
    let comma = if inside.starts_with('}') { "" } else { "," };
    let typed = format!("{{\"resultType\":\"{COMPLETE}\"{comma}{inside}");
    RawValue::from_string(typed).unwrap_or_else(|_| result.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::result::ResultExtensions;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    fn plain(text: &str) -> ToolResult {
        ToolResult::from_mcp(McpResult::from_raw(raw(text)).unwrap())
    }

    #[test]
    fn results_of_a_source_pass_through_unchanged() {
        let text = r#"{"content":[{"type":"new","x" :1}],"other":{"b":1.50}}"#;
        assert_eq!(result_reply(&plain(text), false).get(), text);
        assert_eq!(
            result_reply(&plain(text), true).get(),
            r#"{"resultType":"complete","content":[{"type":"new","x" :1}],"other":{"b":1.50}}"#
        );
        assert_eq!(with_result_type(&raw("{}"), true).get(), r#"{"resultType":"complete"}"#);
        let typed = r#"{"content":[],"resultType":"complete"}"#;
        assert_eq!(result_reply(&plain(typed), true).get(), typed);
        assert_eq!(result_reply(&plain(typed), false).get(), r#"{"content":[]}"#);
    }

    #[test]
    fn structured_content_gets_a_text_block() {
        let result = plain(r#"{"content":[],"structuredContent":{"n":1}}"#);
        let text = result_reply(&result, false);
        assert_eq!(
            text.get(),
            r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}"#
        );
        let list = plain(r#"{"content":[],"structuredContent":[1]}"#);
        assert!(!result_reply(&list, false).get().contains("structuredContent"));
        assert!(result_reply(&list, true).get().contains("structuredContent"));
    }

    #[test]
    fn extensions_travel_in_meta() {
        let extensions = ResultExtensions { suppress_voice_response: true, ..ResultExtensions::default() };
        let result = ToolResult { mcp: McpResult::from_text("x"), extensions };
        let sent: serde_json::Value = serde_json::from_str(result_reply(&result, true).get()).unwrap();
        assert_eq!(sent["_meta"]["toolyard/extensions"], json!({ "suppressVoiceResponse": true }));
    }

    #[test]
    fn malformed_requests_are_protocol_errors_and_other_failures_are_error_results() {
        for code in ErrorCode::ALL {
            let reply = error_reply(&ToolError::new(code, "because"), true);
            let protocol = matches!(
                code,
                ErrorCode::ToolNotFound | ErrorCode::InvalidToolName | ErrorCode::InvalidRequest
            );
            match reply {
                Err(error) => assert!(protocol && error.code == RpcError::INVALID_PARAMS, "{code}"),
                Ok(result) => {
                    let result: serde_json::Value = serde_json::from_str(result.get()).unwrap();
                    assert!(!protocol && result["isError"] == true, "{code}");
                    assert_eq!(result["_meta"]["toolyard/error"]["code"], code.as_str());
                }
            }
        }
        let mut error = ToolError::new(ErrorCode::Denied, "no");
        error.missing_capability = Some(r#"{"sampling":{}}"#.into());
        let refused = error_reply(&error, true).unwrap_err();
        assert_eq!(refused.code, RpcError::MISSING_CAPABILITY);
        assert_eq!(refused.data.unwrap().get(), r#"{"requiredCapabilities":{"sampling":{}}}"#);
    }
}
