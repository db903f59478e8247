//! Turns with a model that says what it was told to say, and tools that do what they were told to do.

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
use toolyard_core::{Reply, ToolError, executor::Outcome, ports::NoticeSink};
use toolyard_protocol::{
    ErrorCode,
    call::Progress,
    raw::to_raw,
    result::{McpResult, ToolResult},
};

use super::{Ended, Turn, budget::TurnLimits};
use crate::{
    event::{CallEnd, TurnEvent},
    message::{Call, Message},
    model::{
        Calling, End, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream, ModelTrouble,
        Stop, ToolSpec, Usage,
    },
    tools::{FrozenTools, Offered, OwnTools, Place, ToolAbout, ToolView, Toolset},
};

/// One answer of the model.
type Script = Result<Vec<Result<ModelEvent, ModelError>>, ModelError>;

#[derive(Debug)]
struct Scripted {
    info: ModelInfo,
    answers: Mutex<VecDeque<Script>>,
    /// After the last one it says this for ever.
    for_ever: Option<Vec<ModelEvent>>,
    asked: Mutex<Vec<ModelRequest>>,
    /// An answer without an end.
    hangs: bool,
}

#[async_trait]
impl Model for Scripted {
    fn about(&self) -> &ModelInfo {
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

fn broken(kind: ModelTrouble) -> ModelError {
    ModelError { kind, text: "no".to_owned(), cause: None, retry_after: None }
}

fn text(words: &str) -> ModelEvent {
    ModelEvent::Text(words.to_owned())
}

fn call(id: &str, name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::Call(Call { id: id.to_owned(), name: name.to_owned(), arguments: to_raw(&arguments) })
}

fn end(stop: Stop) -> ModelEvent {
    ModelEvent::End(End { stop, usage: Some(Usage { input: 10, output: 5 }), kept: None })
}

fn says(words: &str) -> Vec<ModelEvent> {
    vec![text(words), end(Stop::Done)]
}

fn calls(list: &[(&str, &str)]) -> Vec<ModelEvent> {
    let mut events: Vec<_> = list.iter().map(|(id, name)| call(id, name, json!({ "for": id }))).collect();
    events.push(end(Stop::Calls));
    events
}

/// Tools by name: `good`, `bad`, `fails`, `slow`, `never`, `long`, `client`.
#[derive(Default)]
struct Tools {
    ran: Mutex<Vec<String>>,
    cancelled: Mutex<Vec<String>>,
    kept: Mutex<Vec<String>>,
    no_list: bool,
    many: usize,
}

fn offered(name: &str) -> Arc<Offered> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: "does".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let place = if name == "client" { Place::Client } else { Place::Here };
    let about = ToolAbout { name: format!("com.ex:{name}"), ..ToolAbout::default() };
    Arc::new(Offered { spec: Arc::new(spec), place, about, phrases: Vec::new() })
}

#[async_trait]
impl Toolset for Tools {
    async fn freeze(&self) -> Result<Box<dyn FrozenTools + '_>, ToolError> {
        if self.no_list {
            return Err(ToolError::new(ErrorCode::Overloaded, "the store is away"));
        }
        let names = ["good", "bad", "fails", "slow", "never", "long", "client"].map(str::to_owned);
        let more = (0..self.many).map(|number| format!("more_{number}"));
        let (of_client, own): (Vec<_>, Vec<_>) = names
            .into_iter()
            .chain(more)
            .map(|name| offered(&name))
            .partition(|tool| tool.place == Place::Client);
        let view = Arc::new(ToolView::some(Arc::new(OwnTools::new(own, None)), None, of_client));
        Ok(Box::new(StepTools { tools: self, view }))
    }
}

/// The tools of one step.
struct StepTools<'a> {
    tools: &'a Tools,
    view: Arc<ToolView>,
}

