//! Runs the official MCP conformance suite, as `tests/conformance` installs it, and the proxy in front of the server.
//! The suite defines the checks; this only starts it.

use std::{path::PathBuf, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

fn workspace_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the suite.
fn suite_project() -> PathBuf {
    let project = workspace_root().join("tests/conformance");
    let suite = project.join("node_modules/@modelcontextprotocol/conformance/package.json");
    assert!(suite.exists(), "the conformance suite is not installed; run scripts/setup-tests.sh");
    project
}

/// Runs the suite against a server: for all revisions with requirements, or only the given ones. Returns its output,
/// as an error if a required scenario failed that is not an expected failure.
pub async fn run_suite(url: &str, revisions: &[&str]) -> Result<String, String> {
    suite_project();
    let mut command = Command::new(workspace_root().join("scripts/conformance.sh"));
    let output = command.arg(url).args(revisions).kill_on_drop(true).output().await.expect("the script runs");
    let output_text = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8_lossy(&output_text).into_owned();
    if output.status.success() { Ok(output_text) } else { Err(output_text) }
}

/// Runs the client side of the suite, which starts the program once for each scenario of a revision. Returns its
/// output.
pub async fn run_client_suite(program: &std::path::Path, revision: &str) -> Result<String, String> {
    let project = suite_project();
    let results = std::env::temp_dir().join(format!("conformance-client-{revision}-{}", std::process::id()));
    let output = Command::new(node_binary(&project))
        .arg(project.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["client", "--requirements", revision, "--command"])
        .arg(program)
        .arg("-o")
        .arg(&results)
        .kill_on_drop(true)
        .output()
        .await
        .expect("the suite runs");
    let _ = std::fs::remove_dir_all(results);
    let output_text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(output_text) } else { Err(output_text) }
}

/// The suite needs Node 22; the project installs one if npm has it for this machine.
fn node_binary(project: &std::path::Path) -> PathBuf {
    let own = project.join("node_modules/.bin/node");
    if own.exists() { own } else { "node".into() }
}

/// The proxy between suite and gateway: see `tests/conformance/proxy.mjs`. Stops when dropped.
pub struct ConformanceProxy {
    url: String,
    _child: Child,
}

impl ConformanceProxy {
    /// Starts one in front of a server, with the proxy's own options: `--prefix`, `--package`, `--header` and so on.
    pub async fn start(to: &str, options: &[&str]) -> Self {
        let project = suite_project();
        let mut command = Command::new(node_binary(&project));
        command.arg(project.join("proxy.mjs")).args(["--to", to]).args(options);
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("node starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().expect("the proxy says where it listens");
        let url = line.strip_prefix("listening ").expect("the proxy says where it listens").to_owned();
        Self { url, _child: child }
    }

    /// Its URL, with the path of the server behind it.
    pub fn url(&self) -> &str {
        &self.url
    }
}
