//! Apps: a call is `POST {publicUrl}/tool`, after the app was woken if it must run. Prompts and resources have their
//! own paths.

mod pass_on;
mod reply;
mod request;
mod target;
mod targets;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use tokio::time::Instant;
use toolyard_core::{
    CallContext, CallReply, LiveValue, Tool, ToolError,
    catalog::AppHead,
    limits::CallLimits,
    ports::{AppWaker, Clock, ForwardedReply, ForwardedRequest, ReadyTool, SecretSealer, ToolSource},
    schema::ValidArguments,
};
use toolyard_net::{Guard, HttpClient, HttpResponse, NetError};
use toolyard_protocol::{
    ErrorCode,
    app::AppKind,
    call::{ACCEPT_FROM_APPS, AppActivation, AppCall, NDJSON, ReplyLine},
    result::{McpResult, ToolResult},
    session::iso_millis,
};

use self::{reply::AppResponse, target::AppTarget, targets::TargetCache};
use crate::links;

/// Dependencies of the app source.
pub struct AppSourceParts {
    /// Sends the requests.
    pub http: HttpClient,
    /// Decides which URLs are allowed.
    pub guard: Guard,
    /// Opens the apps' signing secrets.
    pub secrets: Arc<dyn SecretSealer>,
    /// Wakes apps.
    pub waker: Arc<dyn AppWaker>,
    /// The current time.
    pub clock: Arc<dyn Clock>,
    /// How long a wake may take.
    pub limits: LiveValue<CallLimits>,
}

/// Runs the tools of apps.
pub struct AppSource {
    parts: AppSourceParts,
    targets: TargetCache<AppTarget>,
}

impl AppSource {
    /// Creates the source.
    pub fn new(parts: AppSourceParts) -> Self {
        Self { parts, targets: TargetCache::default() }
    }

    /// URLs and keys of the app, cached per revision of the app.
    fn target_for(&self, app: &AppHead) -> Result<Arc<AppTarget>, ToolError> {
        if let Some(target) = self.targets.get(app.package()).filter(|target| target.revision == app.revision)
        {
            return Ok(target);
        }
        let target = Arc::new(AppTarget::new(app, &self.parts.guard, &*self.parts.secrets)?);
        self.targets.insert(app.package(), target.clone());
        Ok(target)
    }

    fn tool_request(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        activation: AppActivation,
    ) -> Result<Request<Full<Bytes>>, ToolError> {
        let target = self.target_for(&tool.app)?;
        let now = self.parts.clock.now();
        let timestamp = iso_millis(now);
        let local = tool.definition.name.as_str();
        let call = AppCall::new(local, arguments.raw(), &cx.user, &cx.id, &timestamp, activation);
        let body = serde_json::to_vec(&call).map_err(|error| unsendable_error(tool, error))?;
        request::signed_post(cx, &target, &target.tool, ACCEPT_FROM_APPS, now, body)
            .map_err(|error| unsendable_error(tool, error))
    }
}

#[async_trait]
impl ToolSource for AppSource {
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError> {
        self.target_for(&tool.app)?;
        let details = &tool.app.record.details;
        let activation = match details.kind {
            AppKind::ToolsOnly => AppActivation::WasReady,
            AppKind::Session => {
                let wake =
                    Instant::now() + self.parts.limits.load().wake_timeout_for(details.wake_timeout_ms);
                self.parts.waker.ensure_running(&cx.user, &tool.app, wake.min(cx.deadline)).await?
            }
        };
        Ok(Box::new(AwakeApp { source: self, cx, tool, activation }))
    }

    async fn forward_request(
        &self,
        cx: &CallContext,
        app: &AppHead,
        request: &ForwardedRequest,
    ) -> Result<ForwardedReply, ToolError> {
        let result = self.request_item(cx, app, request).await?;
        Ok(ForwardedReply::Done(links::map_resource_links(app.package(), result)))
    }
}

