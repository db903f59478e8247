//! The official MCP conformance suite, as `tests/conformance` installs it, and the proxy that speaks for it.
//! What the suite asks is its own affair; this only starts it.

use std::{path::PathBuf, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the suite.
fn project() -> PathBuf {
    let project = root().join("tests/conformance");
    let suite = project.join("node_modules/@modelcontextprotocol/conformance/package.json");
    assert!(suite.exists(), "the conformance suite is not installed; run scripts/setup-tests.sh");
    project
}

/// Runs the suite against a server: all revisions that it has requirements for, or those that are named. What it said
/// comes back either way, as an error where a required scenario failed that is not among the expected failures.
pub async fn run_suite(url: &str, revisions: &[&str]) -> Result<String, String> {
    project();
    let mut command = Command::new(root().join("scripts/conformance.sh"));
    let output = command.arg(url).args(revisions).kill_on_drop(true).output().await.expect("the script runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if output.status.success() { Ok(said) } else { Err(said) }
}

/// The proxy between suite and gateway: see `tests/conformance/proxy.mjs`. Stops when dropped.
pub struct Proxy {
    url: String,
    _child: Child,
}

impl Proxy {
    /// Starts one before a server, with the proxy's own options: `--prefix`, `--package`, `--header` and so on.
    pub async fn start(to: &str, options: &[&str]) -> Self {
        let project = project();
        let own = project.join("node_modules/.bin/node");
        let mut command = Command::new(if own.exists() { own } else { "node".into() });
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
