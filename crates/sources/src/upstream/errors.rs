//! Maps errors of upstreams to the platform's error codes.

use toolyard_core::{CallContext, ToolError};
use toolyard_mcp_client::McpClientError;
use toolyard_protocol::{
    ErrorCode, PackageName,
    mcp::{RpcError, method},
    raw::RawFields,
};

use super::connections::UpstreamConnectError;

/// Longest message of an upstream that is passed on to the caller, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// No connection: nothing ran.
pub(super) fn unreachable_error(package: &PackageName, error: &UpstreamConnectError) -> ToolError {
    match error {
        UpstreamConnectError::Client(McpClientError::AuthorizationNeeded { .. }) => {
            authorization_needed_error(package)
        }
        UpstreamConnectError::Client(McpClientError::Credentials(_)) | UpstreamConnectError::Spec(_) => {
            let text =
                format!("{package} is not configured correctly on this server; the operator can see why.");
            ToolError::new(ErrorCode::AppNotAvailable, text).with_cause(error)
        }
        UpstreamConnectError::Client(_) | UpstreamConnectError::TooMany(_) => {
            let text = format!("{package} cannot be reached; the tool did not run.");
            ToolError::new(ErrorCode::AppNotAvailable, text).retryable_if(true).with_cause(error)
        }
    }
}

/// The user must authorize first; the caller adds a link if one can be created.
pub(super) fn authorization_needed_error(package: &PackageName) -> ToolError {
    let text = format!("{package} requires the user's authorization first.");
    ToolError::new(ErrorCode::Denied, text)
}

/// The upstream refuses the operator's credentials.
pub(super) fn credentials_refused_error(package: &PackageName) -> ToolError {
    let text = format!("{package} refuses this server's credentials; the operator must set other ones.");
    ToolError::new(ErrorCode::AppNotAvailable, text)
}

/// Not an upstream: an internal error.
pub(super) fn not_an_upstream_error(package: &PackageName) -> ToolError {
    ToolError::new(ErrorCode::AppNotAvailable, format!("{package} is not an upstream."))
}

/// Maps a failed request. `harmless`: running it twice is safe.
pub(super) fn request_error(
    cx: &CallContext,
    package: &PackageName,
    method: &str,
    error: McpClientError,
    harmless: bool,
) -> ToolError {
    let cause = error.to_string();
    let mapped = match error {
        McpClientError::NotSent(_) => {
            ToolError::new(ErrorCode::NetworkError, format!("{package} cannot be reached; nothing ran."))
        }
        McpClientError::SessionLost(_) => {
            let text =
                format!("{package} was restarted and accepts no new session yet; nothing ran. Try again.");
            ToolError::new(ErrorCode::NetworkError, text)
        }
        McpClientError::Timeout(_) => {
            let text = format!("{package} did not answer in time; it may or may not have run.");
            ToolError::new(ErrorCode::Timeout, text).retryable_if(harmless)
        }
        McpClientError::PerhapsSent(_) | McpClientError::Closed(_) => {
            let text =
                format!("{package} closed the connection before it responded; it may or may not have run.");
            cx.connection_lost(text)
        }
        McpClientError::Rpc(error) => return refusal_error(package, method, error),
        McpClientError::Status { status, .. } => {
            let text = format!("{package} answered with HTTP status {}.", status.as_u16());
            ToolError::new(ErrorCode::HttpError, text).retryable_if(status.is_server_error() && harmless)
        }
        McpClientError::AuthorizationNeeded { .. } => authorization_needed_error(package),
        McpClientError::Credentials(_) | McpClientError::NoCommonRevision { .. } => {
            let text = format!("{package} cannot be used with this server; the operator can see why.");
            ToolError::new(ErrorCode::AppNotAvailable, text)
        }
        McpClientError::Malformed(_) => {
            let text = format!("{package} answered with something that cannot be read.");
            ToolError::new(ErrorCode::InvalidResponse, text)
        }
        McpClientError::Invalid(_) => {
            ToolError::new(ErrorCode::InvalidRequest, format!("This request cannot be sent to {package}."))
        }
    };
    mapped.with_cause(cause)
}

fn refusal_error(package: &PackageName, method: &str, error: RpcError) -> ToolError {
    let message: String = error.message.chars().take(MAX_MESSAGE_CHARS).collect();
    let text = format!("{package} refused: {message}");
    match error.code {
        RpcError::MISSING_CAPABILITY => {
            let data: Option<RawFields> = error.data.and_then(|data| serde_json::from_str(data.get()).ok());
            let needed = data.and_then(|data| Some(data.get("requiredCapabilities")?.get().into()));
            let mut mapped = ToolError::new(ErrorCode::Denied, text);
            mapped.missing_capability = Some(needed.unwrap_or_else(|| "{}".into()));
            mapped
        }
        RpcError::HEADER_MISMATCH => {
            let text = format!("The tools of {package} have changed; nothing ran. Try again.");
            ToolError::new(ErrorCode::NetworkError, text).with_cause(error.message)
        }
        RpcError::RESOURCE_NOT_FOUND | RpcError::METHOD_NOT_FOUND => {
            ToolError::new(ErrorCode::ToolNotHandled, text)
        }
        // Modern servers report an unknown resource like this.
        RpcError::INVALID_PARAMS if method == method::RESOURCES_READ => {
            ToolError::new(ErrorCode::ToolNotHandled, text)
        }
        _ => ToolError::new(ErrorCode::ExecutionError, text),
    }
}

/// What an error says about the upstream itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestFault {
    /// It cannot be reached.
    Connection,
    /// It can be reached, but the call failed.
    Call,
}

/// What an error says about the upstream; `None` if it concerns only this request.
pub(super) fn fault_in(error: &McpClientError) -> Option<RequestFault> {
    match error {
        McpClientError::NotSent(_)
        | McpClientError::SessionLost(_)
        | McpClientError::Closed(_)
        | McpClientError::NoCommonRevision { .. } => Some(RequestFault::Connection),
        McpClientError::Timeout(_) | McpClientError::PerhapsSent(_) => Some(RequestFault::Call),
        McpClientError::Status { status, .. } => status.is_server_error().then_some(RequestFault::Call),
        // It responds, and no caller has to wait: other tools may work.
        McpClientError::Malformed(_)
        | McpClientError::Rpc(_)
        | McpClientError::AuthorizationNeeded { .. }
        | McpClientError::Credentials(_)
        | McpClientError::Invalid(_) => None,
    }
}
