//! Shared by the tests: models that talk to a scripted server, and received events in a comparable form.

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

/// A protocol, and the provider name that selects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestProtocol {
    OpenAi,
    Compatible,
    Anthropic,
    Gemini,
}

pub(crate) const ALL: [TestProtocol; 4] =
    [TestProtocol::OpenAi, TestProtocol::Compatible, TestProtocol::Anthropic, TestProtocol::Gemini];

impl TestProtocol {
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

/// Short timeouts, for tests in which something fails.
pub(crate) fn quick() -> RequestPolicy {
    let none = Duration::ZERO;
    RequestPolicy { backoff: none, retries: 2, ..RequestPolicy::default() }
}

pub(crate) fn models(url: &str, bounds: RequestPolicy) -> ModelCatalog {
    let endpoints = ALL.map(|protocol| ModelEndpoint {
        name: protocol.place().to_owned(),
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

/// The model with this protocol at that URL.
pub(crate) fn at(url: &str, protocol: TestProtocol, bounds: RequestPolicy) -> Arc<dyn Model> {
    models(url, bounds).get(&protocol.name().parse().unwrap()).unwrap()
}

pub(crate) fn model(scripted: &ScriptedModel, protocol: TestProtocol) -> Arc<dyn Model> {
    at(&scripted.url(), protocol, quick())
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

/// Everything that was received.
#[derive(Debug, Default)]
pub(crate) struct ReceivedResponse {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// The parts of each call that were received before it was complete, by id.
    pub(crate) begun: Vec<(String, String, String)>,
    pub(crate) calls: Vec<ModelToolCall>,
    pub(crate) bad: Vec<BadCall>,
    pub(crate) end: Option<ResponseEnd>,
    pub(crate) error: Option<ModelError>,
}

impl ReceivedResponse {
    /// Names and arguments.
    pub(crate) fn called(&self) -> Vec<(&str, &str)> {
        self.calls.iter().map(|call| (call.name.as_str(), call.arguments.get())).collect()
    }

    pub(crate) fn end(&self) -> &ResponseEnd {
        self.end.as_ref().unwrap_or_else(|| panic!("no end: {self:?}"))
    }
}

pub(crate) async fn receive(mut stream: ModelStream) -> ReceivedResponse {
    let mut response = ReceivedResponse::default();
    while let Some(event) = stream.next().await {
        assert!(
            response.end.is_none() && response.error.is_none(),
            "something came after the end: {event:?}"
        );
        match event {
            Ok(ModelEvent::Text(text)) => response.text.push_str(&text),
            Ok(ModelEvent::Reasoning(text)) => response.reasoning.push_str(&text),
            Ok(ModelEvent::CallBegins { id, name }) => response.begun.push((id, name, String::new())),
            Ok(ModelEvent::CallText { id, text }) => {
                let begun = response.begun.iter_mut().find(|begun| begun.0 == id);
                begun.expect("text only after its call began").2.push_str(&text);
            }
            Ok(ModelEvent::Call(call)) => response.calls.push(call),
            Ok(ModelEvent::BadCall(bad)) => response.bad.push(bad),
            Ok(ModelEvent::End(end)) => response.end = Some(end),
            Err(error) => response.error = Some(error),
        }
    }
    response
}

/// Asks and receives everything. An error before the first token counts like later ones.
pub(crate) async fn ask(model: &Arc<dyn Model>, request: ModelRequest) -> ReceivedResponse {
    match model.ask(request).await {
        Ok(stream) => receive(stream).await,
        Err(error) => ReceivedResponse { error: Some(error), ..ReceivedResponse::default() },
    }
}
