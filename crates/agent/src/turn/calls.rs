//! The calls of one step. They run in parallel, and each gets an end event whatever happens.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use toolyard_core::{
    CallReply, ToolError,
    executor::CallOutcome,
    ports::{CallNotice, NoticeSink},
};
use toolyard_protocol::text::truncate_chars;
use toolyard_protocol::{ErrorCode, raw::to_raw};

use super::{Turn, TurnState, result_text};
use crate::{
    event::{CallEnd, TurnEndReason, TurnEvent, TurnLimitKind},
    message::{AssistantMessage, ModelMessage, ModelToolCall, ToolAnswer},
    model::BadCall,
    tools::{FrozenTools, ToolLocation, TurnTool},
};

/// How many progress notices of one call are queued.
const NOTICE_QUEUE: usize = 16;

/// A call of the model.
pub(super) enum AnnouncedCall {
    /// A call and its tool, if there is one.
    Call(ModelToolCall, Option<Arc<TurnTool>>),
    /// A call that cannot be run.
    Bad(BadCall),
}

/// Whether the caller's client runs it.
pub(super) fn is_client_tool(tool: Option<&Arc<TurnTool>>) -> bool {
    tool.is_some_and(|tool| tool.place == ToolLocation::Client)
}

/// A call that can run here, with its place among the calls of the step.
struct ReadyCall {
    place: usize,
    call: ModelToolCall,
    tool: Arc<TurnTool>,
}

/// A call that ended, with its index among the ready ones.
struct CompletedCall {
    index: usize,
    outcome: CallOutcome,
}

/// The results of a step, with the places of their calls. Calls end in any order; the model reads the results in the
/// order in which it made the calls.
#[derive(Default)]
struct PlacedAnswers(Vec<(usize, ToolAnswer)>);

impl PlacedAnswers {
    /// Adds the answer, if there is one: a call that waits for approval has none yet.
    fn push(&mut self, place: usize, answer: impl Into<Option<ToolAnswer>>) {
        self.0.extend(answer.into().map(|answer| (place, answer)));
    }

    fn into_call_order(mut self) -> Vec<ToolAnswer> {
        self.0.sort_by_key(|(place, _)| *place);
        self.0.into_iter().map(|(_, answer)| answer).collect()
    }
}

