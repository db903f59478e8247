//! What went wrong with a call: a code, a text that the model may read, and a cause for the log.

use std::{fmt, sync::Arc, time::Duration};

use toolyard_protocol::{
    ErrorCode,
    error::{RetryRule, WireError},
};

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// From the table.
    pub code: ErrorCode,
    /// What was wrong and what to do; a model or a person may read it.
    pub for_model: String,
    /// What the operator needs to know beyond that. Never leaves the server.
    pub cause: Option<String>,
    /// Whether the same call may simply be made again.
    pub retryable: bool,
    /// When to try again, where that is known.
    pub retry_after: Option<Duration>,
    /// What the caller would have to declare that it can do, in MCP form, where that is what is missing.
    pub missing_capability: Option<Arc<str>>,
}

impl ToolError {
    /// An error whose code decides on retry; codes that depend on the case start as not retryable.
    pub fn new(code: ErrorCode, for_model: impl Into<String>) -> Self {
        let retryable = code.retry_rule() == RetryRule::Yes;
        Self {
            code,
            for_model: for_model.into(),
            cause: None,
            retryable,
            retry_after: None,
            missing_capability: None,
        }
    }

    /// With what the operator needs to know.
    #[must_use]
    pub fn with_cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Retryable in this case. The table must allow it.
    #[must_use]
    pub fn retryable_if(mut self, condition: bool) -> Self {
        self.retryable = match self.code.retry_rule() {
            RetryRule::No => false,
            RetryRule::Yes => true,
            RetryRule::IfNeverConnected | RetryRule::IfHarmless | RetryRule::IfServerErrorAndHarmless => {
                condition
            }
        };
        self
    }

    /// With the time after which it is worth trying again.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// As callers see it.
    pub fn to_wire(&self) -> WireError {
        WireError { code: self.code, message: self.for_model.clone(), retryable: self.retryable }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.for_model)?;
        self.cause.as_ref().map_or(Ok(()), |cause| write!(f, " ({cause})"))
    }
}

impl std::error::Error for ToolError {}

impl From<crate::ports::StoreError> for ToolError {
    /// The tool did not run, so the caller may try again.
    fn from(error: crate::ports::StoreError) -> Self {
        Self::new(ErrorCode::Overloaded, "The platform cannot read its store right now; try again.")
            .with_cause(error)
    }
}
