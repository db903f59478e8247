//! The turn: ask the model, run what it calls, ask again.
//!
//! | look for | in |
//! | --- | --- |
//! | the story, top to bottom | [`Turn::run`] |
//! | its bounds | `budget` |
//! | one question to the model | `step` |
//! | the calls of a step, side by side | `calls` |
//! | calls that lead nowhere | `patience` |
//! | a result as the model reads it | `answer` |

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

/// Texts before the user's last words that count when tools are chosen.
const RECENT: usize = 8;

/// What a turn needs.
pub struct Turn {
    /// Whoever answers.
    pub model: Arc<dyn Model>,
    /// Whatever can be called.
    pub tools: Arc<dyn ToolProvider>,
    /// Every bound.
    pub limits: TurnLimits,
    /// Tools that stay on offer where not all fit, by the names that models know: with them a model finds the others.
    pub always: Vec<String>,
    /// Fires when nobody waits any more.
    pub cancel: CancellationToken,
    /// Where events go. Whoever reads them slowly slows the turn; whoever drops them ends it.
    pub events: mpsc::Sender<TurnEvent>,
}

/// What a turn came to.
#[derive(Debug)]
pub struct TurnOutcome {
    /// Why it is over.
    pub finish: TurnEndReason,
    /// What it cost, all steps together.
    pub usage: ModelUsage,
    /// What it added to the conversation.
    pub messages: Vec<ModelMessage>,
    /// How often the model was asked.
    pub steps: usize,
}

/// The state of a turn between steps.
struct TurnState {
    request: ModelRequest,
    /// What the caller wants of tools; the request says what this step may.
    requested_choice: ToolChoice,
    /// How many of the messages were there before.
    initial_messages: usize,
    budget: TurnBudget,
    patience: LoopGuard,
    /// Tools that were called in this conversation stay on offer.
    used: Vec<String>,
}

impl Turn {
    /// Runs the turn to its end. `request` carries the conversation; its tools are chosen here, step by step.
    pub async fn run(self, request: ModelRequest) -> TurnOutcome {
        let mut course = TurnState {
            requested_choice: request.choice,
            initial_messages: request.messages.len(),
            used: used_tools(&self.always, &request.messages),
            request,
            budget: TurnBudget::start(&self.limits),
            patience: LoopGuard::new(&self.limits),
        };
        let finish = loop {
            let tools = match self.tools.freeze().await {
                Ok(tools) => tools,
                Err(error) => break TurnEndReason::Failed(step::no_tools_error(&error)),
            };
            course.request.tools = {
                let query = tool_query(&course.request.messages);
                tools.view().pick_tools(&query, &course.used, self.limits.tools).await
            };
            course.request.choice = course.step_choice();
            self.send_event(TurnEvent::StepBegins).await;
            let stepped = self.run_step(&mut course, &*tools).await;
            match stepped {
                StepOutcome::Continue { usage } => {
                    course.budget.spend(usage);
                    self.send_event(TurnEvent::StepEnds { usage, continues: true }).await;
                }
                StepOutcome::Finished { finish, usage } => {
                    course.budget.spend(usage);
                    self.send_event(TurnEvent::StepEnds { usage, continues: false }).await;
                    break finish;
                }
            }
            if let Some(bound) = course.budget.reached_limit() {
                break TurnEndReason::Budget(bound);
            }
        };
        self.send_event(TurnEvent::Ends(finish.clone())).await;
        let messages = course.request.messages.split_off(course.initial_messages);
        TurnOutcome { finish, usage: course.budget.usage, messages, steps: course.budget.steps }
    }

    async fn send_event(&self, event: TurnEvent) {
        if self.events.send(event).await.is_err() {
            self.cancel.cancel();
        }
    }
}

impl TurnState {
    /// The last step is for words, and so is one after too many calls that led nowhere.
    fn step_choice(&self) -> ToolChoice {
        match self.requested_choice {
            _ if self.budget.is_last_step() || self.patience.is_exhausted() => ToolChoice::None,
            // What was asked for has been done.
            ToolChoice::Required if self.budget.steps > 0 => ToolChoice::Auto,
            asked => asked,
        }
    }
}

/// What the tools are chosen by: the user's last words, then what came before, the newest first.
fn tool_query(messages: &[ModelMessage]) -> ToolQuery<'_> {
    let mut texts: Vec<(bool, &str)> = messages.iter().rev().flat_map(message_texts).collect();
    let asked = texts.iter().position(|(of_user, _)| *of_user).map(|place| texts.remove(place).1);
    let recent = texts.into_iter().map(|(_, text)| text).take(RECENT).collect();
    ToolQuery { text: asked.unwrap_or_default(), recent }
}

/// The words of a message, and whether they are the user's.
fn message_texts(message: &ModelMessage) -> Vec<(bool, &str)> {
    match message {
        ModelMessage::User(parts) => parts
            .iter()
            .filter_map(|part| match part {
                UserPart::Text(text) => Some((true, text.as_str())),
                UserPart::File { .. } => None,
            })
            .collect(),
        ModelMessage::Assistant(said) => vec![(false, said.text.as_str())],
        ModelMessage::Tools(answers) => answers.iter().map(|answer| (false, answer.text.as_str())).collect(),
    }
}

fn used_tools(always: &[String], messages: &[ModelMessage]) -> Vec<String> {
    let calls = messages.iter().filter_map(|message| match message {
        ModelMessage::Assistant(said) => Some(said.calls.iter()),
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