impl Turn {
    /// Runs the calls, and adds them and their results to the conversation. Returns why the turn ended, if it did.
    pub(super) async fn run_calls(
        &self,
        state: &mut TurnState,
        tools: &dyn FrozenTools,
        mut message: AssistantMessage,
        announced: Vec<AnnouncedCall>,
        begun: &[(String, String)],
    ) -> Option<TurnEndReason> {
        let (mut answers, mut ready, mut has_client_calls) = (PlacedAnswers::default(), Vec::new(), false);
        // Filled again, with the calls that cannot be run in their places.
        message.calls.clear();
        for (place, announced) in announced.into_iter().enumerate() {
            match announced {
                AnnouncedCall::Bad(bad) => {
                    state.loop_guard.record_wrong_call();
                    let (call, answer) = bad_call_exchange(bad);
                    // The end is sent only if the begin was.
                    if begun.iter().any(|(id, _)| *id == call.id) {
                        let error = ToolError::new(ErrorCode::InvalidArguments, answer.text.as_str());
                        let end = CallEnd::Failed(Arc::new(error));
                        self.send_event(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
                    }
                    message.calls.push(call);
                    answers.push(place, answer);
                }
                AnnouncedCall::Call(call, tool) => {
                    message.calls.push(call.clone());
                    if !state.used.contains(&call.name) && tool.is_some() {
                        state.used.push(call.name.clone());
                    }
                    let refused = self.refuse_call(state, tools, &call, tool.as_deref(), place).await;
                    if is_client_tool(tool.as_ref()) {
                        let tool = tool.clone().filter(|_| refused.is_none());
                        self.send_event(TurnEvent::Called { call: call.clone(), tool }).await;
                    }
                    match (refused, tool) {
                        (Some(error), _) => {
                            answers.push(place, self.end_call(tools, &call, &Err(error)).await);
                        }
                        (None, Some(tool)) if tool.place == ToolLocation::Here => {
                            ready.push(ReadyCall { place, call, tool });
                        }
                        (None, _) => has_client_calls = true,
                    }
                }
            }
        }
        let ran = self.run_ready(state, tools, ready, &mut answers).await;
        state.request.messages.push(ModelMessage::Assistant(message));
        let answers = answers.into_call_order();
        if !answers.is_empty() {
            state.request.messages.push(ModelMessage::Tools(answers));
        }
        ran.or_else(|| has_client_calls.then_some(TurnEndReason::ClientCalls))
    }

    /// The reason not to run a call.
    async fn refuse_call(
        &self,
        state: &mut TurnState,
        tools: &dyn FrozenTools,
        call: &ModelToolCall,
        tool: Option<&TurnTool>,
        place: usize,
    ) -> Option<ToolError> {
        if place >= self.limits.calls {
            let text =
                format!("At most {} calls at once; make this one again afterwards.", self.limits.calls);
            return Some(ToolError::new(ErrorCode::Overloaded, text));
        }
        if tool.is_none() {
            state.loop_guard.record_wrong_call();
            let text = format!(
                "There is no tool {}; use only the tools that are listed.",
                truncate_name(&call.name)
            );
            return Some(ToolError::new(ErrorCode::ToolNotFound, text));
        }
        if let Some(text) = state.loop_guard.refusal_text(call) {
            return Some(ToolError::new(ErrorCode::Denied, text));
        }
        let unfit = match tool.filter(|tool| tool.place == ToolLocation::Client) {
            Some(tool) => tools.check_client_call(tool, call).await.err(),
            None => None,
        };
        if unfit.is_some() {
            state.loop_guard.record_wrong_call();
        }
        unfit
    }

    /// Runs calls to their end. Returns why the turn ended, if it did.
    async fn run_ready(
        &self,
        state: &mut TurnState,
        tools: &dyn FrozenTools,
        ready: Vec<ReadyCall>,
        answers: &mut PlacedAnswers,
    ) -> Option<TurnEndReason> {
        let (progress_sink, mut progress) = mpsc::channel(NOTICE_QUEUE * ready.len().max(1));
        let mut running: FuturesUnordered<_> = ready
            .iter()
            .enumerate()
            .map(|(index, ready)| self.run_one_call(tools, index, ready, &progress_sink))
            .collect();
        let mut open: Vec<bool> = vec![true; ready.len()];
        let mut awaits_approval = false;
        let over = loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => break Some(TurnEndReason::Cancelled),
                Some((index, notice)) = progress.recv() => self.send_notice(&ready[index].call, notice).await,
                ran = running.next() => match ran {
                    Some(CompletedCall { index, outcome }) => {
                        // Progress is sent before the end.
                        while let Ok((index, notice)) = progress.try_recv() {
                            self.send_notice(&ready[index].call, notice).await;
                        }
                        let ReadyCall { place, call, .. } = &ready[index];
                        open[index] = false;
                        state.loop_guard.record_outcome(&call.name, &outcome);
                        let answer = self.end_call(tools, call, &outcome).await;
                        awaits_approval |= answer.is_none();
                        answers.push(*place, answer);
                    }
                    None => break None,
                },
                () = tokio::time::sleep_until(state.budget.deadline) => break Some(TurnEndReason::Budget(TurnLimitKind::Time)),
            }
        };
        drop(running);
        if let Some(finish) = &over {
            for (ReadyCall { place, call, .. }, _) in ready.iter().zip(open).filter(|(_, open)| *open) {
                answers.push(*place, self.end_call(tools, call, &Err(not_run_error(finish))).await);
            }
        }
        over.or_else(|| awaits_approval.then_some(TurnEndReason::AwaitingApproval))
    }

    async fn run_one_call(
        &self,
        tools: &dyn FrozenTools,
        index: usize,
        ReadyCall { call, tool, .. }: &ReadyCall,
        progress_sink: &mpsc::Sender<(usize, CallNotice)>,
    ) -> CompletedCall {
        let (sink, mut notices) = mpsc::channel(NOTICE_QUEUE);
        // Dropped with this future, which cancels the call.
        let cancel = self.cancel.child_token();
        let _cancel_on_drop = cancel.clone().drop_guard();
        let running = tools.call(tool, call, NoticeSink::new(sink), cancel);
        tokio::pin!(running);
        loop {
            tokio::select! {
                biased;
                Some(notice) = notices.recv() => drop(progress_sink.try_send((index, notice))),
                outcome = &mut running => {
                    while let Ok(notice) = notices.try_recv() {
                        drop(progress_sink.try_send((index, notice)));
                    }
                    return CompletedCall { index, outcome };
                }
            }
        }
    }

    async fn send_notice(&self, call: &ModelToolCall, notice: CallNotice) {
        let id = call.id.clone();
        match notice {
            CallNotice::Progress(progress) => self.send_event(TurnEvent::Progress { id, progress }).await,
            CallNotice::SignIn(sign_in) => self.send_event(TurnEvent::AwaitsSignIn { id, sign_in }).await,
            CallNotice::Log(_) => {}
        }
    }

    /// Sends the end of a call, and returns what the model reads of it. None if the call waits for the user.
    async fn end_call(
        &self,
        tools: &dyn FrozenTools,
        call: &ModelToolCall,
        outcome: &CallOutcome,
    ) -> Option<ToolAnswer> {
        let did_not_run = |text: String| {
            let error = ToolError::new(ErrorCode::Denied, text.clone());
            (CallEnd::Failed(Arc::new(error)), text, true)
        };
        let (end, text, is_error) = match outcome {
            Ok(CallReply::Done(result)) => {
                let most = self.limits.result_chars;
                let text =
                    result_text::truncate_result(call, result_text::to_model_text(result), most, tools);
                (CallEnd::Done(Arc::new(result.clone())), text, result.mcp.is_error())
            }
            Ok(CallReply::AwaitingInput(_)) => {
                did_not_run("This tool asks for input that this chat cannot give.".to_owned())
            }
            Ok(CallReply::AwaitingApproval(awaited)) if self.pauses_for_approval => {
                let (id, approval) = (call.id.clone(), Arc::new(awaited.clone()));
                self.send_event(TurnEvent::AwaitsApproval { id, approval }).await;
                return None;
            }
            Ok(CallReply::AwaitingApproval(awaited)) => did_not_run(awaited.to_model_text()),
            Ok(CallReply::AwaitingSignIn(awaited)) => did_not_run(awaited.to_model_text()),
            Err(error) => (CallEnd::Failed(Arc::new(error.clone())), error.for_model.clone(), true),
        };
        self.send_event(TurnEvent::CallEnds { id: call.id.clone(), end }).await;
        Some(ToolAnswer { id: call.id.clone(), name: call.name.clone(), text, is_error })
    }

    /// Ends calls that were announced and will not be run.
    pub(super) async fn end_unrun(
        &self,
        announced: &[AnnouncedCall],
        begun: &[(String, String)],
        finish: &TurnEndReason,
    ) {
        let whole = announced.iter().filter_map(|announced| match announced {
            AnnouncedCall::Call(call, tool) if !is_client_tool(tool.as_ref()) => Some(&call.id),
            AnnouncedCall::Call(..) | AnnouncedCall::Bad(_) => None,
        });
        for id in whole.chain(begun.iter().map(|(id, _)| id)) {
            let end = CallEnd::Failed(Arc::new(not_run_error(finish)));
            self.send_event(TurnEvent::CallEnds { id: id.clone(), end }).await;
        }
    }
}

