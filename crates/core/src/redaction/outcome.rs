//! An outcome without its secrets.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_protocol::{
    ErrorCode,
    mcp::method,
    raw::RawFields,
    result::{McpResult, ToolResult},
};

use super::CallRedaction;
use crate::{
    error::ToolError,
    executor::{AwaitedInput, CallContext, CallOutcome, CallReply},
    ports::ForwardedReply,
    schema::pool::PoolError,
};

/// An outcome as it is recorded, and as its caller reads it.
#[derive(Debug, Clone)]
pub(crate) struct RedactedOutcome {
    /// Without secrets.
    pub(crate) stored: CallOutcome,
    /// With secrets, if the caller gets them.
    plain: Option<CallOutcome>,
}

impl RedactedOutcome {
    /// An outcome that has no secrets, or whose secrets are not replaced.
    pub(crate) fn unchanged(outcome: CallOutcome) -> Self {
        Self { stored: outcome, plain: None }
    }

    /// What the caller reads.
    pub(crate) fn into_read(self) -> CallOutcome {
        self.plain.unwrap_or(self.stored)
    }

    /// The outcome with secrets, if the caller gets them.
    pub(crate) fn plain(&self) -> Option<&CallOutcome> {
        self.plain.as_ref()
    }
}

impl CallRedaction {
    /// The outcome as it is recorded and as its caller reads it.
    pub(crate) async fn redact_outcome(
        self: &Arc<Self>,
        cx: &CallContext,
        outcome: CallOutcome,
    ) -> RedactedOutcome {
        if self.for_model {
            return RedactedOutcome::unchanged(self.redact_reply(outcome).await);
        }
        // The caller reads it as it is; that of an approved call was stored with placeholders. What is stored must have no
        // secrets: errors are in the ledger, and the outcomes of keys and approvals.
        let is_stored = cx.key.is_some() || cx.approval.is_some() || is_recorded(&outcome);
        if !is_stored {
            return RedactedOutcome::unchanged(self.reveal(outcome));
        }
        // What is revealed is never searched: a secret of another package would then belong to this one as well. What cannot
        // be searched is not stored, and the caller gets it all the same.
        let plain = Some(self.reveal(outcome.clone()));
        RedactedOutcome { stored: self.redact_reply(outcome).await, plain }
    }

    async fn redact_reply(self: &Arc<Self>, outcome: CallOutcome) -> CallOutcome {
        match outcome {
            Ok(CallReply::Done(result)) => {
                let redacted = self.redact_result(result).await;
                redacted.map(CallReply::Done).map_err(|error| self.unchecked_error(error))
            }
            Ok(CallReply::AwaitingInput(awaited)) => {
                let requests = match awaited.requests.as_deref() {
                    Some(requests) => Some(self.redact_requests(requests).await),
                    None => None,
                };
                let requests = requests.transpose().map_err(|error| self.unchecked_error(error))?;
                Ok(CallReply::AwaitingInput(AwaitedInput { requests, ..awaited }))
            }
            // A question about a call has placeholders already; a sign-in is a text of the platform.
            Ok(waiting @ (CallReply::AwaitingApproval(_) | CallReply::AwaitingSignIn(_))) => Ok(waiting),
            Err(error) => Err(ToolError {
                for_model: self.redact_text(error.for_model),
                cause: error.cause.map(|cause| self.redact_text(cause)),
                ..error
            }),
        }
    }

    async fn redact_result(self: &Arc<Self>, mut result: ToolResult) -> Result<ToolResult, PoolError> {
        if let Some(redacted) = self.redact_json(result.mcp.raw()).await? {
            result.mcp = McpResult::from_raw(redacted).ok_or(PoolError::Failed)?;
        }
        for suggestion in &mut result.extensions.suggested_follow_ups {
            *suggestion = self.redact_text(std::mem::take(suggestion));
        }
        Ok(result)
    }

    /// Of the questions of a tool, those that a model answers.
    async fn redact_requests(self: &Arc<Self>, requests: &RawValue) -> Result<Arc<RawValue>, PoolError> {
        #[derive(Deserialize)]
        struct RequestMethod {
            method: String,
        }
        let mut fields: RawFields = serde_json::from_str(requests.get()).unwrap_or_default();
        let names: Vec<String> = fields.names().map(str::to_owned).collect();
        for name in names {
            let is_sampling = fields
                .parse_field::<RequestMethod>(&name)
                .and_then(Result::ok)
                .is_some_and(|request| request.method == method::SAMPLE);
            if let (true, Some(request)) = (is_sampling, fields.get(&name))
                && let Some(redacted) = self.redact_json(request).await?
            {
                fields.set(&name, redacted);
            }
        }
        Ok(fields.to_raw().into())
    }

    /// A reply about prompts and resources without its secrets.
    pub(crate) async fn redact_forwarded(
        self: &Arc<Self>,
        reply: Result<ForwardedReply, ToolError>,
    ) -> Result<ForwardedReply, ToolError> {
        match reply {
            Ok(ForwardedReply::Done(raw)) => {
                let redacted = self.redact_json(&raw).await.map_err(|error| self.unchecked_error(error))?;
                Ok(ForwardedReply::Done(redacted.unwrap_or(raw)))
            }
            Ok(ForwardedReply::AwaitingInput(awaited)) => {
                match self.redact_reply(Ok(CallReply::AwaitingInput(awaited))).await? {
                    CallReply::AwaitingInput(awaited) => Ok(ForwardedReply::AwaitingInput(awaited)),
                    CallReply::Done(_) | CallReply::AwaitingApproval(_) | CallReply::AwaitingSignIn(_) => {
                        Err(self.unchecked_error(PoolError::Failed))
                    }
                }
            }
            Ok(ForwardedReply::AwaitingSignIn(awaited)) => Ok(ForwardedReply::AwaitingSignIn(awaited)),
            Err(error) => Err(match self.redact_reply(Err(error)).await {
                Err(error) => error,
                Ok(_) => self.unchecked_error(PoolError::Failed),
            }),
        }
    }

    /// A result that could not be searched is not passed on.
    fn unchecked_error(&self, error: PoolError) -> ToolError {
        let text = format!("{} ran, but its result could not be searched for secrets: {error}.", self.name());
        ToolError::new(ErrorCode::InvalidResponse, text)
    }
}

/// Whether the ledger records a part of the outcome: the message of an error.
fn is_recorded(outcome: &CallOutcome) -> bool {
    match outcome {
        Ok(CallReply::Done(result)) => result.mcp.is_error(),
        Ok(CallReply::AwaitingInput(_) | CallReply::AwaitingApproval(_) | CallReply::AwaitingSignIn(_)) => {
            false
        }
        Err(_) => true,
    }
}
