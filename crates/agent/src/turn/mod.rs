//! The turn: ask the model, run what it calls, ask again.
//!
//! | look for | in |
//! | --- | --- |
//! | the story, top to bottom | [`Turn::run`] |
//! | its limits | `budget` |
//! | one request to the model | `step` |
//! | the calls of a step, run in parallel | `calls` |
//! | repeated and failing calls | `loop_guard` |
//! | a result as the model reads it | `result_text` |

pub mod budget;
mod calls;
mod loop_guard;
pub mod result_text;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{
    budget::{TurnBudget, TurnLimits},
    loop_guard::LoopGuard,
    step::StepOutcome,
};
use crate::{
    event::{TurnEndReason, TurnEvent},
    message::{ModelMessage, UserPart},
    model::{Model, ModelRequest, ModelUsage, ToolChoice},
    shortlist::ToolQuery,
    tools::ToolProvider,
};

/// How many texts before the user's last message count when tools are chosen.
const RECENT: usize = 8;

/// Everything that a turn needs.
pub struct Turn {
    /// The model to ask.
    pub model: Arc<dyn Model>,
    /// The tools that can be called.
    pub tools: Arc<dyn ToolProvider>,
    /// The limits of the turn.
    pub limits: TurnLimits,
    /// Tools that are always offered, by the names that models know. With them a model can find the others.
    pub always: Vec<String>,
    /// Whether the turn ends when a call needs the user's approval, because the client can ask for it. If not, the model
    /// reads where the user can answer, and the turn continues.
    pub pauses_for_approval: bool,
    /// Fires when the caller no longer waits.
    pub cancel: CancellationToken,
    /// Receives the events. A slow reader slows the turn down, and dropping the receiver cancels it.
    pub events: mpsc::Sender<TurnEvent>,
}

/// The outcome of a turn.
#[derive(Debug)]
pub struct TurnOutcome {
    /// Why it ended.
    pub finish: TurnEndReason,
    /// The tokens of all steps.
    pub usage: ModelUsage,
    /// The messages that it added to the conversation.
    pub messages: Vec<ModelMessage>,
    /// How many requests were sent to the model.
    pub steps: usize,
}

/// The state of a turn between steps.
struct TurnState {
    request: ModelRequest,
    /// The caller's tool choice. The request holds the choice for the current step.
    requested_choice: ToolChoice,
    /// How many messages there were before the turn.
    initial_messages: usize,
    budget: TurnBudget,
    loop_guard: LoopGuard,
    /// Tools that were called in this conversation. They stay on offer.
    used: Vec<String>,
}

impl Turn {
    /// Runs the turn to its end. `request` carries the conversation. The tools are chosen here, for each step.
    pub async fn run(self, request: ModelRequest) -> TurnOutcome {
        let mut state = TurnState {
            requested_choice: request.choice,
            initial_messages: request.messages.len(),
            used: used_tools(&self.always, &request.messages),
            request,
            budget: TurnBudget::start(&self.limits),
            loop_guard: LoopGuard::new(&self.limits),
        };
        let finish = loop {
            let tools = match self.tools.freeze().await {
                Ok(tools) => tools,
                Err(error) => break TurnEndReason::Failed(step::no_tools_error(&error)),
            };
            state.request.tools = {
                let query = tool_query(&state.request.messages);
                tools.view().pick_tools(&query, &state.used, self.limits.tools).await
            };
            state.request.choice = state.step_choice();
            self.send_event(TurnEvent::StepBegins).await;
            let outcome = self.run_step(&mut state, &*tools).await;
            match outcome {
                StepOutcome::Continue { usage } => {
                    state.budget.spend(usage);
                    self.send_event(TurnEvent::StepEnds { usage, continues: true }).await;
                }
                StepOutcome::Finished { finish, usage } => {
                    state.budget.spend(usage);
                    self.send_event(TurnEvent::StepEnds { usage, continues: false }).await;
                    break finish;
                }
            }
            if let Some(bound) = state.budget.reached_limit() {
                break TurnEndReason::Budget(bound);
            }
        };
        self.send_event(TurnEvent::Ends(finish.clone())).await;
        let messages = state.request.messages.split_off(state.initial_messages);
        TurnOutcome { finish, usage: state.budget.usage, messages, steps: state.budget.steps }
    }

    async fn send_event(&self, event: TurnEvent) {
        if self.events.send(event).await.is_err() {
            self.cancel.cancel();
        }
    }
}

impl TurnState {
    /// Without tools in the last step, and after too many failed calls: then the model must answer in text.
    fn step_choice(&self) -> ToolChoice {
        match self.requested_choice {
            _ if self.budget.is_last_step() || self.loop_guard.is_exhausted() => ToolChoice::None,
            // The required call was made.
            ToolChoice::Required if self.budget.steps > 0 => ToolChoice::Auto,
            asked => asked,
        }
    }
}

/// The query for choosing tools: the user's last message, then earlier texts, newest first.
fn tool_query(messages: &[ModelMessage]) -> ToolQuery<'_> {
    let mut texts: Vec<(bool, &str)> = messages.iter().rev().flat_map(message_texts).collect();
    let asked = texts.iter().position(|(of_user, _)| *of_user).map(|place| texts.remove(place).1);
    let recent = texts.into_iter().map(|(_, text)| text).take(RECENT).collect();
    ToolQuery { text: asked.unwrap_or_default(), recent }
}

/// The texts of a message, and whether they are the user's.
fn message_texts(message: &ModelMessage) -> Vec<(bool, &str)> {
    match message {
        ModelMessage::User(parts) => parts
            .iter()
            .filter_map(|part| match part {
                UserPart::Text(text) => Some((true, text.as_str())),
                UserPart::File { .. } => None,
            })
            .collect(),
        ModelMessage::Assistant(reply) => vec![(false, reply.text.as_str())],
        ModelMessage::Tools(answers) => answers.iter().map(|answer| (false, answer.text.as_str())).collect(),
    }
}

fn used_tools(always: &[String], messages: &[ModelMessage]) -> Vec<String> {
    let calls = messages.iter().filter_map(|message| match message {
        ModelMessage::Assistant(reply) => Some(reply.calls.iter()),
        ModelMessage::User(_) | ModelMessage::Tools(_) => None,
    });
    let mut used = always.to_vec();
    for call in calls.flatten() {
        if !used.contains(&call.name) {
            used.push(call.name.clone());
        }
    }
    used
}
