//! One run, seen from the parent: makes its host calls, forwards its lines, and ends it in time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::wire::{FromWorker, RunMessage, ToWorker, WorkerTask};
use super::worker::{WorkerFault, WorkerProcess};
use crate::calls::HostCaller;
use crate::error::SandboxError;
use crate::job::{RunPermissions, SandboxHost};
use crate::limits::SandboxLimits;
use crate::link::HostCallReply;
use crate::outcome::LogLine;
use crate::output;

/// How a run ended, and what that says about its worker.
pub(super) enum RunEnd {
    /// The worker reported the end, and waits for the next run.
    Finished(Result<FinishedRun, SandboxError>),
    /// The caller left. The worker still runs.
    Left,
    /// The time is over. The worker still runs although it knew the deadline.
    Overdue,
    /// The worker is gone, or sent invalid messages.
    Lost(WorkerFault),
}

pub(super) struct FinishedRun {
    pub(super) json: Box<RawValue>,
    pub(super) logs: Vec<LogLine>,
    pub(super) compute: Duration,
    pub(super) host_calls: usize,
    pub(super) memory: usize,
}

/// A run to send to a worker.
pub(super) struct RunAssignment {
    pub(super) work: WorkerTask,
    pub(super) name: String,
    pub(super) args: Box<RawValue>,
    pub(super) permissions: RunPermissions,
}

pub(super) struct RunSupervisor<'a> {
    pub(super) limits: &'a Arc<SandboxLimits>,
    pub(super) host: &'a SandboxHost,
    pub(super) deadline: Instant,
    pub(super) cancel: &'a CancellationToken,
    pub(super) on_log: &'a mut (dyn FnMut(&LogLine) + Send),
}

impl RunSupervisor<'_> {
    pub(super) async fn supervise_run(
        mut self,
        worker: &mut WorkerProcess,
        assignment: RunAssignment,
    ) -> RunEnd {
        let RunAssignment { work, name, args, permissions } = assignment;
        let now = permissions.clock.then(|| (self.host.clock)());
        let time = self.deadline.saturating_duration_since(Instant::now());
        let message = ToWorker::Run(RunMessage { work, name, args, now, time });
        let calls = HostCaller::new(self.host, permissions, Arc::clone(self.limits));
        let cancel = self.cancel.clone();
        let kill_at = self.deadline + self.limits.grace;
        let exchange = self.exchange(worker, &calls, &message);
        tokio::select! {
            biased;
            end = exchange => end,
            () = cancel.cancelled() => RunEnd::Left,
            () = sleep_until(kill_at) => RunEnd::Overdue,
        }
    }

    /// Exchanges messages until the worker reports the end of the run.
    async fn exchange(
        &mut self,
        worker: &mut WorkerProcess,
        calls: &HostCaller,
        message: &ToWorker,
    ) -> RunEnd {
        if let Err(fault) = worker.send(message).await {
            return RunEnd::Lost(fault);
        }
        let mut under_way = FuturesUnordered::new();
        let (mut logs, mut host_calls) = (Vec::new(), 0);
        loop {
            let message = tokio::select! {
                biased;
                message = worker.receive() => message,
                Some(answer) = under_way.next(), if !under_way.is_empty() => {
                    match worker.send(&ToWorker::Answer(answer)).await {
                        Ok(()) => continue,
                        Err(fault) => return RunEnd::Lost(fault),
                    }
                }
            };
            match message {
                Ok(FromWorker::Ready { .. }) => {}
                // One extra line reports how many were dropped.
                Ok(FromWorker::Log(_)) if logs.len() > self.limits.log_lines => return flood_end("lines"),
                Ok(FromWorker::Log(line)) => {
                    let line =
                        LogLine { text: truncate_text(line.text, self.limits.log_line_length), ..line };
                    (self.on_log)(&line);
                    logs.push(line);
                }
                Ok(FromWorker::Ask { .. }) if host_calls >= self.limits.host_calls => {
                    return flood_end("calls");
                }
                Ok(FromWorker::Ask { id, ask }) => {
                    host_calls += 1;
                    let checked = ask.check_sizes(self.limits);
                    under_way.push(async move {
                        let outcome = match checked {
                            Ok(()) => calls.make_call(ask).await,
                            Err(text) => Err(text),
                        };
                        HostCallReply { id, outcome }
                    });
                }
                Ok(FromWorker::Done(Ok(done))) => {
                    let json = output::check_output(String::from(Box::<str>::from(done.json)), self.limits);
                    let (compute, memory) = (done.compute, done.memory);
                    let run = json.map(|json| FinishedRun { json, logs, compute, host_calls, memory });
                    return RunEnd::Finished(run);
                }
                Ok(FromWorker::Done(Err(error))) => return RunEnd::Finished(Err(self.sanitize_error(error))),
                Err(fault) => return RunEnd::Lost(fault),
            }
        }
    }

    /// Checks an error from the worker. Some errors only the parent may report, and texts are truncated.
    fn sanitize_error(&self, error: SandboxError) -> SandboxError {
        use SandboxError as E;
        let short = |text: String| truncate_text(text, self.limits.error_length + 200);
        match error {
            E::Syntax { text, place } => E::Syntax { text: short(text), place },
            E::Thrown { text, place } => E::Thrown { text: short(text), place },
            E::NotJson { text } => E::NotJson { text: short(text) },
            E::Broken { text } => E::Broken { text: short(text) },
            E::TimedOut { .. } => E::TimedOut { limit: self.limits.time, stuck: false },
            E::TooMuchWork { .. } => E::TooMuchWork { limit: self.limits.compute },
            E::OutOfMemory { .. } => E::OutOfMemory { limit: self.limits.memory },
            E::OutputTooLarge { .. } => E::OutputTooLarge { limit: self.limits.output_bytes },
            E::OutputTooDeep { .. } => E::OutputTooDeep { limit: self.limits.output_depth },
            E::TooManyHostCalls { .. } => E::TooManyHostCalls { limit: self.limits.host_calls },
            E::StackOverflow { .. } | E::NeverSettled => error,
            E::SourceTooLarge { .. }
            | E::InputTooLarge { .. }
            | E::Cancelled
            | E::Crashed { .. }
            | E::TooManyRuns { .. }
            | E::Busy => {
                E::Broken { text: "its process reported an error that only the parent can report".to_owned() }
            }
        }
    }
}

fn flood_end(what: &str) -> RunEnd {
    RunEnd::Lost(WorkerFault::Garbage(format!("it sent more {what} than a run may send")))
}

fn truncate_text(text: String, most: usize) -> String {
    if text.chars().nth(most).is_none() { text } else { text.chars().take(most).collect() }
}
