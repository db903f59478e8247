//! A client as a process: a program of `tests/chat-clients` that does what it is asked to, and says in one line of JSON what
//! came of it.

use std::{fs::File, path::PathBuf, process::Stdio};

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
fn folder() -> PathBuf {
    let folder = tests().join("chat-clients");
    for installed in ["node_modules/.package-lock.json", ".venv/installed"] {
        let there = folder.join(installed).exists();
        assert!(there, "the chat clients are not installed; run scripts/setup-tests.sh");
    }
    folder
}

/// Some clients need Node 22, which comes with the conformance suite where npm has it for this machine.
fn node() -> PathBuf {
    let own = tests().join("conformance/node_modules/.bin/node");
    if own.exists() { own } else { "node".into() }
}

/// A program that runs.
pub(crate) struct Program {
    child: Child,
    /// Taken when there is nothing more to ask for.
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    home: tempfile::TempDir,
}

impl Program {
    /// Starts a file of the folder with its plan.
    pub(crate) async fn start(file: &str, plan: &Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let python = || folder().join(".venv/bin/python");
        let mut command = Command::new(if file.ends_with(".py") { python() } else { node() });
        command.arg(file).arg(plan.to_string()).current_dir(folder()).env("HOME", home.path());
        // No way out of this machine.
        command.env("HTTPS_PROXY", "http://127.0.0.1:1").env("NO_PROXY", "127.0.0.1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        command.stderr(File::create(home.path().join("stderr")).unwrap());
        let mut child = command.spawn().unwrap_or_else(|error| {
            panic!("the client does not start ({error}); run scripts/setup-tests.sh")
        });
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut program = Self { child, input: Some(input), lines: BufReader::new(output).lines(), home };
        program.says("ready").await;
        program
    }

    /// Asks for a step, and hears what came of it.
    pub(crate) async fn does(&mut self, step: &str, order: Value) -> Value {
        self.begins(step, order).await;
        self.says(step).await
    }

    /// Asks for a step that has something to say before its end.
    pub(crate) async fn begins(&mut self, step: &str, mut order: Value) {
        order["step"] = step.into();
        self.write(&format!("{order}\n")).await;
    }

    /// The next line, which must be about this step.
    pub(crate) async fn says(&mut self, step: &str) -> Value {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("the client did not say `{step}` within {PATIENCE:?}"));
        let line = line.unwrap().unwrap_or_else(|| panic!("the client ended before it said `{step}`"));
        let mut said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_eq!(said["step"], step, "{line}");
        said.as_object_mut().unwrap().remove("step");
        said
    }

    /// Lets it go on where it waits to be told.
    pub(crate) async fn go_on(&mut self) {
        self.write("\n").await;
    }

    async fn write(&mut self, line: &str) {
        // Of a client that has ended, the next line will tell.
        drop(self.input.as_mut().unwrap().write_all(line.as_bytes()).await);
    }

    /// Has nothing more to ask for, and waits for a good end.
    pub(crate) async fn ends(mut self) {
        drop(self.input.take());
        let rest = timeout(PATIENCE, self.lines.next_line()).await.expect("the client ends").unwrap();
        assert_eq!(rest, None, "the client said more than it was asked for");
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
