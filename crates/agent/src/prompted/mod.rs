//! Calling tools by text, for models without tool support.
//!
//! [`PromptedModel`] puts the tools into the system prompt, shows earlier calls and their results as text, asks a model
//! without tools, and parses the calls from its reply. It does not check arguments, the turn does.
//!
//! | look for | in |
//! | --- | --- |
//! | the system prompt | `prompt` |
//! | earlier calls and results as text | `history` |
//! | parsing calls | [`parse`] |

#[doc(hidden)]
pub mod check;
mod history;
pub mod parse;
mod prompt;

use std::{collections::VecDeque, fmt, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::chat::sampling::SamplingOption;

use self::parse::{CallableTools, ParseEvent, ReplyParser};
use crate::model::{
    CallingMode, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStopReason, ModelStream,
    ResponseEnd, TextCalls, ToolChoice,
};

/// Makes a model without tool support call tools by text.
#[derive(Clone)]
pub struct PromptedModel {
    inner: Arc<dyn Model>,
    ids: Arc<dyn IdGenerator>,
    info: ModelInfo,
}

impl fmt::Debug for PromptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptedModel").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl PromptedModel {
    /// Wraps a model. Call ids are made with `ids`.
    pub fn new(inner: Arc<dyn Model>, ids: Arc<dyn IdGenerator>) -> Self {
        let info = ModelInfo { calling: CallingMode::Prompted, ..inner.info().clone() };
        Self { inner, ids, info }
    }
}

#[async_trait]
impl Model for PromptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// A model that must write JSON cannot write the text that calls a tool.
    fn supports(&self, option: SamplingOption) -> bool {
        !matches!(option, SamplingOption::JsonObject | SamplingOption::JsonSchema)
            && self.inner.supports(option)
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        // Without tools every call becomes a bad call that says so.
        let tools = match request.choice {
            ToolChoice::Auto | ToolChoice::Required => CallableTools::new(&request.tools),
            ToolChoice::None => CallableTools::default(),
        };
        let parser = ReplyParser::new(Arc::new(tools), Arc::clone(&self.ids));
        let answer = self.inner.ask(without_native_tools(request)).await?;
        Ok(parse_stream(answer, parser))
    }
}

/// The same request for a model without tools.
fn without_native_tools(request: ModelRequest) -> ModelRequest {
    let by_text = match request.choice {
        ToolChoice::None => TextCalls::default(),
        choice => TextCalls { tools: request.tools.clone(), required: choice == ToolChoice::Required },
    };
    ModelRequest {
        system: prompt::system_prompt(request.system, &request.tools, request.choice),
        messages: history::flatten_history(request.messages),
        tools: Vec::new(),
        choice: ToolChoice::Auto,
        by_text,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        sampling: request.sampling,
    }
}

/// A response on its way through the parser.
struct PromptedResponse {
    inner: ModelStream,
    parser: ReplyParser,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    called: bool,
    over: bool,
}

fn parse_stream(inner: ModelStream, parser: ReplyParser) -> ModelStream {
    let answer = PromptedResponse { inner, parser, ready: VecDeque::new(), called: false, over: false };
    let next = |mut answer: PromptedResponse| async move {
        loop {
            if let Some(item) = answer.ready.pop_front() {
                return Some((item, answer));
            }
            if answer.over {
                return None;
            }
            let item = answer.inner.next().await;
            answer.take_item(item);
        }
    };
    stream::unfold(answer, next).boxed()
}

impl PromptedResponse {
    fn take_item(&mut self, item: Option<Result<ModelEvent, ModelError>>) {
        match item {
            Some(Ok(ModelEvent::Text(text))) => {
                let events = self.parser.push(&text);
                self.push_events(events);
            }
            Some(Ok(ModelEvent::End(end))) => self.finish(end),
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

    fn finish(&mut self, end: ResponseEnd) {
        let events = self.parser.finish(end.stop);
        self.push_events(events);
        let stop = match end.stop {
            ModelStopReason::Done | ModelStopReason::Other if self.called => ModelStopReason::Calls,
            stop => stop,
        };
        self.ready.push_back(Ok(ModelEvent::End(ResponseEnd { stop, ..end })));
        self.over = true;
    }

    /// The response broke off: its text is shown, and an unfinished call is dropped.
    fn break_off(&mut self) {
        let events = self.parser.finish(ModelStopReason::Length);
        let words = |event: &ParseEvent| matches!(event, ParseEvent::Text(_) | ParseEvent::Reasoning(_));
        self.push_events(events.into_iter().filter(words).collect());
        self.over = true;
    }

    fn push_events(&mut self, events: Vec<ParseEvent>) {
        self.called |=
            events.iter().any(|event| matches!(event, ParseEvent::Call(_) | ParseEvent::BadCall(_)));
        self.ready.extend(events.into_iter().map(|event| Ok(event.into())));
    }
}

impl From<ParseEvent> for ModelEvent {
    fn from(event: ParseEvent) -> Self {
        match event {
            ParseEvent::Text(text) => Self::Text(text),
            ParseEvent::Reasoning(text) => Self::Reasoning(text),
            ParseEvent::Call(call) => Self::Call(call),
            ParseEvent::BadCall(bad) => Self::BadCall(bad),
        }
    }
}
