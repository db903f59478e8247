//! What went wrong with a call: a code, a text that the model may read, and a cause for the log.

use std::{fmt, sync::Arc, time::Duration};

use toolyard_protocol::{
    ErrorCode,
    error::{RetryRule, WireError},
};

use crate::executor::AwaitedSignIn;

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// The error code, from the table in `docs/errors.md`.
    pub code: ErrorCode,
    /// What was wrong and what to do. Models and people read it.
    pub for_model: String,
    /// Details for the operator's log. Never leaves the server.
    pub cause: Option<String>,
    /// Whether the same call may be retried.
    pub retryable: bool,
    /// When to retry, if known.
    pub retry_after: Option<Duration>,
    /// The client capability that the caller would have to declare, in MCP form, if that is what is missing.
    pub missing_capability: Option<Arc<str>>,
    /// The sign-in that the user has to make first, if that is what is missing. Then the tool did not run.
    pub sign_in: Option<Arc<AwaitedSignIn>>,
}

impl ToolError {
    /// Creates an error. The code decides whether it is retryable; codes that depend on the case start as not
    /// retryable.
    pub fn new(code: ErrorCode, for_model: impl Into<String>) -> Self {
        let retryable = code.retry_rule() == RetryRule::Yes;
        Self {
            code,
            for_model: for_model.into(),
            cause: None,
            retryable,
            retry_after: None,
            missing_capability: None,
            sign_in: None,
        }
    }

    /// Adds the cause for the log.
    #[must_use]
    pub fn with_cause(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Sets whether it is retryable in this case, if the table allows it.
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

    /// Sets when to retry.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The error as callers receive it.
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
    /// The tool did not run, so the caller may retry.
    fn from(error: crate::ports::StoreError) -> Self {
        Self::new(ErrorCode::Overloaded, "The platform cannot read its store right now; try again.")
            .with_cause(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_decides_about_a_retry_and_a_condition_only_where_the_table_asks_for_it() {
        for code in ErrorCode::ALL {
            let retryable = |condition| ToolError::new(code, "x").retryable_if(condition).retryable;
            let expected = match code.retry_rule() {
                RetryRule::No => (false, false, false),
                RetryRule::Yes => (true, true, true),
                RetryRule::IfNeverConnected | RetryRule::IfHarmless | RetryRule::IfServerErrorAndHarmless => {
                    (false, false, true)
                }
            };
            assert_eq!(
                (ToolError::new(code, "x").retryable, retryable(false), retryable(true)),
                expected,
                "{code}"
            );
        }
    }

    #[test]
    fn the_cause_is_logged_and_never_sent() {
        let error = ToolError::new(ErrorCode::NetworkError, "no answer").with_cause("10.0.0.1 refused");
        assert!(error.to_string().contains("10.0.0.1"));
        assert!(!format!("{:?}", error.to_wire()).contains("10.0.0.1"));
    }
}
