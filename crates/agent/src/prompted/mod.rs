//! Calling tools by text, for models that know no tools.
//!
//! [`PromptedModel`] puts the tools into the system prompt, shows earlier calls and their results as text, asks a model
//! without tools, and finds the calls in what it writes. It does not check arguments: the turn does.
//!
//! | look for | in |
//! | --- | --- |
//! | what the model is told | `prompt` |
//! | how earlier calls and results are shown to it | `history` |
//! | how its calls are found | [`parse`] |

#[doc(hidden)]
pub mod check;
mod history;
pub mod parse;
mod prompt;

use std::{collections::VecDeque, fmt, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use toolyard_core::ports::Ids;
use toolyard_protocol::chat::sampling::SamplingOption;

use self::parse::{Event, Parser, Tools};
use crate::model::{
    ByText, Calling, End, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream, Stop,
    ToolChoice,
};

/// A model that knows no tools, made to call them by text.
#[derive(Clone)]
pub struct PromptedModel {
    inner: Arc<dyn Model>,
    ids: Arc<dyn Ids>,
    about: ModelInfo,
}

impl fmt::Debug for PromptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptedModel").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl PromptedModel {
    /// Around a model. Ids of calls are made with `ids`.
    pub fn new(inner: Arc<dyn Model>, ids: Arc<dyn Ids>) -> Self {
        let about = ModelInfo { calling: Calling::Prompted, ..inner.about().clone() };
        Self { inner, ids, about }
    }
}

#[async_trait]
impl Model for PromptedModel {
    fn about(&self) -> &ModelInfo {
        &self.about
    }

    /// A model that is held to JSON cannot write the text that calls a tool.
    fn supports(&self, option: SamplingOption) -> bool {
        !matches!(option, SamplingOption::JsonObject | SamplingOption::JsonSchema)
            && self.inner.supports(option)
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        // Without the tools, a call that comes nevertheless is a bad one that says so.
        let tools = match request.choice {
            ToolChoice::Auto | ToolChoice::Required => Tools::new(&request.tools),
            ToolChoice::None => Tools::default(),
        };
        let parser = Parser::new(Arc::new(tools), Arc::clone(&self.ids));
        let answer = self.inner.ask(plain(request)).await?;
        Ok(called(answer, parser))
    }
}

/// The same request for a model without tools.
fn plain(request: ModelRequest) -> ModelRequest {
    let by_text = match request.choice {
        ToolChoice::None => ByText::default(),
        choice => ByText { tools: request.tools.clone(), required: choice == ToolChoice::Required },
    };
    ModelRequest {
        system: prompt::system(request.system, &request.tools, request.choice),
        messages: history::plain(request.messages),
        tools: Vec::new(),
        choice: ToolChoice::Auto,
        by_text,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        sampling: request.sampling,
    }
}

/// An answer on its way through the parser.
struct Answer {
    inner: ModelStream,
    parser: Parser,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    called: bool,
    over: bool,
}

fn called(inner: ModelStream, parser: Parser) -> ModelStream {
    let answer = Answer { inner, parser, ready: VecDeque::new(), called: false, over: false };
    let next = |mut answer: Answer| async move {
        loop {
            if let Some(item) = answer.ready.pop_front() {
                return Some((item, answer));
            }
            if answer.over {
                return None;
            }
            let item = answer.inner.next().await;
            answer.take(item);
        }
    };
    stream::unfold(answer, next).boxed()
}

impl Answer {
    fn take(&mut self, item: Option<Result<ModelEvent, ModelError>>) {
        match item {
            Some(Ok(ModelEvent::Text(text))) => {
                let events = self.parser.push(&text);
                self.give(events);
            }
            Some(Ok(ModelEvent::End(end))) => self.end(end),
            Some(Ok(event)) => {
                self.called |= matches!(event, ModelEvent::Call(_) | ModelEvent::BadCall(_));
                self.ready.push_back(Ok(event));
            }
            Some(Err(error)) => {
                self.break_off();
                self.ready.push_back(Err(error));
            }
            None => self.break_off(),
        }
    }

    fn end(&mut self, end: End) {
        let events = self.parser.finish(end.stop);
        self.give(events);
        let stop = match end.stop {
            Stop::Done | Stop::Other if self.called => Stop::Calls,
            stop => stop,
        };
        self.ready.push_back(Ok(ModelEvent::End(End { stop, ..end })));
        self.over = true;
    }

    /// The model broke off: what it said is shown, what it was about to call is not even a bad call.
    fn break_off(&mut self) {
        let events = self.parser.finish(Stop::Length);
        let words = |event: &Event| matches!(event, Event::Text(_) | Event::Reasoning(_));
        self.give(events.into_iter().filter(words).collect());
        self.over = true;
    }

    fn give(&mut self, events: Vec<Event>) {
        self.called |= events.iter().any(|event| matches!(event, Event::Call(_) | Event::BadCall(_)));
        self.ready.extend(events.into_iter().map(|event| Ok(event.into())));
    }
}

impl From<Event> for ModelEvent {
    fn from(event: Event) -> Self {
        match event {
            Event::Text(text) => Self::Text(text),
            Event::Reasoning(text) => Self::Reasoning(text),
            Event::Call(call) => Self::Call(call),
            Event::BadCall(bad) => Self::BadCall(bad),
        }
    }
}
