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

pub mod answer;
pub mod budget;
mod calls;
mod patience;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{
    budget::{Budget, TurnLimits},
    patience::Patience,
    step::Stepped,
};
use crate::{
    event::{Finish, TurnEvent},
    message::{Message, Part},
    model::{Model, ModelRequest, ToolChoice, Usage},
    shortlist::Query,
    tools::Toolset,
};

/// Texts before the user's last words that count when tools are chosen.
const RECENT: usize = 8;

/// What a turn needs.
pub struct Turn {
    /// Whoever answers.
    pub model: Arc<dyn Model>,
    /// Whatever can be called.
    pub tools: Arc<dyn Toolset>,
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
pub struct Ended {
    /// Why it is over.
    pub finish: Finish,
    /// What it cost, all steps together.
    pub usage: Usage,
    /// What it added to the conversation.
    pub messages: Vec<Message>,
    /// How often the model was asked.
    pub steps: usize,
}

/// The state of a turn between steps.
struct Course {
    request: ModelRequest,
    /// What the caller wants of tools; the request says what this step may.
    asked: ToolChoice,
    /// How many of the messages were there before.
    given: usize,
    budget: Budget,
    patience: Patience,
    /// Tools that were called in this conversation stay on offer.
    used: Vec<String>,
}

impl Turn {
    /// Runs the turn to its end. `request` carries the conversation; its tools are chosen here, step by step.
    pub async fn run(self, request: ModelRequest) -> Ended {
        let mut course = Course {
            asked: request.choice,
            given: request.messages.len(),
            used: used_in(&self.always, &request.messages),
            request,
            budget: Budget::begin(&self.limits),
            patience: Patience::new(&self.limits),
        };
        let finish = loop {
            let tools = match self.tools.freeze().await {
                Ok(tools) => tools,
                Err(error) => break Finish::Failed(step::no_tools(&error)),
            };
            course.request.tools = {
                let query = query(&course.request.messages);
                tools.view().pick(&query, &course.used, self.limits.tools).await
            };
            course.request.choice = course.choice();
            self.tell(TurnEvent::StepBegins).await;
            let stepped = self.step(&mut course, &*tools).await;
            match stepped {
                Stepped::Again { usage } => {
                    course.budget.spend(usage);
                    self.tell(TurnEvent::StepEnds { usage, goes_on: true }).await;
                }
                Stepped::Over { finish, usage } => {
                    course.budget.spend(usage);
                    self.tell(TurnEvent::StepEnds { usage, goes_on: false }).await;
                    break finish;
                }
            }
            if let Some(bound) = course.budget.is_spent() {
                break Finish::Budget(bound);
            }
        };
        self.tell(TurnEvent::Ends(finish.clone())).await;
        let messages = course.request.messages.split_off(course.given);
        Ended { finish, usage: course.budget.usage, messages, steps: course.budget.steps }
    }

    async fn tell(&self, event: TurnEvent) {
        if self.events.send(event).await.is_err() {
            self.cancel.cancel();
        }
    }
}

impl Course {
    /// The last step is for words, and so is one after too many calls that led nowhere.
    fn choice(&self) -> ToolChoice {
        match self.asked {
            _ if self.budget.is_last_step() || self.patience.is_over() => ToolChoice::None,
            // What was asked for has been done.
            ToolChoice::Required if self.budget.steps > 0 => ToolChoice::Auto,
            asked => asked,
        }
    }
}

/// What the tools are chosen by: the user's last words, then what came before, the newest first.
fn query(messages: &[Message]) -> Query<'_> {
    let mut texts: Vec<(bool, &str)> = messages.iter().rev().flat_map(texts).collect();
    let asked = texts.iter().position(|(of_user, _)| *of_user).map(|place| texts.remove(place).1);
    let recent = texts.into_iter().map(|(_, text)| text).take(RECENT).collect();
    Query { text: asked.unwrap_or_default(), recent }
}

/// The words of a message, and whether they are the user's.
fn texts(message: &Message) -> Vec<(bool, &str)> {
    match message {
        Message::User(parts) => parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some((true, text.as_str())),
                Part::File { .. } => None,
            })
            .collect(),
        Message::Assistant(said) => vec![(false, said.text.as_str())],
        Message::Tools(answers) => answers.iter().map(|answer| (false, answer.text.as_str())).collect(),
    }
}

fn used_in(always: &[String], messages: &[Message]) -> Vec<String> {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(said.calls.iter()),
        Message::User(_) | Message::Tools(_) => None,
    });
    let mut used = always.to_vec();
    for call in calls.flatten() {
        if !used.contains(&call.name) {
            used.push(call.name.clone());
        }
    }
    used
}
