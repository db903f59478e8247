//! Turns with a scripted model and fake tools.

mod bounds;
mod story;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolyard_core::{
    CallReply, ToolError,
    executor::{AwaitedApproval, CallOutcome},
    ports::NoticeSink,
};
use toolyard_protocol::{
    ApprovalId, ErrorCode,
    approval::{ApprovalSummary, RiskLevel},
    call::CallProgress,
    raw::to_raw,
    result::{McpResult, ToolResult},
};

use super::{Turn, TurnOutcome, budget::TurnLimits};
use crate::{
    event::{CallEnd, TurnEvent},
    message::{ModelMessage, ModelToolCall},
    model::{
        CallingMode, Model, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, ModelStopReason,
        ModelStream, ModelUsage, ResponseEnd, ToolSpec,
    },
    tools::{FrozenTools, IndexedTools, ToolDisplay, ToolLocation, ToolProvider, ToolView, TurnTool},
};

/// One response of the model.
type ScriptedAnswer = Result<Vec<Result<ModelEvent, ModelError>>, ModelError>;

#[derive(Debug)]
struct ScriptedTurnModel {
    info: ModelInfo,
    answers: Mutex<VecDeque<ScriptedAnswer>>,
    /// Repeated after the last scripted response.
    for_ever: Option<Vec<ModelEvent>>,
    asked: Mutex<Vec<ModelRequest>>,
    /// Whether the response never ends.
    hangs: bool,
}

#[async_trait]
impl Model for ScriptedTurnModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.asked.lock().unwrap().push(request);
        let next = self.answers.lock().unwrap().pop_front();
        let endless = || Ok(self.for_ever.clone().unwrap_or_default().into_iter().map(Ok).collect());
        let events = next.unwrap_or_else(endless)?;
        let events = stream::iter(events);
        Ok(if self.hangs { events.chain(stream::pending()).boxed() } else { events.boxed() })
    }
}

fn broken(kind: ModelErrorKind) -> ModelError {
    ModelError { kind, text: "no".to_owned(), cause: None, retry_after: None }
}

fn text(words: &str) -> ModelEvent {
    ModelEvent::Text(words.to_owned())
}

fn call(id: &str, name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::Call(ModelToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: to_raw(&arguments),
    })
}

fn end(stop: ModelStopReason) -> ModelEvent {
    ModelEvent::End(ResponseEnd {
        stop,
        usage: Some(ModelUsage { input: 10, output: 5 }),
        vendor_state: None,
    })
}

fn says(words: &str) -> Vec<ModelEvent> {
    vec![text(words), end(ModelStopReason::Done)]
}

fn calls(list: &[(&str, &str)]) -> Vec<ModelEvent> {
    let mut events: Vec<_> = list.iter().map(|(id, name)| call(id, name, json!({ "for": id }))).collect();
    events.push(end(ModelStopReason::Calls));
    events
}

/// Tools by name: `good`, `bad`, `fails`, `slow`, `never`, `long`, `asks`, `client`.
#[derive(Default)]
struct FakeTools {
    ran: Mutex<Vec<String>>,
    cancelled: Mutex<Vec<String>>,
    kept: Mutex<Vec<String>>,
    no_list: bool,
    many: usize,
}

fn offered(name: &str) -> Arc<TurnTool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: "does".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let place = if name == "client" { ToolLocation::Client } else { ToolLocation::Here };
    let about = ToolDisplay { name: format!("com.ex:{name}"), ..ToolDisplay::default() };
    Arc::new(TurnTool { spec: Arc::new(spec), place, about, phrases: Vec::new() })
}

#[async_trait]
impl ToolProvider for FakeTools {
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError> {
        if self.no_list {
            return Err(ToolError::new(ErrorCode::Overloaded, "the store is away"));
        }
        let names = ["good", "bad", "fails", "slow", "never", "long", "asks", "client"].map(str::to_owned);
        let more = (0..self.many).map(|number| format!("more_{number}"));
        let (of_client, own): (Vec<_>, Vec<_>) = names
            .into_iter()
            .chain(more)
            .map(|name| offered(&name))
            .partition(|tool| tool.place == ToolLocation::Client);
        let view = Arc::new(ToolView::with_allowed(Arc::new(IndexedTools::new(own, None)), None, of_client));
        Ok(Box::new(StepTools { tools: self, view }))
    }
}

/// The tools of one step.
struct StepTools<'a> {
    tools: &'a FakeTools,
    view: Arc<ToolView>,
}

#[async_trait]
impl FrozenTools for StepTools<'_> {
    fn view(&self) -> &Arc<ToolView> {
        &self.view
    }

    async fn call(
        &self,
        tool: &TurnTool,
        call: &ModelToolCall,
        news: NoticeSink,
        cancel: CancellationToken,
    ) -> CallOutcome {
        self.tools.ran.lock().unwrap().push(call.id.clone());
        let done = |text: &str| Ok(CallReply::Done(ToolResult::from_mcp(McpResult::from_text(text))));
        match tool.spec.name.as_str() {
            "bad" => Err(ToolError::new(ErrorCode::InvalidArguments, "text: missing")),
            "fails" => Ok(CallReply::Done(ToolResult::from_mcp(McpResult::from_error_text("out of milk")))),
            "slow" => {
                news.send_progress(CallProgress {
                    progress: 0.5,
                    total: None,
                    message: Some("half".to_owned()),
                });
                tokio::task::yield_now().await;
                done("slowly")
            }
            "never" => {
                let _note = DropNote(&self.tools.cancelled, call.id.clone());
                cancel.cancelled().await;
                std::future::pending().await
            }
            // It reports progress right before it ends.
            "more_0" => {
                news.send_progress(CallProgress { progress: 1.0, total: None, message: None });
                done("hastily")
            }
            "asks" => Ok(CallReply::AwaitingApproval(awaited_approval())),
            "long" => done(&"é".repeat(100)),
            _ => done(&format!("{} of {}", tool.spec.name, call.id)),
        }
    }

    async fn check_client_call(&self, _tool: &TurnTool, call: &ModelToolCall) -> Result<(), ToolError> {
        match call.arguments.get().contains("unfit") {
            true => Err(ToolError::new(ErrorCode::InvalidArguments, "unfit")),
            false => Ok(()),
        }
    }

    fn store_full_result(&self, _call: &ModelToolCall, result: &str, read: usize) -> Option<String> {
        self.tools.kept.lock().unwrap().push(result.to_owned());
        Some(format!("read on at {read}"))
    }
}

