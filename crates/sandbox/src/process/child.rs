//! The child process: prepares an engine, waits for a run, runs it, and prepares the next. It always ends when its
//! parent does.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::confine;
use super::wire::{self, DoneMessage, FromWorker, RunMessage, ToWorker, WorkerTask};
use crate::engine::{self, EngineRun, JsEngine};
use crate::error::SandboxError;
use crate::job::{ClockFn, RandomFn};
use crate::limits::SandboxLimits;
use crate::link::{HostCallReply, ToHost};

/// A native function that a worker offers besides the engine. It takes and returns JSON, and must stop when the passed
/// function returns `true`; otherwise it is killed.
#[derive(Debug, Clone, Copy)]
pub struct NativeFunction {
    pub name: &'static str,
    pub call: fn(&str, &(dyn Fn() -> bool + Sync)) -> Result<String, String>,
}

/// Stack for native functions; some recurse deeply. It uses memory only as far as it is touched.
const NATIVE_STACK: usize = 32 * 1024 * 1024;

/// A run as the reading thread passes it to the engine's thread.
struct ReceivedRun {
    message: RunMessage,
    stop: CancellationToken,
    answers: Receiver<HostCallReply>,
}

/// The current run, as the reading thread knows it.
struct ActiveRun {
    stop: CancellationToken,
    answer: SyncSender<HostCallReply>,
}

/// Serves runs over standard input, which must be the socket of a [`WorkerPool`](super::WorkerPool), until that closes.
/// Does not return.
pub fn serve_worker(natives: &'static [NativeFunction]) -> ! {
    let code = match serve_runs(natives) {
        Ok(()) => 0,
        // The parent closed the socket or was killed.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
        Err(_) => 2,
    };
    end_worker(code)
}

/// Ends the worker's process and its engine thread, whatever it is doing.
#[expect(clippy::disallowed_methods, reason = "a worker has nothing to drain: its parent starts another one")]
pub(super) fn end_worker(code: i32) -> ! {
    std::process::exit(code)
}

