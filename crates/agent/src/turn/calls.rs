//! The calls of one step: run side by side, each with its end, whatever happens.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolyard_core::{
    Reply, ToolError,
    executor::Outcome,
    ports::{Notice, NoticeSink},
};
use toolyard_protocol::{ErrorCode, raw::to_raw};

use super::{Course, Turn, answer};
use crate::{
    event::{Bound, CallEnd, Finish, TurnEvent},
    message::{Assistant, Call, Message, ToolAnswer},
    model::BadCall,
    tools::{FrozenTools, Offered, Place},
};

/// News of one call that wait to be told.
const NEWS_QUEUE: usize = 16;

/// Something that the model called.
pub(super) enum Announced {
    /// A call, and the tool that it means, if there is one.
    Call(Call, Option<Arc<Offered>>),
    /// What was meant as one.
    Bad(BadCall),
}

/// Whether the caller's own client runs it.
pub(super) fn is_clients(tool: Option<&Arc<Offered>>) -> bool {
    tool.is_some_and(|tool| tool.place == Place::Client)
}

/// One call, ended.
struct Ran {
    place: usize,
    outcome: Outcome,
}

impl Turn {
    /// Runs the calls, and adds them and their answers to the conversation. Says why the turn is over, where it is.
    pub(super) async fn run_calls(
        &self,
        course: &mut Course,
        tools: &dyn FrozenTools,
        mut message: Assistant,
        announced: Vec<Announced>,
        begun: &[(String, String)],
    ) -> Option<Finish> {
        let (mut answers, mut ready, mut of_client) = (Vec::new(), Vec::new(), false);
        for (place, announced) in announced.into_iter().enumerate() {
            match announced {
                Announced::Bad(bad) => {
                    course.patience.was_wrong();
                    let (call, answer) = told(bad);
                    // Whoever saw it begin sees its end; the others never heard of it.
                    if begun.iter().any(|(id, _)| *id == call.id) {
                        let error = ToolError::new(ErrorCode::InvalidArguments, answer.text.as_str());
                        let end = CallEnd::Failed(Arc::new(error));
                        self.tell(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
                    }
                    message.calls.push(call);
                    answers.push(answer);
                }
                Announced::Call(call, tool) => {
                    if !course.used.contains(&call.name) && tool.is_some() {
                        course.used.push(call.name.clone());
                    }
                    let refused = self.not_run(course, tools, &call, tool.as_deref(), place).await;
                    if is_clients(tool.as_ref()) {
                        let tool = tool.clone().filter(|_| refused.is_none());
                        self.tell(TurnEvent::Called { call: call.clone(), tool }).await;
                    }
                    match (refused, tool) {
                        (Some(error), _) => answers.push(self.end(tools, &call, &Err(error)).await),
                        (None, Some(tool)) if tool.place == Place::Here => ready.push((call, tool)),
                        (None, _) => of_client = true,
                    }
                }
            }
        }
        let over = self.run_ready(course, tools, ready, &mut answers).await;
        course.request.messages.push(Message::Assistant(message));
        if !answers.is_empty() {
            course.request.messages.push(Message::Tools(answers));
        }
        over.or_else(|| of_client.then_some(Finish::ClientCalls))
    }

    /// Why a call is not run at all.
    async fn not_run(
        &self,
        course: &mut Course,
        tools: &dyn FrozenTools,
        call: &Call,
        tool: Option<&Offered>,
        place: usize,
    ) -> Option<ToolError> {
        if place >= self.limits.calls {
            let text =
                format!("At most {} calls at once; make this one again afterwards.", self.limits.calls);
            return Some(ToolError::new(ErrorCode::Overloaded, text));
        }
        if tool.is_none() {
            course.patience.was_wrong();
            let text = format!("There is no tool {}; use only the tools that are listed.", shown(&call.name));
            return Some(ToolError::new(ErrorCode::ToolNotFound, text));
        }
        if let Some(text) = course.patience.refuses(call) {
            return Some(ToolError::new(ErrorCode::Denied, text));
        }
        let unfit = match tool.filter(|tool| tool.place == Place::Client) {
            Some(tool) => tools.check(tool, call).await.err(),
            None => None,
        };
        if unfit.is_some() {
            course.patience.was_wrong();
        }
        unfit
    }

    async fn run_ready(
        &self,
        course: &mut Course,
        tools: &dyn FrozenTools,
        ready: Vec<(Call, Arc<Offered>)>,
        answers: &mut Vec<ToolAnswer>,
    ) -> Option<Finish> {
        let (news, mut told) = mpsc::channel(NEWS_QUEUE * ready.len().max(1));
        let mut running: FuturesUnordered<_> = ready
            .iter()
            .enumerate()
            .map(|(place, (call, tool))| self.one(tools, place, (call, tool), &news))
            .collect();
        let mut open: Vec<bool> = vec![true; ready.len()];
        let over = loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => break Some(Finish::Cancelled),
                Some((place, notice)) = told.recv() => self.progress(&ready[place].0, notice).await,
                ran = running.next() => match ran {
                    Some(Ran { place, outcome }) => {
                        // What it told before its end is told before its end.
                        while let Ok((place, notice)) = told.try_recv() {
                            self.progress(&ready[place].0, notice).await;
                        }
                        let call = &ready[place].0;
                        open[place] = false;
                        course.patience.heard(&call.name, &outcome);
                        answers.push(self.end(tools, call, &outcome).await);
                    }
                    None => break None,
                },
                () = tokio::time::sleep_until(course.budget.until) => break Some(Finish::Budget(Bound::Time)),
            }
        };
        drop(running);
        if let Some(finish) = &over {
            for ((call, _), _) in ready.iter().zip(open).filter(|(_, open)| *open) {
                answers.push(self.end(tools, call, &Err(unended(finish))).await);
            }
        }
        over
    }

    async fn one(
        &self,
        tools: &dyn FrozenTools,
        place: usize,
        (call, tool): (&Call, &Offered),
        news: &mpsc::Sender<(usize, Notice)>,
    ) -> Ran {
        let (sink, mut notices) = mpsc::channel(NEWS_QUEUE);
        // Dropped with this future, which cancels the call.
        let cancel = self.cancel.child_token();
        let _leaves = cancel.clone().drop_guard();
        let running = tools.call(tool, call, NoticeSink::new(sink), cancel);
        tokio::pin!(running);
        loop {
            tokio::select! {
                biased;
                Some(notice) = notices.recv() => drop(news.try_send((place, notice))),
                outcome = &mut running => {
                    while let Ok(notice) = notices.try_recv() {
                        drop(news.try_send((place, notice)));
                    }
                    return Ran { place, outcome };
                }
            }
        }
    }

    async fn progress(&self, call: &Call, notice: Notice) {
        if let Notice::Progress(progress) = notice {
            self.tell(TurnEvent::Progress { id: call.id.clone(), progress }).await;
        }
    }

    /// Tells the end of a call, and gives what the model reads of it.
    async fn end(&self, tools: &dyn FrozenTools, call: &Call, outcome: &Outcome) -> ToolAnswer {
        let (end, text, is_error) = match outcome {
            Ok(Reply::Done(result)) => {
                let most = self.limits.result_chars;
                let text = answer::bounded(call, answer::words(result), most, tools);
                (CallEnd::Done(Arc::new(result.clone())), text, result.mcp.is_error())
            }
            Ok(Reply::AwaitingInput(_)) => {
                let text = "This tool asks for input that this chat cannot give.";
                let error = ToolError::new(ErrorCode::Denied, text);
                let text = error.for_model.clone();
                (CallEnd::Failed(Arc::new(error)), text, true)
            }
            Err(error) => (CallEnd::Failed(Arc::new(error.clone())), error.for_model.clone(), true),
        };
        self.tell(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
        ToolAnswer { id: call.id.clone(), name: call.name.clone(), text, is_error }
    }

    /// Ends calls that were announced and will not be run.
    pub(super) async fn end_unrun(
        &self,
        announced: &[Announced],
        begun: &[(String, String)],
        finish: &Finish,
    ) {
        let whole = announced.iter().filter_map(|announced| match announced {
            Announced::Call(call, tool) if !is_clients(tool.as_ref()) => Some(&call.id),
            Announced::Call(..) | Announced::Bad(_) => None,
        });
        for id in whole.chain(begun.iter().map(|(id, _)| id)) {
            let end = CallEnd::Failed(Arc::new(unended(finish)));
            self.tell(TurnEvent::CallEnds { id: id.clone(), end }).await;
        }
    }
}

/// What was meant as a call, as a call and its answer, so that the model sees both.
fn told(bad: BadCall) -> (Call, ToolAnswer) {
    let name = bad.name.unwrap_or_else(|| "unknown".to_owned());
    let written: Box<RawValue> = to_raw(&serde_json::json!({ "text": bad.text }));
    let call = Call { id: bad.id.clone(), name: name.clone(), arguments: written };
    (call, ToolAnswer { id: bad.id, name, text: bad.problem, is_error: true })
}

/// Why a call has no end of its own.
fn unended(finish: &Finish) -> ToolError {
    let (code, text) = match finish {
        Finish::Cancelled => (ErrorCode::Cancelled, "Nobody waits for it any more."),
        Finish::Budget(Bound::Time) => (ErrorCode::Timeout, "The time of this answer is up."),
        Finish::Budget(_) => (ErrorCode::Denied, "It was not run: this answer has used up its steps."),
        Finish::Length => {
            (ErrorCode::Denied, "It was not run: the model was cut off before it had finished.")
        }
        _ => (ErrorCode::Cancelled, "It was not run: the answer ended before it."),
    };
    ToolError::new(code, text)
}

fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}
