//! The tools of a turn on this server: the user's view and the executor.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    message::ModelToolCall,
    tools::{FrozenTools, ToolProvider, ToolView, TurnTool},
};
use toolyard_core::{
    CatalogView, Door, ToolCall, ToolError,
    executor::CallOutcome,
    ports::NoticeSink,
    schema::{CompiledSchema, pool::WorkOwner},
};
use toolyard_protocol::{ErrorCode, trace::TraceParent};
use toolyard_sources::builtin::{READ_RESULT_PAGE, ReadResultArguments};

use super::tools::{ChatToolSelection, ViewTools};
use crate::{
    auth::CallerContext,
    builtin::READ_RESULT,
    calls::{self, CallRequest},
    state::ServerState,
};

/// The tools of one chat.
pub(super) struct ChatTools {
    pub(super) state: ServerState,
    pub(super) who: CallerContext,
    pub(super) selection: ChatToolSelection,
    /// Tools that the caller's own client runs, with their compiled schemas.
    pub(super) of_client: Vec<(Arc<TurnTool>, Arc<CompiledSchema>)>,
    pub(super) trace: Option<TraceParent>,
    /// The client program, if it named itself.
    pub(super) client: Option<Arc<str>>,
    /// The conversation, if the client named it.
    pub(super) conversation: Option<Arc<str>>,
    /// What the user wrote, in lower case.
    pub(super) user_text: Arc<str>,
}

#[async_trait]
impl ToolProvider for ChatTools {
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError> {
        let view = self.state.catalog.view(&self.who.user, self.who.scope.clone()).await?;
        let of_client: Vec<_> = self.of_client.iter().map(|(tool, _)| tool.clone()).collect();
        let all = ViewTools::for_view(&view, self.state.chat.vectors.as_ref()).await;
        let (callable, offered) = all.select_tools(view, &self.selection, &of_client);
        Ok(Box::new(ChatStepTools { chat: self, callable, offered }))
    }
}

/// The tools of one step. Calls are looked up in the view that was offered.
struct ChatStepTools<'a> {
    chat: &'a ChatTools,
    callable: CatalogView,
    offered: Arc<ToolView>,
}

#[async_trait]
impl FrozenTools for ChatStepTools<'_> {
    fn view(&self) -> &Arc<ToolView> {
        &self.offered
    }

    async fn call(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        notices: NoticeSink,
        cancel: CancellationToken,
    ) -> CallOutcome {
        let name = tool.about.name.parse().map_err(|error| {
            ToolError::new(
                ErrorCode::InvalidToolName,
                format!("{} is not a valid tool name.", tool.about.name),
            )
            .with_cause(error)
        })?;
        let mut request = CallRequest::new(Door::Chat).with_notices(notices);
        let chat = self.chat;
        if chat.who.lease.is_expired(&chat.state.tokens, chat.state.clock.now()) {
            let text = "The caller's access has ended, so the tool did not run.";
            return Err(ToolError::new(ErrorCode::Denied, text));
        }
        request.parent = chat.trace;
        request.client.clone_from(&chat.client);
        request.conversation.clone_from(&chat.conversation);
        // What a connected client sends as the user's words may be its model's.
        let is_client = chat.who.actor.client_access().is_some();
        request.user_text = (!is_client).then(|| chat.user_text.clone());
        request.view = Some(self.callable.clone());
        let call = ToolCall { name, arguments: Some(call.arguments.clone()) };
        let running = calls::start_call(&chat.state, chat.who.clone(), call, request).await?;
        tokio::select! {
            outcome = running.outcome() => outcome,
            // Dropping the call tells the executor that the caller left.
            () = cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "The turn was cancelled.")),
        }
    }

    async fn check_client_call(&self, tool: &TurnTool, call: &ModelToolCall) -> Result<(), ToolError> {
        let Some((_, schema)) =
            self.chat.of_client.iter().find(|(known, _)| known.spec.name == tool.spec.name)
        else {
            return Ok(());
        };
        let arguments = serde_json::from_str(call.arguments.get()).unwrap_or(serde_json::Value::Null);
        let owner = WorkOwner::for_user(&self.chat.who.user);
        let Err(error) = schema.check_value(&owner, arguments).await else { return Ok(()) };
        let problems = Vec::from(error);
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let text = format!("The arguments of {} do not fit: {}.", tool.spec.name, messages.join("; "));
        Err(ToolError::new(ErrorCode::InvalidArguments, text))
    }

    fn store_full_result(&self, call: &ModelToolCall, result: &str, read: usize) -> Option<String> {
        let (state, view) = (&self.chat.state, &self.callable);
        // A chat without this tool cannot read further pages.
        let reader = view.find_tool(&READ_RESULT.parse().ok()?).ok()?;
        let tool = view.find_tool(&call.name.parse().ok()?).ok()?;
        let (handle, start) = if tool.name == reader.name {
            page_rest(call, read)?
        } else {
            let (owner, now) = (self.chat.who.call_owner(), state.clock.now());
            let handle = state.chat.long_results.insert(&owner, &tool.name, result, now, &*state.ids)?;
            (handle.to_string(), read)
        };
        Some(format!("Read on with {} {{\"handle\": \"{handle}\", \"start\": {start}}}.", reader.alias))
    }
}

/// Where to continue a page of a long result that was itself too long: under the original handle. If the page were kept
/// again, it would be a result of `read_result`, and readable after the tool that produced it is gone.
fn page_rest(call: &ModelToolCall, read: usize) -> Option<(String, usize)> {
    let page: ReadResultArguments = serde_json::from_str(call.arguments.get()).ok()?;
    let start = usize::try_from(page.start).ok()?.checked_add(read.min(READ_RESULT_PAGE))?;
    Some((page.handle, start))
}
