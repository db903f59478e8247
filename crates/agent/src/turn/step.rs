//! One step: ask the model, forward its output, run its calls.

use std::sync::Arc;

use futures_util::StreamExt as _;
use toolyard_core::ToolError;

use super::{
    Turn, TurnState,
    calls::{AnnouncedCall, is_client_tool},
};
use crate::{
    event::{TurnEndReason, TurnEvent, TurnLimitKind},
    message::{AssistantMessage, ModelMessage},
    model::{
        ModelError, ModelErrorKind, ModelEvent, ModelStopReason, ModelStream, ModelUsage, ResponseEnd,
        ToolChoice,
    },
    tools::{FrozenTools, ToolView},
};

/// The outcome of a step.
pub(super) enum StepOutcome {
    /// The model needs the results of its calls.
    Continue { usage: Option<ModelUsage> },
    /// The turn ended.
    Finished { finish: TurnEndReason, usage: Option<ModelUsage> },
}

/// What the model returned so far.
#[derive(Default)]
struct StepReply {
    message: AssistantMessage,
    announced: Vec<AnnouncedCall>,
    /// Calls that began and are not complete yet, by id and name.
    begun: Vec<(String, String)>,
    /// Whether the model called a tool although the caller disabled tools. Such calls are not reported.
    called_forbidden_tool: bool,
    end: ResponseEnd,
}

impl StepReply {
    fn only_called_forbidden(&self) -> bool {
        self.called_forbidden_tool && self.message.text.trim().is_empty()
    }
}

impl Turn {
    /// Asks the model, runs what it calls, and adds both to the conversation.
    pub(super) async fn run_step(&self, state: &mut TurnState, tools: &dyn FrozenTools) -> StepOutcome {
        let mut reply = StepReply::default();
        let result = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(TurnEndReason::Cancelled),
            () = tokio::time::sleep_until(state.budget.deadline) => Err(TurnEndReason::Budget(TurnLimitKind::Time)),
            result = self.stream_reply(state, tools.view(), &mut reply) => result.map_err(TurnEndReason::Failed),
        };
        let usage = reply.end.usage;
        if let Err(finish) = result {
            self.abandon_step(state, reply, &finish).await;
            return StepOutcome::Finished { finish, usage };
        }
        let may_call = state.request.choice != ToolChoice::None;
        let stop = reply.end.stop;
        let calls = !reply.announced.is_empty();
        // If the output was cut, the model may have meant a different call.
        if !calls || !may_call || stop == ModelStopReason::Length {
            let finish = match end_reason(stop) {
                TurnEndReason::Stop if reply.only_called_forbidden() => {
                    TurnEndReason::Failed(self.only_called_error())
                }
                _ if calls && !may_call => TurnEndReason::Budget(TurnLimitKind::Steps),
                finish => finish,
            };
            self.abandon_step(state, reply, &finish).await;
            return StepOutcome::Finished { finish, usage };
        }
        let finish = self.run_calls(state, tools, reply.message, reply.announced, &reply.begun).await;
        match finish {
            Some(finish) => StepOutcome::Finished { finish, usage },
            None => StepOutcome::Continue { usage },
        }
    }

    /// Reads the model's output and forwards it as it arrives.
    async fn stream_reply(
        &self,
        state: &TurnState,
        view: &Arc<ToolView>,
        reply: &mut StepReply,
    ) -> Result<(), ModelError> {
        let mut stream: ModelStream = self.model.ask(state.request.clone()).await?;
        let no_tools = state.requested_choice == ToolChoice::None;
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::CallBegins { .. }
                | ModelEvent::CallText { .. }
                | ModelEvent::Call(_)
                | ModelEvent::BadCall(_)
                    if no_tools =>
                {
                    reply.called_forbidden_tool = true;
                }
                ModelEvent::Text(text) => {
                    reply.message.text.push_str(&text);
                    self.send_event(TurnEvent::Text(text)).await;
                }
                ModelEvent::Reasoning(text) => self.send_event(TurnEvent::Reasoning(text)).await,
                ModelEvent::CallBegins { id, name } => {
                    let tool = view.find(&name).cloned();
                    reply.begun.push((id.clone(), name.clone()));
                    self.send_event(TurnEvent::CallBegins { id, name, tool }).await;
                }
                ModelEvent::CallText { id, text } => self.send_event(TurnEvent::CallText { id, text }).await,
                ModelEvent::Call(call) => {
                    let tool = view.find(&call.name).cloned();
                    reply.message.calls.push(call.clone());
                    // A client runs every call it is sent, so it is sent only when it is certain.
                    if !is_client_tool(tool.as_ref()) {
                        reply.begun.retain(|(id, _)| *id != call.id);
                        self.send_event(TurnEvent::Called { call: call.clone(), tool: tool.clone() }).await;
                    }
                    reply.announced.push(AnnouncedCall::Call(call, tool));
                }
                ModelEvent::BadCall(bad) => reply.announced.push(AnnouncedCall::Bad(bad)),
                ModelEvent::End(end) => {
                    reply.message.vendor_state = end.vendor_state.clone();
                    reply.end = end;
                    return Ok(());
                }
            }
        }
        let text = format!("{} broke off in the middle of its answer; try again.", self.model.info().id);
        Err(ModelError { kind: ModelErrorKind::Broken, text, cause: None, retry_after: None })
    }

    /// A caller without tools gets text, or the reason why there is none.
    fn only_called_error(&self) -> ModelError {
        let text = format!(
            "{} asked for a tool although tools are switched off, and reply nothing else; try again, or allow tools.",
            self.model.info().id
        );
        ModelError { kind: ModelErrorKind::Broken, text, cause: None, retry_after: None }
    }

    /// Ends a step that runs nothing: every announced call gets its end, and the text is kept.
    async fn abandon_step(&self, state: &mut TurnState, reply: StepReply, finish: &TurnEndReason) {
        self.end_unrun(&reply.announced, &reply.begun, finish).await;
        let AssistantMessage { text, vendor_state, .. } = reply.message;
        if !text.is_empty() {
            state.request.messages.push(ModelMessage::Assistant(AssistantMessage {
                text,
                calls: Vec::new(),
                vendor_state,
            }));
        }
    }
}

fn end_reason(stop: ModelStopReason) -> TurnEndReason {
    match stop {
        ModelStopReason::Length => TurnEndReason::Length,
        ModelStopReason::Filtered => TurnEndReason::Filtered,
        ModelStopReason::Done | ModelStopReason::Calls | ModelStopReason::Other => TurnEndReason::Stop,
    }
}

/// Without a list of tools there is no turn.
pub(super) fn no_tools_error(error: &ToolError) -> ModelError {
    ModelError {
        kind: ModelErrorKind::Unavailable,
        text: format!("The tools cannot be listed: {}", error.for_model),
        cause: error.cause.clone(),
        retry_after: error.retry_after,
    }
}
