//! A server that runs as a child process: its input, output, stderr and exit.

use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncWriteExt as _, BufWriter},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
    time::{Duration, timeout},
};
use toolyard_net::{LineReadError, LineReader};
use toolyard_protocol::JsonLine;

use super::OutgoingMessage;
use crate::{
    error::McpClientError, events::CloseReason, limits::ClientLimits, transport::StdioCommand,
    wire::McpConnection,
};

/// Longest stderr line that is logged.
const MAX_STDERR_LINE: usize = 8 * 1024;
/// How long the exit of a process may lag behind the end of its output, and the last output behind its exit.
pub(crate) const DRAIN_WAIT: Duration = Duration::from_secs(1);

/// A started process.
pub(crate) struct StartedProcess {
    child: Child,
    group: ProcessGroup,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    program: String,
}

/// Starts the process in its own process group, so that its children end with it.
pub(crate) fn start_process(command: &StdioCommand) -> Result<StartedProcess, McpClientError> {
    let mut process = Command::new(&command.program);
    process
        .args(&command.args)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(cwd) = &command.cwd {
        process.current_dir(cwd);
    }
    let program = command.program.clone();
    let failed =
        |why: String| McpClientError::NotSent(format!("`{}` could not be started: {why}", command.program));
    let mut child = process.spawn().map_err(|error| failed(error.to_string()))?;
    let group = ProcessGroup::from_child(&child);
    match (group, child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(group), Some(stdin), Some(stdout), Some(stderr)) => {
            Ok(StartedProcess { child, group, stdin, stdout, stderr, program })
        }
        _ => Err(failed("it has no input or output".to_owned())),
    }
}

/// Runs the process until the stop, or until it exits.
pub(crate) fn run_process(
    wire: McpConnection,
    started: StartedProcess,
    queue: mpsc::Receiver<OutgoingMessage>,
    limits: &ClientLimits,
) {
    let StartedProcess { child, group, stdin, stdout, stderr, program } = started;
    let tasks = wire.hub().tasks.clone();
    let (bytes, exit) = (limits.message_bytes, limits.exit);
    // Both are read until the process is gone: a process that cannot write its last message may die of it.
    let mut logging = tasks.spawn(log_stderr(stderr, program));
    tasks.spawn(async move {
        let stop = wire.hub().tasks.stop_token().clone();
        let mut reading = wire.hub().tasks.spawn(read_output(wire.clone(), stdout, bytes));
        let mut writing =
            wire.hub().tasks.spawn(stop.clone().run_until_cancelled_owned(write_input(stdin, queue)));
        let mut keeper = ProcessKeeper { child, group, exit };
        let lost = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            status = keeper.child.wait() => Some(exit_text(status)),
            why = &mut reading => Some(why.unwrap_or_else(|_| "reading its output failed".to_owned())),
            _ = &mut writing => Some("the process no longer accepts input".to_owned()),
        };
        let reason = match lost {
            None => CloseReason::Requested,
            Some(why) => CloseReason::Lost(keeper.exit_reason(&mut reading).await.unwrap_or(why)),
        };
        // Ends the writer, which closes the process's input.
        wire.hub().close(reason);
        if !writing.is_finished() {
            let _ = writing.await;
        }
        keeper.end_process().await;
        reading.abort();
        let _ = timeout(DRAIN_WAIT, &mut logging).await;
        logging.abort();
    });
}

async fn read_output(wire: McpConnection, stdout: ChildStdout, limit: usize) -> String {
    let mut lines = LineReader::new(stdout, limit);
    loop {
        match lines.next().await {
            Ok(Some(line)) if line.is_empty() => {}
            Ok(Some(line)) => {
                if let Some(pipe) = wire.pipe() {
                    pipe.handle_message(&wire, &line);
                }
            }
            Ok(None) => return "the process closed its output".to_owned(),
            // A line that is too long ends the connection too: the lost part may matter.
            Err(error) => return error.to_string(),
        }
    }
}

async fn write_input(stdin: ChildStdin, mut queue: mpsc::Receiver<OutgoingMessage>) {
    let mut stdin = BufWriter::new(stdin);
    while let Some(message) = queue.recv().await {
        message.mark_written();
        let line = JsonLine::from_json(message.text.as_str()).into_terminated();
        let written = stdin.write_all(line.as_bytes()).await;
        let flushed = if queue.is_empty() { stdin.flush().await } else { Ok(()) };
        if let Err(error) = written.and(flushed) {
            message.mark_unwritten();
            tracing::debug!(%error, "process no longer accepts input");
            return;
        }
    }
}

async fn log_stderr(stderr: ChildStderr, program: String) {
    let mut lines = LineReader::new(stderr, MAX_STDERR_LINE);
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Err(LineReadError::TooLong(long)) => long.start,
            Ok(None) | Err(LineReadError::Io(_)) => return,
        };
        if !line.is_empty() {
            tracing::info!(target: "toolyard_mcp_client::stderr", program, "{}", String::from_utf8_lossy(&line));
        }
    }
}

fn exit_text(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("the process exited: {status}"),
        Err(error) => format!("the process exited: {error}"),
    }
}

/// Makes sure that the process and its children end.
struct ProcessKeeper {
    child: Child,
    group: ProcessGroup,
    exit: Duration,
}

impl ProcessKeeper {
    /// Called when the connection is lost. Returns the exit status if the process is gone, after its remaining output
    /// was read.
    async fn exit_reason(&mut self, reading: &mut JoinHandle<String>) -> Option<String> {
        let status = timeout(DRAIN_WAIT, self.child.wait()).await.ok()?;
        self.group.end_group(Signal::KILL);
        if !reading.is_finished() {
            let _ = timeout(DRAIN_WAIT, reading).await;
        }
        Some(exit_text(status))
    }

    /// The input is already closed. Waits for the exit, then sends SIGTERM, then SIGKILL, and reaps the process.
    async fn end_process(mut self) {
        if timeout(self.exit, self.child.wait()).await.is_err() {
            self.group.send_signal(Signal::TERM);
            if timeout(self.exit, self.child.wait()).await.is_err() {
                self.group.send_signal(Signal::KILL);
                let _ = timeout(self.exit, self.child.wait()).await;
            }
        }
        self.group.end_group(Signal::KILL);
    }
}

/// The process and its children. Killed on drop: a runtime that shuts down does not finish its tasks.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn from_child(child: &Child) -> Option<Self> {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)?;
        Some(Self(Some(pid)))
    }

    fn send_signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            // It may already be gone.
            let _ = kill_process_group(pid, signal);
        }
    }

    /// The last signal, for what is left of the group after its first process is gone.
    fn end_group(&mut self, signal: Signal) {
        self.send_signal(signal);
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end_group(Signal::KILL);
    }
}