/// An app that is ready for a call.
struct AwakeApp<'a> {
    source: &'a AppSource,
    cx: &'a CallContext,
    tool: &'a Tool,
    activation: AppActivation,
}

#[async_trait]
impl ReadyTool for AwakeApp<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<CallReply, ToolError> {
        let Self { source, cx, tool, activation } = *self;
        let parts = &source.parts;
        let request = source.tool_request(cx, tool, arguments, activation)?;
        cx.delivery.set_pending();
        let sent = parts.http.send_noting(request, || cx.delivery.set_sent()).await;
        let answered = sent.map_err(|error| no_response_error(cx, tool, error))?;
        let answer = AppResponse { tool, status: answered.status };
        let limit = parts.limits.load().result_bytes;
        let is_connected = || parts.waker.is_connected(&cx.user, tool.app.package());
        let result = if is_line_stream(&answered) {
            let body = read_result_line(cx, answered, limit)
                .await
                .map_err(|error| no_response_error(cx, tool, error))?;
            answer.read_result(&body, is_connected)
        } else {
            let body = answered.bytes(limit).await.map_err(|error| no_response_error(cx, tool, error))?;
            answer.read_result(&body, is_connected)
        };
        result.map(|result| CallReply::Done(with_mapped_links(&tool.app, result)))
    }
}

/// Rewrites the app's links to its resources. Links of an app without resources point to the web and stay unchanged.
fn with_mapped_links(app: &AppHead, result: ToolResult) -> ToolResult {
    if !app.has_resources || !links::has_resource_links(result.mcp.raw()) {
        return result;
    }
    let mcp = McpResult::from_raw(links::map_resource_links(app.package(), result.mcp.raw().to_owned()));
    ToolResult { mcp: mcp.unwrap_or(result.mcp), ..result }
}

fn is_line_stream(response: &HttpResponse) -> bool {
    let kind = response.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(NDJSON))
    })
}

/// Forwards progress until the result line. Without one the response was cut off.
async fn read_result_line(cx: &CallContext, response: HttpResponse, limit: usize) -> Result<Bytes, NetError> {
    let mut lines = response.into_lines(limit, limit);
    while let Some(line) = lines.next().await? {
        match serde_json::from_slice(&line) {
            Ok(ReplyLine::Progress(progress)) => cx.notices.send_progress(progress),
            Ok(ReplyLine::Unknown) => {}
            // Any other line is read as a result, and refused there with a clear message.
            Ok(ReplyLine::Result) | Err(_) => return Ok(line),
        }
    }
    Err(NetError::Broken { detail: "the response ended without a result line".to_owned() })
}

fn unsendable_error(tool: &Tool, error: impl std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::InvalidRequest, format!("The call to {} cannot be sent to its app.", tool.name))
        .with_cause(error)
}

fn no_response_error(cx: &CallContext, tool: &Tool, error: NetError) -> ToolError {
    let app = tool.app.package();
    let (code, text) = match &error {
        NetError::Refused(_) => {
            (ErrorCode::AppNotAvailable, format!("The address of {app} is not allowed here."))
        }
        NetError::NotSent(_) => {
            let url = tool.app.record.details.public_url.as_deref().unwrap_or_default();
            let url = format!("{}/tool", url.trim_end_matches('/'));
            let text = format!(
                "{app} cannot be reached; the tool did not run. For its developer: no request reached {url}: {}.",
                error.advice(&url)
            );
            (ErrorCode::NetworkError, text)
        }
        NetError::Broken { .. } => {
            let text = format!(
                "{app} closed the connection before it responded; {} may or may not have run.",
                tool.name
            );
            return cx.connection_lost(text).with_cause(error);
        }
        NetError::TooLarge { limit } => {
            let text =
                format!("{} ran, but its response is larger than {limit} bytes; ask for less.", tool.name);
            (ErrorCode::InvalidResponse, text)
        }
    };
    ToolError::new(code, text).with_cause(error)
}
