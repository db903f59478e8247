//! A client as a process: a program of `tests/mcp-clients` that says one line of JSON for each thing it did.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::stage::PATIENCE;

fn tests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// The folder of the clients.
pub(crate) fn folder() -> PathBuf {
    let folder = tests().join("mcp-clients");
    for installed in ["node_modules/.package-lock.json", ".venv/installed"] {
        assert!(folder.join(installed).exists(), "the clients are not installed; run scripts/setup-tests.sh");
    }
    folder
}

/// Some clients need Node 22, which comes with the conformance suite where npm has it for this machine.
pub(crate) fn node() -> PathBuf {
    let own = tests().join("conformance/node_modules/.bin/node");
    if own.exists() { own } else { "node".into() }
}

fn python() -> PathBuf {
    folder().join(".venv/bin/python")
}

/// A command with a home of its own, and no way out of this machine.
pub(crate) fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder()).env("HOME", home).kill_on_drop(true);
    command.env("HTTPS_PROXY", "http://127.0.0.1:1").env("NO_PROXY", "127.0.0.1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A program that runs.
pub(crate) struct Program {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    home: tempfile::TempDir,
}

impl Program {
    /// Starts a file of the folder with its plan.
    pub(crate) fn start(file: &str, plan: &Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let interpreter = if file.ends_with(".py") { python() } else { node() };
        let mut command = command(&interpreter, home.path());
        command.arg(file).arg(plan.to_string());
        command.stderr(File::create(home.path().join("stderr")).unwrap());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", interpreter.display()));
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, lines: BufReader::new(output).lines(), home }
    }

    /// The next line, which must be about this step.
    pub(crate) async fn says(&mut self, step: &str) -> Value {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("the client did not say `{step}` within {PATIENCE:?}"));
        let line = line.unwrap().unwrap_or_else(|| panic!("the client ended before it said `{step}`"));
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_eq!(said["step"], step, "{line}");
        said
    }

    /// Lets it go on where it waits to be told.
    pub(crate) async fn go_on(&mut self) {
        self.input.write_all(b"\n").await.unwrap();
    }

    /// Waits for its end, which must be a good one, with nothing more to say.
    pub(crate) async fn ends(mut self) {
        let rest = timeout(PATIENCE, self.lines.next_line()).await.expect("the client ends").unwrap();
        assert_eq!(rest, None, "the client said more than expected");
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the client ends").unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let said = std::fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default();
            eprintln!("--- what the client said on stderr ---\n{said}\n---");
        }
    }
}
