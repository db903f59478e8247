//! One step: the model is asked, its words flow on, its calls are run.

use std::sync::Arc;

use futures_util::StreamExt as _;
use toolyard_core::ToolError;

use super::{
    Course, Turn,
    calls::{Announced, is_clients},
};
use crate::{
    event::{Bound, Finish, TurnEvent},
    message::{Assistant, Message},
    model::{End, ModelError, ModelEvent, ModelStream, ModelTrouble, Stop, ToolChoice, Usage},
    tools::{FrozenTools, ToolView},
};

/// What a step came to.
pub(super) enum Stepped {
    /// The model wants to see what its calls came to.
    Again { usage: Option<Usage> },
    /// The turn is over.
    Over { finish: Finish, usage: Option<Usage> },
}

/// What the model said.
#[derive(Default)]
struct Said {
    message: Assistant,
    announced: Vec<Announced>,
    /// Calls that began and are not whole yet, by id and name.
    begun: Vec<(String, String)>,
    /// Whether it called although the caller switched tools off. Nobody hears of such a call.
    called_all_the_same: bool,
    end: End,
}

impl Said {
    fn only_called_all_the_same(&self) -> bool {
        self.called_all_the_same && self.message.text.trim().is_empty()
    }
}

impl Turn {
    /// Asks the model, runs what it calls, and adds both to the conversation.
    pub(super) async fn step(&self, course: &mut Course, tools: &dyn FrozenTools) -> Stepped {
        let mut said = Said::default();
        let heard = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Finish::Cancelled),
            () = tokio::time::sleep_until(course.budget.until) => Err(Finish::Budget(Bound::Time)),
            heard = self.hear(course, tools.view(), &mut said) => heard.map_err(Finish::Failed),
        };
        let usage = said.end.usage;
        if let Err(finish) = heard {
            self.give_up(course, said, &finish).await;
            return Stepped::Over { finish, usage };
        }
        let may_call = course.request.choice != ToolChoice::None;
        let stop = said.end.stop;
        let calls = !said.announced.is_empty();
        // Cut off, it may have meant another call than the one that is there.
        if !calls || !may_call || stop == Stop::Length {
            let finish = match finish_of(stop) {
                Finish::Stop if said.only_called_all_the_same() => Finish::Failed(self.only_called()),
                _ if calls && !may_call => Finish::Budget(Bound::Steps),
                finish => finish,
            };
            self.give_up(course, said, &finish).await;
            return Stepped::Over { finish, usage };
        }
        let finish = self.run_calls(course, tools, said.message, said.announced, &said.begun).await;
        match finish {
            Some(finish) => Stepped::Over { finish, usage },
            None => Stepped::Again { usage },
        }
    }

    /// Everything that the model says, told on as it comes.
    async fn hear(&self, course: &Course, view: &Arc<ToolView>, said: &mut Said) -> Result<(), ModelError> {
        let mut stream: ModelStream = self.model.ask(course.request.clone()).await?;
        let no_tools = course.asked == ToolChoice::None;
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::CallBegins { .. }
                | ModelEvent::CallText { .. }
                | ModelEvent::Call(_)
                | ModelEvent::BadCall(_)
                    if no_tools =>
                {
                    said.called_all_the_same = true;
                }
                ModelEvent::Text(text) => {
                    said.message.text.push_str(&text);
                    self.tell(TurnEvent::Text(text)).await;
                }
                ModelEvent::Reasoning(text) => self.tell(TurnEvent::Reasoning(text)).await,
                ModelEvent::CallBegins { id, name } => {
                    let tool = view.find(&name).cloned();
                    said.begun.push((id.clone(), name.clone()));
                    self.tell(TurnEvent::CallBegins { id, name, tool }).await;
                }
                ModelEvent::CallText { id, text } => self.tell(TurnEvent::CallText { id, text }).await,
                ModelEvent::Call(call) => {
                    let tool = view.find(&call.name).cloned();
                    said.message.calls.push(call.clone());
                    // A client runs what it hears of, so it hears of it when that is sure.
                    if !is_clients(tool.as_ref()) {
                        said.begun.retain(|(id, _)| *id != call.id);
                        self.tell(TurnEvent::Called { call: call.clone(), tool: tool.clone() }).await;
                    }
                    said.announced.push(Announced::Call(call, tool));
                }
                ModelEvent::BadCall(bad) => said.announced.push(Announced::Bad(bad)),
                ModelEvent::End(end) => {
                    said.message.kept = end.kept.clone();
                    said.end = end;
                    return Ok(());
                }
            }
        }
        let text = format!("{} broke off in the middle of its answer; try again.", self.model.about().id);
        Err(ModelError { kind: ModelTrouble::Broken, text, cause: None, retry_after: None })
    }

    /// A caller without tools gets words or learns why there are none.
    fn only_called(&self) -> ModelError {
        let text = format!(
            "{} asked for a tool although tools are switched off, and said nothing else; try again, or allow tools.",
            self.model.about().id
        );
        ModelError { kind: ModelTrouble::Broken, text, cause: None, retry_after: None }
    }

    /// Ends a step in which nothing is run: what was announced gets its end, and what was said is kept.
    async fn give_up(&self, course: &mut Course, said: Said, finish: &Finish) {
        self.end_unrun(&said.announced, &said.begun, finish).await;
        let Assistant { text, kept, .. } = said.message;
        if !text.is_empty() {
            course.request.messages.push(Message::Assistant(Assistant { text, calls: Vec::new(), kept }));
        }
    }
}

fn finish_of(stop: Stop) -> Finish {
    match stop {
        Stop::Length => Finish::Length,
        Stop::Filtered => Finish::Filtered,
        Stop::Done | Stop::Calls | Stop::Other => Finish::Stop,
    }
}

/// There is no list of tools, so there is no turn.
pub(super) fn no_tools(error: &ToolError) -> ModelError {
    ModelError {
        kind: ModelTrouble::Unavailable,
        text: format!("The tools cannot be listed: {}", error.for_model),
        cause: error.cause.clone(),
        retry_after: error.retry_after,
    }
}
