//! One child process: started with a single socket, controlled by messages, killed and reaped.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use bytes::{Buf as _, BytesMut};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::WORKER_ARGUMENT;
use super::wire::{self, FromWorker, LENGTH_BYTES, ToWorker};
use crate::limits::SandboxLimits;

/// The worker program for programs other than `toolyard`.
const WORKER_PROGRAM: &str = "toolyard-sandbox-worker";

/// How a worker is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program. It must call [`serve_worker`](super::serve_worker).
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

impl WorkerCommand {
    /// This program itself, if it is `toolyard`.
    pub fn this_program() -> Option<Self> {
        let current = std::env::current_exe().ok()?;
        current.file_stem().filter(|name| *name == "toolyard")?;
        // The same file even if another version was installed over it.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() { own } else { current };
        Some(Self { program, arguments: vec![WORKER_ARGUMENT.to_owned()] })
    }

    /// `toolyard-sandbox-worker` in the folder of this program.
    pub fn beside_this_program() -> Option<Self> {
        let program = std::env::current_exe().ok()?.with_file_name(WORKER_PROGRAM);
        program.exists().then(|| Self { program, arguments: Vec::new() })
    }
}

/// Why a worker could not be started.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("{} cannot be started as a sandbox worker: {error}", program.display())]
    Start { program: PathBuf, error: io::Error },
    #[error("{} was started as a sandbox worker but did not get ready ({why})", program.display())]
    NotReady { program: PathBuf, why: String },
}

/// Why a worker can no longer be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkerFault {
    #[error("its connection ended")]
    Gone,
    #[error("it sent a message of {size} bytes; at most {limit} are possible")]
    TooLong { size: usize, limit: usize },
    #[error("it sent a message that cannot be read: {0}")]
    Garbage(String),
}

/// The message of a worker that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerReady {
    /// Whether the process runs with a system call filter.
    pub(super) confined: bool,
}

pub(super) struct WorkerProcess {
    child: Child,
    stream: UnixStream,
    received: BytesMut,
    max_message: usize,
    /// An engine is prepared, as far as is known.
    prepared: Option<WorkerReady>,
    /// A message was started and perhaps not finished.
    writing: bool,
    /// Runs that it has served.
    pub(super) runs: usize,
}

impl WorkerProcess {
    /// Starts the process and sends it the limits.
    pub(super) fn start(command: &WorkerCommand, limits: &SandboxLimits) -> io::Result<Self> {
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        // The socket is new and empty, so this small message fits without blocking.
        ours.write_all(&wire::encode_message(&ToWorker::Setup(Box::new(limits.clone())))?)?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            child,
            stream: UnixStream::from_std(ours)?,
            received: BytesMut::new(),
            max_message: wire::max_from_worker(limits),
            prepared: None,
            writing: false,
            runs: 0,
        })
    }

    /// Waits until an engine is prepared. Cancel safe.
    pub(super) async fn wait_ready(&mut self) -> Result<WorkerReady, WorkerFault> {
        loop {
            if let Some(prepared) = self.prepared {
                return Ok(prepared);
            }
            if !matches!(self.receive().await?, FromWorker::Ready { .. }) {
                return Err(WorkerFault::Garbage("it does not say that it is ready".to_owned()));
            }
        }
    }

    /// Sends a message. If the future is dropped, the worker can no longer be used.
    pub(super) async fn send(&mut self, message: &ToWorker) -> Result<(), WorkerFault> {
        let bytes = wire::encode_message(message).map_err(|error| WorkerFault::Garbage(error.to_string()))?;
        if std::mem::replace(&mut self.writing, true) {
            return Err(WorkerFault::Gone);
        }
        if matches!(message, ToWorker::Run(_)) {
            self.prepared = None;
        }
        self.stream.write_all(&bytes).await.map_err(|_| WorkerFault::Gone)?;
        self.writing = false;
        Ok(())
    }

    /// Waits for a message. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<FromWorker, WorkerFault> {
        loop {
            if let Some(message) = self.take_message()? {
                if let FromWorker::Ready { confined } = message {
                    self.prepared = Some(WorkerReady { confined });
                }
                return Ok(message);
            }
            match self.stream.read_buf(&mut self.received).await {
                Ok(0) | Err(_) => return Err(WorkerFault::Gone),
                Ok(_) => {}
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<FromWorker>, WorkerFault> {
        let Some(length) = self.received.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let size = u32::from_le_bytes(*length) as usize;
        if size > self.max_message {
            return Err(WorkerFault::TooLong { size, limit: self.max_message });
        }
        if self.received.len() < LENGTH_BYTES + size {
            self.received.reserve(LENGTH_BYTES + size - self.received.len());
            return Ok(None);
        }
        self.received.advance(LENGTH_BYTES);
        let bytes = self.received.split_to(size);
        let message = serde_json::from_slice(&bytes);
        message.map(Some).map_err(|error| WorkerFault::Garbage(error.to_string()))
    }

    /// Asks it to end its run, and waits until it has. Remaining messages are dropped.
    pub(super) async fn stop_run(&mut self) -> Result<(), WorkerFault> {
        self.send(&ToWorker::Stop).await?;
        while !matches!(self.receive().await?, FromWorker::Done(_)) {}
        Ok(())
    }

    /// Whether the process is alive.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the process and waits until it is gone.
    pub(super) async fn kill(&mut self) -> Option<ExitStatus> {
        // Fails only if it has been reaped.
        let _ = self.child.start_kill();
        self.child.wait().await.ok()
    }

    /// Its process id, while it is alive.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

/// How a process ended, in words, and whether it exceeded its processor time.
pub(super) fn describe_exit(status: Option<ExitStatus>) -> (String, bool) {
    let Some(status) = status else { return ("its exit status is unknown".to_owned(), false) };
    match (status.signal(), status.code()) {
        (Some(signal), _) if signal == Signal::XCPU.as_raw() => ("signal XCPU".to_owned(), true),
        (Some(9), _) => ("killed; the machine may be out of memory".to_owned(), false),
        (Some(signal), _) => (format!("signal {signal}"), false),
        (None, Some(code)) => (format!("exit code {code}"), false),
        (None, None) => ("its exit status is unknown".to_owned(), false),
    }
}
