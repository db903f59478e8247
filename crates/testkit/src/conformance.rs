//! The official MCP conformance suite, as `tests/conformance` installs it, and the proxy that speaks for it.
//! What the suite asks is its own affair; this only starts it.

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

/// Runs the suite against a server: all revisions that it has requirements for, or those that are named. What it said
/// comes back either way, as an error where a required scenario failed that is not among the expected failures.
pub async fn run_suite(url: &str, revisions: &[&str]) -> Result<String, String> {
    suite_project();
    let mut command = Command::new(workspace_root().join("scripts/conformance.sh"));
    let output = command.arg(url).args(revisions).kill_on_drop(true).output().await.expect("the script runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

/// Runs the client side of the suite: it starts the program once for each scenario that a revision requires. What it said
/// comes back either way.
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
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

/// The suite needs Node 22; the project brings one where npm has it for this machine.
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
    /// Starts one before a server, with the proxy's own options: `--prefix`, `--package`, `--header` and so on.
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

    /// Where it listens, on the path of the server behind it.
    pub fn url(&self) -> &str {
        &self.url
    }
}
