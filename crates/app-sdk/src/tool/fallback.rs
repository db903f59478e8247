//! The fallback handler: one function for all tools that are not registered, as apps had before typed tools.

use std::{future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use toolyard_protocol::{ErrorCode, UserId};

use super::{CallFailure, HandlerOutcome, ToolContext, ToolReply};
use crate::session::Session;

/// A call for [`on_tool_call`](crate::AppServerBuilder::on_tool_call).
#[derive(Debug, Clone)]
pub struct FallbackCall {
    /// The tool's name inside the app.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The user.
    pub user: UserId,
    /// When the call was made, as the platform sent it.
    pub timestamp: String,
    /// Whether the app was started for this call.
    pub activated_for_tool: bool,
    /// The user's session, if the user has the app open now.
    pub active_session: Option<Session>,
}

/// The handler with its types erased.
#[derive(Clone)]
pub(crate) struct FallbackHandler(
    Arc<dyn Fn(FallbackCall) -> BoxFuture<'static, Option<String>> + Send + Sync>,
);

impl FallbackHandler {
    pub(crate) fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(FallbackCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        Self(Arc::new(move |call| Box::pin(handler(call))))
    }

    pub(crate) async fn handle_call(
        self,
        tool: String,
        arguments: Map<String, Value>,
        cx: ToolContext,
    ) -> HandlerOutcome {
        let call = FallbackCall {
            tool: tool.clone(),
            arguments,
            user: cx.user().clone(),
            timestamp: cx.timestamp().to_owned(),
            activated_for_tool: cx.activated_for_tool(),
            active_session: cx.session(),
        };
        (self.0)(call).await.map(ToolReply::text).ok_or_else(|| CallFailure::no_such_tool(&tool))
    }
}

impl CallFailure {
    pub(crate) fn no_such_tool(tool: &str) -> Self {
        let tool: String = tool.chars().take(128).collect();
        Self::new(ErrorCode::ToolNotFound, format!("this app has no tool `{tool}`"))
    }
}