/// A bad call as a call and its result, so that the model sees both.
fn bad_call_exchange(bad: BadCall) -> (ModelToolCall, ToolAnswer) {
    let name = bad.name.unwrap_or_else(|| "unknown".to_owned());
    let written: Box<RawValue> = to_raw(&serde_json::json!({ "text": bad.text }));
    let call = ModelToolCall { id: bad.id.clone(), name: name.clone(), arguments: written };
    (call, ToolAnswer { id: bad.id, name, text: bad.problem, is_error: true })
}

/// The error of a call that was not run to its end.
fn not_run_error(finish: &TurnEndReason) -> ToolError {
    let (code, text) = match finish {
        TurnEndReason::Cancelled => (ErrorCode::Cancelled, "The caller cancelled the request."),
        TurnEndReason::Budget(TurnLimitKind::Time) => {
            (ErrorCode::Timeout, "The time limit of this response was reached.")
        }
        TurnEndReason::Budget(_) => {
            (ErrorCode::Denied, "It was not run: this response reached its step limit.")
        }
        TurnEndReason::Length => {
            (ErrorCode::Denied, "It was not run: the model was cut off before it had finished.")
        }
        _ => (ErrorCode::Cancelled, "It was not run: the response ended first."),
    };
    ToolError::new(code, text)
}

fn truncate_name(name: &str) -> String {
    truncate_chars(name, 64).into_owned()
}
