//! Runs the binary.

use std::{
    future::Future,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// Far longer than anything here takes; only a broken test gets there.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const ADA: &str = "ada@example.com";

/// Waits for something that must happen.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("this should have happened by now")
}

/// The binary in a folder, without anything from our own environment.
pub(crate) fn toolyard(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.args(args).env_clear().current_dir(folder).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The output of a successful command.
    #[track_caller]
    pub(crate) fn good(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The JSON of a successful command.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let out = self.good();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// The output, each line as JSON.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The stderr of a command that failed with exit code 1.
    #[track_caller]
    pub(crate) fn bad(self) -> String {
        assert_eq!(self.code, 1, "{self:?}");
        self.err
    }
}

/// Runs a command to its end.
pub(crate) async fn ended(mut command: Command) -> Ran {
    let output = soon(command.output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    pub(crate) out: Lines<BufReader<ChildStdout>>,
    pub(crate) err: Lines<BufReader<ChildStderr>>,
    input: Option<ChildStdin>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let err = BufReader::new(child.stderr.take().unwrap()).lines();
        let input = child.stdin.take();
        Self { child, out, err, input }
    }

    /// The next line on stdout that contains this text.
    pub(crate) async fn says(&mut self, words: &str) -> String {
        line_with(&mut self.out, words).await
    }

    /// The next line on stderr that contains this text.
    pub(crate) async fn notes(&mut self, words: &str) -> String {
        line_with(&mut self.err, words).await
    }

    pub(crate) async fn types(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        input.flush().await.unwrap();
    }

    /// Closes stdin.
    pub(crate) fn types_no_more(&mut self) {
        self.input = None;
    }

    pub(crate) async fn signal(&self, signal: &str) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
    }

    /// Kills it without a warning.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits for the end and returns the exit code.
    pub(crate) async fn end(&mut self) -> i32 {
        soon(self.child.wait()).await.unwrap().code().unwrap()
    }

    /// What is left on stderr after the end.
    pub(crate) async fn rest(mut self) -> String {
        let mut rest = String::new();
        soon(self.err.get_mut().read_to_string(&mut rest)).await.unwrap();
        rest
    }
}

async fn line_with<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>, words: &str) -> String {
    soon(async {
        loop {
            let line = lines.next_line().await.unwrap();
            let line = line.unwrap_or_else(|| panic!("ended before it said `{words}`"));
            if line.contains(words) {
                return line;
            }
        }
    })
    .await
}

/// A folder with a running server.
pub(crate) struct Yard {
    pub(crate) folder: TempDir,
    pub(crate) server: Running,
    pub(crate) url: String,
}

impl Yard {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (server, url) = serve(folder.path(), "127.0.0.1:0", flags).await;
        Self { folder, server, url }
    }

    /// A command that uses this server.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = toolyard(self.folder.path(), args);
        command.env("TOOLYARD_URL", &self.url);
        command
    }

    /// Runs a command without a user: in dev mode that is the operator.
    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        ended(self.command(args)).await
    }

    /// Runs a command for Ada.
    pub(crate) async fn ada(&self, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.env("TOOLYARD_USER", ADA);
        ended(command).await
    }

    /// Writes a file into the folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Ada's glasses, connected.
    pub(crate) async fn glasses(&self, args: &[&str]) -> Running {
        let mut command = self.command(&[&["glasses", "--user", ADA], args].concat());
        command.stdin(Stdio::piped());
        let mut glasses = Running::start(command);
        glasses.says("connected as ada@example.com").await;
        glasses
    }
}

/// Without built-in tools, so that only the tools of the test are listed.
pub(crate) const NO_BUILTINS: [&str; 2] = ["--set", "builtin.enabled=false"];

/// Starts a server and waits until it prints its address.
pub(crate) async fn serve(folder: &Path, listen: &str, flags: &[&str]) -> (Running, String) {
    let own = ["serve", "--listen", listen, "--data", "data"];
    let command = toolyard(folder, &[&own[..], &NO_BUILTINS, flags].concat());
    let mut server = Running::start(command);
    let line = server.says("listening on ").await;
    (server, line.trim_start_matches("listening on ").to_owned())
}