fn awaited_approval() -> AwaitedApproval {
    let summary = ApprovalSummary {
        title: "Notes: Delete".to_owned(),
        app: "Notes".to_owned(),
        lines: Vec::new(),
        warning: None,
    };
    AwaitedApproval {
        id: ApprovalId::from_bytes([7; 16]),
        tool: "com.ex:asks".parse().unwrap(),
        summary: Arc::new(summary),
        risk: RiskLevel::Medium,
        expires_at: jiff::Timestamp::UNIX_EPOCH,
        url: "https://yard.example/approvals/1".to_owned(),
    }
}

/// Notes that a call was dropped.
struct DropNote<'a>(&'a Mutex<Vec<String>>, String);

impl Drop for DropNote<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1.clone());
    }
}

/// A turn with its surroundings.
struct TurnWorld {
    model: Arc<ScriptedTurnModel>,
    tools: Arc<FakeTools>,
    limits: TurnLimits,
    pauses_for_approval: bool,
    cancel: CancellationToken,
}

impl TurnWorld {
    fn new(answers: Vec<Vec<ModelEvent>>) -> Self {
        Self::of(answers.into_iter().map(|events| Ok(events.into_iter().map(Ok).collect())).collect())
    }

    fn of(answers: Vec<ScriptedAnswer>) -> Self {
        let model = ScriptedTurnModel {
            info: ModelInfo { id: "scripted".to_owned(), calling: CallingMode::Native },
            answers: Mutex::new(answers.into()),
            for_ever: None,
            asked: Mutex::default(),
            hangs: false,
        };
        Self {
            model: Arc::new(model),
            tools: Arc::default(),
            limits: TurnLimits::default(),
            pauses_for_approval: false,
            cancel: CancellationToken::new(),
        }
    }

    fn model(&mut self) -> &mut ScriptedTurnModel {
        Arc::get_mut(&mut self.model).unwrap()
    }

    fn turn(&self) -> (Turn, mpsc::Receiver<TurnEvent>) {
        let (events, received) = mpsc::channel(1_000);
        let turn = Turn {
            model: self.model.clone(),
            tools: self.tools.clone(),
            limits: self.limits.clone(),
            always: vec!["more_99".to_owned()],
            pauses_for_approval: self.pauses_for_approval,
            cancel: self.cancel.clone(),
            events,
        };
        (turn, received)
    }

    /// Runs a turn to its end.
    async fn run(&self) -> (TurnOutcome, Vec<TurnEvent>) {
        let (turn, mut received) = self.turn();
        let ended = turn.run(hello()).await;
        let mut events = Vec::new();
        while let Ok(event) = received.try_recv() {
            events.push(event);
        }
        assert!(matches!(events.last(), Some(TurnEvent::Ends(_))), "{events:?}");
        assert_ended(&events);
        (ended, events)
    }

    fn asked(&self) -> Vec<ModelRequest> {
        self.model.asked.lock().unwrap().clone()
    }
}

fn hello() -> ModelRequest {
    ModelRequest { messages: vec![ModelMessage::from_user_text("hi")], ..ModelRequest::default() }
}

/// Every announced call has exactly one end or waits for the user, except those of the client.
fn assert_ended(events: &[TurnEvent]) {
    let mut open: Vec<&str> = Vec::new();
    for event in events {
        match event {
            TurnEvent::CallBegins { id, .. } => open.push(id),
            TurnEvent::Called { call, tool } => {
                open.retain(|id| *id != call.id);
                if tool.as_ref().is_none_or(|tool| tool.place == ToolLocation::Here) {
                    open.push(&call.id);
                }
            }
            TurnEvent::CallEnds { id, .. } | TurnEvent::AwaitsApproval { id, .. } => {
                let place = open.iter().position(|open| open == id);
                open.remove(place.unwrap_or_else(|| panic!("{id} was not open")));
            }
            _ => {}
        }
    }
    assert_eq!(open, [""; 0], "{events:?}");
}

/// The ends of calls as text.
fn ends(events: &[TurnEvent]) -> Vec<String> {
    let ends = events.iter().filter_map(|event| match event {
        TurnEvent::CallEnds { id, end: CallEnd::Done(result) } => {
            Some(format!("{id}: {}", result.mcp.all_text()))
        }
        TurnEvent::CallEnds { id, end: CallEnd::Failed(error) | CallEnd::Denied(error) } => {
            Some(format!("{id}: {}", error.code))
        }
        _ => None,
    });
    ends.collect()
}

/// The results that the model read in the last request.
fn read(world: &TurnWorld) -> Vec<(String, String, bool)> {
    let asked = world.asked();
    let answers = asked.last().unwrap().messages.iter().filter_map(|message| match message {
        ModelMessage::Tools(answers) => Some(answers.clone()),
        _ => None,
    });
    answers.flatten().map(|answer| (answer.id, answer.text, answer.is_error)).collect()
}
