//! Apps: a call is `POST {publicUrl}/tool`, after the app was woken where it has to run. Prompts and resources are asked
//! for beside it.

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
    CallContext, Reply, Tool, ToolError,
    catalog::AppHead,
    limits::CallLimits,
    ports::{Clock, Passed, PassedReply, ReadyTool, Secrets, ToolSource, Waker},
    schema::ValidArguments,
};
use toolyard_net::{Guard, HttpClient, NetError, Response};
use toolyard_protocol::{
    ErrorCode,
    app::AppKind,
    call::{ACCEPT_FROM_APPS, Activation, AppCall, NDJSON, ReplyLine},
    result::{McpResult, ToolResult},
    session::iso_millis,
};

use self::{reply::Answer, target::Target, targets::Targets};
use crate::links;

/// What the app source needs.
pub struct AppSourceParts {
    /// The way out.
    pub http: HttpClient,
    /// What may be called.
    pub guard: Guard,
    /// Opens the apps' signing secrets.
    pub secrets: Arc<dyn Secrets>,
    /// Wakes apps.
    pub waker: Arc<dyn Waker>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// How long a wake may take.
    pub limits: CallLimits,
}

/// Runs the tools of apps.
pub struct AppSource {
    parts: AppSourceParts,
    targets: Targets<Target>,
}

impl AppSource {
    /// A source of these parts.
    pub fn new(parts: AppSourceParts) -> Self {
        Self { parts, targets: Targets::default() }
    }

    /// Where and how the app is called: made once per revision of the app.
    fn target(&self, app: &AppHead) -> Result<Arc<Target>, ToolError> {
        if let Some(target) = self.targets.get(app.package()).filter(|target| target.revision == app.revision)
        {
            return Ok(target);
        }
        let target = Arc::new(Target::new(app, &self.parts.guard, &*self.parts.secrets)?);
        self.targets.keep(app.package(), target.clone());
        Ok(target)
    }

    fn request(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        activation: Activation,
    ) -> Result<Request<Full<Bytes>>, ToolError> {
        let target = self.target(&tool.app)?;
        let now = self.parts.clock.now();
        let timestamp = iso_millis(now);
        let local = tool.definition.name.as_str();
        let call = AppCall::new(local, arguments.raw(), &cx.user, &cx.id, &timestamp, activation);
        let body = serde_json::to_vec(&call).map_err(|error| unsendable(tool, error))?;
        request::post(cx, &target, &target.tool, ACCEPT_FROM_APPS, now, body)
            .map_err(|error| unsendable(tool, error))
    }
}

#[async_trait]
impl ToolSource for AppSource {
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError> {
        self.target(&tool.app)?;
        let details = &tool.app.record.details;
        let activation = match details.kind {
            AppKind::ToolsOnly => Activation::WasReady,
            AppKind::Session => {
                let wake = Instant::now() + self.parts.limits.wake_timeout_for(details.wake_timeout_ms);
                self.parts.waker.ensure_running(&cx.user, &tool.app, wake.min(cx.deadline)).await?
            }
        };
        Ok(Box::new(AwakeApp { source: self, cx, tool, activation }))
    }

    async fn pass_on(
        &self,
        cx: &CallContext,
        app: &AppHead,
        request: &Passed,
    ) -> Result<PassedReply, ToolError> {
        let result = self.ask(cx, app, request).await?;
        Ok(PassedReply::Done(links::mapped(app.package(), result)))
    }
}

/// An app that runs, if it has to.
struct AwakeApp<'a> {
    source: &'a AppSource,
    cx: &'a CallContext,
    tool: &'a Tool,
    activation: Activation,
}

#[async_trait]
impl ReadyTool for AwakeApp<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<Reply, ToolError> {
        let Self { source, cx, tool, activation } = *self;
        let parts = &source.parts;
        let request = source.request(cx, tool, arguments, activation)?;
        cx.delivery.set_pending();
        let sent = parts.http.send_noting(request, || cx.delivery.set_sent()).await;
        let answered = sent.map_err(|error| not_answered(cx, tool, error))?;
        let answer = Answer { tool, status: answered.status };
        let limit = parts.limits.result_bytes;
        let is_connected = || parts.waker.is_connected(&cx.user, tool.app.package());
        let result = if comes_in_lines(&answered) {
            let body = last_line(cx, answered, limit).await.map_err(|error| not_answered(cx, tool, error))?;
            answer.read(&body, is_connected)
        } else {
            let body = answered.bytes(limit).await.map_err(|error| not_answered(cx, tool, error))?;
            answer.read(&body, is_connected)
        };
        result.map(|result| Reply::Done(readable(&tool.app, result)))
    }
}

/// A result in which the app's links to its resources can be read here. An app without resources links to the world.
fn readable(app: &AppHead, result: ToolResult) -> ToolResult {
    if !app.has_resources || !links::are_in(result.mcp.raw()) {
        return result;
    }
    let mcp = McpResult::from_raw(links::mapped(app.package(), result.mcp.raw().to_owned()));
    ToolResult { mcp: mcp.unwrap_or(result.mcp), ..result }
}

fn comes_in_lines(response: &Response) -> bool {
    let kind = response.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(NDJSON))
    })
}

/// Passes progress on until the result line; without one the answer was cut.
async fn last_line(cx: &CallContext, response: Response, limit: usize) -> Result<Bytes, NetError> {
    let mut lines = response.lines(limit, limit);
    while let Some(line) = lines.next().await? {
        match serde_json::from_slice(&line) {
            Ok(ReplyLine::Progress(progress)) => cx.notices.progress(progress),
            Ok(ReplyLine::Unknown) => {}
            // What is no line of ours is read as an answer, and refused there in words.
            Ok(ReplyLine::Result) | Err(_) => return Ok(line),
        }
    }
    Err(NetError::Broken { detail: "the lines ended without a result".to_owned() })
}

fn unsendable(tool: &Tool, error: impl std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::InvalidRequest, format!("The call of {} cannot be sent to its app.", tool.name))
        .because(error)
}

fn not_answered(cx: &CallContext, tool: &Tool, error: NetError) -> ToolError {
    let app = tool.app.package();
    let (code, text) = match &error {
        NetError::Refused(_) => {
            (ErrorCode::AppNotAvailable, format!("The address of {app} is not allowed here."))
        }
        NetError::NotSent(_) => {
            let url = tool.app.record.details.public_url.as_deref().unwrap_or_default();
            let url = format!("{}/tool", url.trim_end_matches('/'));
            let text = format!(
                "{app} cannot be reached; the tool did not run. For its developer: no request got to {url}: {}.",
                error.advice(&url)
            );
            (ErrorCode::NetworkError, text)
        }
        NetError::Broken { .. } => {
            let text =
                format!("{app} broke off before it had answered; {} may or may not have run.", tool.name);
            return cx.connection_lost(text).because(error);
        }
        NetError::TooLarge { limit } => {
            let text =
                format!("{} ran, but its answer is larger than {limit} bytes; ask for less.", tool.name);
            (ErrorCode::InvalidResponse, text)
        }
    };
    ToolError::new(code, text).because(error)
}
