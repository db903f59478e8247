//! One step: the model is asked, its words flow on, its calls are run.

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

/// What a step came to.
pub(super) enum StepOutcome {
    /// The model wants to see what its calls came to.
    Continue { usage: Option<ModelUsage> },
    /// The turn is over.
    Finished { finish: TurnEndReason, usage: Option<ModelUsage> },
}

/// What the model said.
#[derive(Default)]
struct StepReply {
    message: AssistantMessage,
    announced: Vec<AnnouncedCall>,
    /// Calls that began and are not whole yet, by id and name.
    begun: Vec<(String, String)>,
    /// Whether it called although the caller switched tools off. Nobody hears of such a call.
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
    pub(super) async fn run_step(&self, course: &mut TurnState, tools: &dyn FrozenTools) -> StepOutcome {
        let mut said = StepReply::default();
        let heard = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(TurnEndReason::Cancelled),
            () = tokio::time::sleep_until(course.budget.deadline) => Err(TurnEndReason::Budget(TurnLimitKind::Time)),
            heard = self.stream_reply(course, tools.view(), &mut said) => heard.map_err(TurnEndReason::Failed),
        };
        let usage = said.end.usage;
        if let Err(finish) = heard {
            self.abandon_step(course, said, &finish).await;
            return StepOutcome::Finished { finish, usage };
        }
        let may_call = course.request.choice != ToolChoice::None;
        let stop = said.end.stop;
        let calls = !said.announced.is_empty();
        // Cut off, it may have meant another call than the one that is there.
        if !calls || !may_call || stop == ModelStopReason::Length {
            let finish = match end_reason(stop) {
                TurnEndReason::Stop if said.only_called_forbidden() => {
                    TurnEndReason::Failed(self.only_called_error())
                }
                _ if calls && !may_call => TurnEndReason::Budget(TurnLimitKind::Steps),
                finish => finish,
            };
            self.abandon_step(course, said, &finish).await;
            return StepOutcome::Finished { finish, usage };
        }
        let finish = self.run_calls(course, tools, said.message, said.announced, &said.begun).await;
        match finish {
            Some(finish) => StepOutcome::Finished { finish, usage },
            None => StepOutcome::Continue { usage },
        }
    }

    /// Everything that the model says, told on as it comes.
    async fn stream_reply(
        &self,
        course: &TurnState,
        view: &Arc<ToolView>,
        said: &mut StepReply,
    ) -> Result<(), ModelError> {
        let mut stream: ModelStream = self.model.ask(course.request.clone()).await?;
        let no_tools = course.requested_choice == ToolChoice::None;
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::CallBegins { .. }
                | ModelEvent::CallText { .. }
                | ModelEvent::Call(_)
                | ModelEvent::BadCall(_)
                    if no_tools =>
                {
                    said.called_forbidden_tool = true;
                }
                ModelEvent::Text(text) => {
                    said.message.text.push_str(&text);
                    self.send_event(TurnEvent::Text(text)).await;
                }
                ModelEvent::Reasoning(text) => self.send_event(TurnEvent::Reasoning(text)).await,
                ModelEvent::CallBegins { id, name } => {
                    let tool = view.find(&name).cloned();
                    said.begun.push((id.clone(), name.clone()));
                    self.send_event(TurnEvent::CallBegins { id, name, tool }).await;
                }
                ModelEvent::CallText { id, text } => self.send_event(TurnEvent::CallText { id, text }).await,
                ModelEvent::Call(call) => {
                    let tool = view.find(&call.name).cloned();
                    said.message.calls.push(call.clone());
                    // A client runs what it hears of, so it hears of it when that is sure.
                    if !is_client_tool(tool.as_ref()) {
                        said.begun.retain(|(id, _)| *id != call.id);
                        self.send_event(TurnEvent::Called { call: call.clone(), tool: tool.clone() }).await;
                    }
                    said.announced.push(AnnouncedCall::Call(call, tool));
                }
                ModelEvent::BadCall(bad) => said.announced.push(AnnouncedCall::Bad(bad)),
                ModelEvent::End(end) => {
                    said.message.vendor_state = end.vendor_state.clone();
                    said.end = end;
                    return Ok(());
                }
            }
        }
        let text = format!("{} broke off in the middle of its answer; try again.", self.model.info().id);
        Err(ModelError { kind: ModelErrorKind::Broken, text, cause: None, retry_after: None })
    }

    /// A caller without tools gets words or learns why there are none.
    fn only_called_error(&self) -> ModelError {
        let text = format!(
            "{} asked for a tool although tools are switched off, and said nothing else; try again, or allow tools.",
            self.model.info().id
        );
        ModelError { kind: ModelErrorKind::Broken, text, cause: None, retry_after: None }
    }

    /// Ends a step in which nothing is run: what was announced gets its end, and what was said is kept.
    async fn abandon_step(&self, course: &mut TurnState, said: StepReply, finish: &TurnEndReason) {
        self.end_unrun(&said.announced, &said.begun, finish).await;
        let AssistantMessage { text, vendor_state: kept, .. } = said.message;
        if !text.is_empty() {
            course.request.messages.push(ModelMessage::Assistant(AssistantMessage {
                text,
                calls: Vec::new(),
                vendor_state: kept,
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

/// There is no list of tools, so there is no turn.
pub(super) fn no_tools_error(error: &ToolError) -> ModelError {
    ModelError {
        kind: ModelErrorKind::Unavailable,
        text: format!("The tools cannot be listed: {}", error.for_model),
        cause: error.cause.clone(),
        retry_after: error.retry_after,
    }
}