#[async_trait]
impl FrozenTools for StepTools<'_> {
    fn view(&self) -> &Arc<ToolView> {
        &self.view
    }

    async fn call(
        &self,
        tool: &Offered,
        call: &Call,
        news: NoticeSink,
        cancel: CancellationToken,
    ) -> Outcome {
        self.tools.ran.lock().unwrap().push(call.id.clone());
        let done = |text: &str| Ok(Reply::Done(ToolResult::plain(McpResult::text(text))));
        match tool.spec.name.as_str() {
            "bad" => Err(ToolError::new(ErrorCode::InvalidArguments, "text: missing")),
            "fails" => Ok(Reply::Done(ToolResult::plain(McpResult::error("out of milk")))),
            "slow" => {
                news.progress(Progress { progress: 0.5, total: None, message: Some("half".to_owned()) });
                tokio::task::yield_now().await;
                done("slowly")
            }
            "never" => {
                let _told = Told(&self.tools.cancelled, call.id.clone());
                cancel.cancelled().await;
                std::future::pending().await
            }
            // It says how far it is with its last breath.
            "more_0" => {
                news.progress(Progress { progress: 1.0, total: None, message: None });
                done("hastily")
            }
            "long" => done(&"é".repeat(100)),
            _ => done(&format!("{} of {}", tool.spec.name, call.id)),
        }
    }

    async fn check(&self, _tool: &Offered, call: &Call) -> Result<(), ToolError> {
        match call.arguments.get().contains("unfit") {
            true => Err(ToolError::new(ErrorCode::InvalidArguments, "unfit")),
            false => Ok(()),
        }
    }

    fn keep(&self, _call: &Call, result: &str, read: usize) -> Option<String> {
        self.tools.kept.lock().unwrap().push(result.to_owned());
        Some(format!("read on at {read}"))
    }
}

/// Notes that a call was dropped.
struct Told<'a>(&'a Mutex<Vec<String>>, String);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1.clone());
    }
}

/// A turn, with everything around it.
struct World {
    model: Arc<Scripted>,
    tools: Arc<Tools>,
    limits: TurnLimits,
    cancel: CancellationToken,
}

impl World {
    fn new(answers: Vec<Vec<ModelEvent>>) -> Self {
        Self::of(answers.into_iter().map(|events| Ok(events.into_iter().map(Ok).collect())).collect())
    }

    fn of(answers: Vec<Script>) -> Self {
        let model = Scripted {
            info: ModelInfo { id: "scripted".to_owned(), calling: Calling::Native },
            answers: Mutex::new(answers.into()),
            for_ever: None,
            asked: Mutex::default(),
            hangs: false,
        };
        Self {
            model: Arc::new(model),
            tools: Arc::default(),
            limits: TurnLimits::default(),
            cancel: CancellationToken::new(),
        }
    }

    fn model(&mut self) -> &mut Scripted {
        Arc::get_mut(&mut self.model).unwrap()
    }

    fn turn(&self) -> (Turn, mpsc::Receiver<TurnEvent>) {
        let (events, told) = mpsc::channel(1_000);
        let turn = Turn {
            model: self.model.clone(),
            tools: self.tools.clone(),
            limits: self.limits.clone(),
            always: vec!["more_99".to_owned()],
            cancel: self.cancel.clone(),
            events,
        };
        (turn, told)
    }

    /// Runs a turn to its end.
    async fn run(&self) -> (Ended, Vec<TurnEvent>) {
        let (turn, mut told) = self.turn();
        let ended = turn.run(hello()).await;
        let mut events = Vec::new();
        while let Ok(event) = told.try_recv() {
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
    ModelRequest { messages: vec![Message::user("hi")], ..ModelRequest::default() }
}

/// Every call that was announced has exactly one end, but for those of the client.
fn assert_ended(events: &[TurnEvent]) {
    let mut open: Vec<&str> = Vec::new();
    for event in events {
        match event {
            TurnEvent::CallBegins { id, .. } => open.push(id),
            TurnEvent::Called { call, tool } => {
                open.retain(|id| *id != call.id);
                if tool.as_ref().is_none_or(|tool| tool.place == Place::Here) {
                    open.push(&call.id);
                }
            }
            TurnEvent::CallEnds { id, .. } => {
                let place = open.iter().position(|open| open == id);
                open.remove(place.unwrap_or_else(|| panic!("{id} was not open")));
            }
            _ => {}
        }
    }
    assert_eq!(open, [""; 0], "{events:?}");
}

/// The ends of calls, in words.
fn ends(events: &[TurnEvent]) -> Vec<String> {
    let ends = events.iter().filter_map(|event| match event {
        TurnEvent::CallEnds { id, end: CallEnd::Done(result) } => {
            Some(format!("{id}: {}", result.mcp.all_text()))
        }
        TurnEvent::CallEnds { id, end: CallEnd::Failed(error) } => Some(format!("{id}: {}", error.code)),
        _ => None,
    });
    ends.collect()
}

/// What the model read of its calls in the last question.
fn read(world: &World) -> Vec<(String, String, bool)> {
    let asked = world.asked();
    let answers = asked.last().unwrap().messages.iter().filter_map(|message| match message {
        Message::Tools(answers) => Some(answers.clone()),
        _ => None,
    });
    answers.flatten().map(|answer| (answer.id, answer.text, answer.is_error)).collect()
}
