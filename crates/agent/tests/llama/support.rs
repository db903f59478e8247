//! The server, started once for a test binary, and what the tests ask it.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::StreamExt as _;
use serde_json::json;
use toolyard_agent::{
    message::{Assistant, Call, Message, ToolAnswer},
    model::{
        Bounds, Calling, End, Endpoint, Environment, Model, ModelEvent, ModelRequest, ModelSettings, Models,
        ToolSpec,
    },
    prompted::check::CountingIds,
    small::llama_server::LlamaServer,
};
use url::Url;

/// Longest wait for one answer: seconds on a free machine, much more where everything else is tested at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the server is. It ends with this process.
pub(crate) fn url() -> Url {
    static URL: OnceLock<Url> = OnceLock::new();
    URL.get_or_init(start).clone()
}

#[expect(
    clippy::zombie_processes,
    reason = "it ends when this process does, and whoever comes after that waits for it"
)]
fn start() -> Url {
    let folder = folder();
    let model = folder.join("target/demo-model/SmolLM2-135M-Instruct.Q4_1.gguf");
    let python = folder.join("target/demo-model/venv/bin/python");
    for needed in [&model, &python] {
        assert!(needed.exists(), "{} is missing; run scripts/demo-model.sh fetch", needed.display());
    }
    let mut server = Command::new(python)
        .arg(folder.join("scripts/llama-server.py"))
        .arg(model)
        .arg("--template")
        .arg(folder.join("crates/agent/tests/llama/tools.jinja"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let listening = lines.find_map(|line| Some(line.ok()?.strip_prefix("listening ")?.to_owned()));
    listening.expect("the server says where it listens").parse().unwrap()
}

/// The server as a scorer.
pub(crate) fn scorer() -> Arc<LlamaServer> {
    let bounds = Bounds { first_byte: PATIENCE, ..Bounds::default() };
    Arc::new(LlamaServer::new("demo/smollm2", &url(), None, bounds).unwrap())
}

/// The server as a chat model.
pub(crate) fn chat() -> Arc<dyn Model> {
    let endpoint =
        Endpoint { name: "demo".to_owned(), url: url(), key: None, calling: Some(Calling::Native) };
    let bounds = Bounds { first_byte: PATIENCE, idle: PATIENCE, retries: 0, ..Bounds::default() };
    let settings =
        ModelSettings { endpoints: vec![endpoint], servers: Vec::new(), bounds, ..ModelSettings::default() };
    let models = Models::new(settings, Environment::empty(), Arc::new(CountingIds::default())).unwrap();
    models.get(&"demo/smollm2".parse().unwrap()).unwrap()
}

pub(crate) fn tools() -> Vec<Arc<ToolSpec>> {
    let tool = |name: &str, description: &str, argument: &str| {
        let schema = json!({ "type": "object", "properties": { argument: { "type": "string" } }, "required": [argument] });
        Arc::new(ToolSpec { name: name.to_owned(), description: description.to_owned(), schema })
    };
    vec![
        tool("calculator", "Works out a calculation.", "expression"),
        tool("current_time", "Tells the date and the time in a city.", "city"),
    ]
}

/// A conversation in which the tool was called before: a model this small needs to see it.
pub(crate) fn history() -> Vec<Message> {
    let mut messages = Vec::new();
    for (at, (question, expression, answer)) in [
        ("What is 3 + 4?", "3 + 4", "7"),
        ("What is 20 - 5?", "20 - 5", "15"),
        ("What is 6 * 6?", "6 * 6", "36"),
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = serde_json::value::to_raw_value(&json!({ "expression": expression })).unwrap();
        let (id, name) = (format!("call_{at}"), "calculator".to_owned());
        let call = Call { id: id.clone(), name: name.clone(), arguments };
        messages.extend([
            Message::user(question),
            Message::Assistant(Assistant { calls: vec![call], ..Assistant::default() }),
            Message::Tools(vec![ToolAnswer { id, name, text: answer.to_owned(), is_error: false }]),
            Message::Assistant(Assistant { text: format!("It is {answer}."), ..Assistant::default() }),
        ]);
    }
    messages
}

/// What a model answered.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) end: Option<End>,
}

pub(crate) async fn ask(model: &dyn Model, request: ModelRequest) -> Answer {
    let mut stream = model.ask(request).await.unwrap();
    let mut answer = Answer::default();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ModelEvent::Text(text) => answer.text.push_str(&text),
            ModelEvent::Call(call) => answer.calls.push(call),
            ModelEvent::End(end) => answer.end = Some(end),
            event => assert!(
                matches!(event, ModelEvent::CallBegins { .. } | ModelEvent::CallText { .. }),
                "{event:?}"
            ),
        }
    }
    answer
}
