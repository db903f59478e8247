//! What the tests share: models that speak to a scripted one, and what was heard in a form that can be compared.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde_json::json;
use toolyard_agent::{
    message::{ModelMessage, ModelToolCall},
    model::{
        BadCall, KeyEnvironment, Model, ModelCatalog, ModelEndpoint, ModelError, ModelEvent, ModelRequest,
        ModelSettings, ModelStream, RequestPolicy, ResponseEnd, ToolSpec,
    },
};
use toolyard_core::ports::SystemIds;
use toolyard_protocol::secret::SecretText;
use toolyard_testkit::model::ScriptedModel;

/// A protocol, by the place whose name means it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speak {
    OpenAi,
    Compatible,
    Anthropic,
    Gemini,
}

pub(crate) const ALL: [Speak; 4] = [Speak::OpenAi, Speak::Compatible, Speak::Anthropic, Speak::Gemini];

impl Speak {
    pub(crate) fn place(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Compatible => "local",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn name(self) -> String {
        format!("{}/m-1", self.place())
    }
}

/// Short waits, for tests in which something fails.
pub(crate) fn quick() -> RequestPolicy {
    let none = Duration::ZERO;
    RequestPolicy { backoff: none, retries: 2, ..RequestPolicy::default() }
}

pub(crate) fn models(url: &str, bounds: RequestPolicy) -> ModelCatalog {
    let endpoints = ALL.map(|speak| ModelEndpoint {
        name: speak.place().to_owned(),
        url: url.parse().unwrap(),
        key: Some(SecretText::new("the-key")),
        calling: None,
    });
    let settings = ModelSettings {
        endpoints: endpoints.into(),
        servers: Vec::new(),
        bounds,
        ..ModelSettings::default()
    };
    ModelCatalog::new(settings, KeyEnvironment::empty(), Arc::new(SystemIds)).unwrap()
}

/// The model that speaks so at that URL.
pub(crate) fn at(url: &str, speak: Speak, bounds: RequestPolicy) -> Arc<dyn Model> {
    models(url, bounds).get(&speak.name().parse().unwrap()).unwrap()
}

pub(crate) fn model(scripted: &ScriptedModel, speak: Speak) -> Arc<dyn Model> {
    at(&scripted.url(), speak, quick())
}

pub(crate) fn tool(name: &str) -> Arc<ToolSpec> {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] });
    Arc::new(ToolSpec { name: name.to_owned(), description: format!("Does {name}"), schema })
}

pub(crate) fn hello() -> ModelRequest {
    ModelRequest {
        messages: vec![ModelMessage::from_user_text("hello")],
        tools: vec![tool("add"), tool("now")],
        ..Default::default()
    }
}

/// All that was heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// The pieces of each call that were heard before it was whole, by id.
    pub(crate) begun: Vec<(String, String, String)>,
    pub(crate) calls: Vec<ModelToolCall>,
    pub(crate) bad: Vec<BadCall>,
    pub(crate) end: Option<ResponseEnd>,
    pub(crate) error: Option<ModelError>,
}

impl Heard {
    /// Names and arguments.
    pub(crate) fn called(&self) -> Vec<(&str, &str)> {
        self.calls.iter().map(|call| (call.name.as_str(), call.arguments.get())).collect()
    }

    pub(crate) fn end(&self) -> &ResponseEnd {
        self.end.as_ref().unwrap_or_else(|| panic!("no end: {self:?}"))
    }
}

pub(crate) async fn hear(mut stream: ModelStream) -> Heard {
    let mut heard = Heard::default();
    while let Some(event) = stream.next().await {
        assert!(heard.end.is_none() && heard.error.is_none(), "something came after the end: {event:?}");
        match event {
            Ok(ModelEvent::Text(text)) => heard.text.push_str(&text),
            Ok(ModelEvent::Reasoning(text)) => heard.reasoning.push_str(&text),
            Ok(ModelEvent::CallBegins { id, name }) => heard.begun.push((id, name, String::new())),
            Ok(ModelEvent::CallText { id, text }) => {
                let begun = heard.begun.iter_mut().find(|begun| begun.0 == id);
                begun.expect("text only after its call began").2.push_str(&text);
            }
            Ok(ModelEvent::Call(call)) => heard.calls.push(call),
            Ok(ModelEvent::BadCall(bad)) => heard.bad.push(bad),
            Ok(ModelEvent::End(end)) => heard.end = Some(end),
            Err(error) => heard.error = Some(error),
        }
    }
    heard
}

/// Asks and hears all; an error before the first token is an error like the others.
pub(crate) async fn ask(model: &Arc<dyn Model>, request: ModelRequest) -> Heard {
    match model.ask(request).await {
        Ok(stream) => hear(stream).await,
        Err(error) => Heard { error: Some(error), ..Heard::default() },
    }
}
