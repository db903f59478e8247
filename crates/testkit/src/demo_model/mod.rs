//! The demonstration model that `scripts/demo-model.sh` downloads: its file, and llama.cpp's server with it.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use url::Url;

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The file of the model.
pub fn demo_model_file() -> PathBuf {
    let file = workspace().join("target/demo-model/SmolLM2-135M-Instruct.Q4_1.gguf");
    assert!(file.exists(), "{} is missing; run scripts/demo-model.sh fetch", file.display());
    file
}

/// The URL of llama.cpp's server with the model. It starts once in a process, and ends with it.
pub fn demo_server_url() -> Url {
    static URL: OnceLock<Url> = OnceLock::new();
    URL.get_or_init(start_demo_server).clone()
}

#[expect(clippy::zombie_processes, reason = "it ends with this process, which does not wait for it")]
fn start_demo_server() -> Url {
    let mut server = Command::new(workspace().join("target/demo-model/venv/bin/python"))
        .arg(workspace().join("scripts/llama-server.py"))
        .arg(demo_model_file())
        .arg("--template")
        .arg(workspace().join("crates/testkit/src/demo_model/tools.jinja"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts; run scripts/demo-model.sh fetch");
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let listening = lines.find_map(|line| Some(line.ok()?.strip_prefix("listening ")?.to_owned()));
    listening.expect("the server says where it listens").parse().unwrap()
}
