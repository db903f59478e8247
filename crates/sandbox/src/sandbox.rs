//! The entry point: takes a seat, starts the thread of a run, makes its calls, and returns the outcome.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::calls::HostCaller;
use crate::engine::{self, EngineResult, EngineRun, JsEngine};
use crate::error::SandboxError;
use crate::job::{SandboxHost, SandboxJob};
use crate::limits::SandboxLimits;
use crate::link::{HostCallReply, ToHost};
use crate::outcome::{LogLine, RunOutcome, RunUsage};
use crate::seats::{OccupiedSeat, ThreadSeats};

/// Runs untrusted code. Clones share their limits on runs and threads.
#[derive(Debug, Clone)]
pub struct Sandbox {
    limits: Arc<SandboxLimits>,
    host: SandboxHost,
    seats: Arc<ThreadSeats>,
}

impl Sandbox {
    /// Starts no thread yet. Limits are clamped to reasonable values.
    pub fn new(limits: SandboxLimits, host: SandboxHost) -> Self {
        let limits = limits.clamped();
        let seats = Arc::new(ThreadSeats::new(&limits));
        Self { limits: Arc::new(limits), host, seats }
    }

    /// The limits of each run.
    pub fn limits(&self) -> &SandboxLimits {
        &self.limits
    }

    /// Runs a job in its own engine. Lines of `console` are passed to `on_log` as they arrive, even if the run fails.
    /// Cancelling, or dropping the future, ends the run.
    pub async fn run(
        &self,
        job: SandboxJob,
        cancel: CancellationToken,
        on_log: &mut (dyn FnMut(&LogLine) + Send),
    ) -> Result<RunOutcome, SandboxError> {
        job.check_sizes(&self.limits)?;
        if cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        let began = Instant::now();
        let deadline = began + self.limits.time;
        let (seated, _waiting) = self.seats.take_seat(deadline, &cancel).await?;

        let calls = HostCaller::new(&self.host, job.permissions.clone(), Arc::clone(&self.limits));
        let stop = cancel.child_token();
        let _leaving = stop.clone().drop_guard();
        // Everything that one run can send, and the line about dropped lines.
        let (to_host, mut from_run) = mpsc::channel(self.limits.host_calls + self.limits.log_lines + 1);
        let (answer, answers) = sync_channel(self.limits.host_calls);
        let run = EngineRun {
            source: job.source,
            name: job.name,
            args: job.args,
            clock: job.permissions.clock.then(|| Arc::clone(&self.host.clock)),
            deadline,
            stop,
            send: Box::new(move |message| to_host.try_send(message).is_ok()),
            answers,
        };
        let mut done = self.start_thread(run, seated)?;

        let mut under_way = FuturesUnordered::new();
        let mut logs = Vec::new();
        let returned = loop {
            tokio::select! {
                biased;
                // Before the result, so that no message is lost.
                Some(message) = from_run.recv() => match message {
                    ToHost::Log(line) => {
                        on_log(&line);
                        logs.push(line);
                    }
                    ToHost::Ask { id, ask } => {
                        let calls = &calls;
                        under_way.push(async move { HostCallReply { id, outcome: calls.make_call(ask).await } });
                    }
                },
                returned = &mut done => break returned,
                Some(made) = under_way.next(), if !under_way.is_empty() => {
                    // The run may have ended without waiting for it.
                    let _ = answer.try_send(made);
                }
                () = cancel.cancelled() => return Err(SandboxError::Cancelled),
                () = sleep_until(deadline + self.limits.grace) => {
                    return Err(SandboxError::TimedOut { limit: self.limits.time, stuck: true });
                }
            }
        };
        let gone = |_| SandboxError::Broken { text: "its thread ended without a result".to_owned() };
        let EngineResult { json, compute, host_calls, memory } = returned.map_err(gone)??;
        let used = RunUsage { time: began.elapsed(), compute, host_calls, memory };
        Ok(RunOutcome { json, logs, used })
    }

    /// The thread is never joined: one that does not end in time cannot be stopped from outside, and a pool that waits
    /// for its threads would keep the program from exiting.
    fn start_thread(
        &self,
        run: EngineRun,
        seated: OccupiedSeat,
    ) -> Result<oneshot::Receiver<Result<EngineResult, SandboxError>>, SandboxError> {
        let (done, returned) = oneshot::channel();
        let (limits, random) = (Arc::clone(&self.limits), Arc::clone(&self.host.random));
        let stack = engine::thread_stack(&limits);
        let thread = std::thread::Builder::new().name("sandbox".to_owned()).stack_size(stack);
        let started = thread.spawn(move || {
            let outcome = JsEngine::prepare(limits, random).and_then(|engine| engine.run(run));
            // The seat first: the receiver of the outcome may start the next run.
            drop(seated);
            let _ = done.send(outcome);
        });
        match started {
            Ok(_) => Ok(returned),
            Err(error) => Err(SandboxError::Broken { text: format!("no thread could be started ({error})") }),
        }
    }
}
