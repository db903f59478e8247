//! Requests about prompts and resources: the same limits as calls, but no record, because nothing is executed.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use tokio::time::Instant;
use toolyard_protocol::{ErrorCode, LocalName, ToolName};

use super::{CallContext, Executor, overloaded_error, rate_limited_error};
use crate::{
    catalog::AppHead,
    data_flow::quotes_app,
    error::ToolError,
    ports::{ForwardedReply, ForwardedRequest},
};

impl Executor {
    /// Forwards a request to the source of a package, within the limits of calls.
    pub async fn forward_request(
        &self,
        mut cx: CallContext,
        app: &Arc<AppHead>,
        request: &ForwardedRequest,
    ) -> Result<ForwardedReply, ToolError> {
        cx.deadline =
            Instant::now() + self.limits.load().call_timeout_for(app.record.details.call_timeout_ms);
        let name = rate_limit_name(app, request)?;
        self.limiter.check_call(&cx.user, &name).await.map_err(rate_limited_error)?;
        let redaction = self.redaction.for_request(&cx, &name);
        if let Some(redaction) = &redaction {
            cx.redact_with(redaction);
        }
        let _places = {
            let limits = self.limits.load();
            [
                self.node
                    .try_acquire(limits.in_flight_node)
                    .ok_or_else(|| overloaded_error("the platform", &name))?,
                app.gauge
                    .try_acquire(limits.in_flight_app)
                    .ok_or_else(|| overloaded_error("the app", &name))?,
                cx.view
                    .all
                    .gauge
                    .try_acquire(limits.in_flight_user)
                    .ok_or_else(|| overloaded_error("this user", &name))?,
            ]
        };
        let source = self.sources.get(app.record.source()).ok_or_else(|| {
            let text = format!("Nothing on this server answers for {}.", app.package());
            ToolError::new(ErrorCode::AppNotAvailable, text)
        })?;
        let guarded = AssertUnwindSafe(source.forward_request(&cx, app, request)).catch_unwind();
        let reply = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, super::CANCELLED_TEXT)),
            ran = tokio::time::timeout_at(cx.deadline, guarded) => match ran {
                Ok(Ok(reply)) => reply,
                Ok(Err(_panic)) => {
                    let text = format!("The platform failed while asking {}.", app.package());
                    Err(ToolError::new(ErrorCode::ExecutionError, text).with_cause("a source panicked"))
                }
                Err(_elapsed) => {
                    let text = format!("{} did not answer in time.", app.package());
                    Err(ToolError::new(ErrorCode::Timeout, text).retryable_if(true))
                }
            },
        };
        let has_text = reply.as_ref().err().is_none_or(|error| quotes_app(error.code));
        if has_text && request.is_for_model() {
            self.approvals.data_flow().record_forwarded(&cx, name.as_str()).await;
        }
        if let Err(ToolError { sign_in: Some(awaited), .. }) = reply {
            return Ok(ForwardedReply::AwaitingSignIn(awaited));
        }
        match redaction {
            Some(redaction) => redaction.redact_forwarded(reply).await,
            None => reply,
        }
    }
}

/// The rate limit name of a request: all requests of one method to one package count together.
fn rate_limit_name(app: &AppHead, request: &ForwardedRequest) -> Result<ToolName, ToolError> {
    let kind: LocalName = request
        .method
        .as_str()
        .parse()
        .map_err(|error| ToolError::new(ErrorCode::InvalidRequest, format!("{error}")))?;
    Ok(ToolName::new(app.package(), &kind))
}
