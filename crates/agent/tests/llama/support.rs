//! The server, started once for a test binary.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
    time::Duration,
};

use toolyard_agent::{
    model::{CallingMode, KeyEnvironment, Model, ModelCatalog, ModelEndpoint, ModelSettings, RequestPolicy},
    prompted::check::CountingIds,
    small::llama_server::LlamaServer,
};
use url::Url;

/// Longest wait for one response: seconds on an idle machine, much more if other tests run at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the server is. It ends with this process.
pub(crate) fn url() -> Url {
    static URL: OnceLock<Url> = OnceLock::new();
    URL.get_or_init(start).clone()
}

#[expect(clippy::zombie_processes, reason = "it ends with this process, which does not wait for it")]
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
    let bounds = RequestPolicy { first_byte: PATIENCE, ..RequestPolicy::default() };
    Arc::new(LlamaServer::new("demo/smollm2", &url(), None, bounds).unwrap())
}

/// The server as a chat model.
pub(crate) fn chat() -> Arc<dyn Model> {
    let endpoint =
        ModelEndpoint { name: "demo".to_owned(), url: url(), key: None, calling: Some(CallingMode::Native) };
    let bounds =
        RequestPolicy { first_byte: PATIENCE, idle: PATIENCE, retries: 0, ..RequestPolicy::default() };
    let settings =
        ModelSettings { endpoints: vec![endpoint], servers: Vec::new(), bounds, ..ModelSettings::default() };
    let models =
        ModelCatalog::new(settings, KeyEnvironment::empty(), Arc::new(CountingIds::default())).unwrap();
    models.get(&"demo/smollm2".parse().unwrap()).unwrap()
}
