//! A server, its model, and tools to call.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use toolyard_client_sdk::{
    ChatEvent, ChatStream, Client, ClientBuilder, Tool, ToolContext, create_dynamic_tool,
};
use toolyard_server::{
    Server, ServerDependencies,
    config::{CallingMode, Config, ModelConfig},
};
use toolyard_testkit::model::{RecordedModelRequest, ScriptedModel, ScriptedReply};

/// How long a test waits for something before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The calculator, as models see it.
pub(crate) const CALCULATE: &str = "toolyard__calculate";

pub(crate) struct Stage {
    pub(crate) url: String,
    pub(crate) model: ScriptedModel,
    stop: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// A server in dev mode with its built-in tools.
    pub(crate) async fn start() -> Self {
        let (model, folder) = (ScriptedModel::start().await, tempfile::tempdir().unwrap());
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("toolyard.db");
        config.model_search.local_servers = false;
        let url = format!("{}/v1", model.url());
        let place =
            ModelConfig { url: Some(url), calling: Some(CallingMode::Native), ..ModelConfig::default() };
        config.models.insert("local".to_owned(), place);
        config.chat.model = Some("local/scripted".to_owned());
        let server = Server::start(config, ServerDependencies::default()).await.unwrap();
        let (url, stop) = (format!("http://{}", server.address), CancellationToken::new());
        #[expect(clippy::disallowed_methods, reason = "it ends with the runtime of the test")]
        tokio::spawn(server.run(stop.clone()));
        Self { url, model, stop, _folder: folder }
    }

    /// Scripts the next replies of the model.
    pub(crate) fn script(&self, answers: impl IntoIterator<Item = ScriptedReply>) {
        self.model.queue_replies(answers);
    }

    /// A client of Ada's that is being made.
    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder(&self.url).user("ada")
    }

    /// A client of Ada's.
    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    /// How often the model was called.
    pub(crate) fn asked(&self) -> usize {
        self.model.requests().len()
    }

    /// The tool results in the nth request to the model.
    pub(crate) fn results(&self, nth: usize) -> Vec<String> {
        results(&self.model.requests()[nth])
    }

    /// The tools that it was offered, the nth time, without those of the server.
    pub(crate) fn offered(&self, nth: usize) -> Vec<String> {
        let seen = self.model.requests();
        let tools = seen[nth].body["tools"].as_array().cloned().unwrap_or_default();
        let names = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| !name.starts_with("toolyard__")).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn results(seen: &RecordedModelRequest) -> Vec<String> {
    let messages = seen.body["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// What comes within reason.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("waited in vain")
}

/// All events, from the first to the last.
pub(crate) async fn events(stream: ChatStream) -> Vec<ChatEvent> {
    soon(stream.collect_all()).await
}

trait CollectAll {
    async fn collect_all(self) -> Vec<ChatEvent>;
}

impl CollectAll for ChatStream {
    async fn collect_all(self) -> Vec<ChatEvent> {
        futures_util::StreamExt::collect(self).await
    }
}

/// Reads until an event that fits.
pub(crate) async fn until(stream: &mut ChatStream, fits: impl Fn(&ChatEvent) -> bool) -> ChatEvent {
    soon(async {
        while let Some(event) = stream.next().await {
            if fits(&event) {
                return event;
            }
            assert!(!matches!(event, ChatEvent::Finish(_) | ChatEvent::Error(_)), "it is over: {event:?}");
        }
        panic!("it is over")
    })
    .await
}

/// Events in a word each.
pub(crate) fn kinds(events: &[ChatEvent]) -> Vec<&'static str> {
    events.iter().map(kind).collect()
}

pub(crate) fn kind(event: &ChatEvent) -> &'static str {
    match event {
        ChatEvent::RoundStart { .. } => "round",
        ChatEvent::Step => "step",
        ChatEvent::Text { .. } => "text",
        ChatEvent::TextEnd => "text-end",
        ChatEvent::Reasoning { .. } => "reasoning",
        ChatEvent::ToolCall(_) => "call",
        ChatEvent::ToolAbout(_) => "about",
        ChatEvent::ApprovalRequested { .. } => "approval",
        ChatEvent::Progress { .. } => "progress",
        ChatEvent::ToolResult(_) => "result",
        ChatEvent::ToolEnd { .. } => "end",
        ChatEvent::Notice(_) => "notice",
        ChatEvent::RoundFinish { .. } => "round-finish",
        ChatEvent::Chunk { .. } => "chunk",
        ChatEvent::Finish(_) => "finish",
        ChatEvent::Error(_) => "error",
        _ => "other",
    }
}

/// A tool that takes anything and does this.
pub(crate) fn tool<F, Fut>(name: &str, function: F) -> Tool
where
    F: Fn(Map<String, Value>, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, String>> + Send + 'static,
{
    create_dynamic_tool(name, "A tool for a test", json!({ "type": "object" }), function)
}

/// The time, as the guide has it.
pub(crate) fn time() -> Tool {
    let schema = json!({ "type": "object", "properties": { "timezone": { "type": "string" } } });
    create_dynamic_tool(
        "get_current_time",
        "The time",
        schema,
        |args: Map<String, Value>, _: ToolContext| async move {
            let zone = args.get("timezone").and_then(Value::as_str).unwrap_or("UTC").to_owned();
            Ok::<_, String>(json!({ "time": "2026-01-02T03:04:05Z", "timezone": zone }))
        },
    )
}

/// A tool that counts how often it ran.
pub(crate) fn counted(name: &str) -> (Tool, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let tool = tool(name, move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!("ran")) }
    });
    (tool, count)
}

/// A tool that never ends.
pub(crate) fn endless(name: &str) -> Tool {
    tool(name, |_, _| std::future::pending())
}
