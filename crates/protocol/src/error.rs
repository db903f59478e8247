//! The error table: every code, its HTTP status, and whether a caller may retry.
//!
//! Code decides by these tables, never by messages.

use serde::{Deserialize, Serialize};

/// Why a call failed. A new code needs a row in every table below.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The body is not a call.
    InvalidRequest,
    /// Neither `package:tool` nor an alias.
    InvalidToolName,
    /// Not in the caller's view.
    ToolNotFound,
    /// The arguments do not match the input schema.
    InvalidArguments,
    /// An idempotency key was reused with different arguments.
    Conflict,
    /// Denied by policy or by the user.
    Denied,
    /// Too many calls in a short time.
    RateLimited,
    /// A concurrency limit of the app, the user or the node was reached.
    Overloaded,
    /// No public URL, start rejected, missing hardware, or the app never connected.
    AppNotAvailable,
    /// The app did not respond in time.
    Timeout,
    /// Connection refused or host name not found: the request was never sent.
    NetworkError,
    /// The app responded with an error status.
    HttpError,
    /// The response is not JSON, truncated, too large, or does not match the output schema.
    InvalidResponse,
    /// The app does not know the tool.
    ToolNotHandled,
    /// The app or tool reported an error.
    ExecutionError,
    /// A handler failed inside the app SDK.
    HandlerError,
    /// The outcome of the call under an idempotency key is unknown, after a crash or a broken connection. Never run again.
    OutcomeUnknown,
    /// The caller disconnected or cancelled.
    Cancelled,
}

/// When a failed call may be repeated: only if the tool certainly did not run, or declares that running twice is
/// harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryRule {
    /// Never.
    No,
    /// Always: the tool did not run.
    Yes,
    /// Only if the app never connected.
    IfNeverConnected,
    /// Only if the tool declares itself read-only or idempotent.
    IfHarmless,
    /// Only on a 5xx status, and if the tool declares itself read-only or idempotent.
    IfServerErrorAndHarmless,
}

impl ErrorCode {
    /// Every code, in the order of the table.
    pub const ALL: [Self; 18] = [
        Self::InvalidRequest,
        Self::InvalidToolName,
        Self::ToolNotFound,
        Self::InvalidArguments,
        Self::Conflict,
        Self::Denied,
        Self::RateLimited,
        Self::Overloaded,
        Self::AppNotAvailable,
        Self::Timeout,
        Self::NetworkError,
        Self::HttpError,
        Self::InvalidResponse,
        Self::ToolNotHandled,
        Self::ExecutionError,
        Self::HandlerError,
        Self::OutcomeUnknown,
        Self::Cancelled,
    ];

    /// The code on the wire and in the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::InvalidToolName => "INVALID_TOOL_NAME",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::InvalidArguments => "INVALID_ARGUMENTS",
            Self::Conflict => "CONFLICT",
            Self::Denied => "DENIED",
            Self::RateLimited => "RATE_LIMITED",
            Self::Overloaded => "OVERLOADED",
            Self::AppNotAvailable => "APP_NOT_AVAILABLE",
            Self::Timeout => "TIMEOUT",
            Self::NetworkError => "NETWORK_ERROR",
            Self::HttpError => "HTTP_ERROR",
            Self::InvalidResponse => "INVALID_RESPONSE",
            Self::ToolNotHandled => "TOOL_NOT_HANDLED",
            Self::ExecutionError => "EXECUTION_ERROR",
            Self::HandlerError => "HANDLER_ERROR",
            Self::OutcomeUnknown => "OUTCOME_UNKNOWN",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The code with that text.
    pub fn from_wire(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// The HTTP status over REST.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::InvalidRequest | Self::InvalidToolName | Self::InvalidArguments => 400,
            Self::Denied => 403,
            Self::ToolNotFound => 404,
            Self::Conflict | Self::OutcomeUnknown => 409,
            Self::RateLimited => 429,
            Self::Cancelled => 499,
            Self::ExecutionError | Self::HandlerError => 500,
            Self::NetworkError | Self::HttpError | Self::InvalidResponse | Self::ToolNotHandled => 502,
            Self::Overloaded | Self::AppNotAvailable => 503,
            Self::Timeout => 504,
        }
    }

    /// When the caller may repeat the call.
    pub const fn retry_rule(self) -> RetryRule {
        match self {
            Self::RateLimited | Self::Overloaded | Self::NetworkError => RetryRule::Yes,
            Self::AppNotAvailable => RetryRule::IfNeverConnected,
            Self::Timeout => RetryRule::IfHarmless,
            Self::HttpError => RetryRule::IfServerErrorAndHarmless,
            Self::InvalidRequest
            | Self::InvalidToolName
            | Self::ToolNotFound
            | Self::InvalidArguments
            | Self::Conflict
            | Self::Denied
            | Self::InvalidResponse
            | Self::ToolNotHandled
            | Self::ExecutionError
            | Self::HandlerError
            | Self::OutcomeUnknown
            | Self::Cancelled => RetryRule::No,
        }
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error as callers receive it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WireError {
    /// The error code.
    pub code: ErrorCode,
    /// What was wrong and what to do. A model may read it.
    pub message: String,
    /// Whether the same call may be retried.
    pub retryable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_text_is_what_serde_writes() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{code}\""));
            assert_eq!(ErrorCode::from_wire(code.as_str()), Some(code));
        }
    }

    /// The table in the documentation, row by row.
    #[test]
    fn the_table() {
        use RetryRule::{IfHarmless, IfNeverConnected, IfServerErrorAndHarmless, No, Yes};
        let table = [
            ("INVALID_REQUEST", 400, No),
            ("INVALID_TOOL_NAME", 400, No),
            ("TOOL_NOT_FOUND", 404, No),
            ("INVALID_ARGUMENTS", 400, No),
            ("CONFLICT", 409, No),
            ("DENIED", 403, No),
            ("RATE_LIMITED", 429, Yes),
            ("OVERLOADED", 503, Yes),
            ("APP_NOT_AVAILABLE", 503, IfNeverConnected),
            ("TIMEOUT", 504, IfHarmless),
            ("NETWORK_ERROR", 502, Yes),
            ("HTTP_ERROR", 502, IfServerErrorAndHarmless),
            ("INVALID_RESPONSE", 502, No),
            ("TOOL_NOT_HANDLED", 502, No),
            ("EXECUTION_ERROR", 500, No),
            ("HANDLER_ERROR", 500, No),
            ("OUTCOME_UNKNOWN", 409, No),
            ("CANCELLED", 499, No),
        ];
        let ours: Vec<_> =
            ErrorCode::ALL.iter().map(|c| (c.as_str(), c.http_status(), c.retry_rule())).collect();
        assert_eq!(ours, table);
    }
}
