//! The tools of a turn on this server: the user's view and the executor.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    message::ModelToolCall,
    tools::{FrozenTools, ToolProvider, ToolView, TurnTool},
};
use toolyard_core::{
    CallReply, CatalogView, Door, ToolCall, ToolError,
    executor::{AwaitedSignIn, CallOutcome, MAX_SIGN_INS},
    ports::{CallNotice, NoticeSink},
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
    /// How long a call waits for the user's sign-in at its upstream.
    pub(super) sign_in_wait: Duration,
}

/// How long a call of a turn waits for a sign-in. Clients that do not show requests get the link from the model at once. Half of
/// the turn's time stays for the rest.
pub(super) fn sign_in_wait(state: &ServerState, is_shown: bool, turn_time: Duration) -> Duration {
    if is_shown { state.config.load().approvals.mcp_wait().min(turn_time / 2) } else { Duration::ZERO }
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
        let running = self.run_until_signed_in(tool, call, &notices);
        tokio::select! {
            outcome = running => outcome,
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

impl ChatStepTools<'_> {
    /// Runs a call. If the user has to sign in at its upstream first, the client shows the link, and the call is repeated
    /// after that.
    async fn run_until_signed_in(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        notices: &NoticeSink,
    ) -> CallOutcome {
        let deadline = Instant::now() + self.chat.sign_in_wait;
        let mut outcome = self.run_call(tool, call, notices).await;
        for _ in 0..MAX_SIGN_INS {
            let Ok(CallReply::AwaitingSignIn(awaited)) = &outcome else { break };
            if !self.wait_for_sign_in(awaited, notices, deadline).await {
                break;
            }
            outcome = self.run_call(tool, call, notices).await;
        }
        outcome
    }

    async fn wait_for_sign_in(
        &self,
        awaited: &Arc<AwaitedSignIn>,
        notices: &NoticeSink,
        deadline: Instant,
    ) -> bool {
        if self.chat.sign_in_wait.is_zero() {
            return false;
        }
        notices.send(CallNotice::SignIn(awaited.clone()));
        let (user, upstreams) = (&self.chat.who.user, &self.chat.state.upstreams);
        let waited = upstreams.wait_for_authorization(&awaited.package, user, deadline).await;
        waited.unwrap_or_else(|error| {
            tracing::error!(%error, upstream = %awaited.package, "authorization not read");
            false
        })
    }

    async fn run_call(&self, tool: &TurnTool, call: &ModelToolCall, notices: &NoticeSink) -> CallOutcome {
        let name = tool.about.name.parse().map_err(|error| {
            ToolError::new(
                ErrorCode::InvalidToolName,
                format!("{} is not a valid tool name.", tool.about.name),
            )
            .with_cause(error)
        })?;
        let mut request = CallRequest::new(Door::Chat).with_notices(notices.clone());
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
        calls::start_call(&chat.state, chat.who.clone(), call, request).await?.outcome().await
    }
}

/// Where to continue a page of a long result that was itself too long: under the original handle. If the page were kept
/// again, it would be a result of `read_result`, and readable after the tool that produced it is gone.
fn page_rest(call: &ModelToolCall, read: usize) -> Option<(String, usize)> {
    let page: ReadResultArguments = serde_json::from_str(call.arguments.get()).ok()?;
    let start = usize::try_from(page.start).ok()?.checked_add(read.min(READ_RESULT_PAGE))?;
    Some((page.handle, start))
}