fn serve_runs(natives: &'static [NativeFunction]) -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let ToWorker::Setup(limits) = wire::read_message(&stream)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let limits = Arc::new(limits.clamped());
    confine::limit_resources(&limits)?;
    let (assign, assignments) = sync_channel(1);
    let (started, starts) = sync_channel(1);
    let (begin, begins) = sync_channel(1);
    let (sends, works) = (stream.try_clone()?, Arc::clone(&limits));
    let thread = std::thread::Builder::new().name("engine".to_owned());
    let stack = if natives.is_empty() { 0 } else { NATIVE_STACK };
    thread.stack_size(stack.max(engine::thread_stack(&limits))).spawn(move || {
        let _guard = ExitGuard;
        started.send(()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        let Ok(confined) = begins.recv() else { return Ok(()) };
        run_assignments(&sends, &works, natives, confined, &assignments)
    })?;
    // The filter applies to all threads and prevents new ones. A thread that is still starting needs forbidden calls
    // and would die, so this waits until the engine's thread runs our code.
    starts.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
    begin.send(confine::forbid_system_calls()).map_err(|_| io::ErrorKind::BrokenPipe)?;
    read_parent_messages(&stream, &limits, &assign)
}

/// Reads messages of the parent, even while the engine computes: so it notices at once that the parent is gone.
fn read_parent_messages(
    stream: &UnixStream,
    limits: &SandboxLimits,
    assign: &SyncSender<ReceivedRun>,
) -> io::Result<()> {
    let mut current: Option<ActiveRun> = None;
    loop {
        match wire::read_message(stream)? {
            ToWorker::Run(message) => {
                let (answer, answers) = sync_channel(limits.host_calls);
                let stop = CancellationToken::new();
                current = Some(ActiveRun { stop: stop.clone(), answer });
                let assignment = ReceivedRun { message, stop, answers };
                assign.send(assignment).map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
            ToWorker::Answer(answer) => {
                if let Some(current) = &current {
                    // The run may have ended without waiting for it.
                    let _ = current.answer.try_send(answer);
                }
            }
            // Closing its channel also wakes a run that waits.
            ToWorker::Stop => {
                if let Some(current) = current.take() {
                    current.stop.cancel();
                }
            }
            ToWorker::Setup(_) => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The engine's thread.
fn run_assignments(
    stream: &UnixStream,
    limits: &Arc<SandboxLimits>,
    natives: &[NativeFunction],
    confined: bool,
    assignments: &Receiver<ReceivedRun>,
) -> io::Result<()> {
    let random: Arc<RandomFn> = Arc::new(confine::fill_random);
    let prepare = || JsEngine::prepare(Arc::clone(limits), Arc::clone(&random)).map_err(io::Error::other);
    let mut prepared = None;
    loop {
        let engine = match prepared.take() {
            Some(engine) => engine,
            None => prepare()?,
        };
        wire::write_message(stream, &FromWorker::Ready { confined })?;
        let Ok(assignment) = assignments.recv() else { return Ok(()) };
        confine::limit_processor_time(limits);
        let done = match &assignment.message.work {
            WorkerTask::Code(_) => run_code(engine, assignment, stream, limits),
            WorkerTask::Native(name) => {
                prepared = Some(engine);
                let native = natives.iter().find(|native| native.name == name);
                native.map_or_else(
                    || Err(unknown_function(name)),
                    |native| call_native(native, &assignment, limits),
                )
            }
        };
        wire::write_message(stream, &FromWorker::Done(done.map_err(without_cause)))?;
    }
}

fn run_code(
    engine: JsEngine,
    assignment: ReceivedRun,
    stream: &UnixStream,
    limits: &SandboxLimits,
) -> Result<DoneMessage, SandboxError> {
    let ReceivedRun { message, stop, answers } = assignment;
    let WorkerTask::Code(source) = message.work else { return Err(unknown_function(&message.name)) };
    let began = Instant::now();
    let clock = message.now.map(|now| -> Arc<ClockFn> {
        Arc::new(move || now.saturating_add(i64::try_from(began.elapsed().as_millis()).unwrap_or(0)))
    });
    let broken = |error: io::Error| SandboxError::Broken { text: error.to_string() };
    let sends = stream.try_clone().map_err(broken)?;
    let send = move |message| {
        let message = match message {
            ToHost::Log(line) => FromWorker::Log(line),
            ToHost::Ask { id, ask } => FromWorker::Ask { id, ask },
        };
        wire::write_message(&sends, &message).is_ok()
    };
    let run = EngineRun {
        source: source.into(),
        name: message.name,
        args: message.args,
        clock,
        deadline: began + message.time.min(limits.time),
        stop,
        send: Box::new(send),
        answers,
    };
    // The parent counts calls itself.
    let returned = engine.run(run)?;
    Ok(DoneMessage { json: returned.json, compute: returned.compute, memory: returned.memory })
}

fn call_native(
    native: &NativeFunction,
    assignment: &ReceivedRun,
    limits: &SandboxLimits,
) -> Result<DoneMessage, SandboxError> {
    let end = Instant::now() + assignment.message.time.min(limits.time);
    let stop = &assignment.stop;
    let is_over = || stop.is_cancelled() || Instant::now() >= end;
    let before = engine::processor_time();
    let call = || (native.call)(assignment.message.args.get(), &is_over);
    let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    let broken = |text: String| SandboxError::Broken { text };
    let text = called.map_err(|_| broken(format!("`{}` panicked", native.name)))?;
    let text = text.map_err(|text| SandboxError::Thrown { text, place: None })?;
    let json = RawValue::from_string(text).map_err(|error| broken(error.to_string()))?;
    Ok(DoneMessage { json, compute: engine::processor_time().saturating_sub(before), memory: 0 })
}

fn unknown_function(name: &str) -> SandboxError {
    SandboxError::Broken { text: format!("the worker has no function `{name}`") }
}

/// A stopped run has no cause to report; the parent knows why.
fn without_cause(error: SandboxError) -> SandboxError {
    match error {
        SandboxError::Cancelled => SandboxError::NeverSettled,
        other => other,
    }
}

/// A worker without its engine thread must exit.
struct ExitGuard;

impl Drop for ExitGuard {
    fn drop(&mut self) {
        end_worker(3);
    }
}
