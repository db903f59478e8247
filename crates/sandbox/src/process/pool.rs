//! The workers of a program: idle ones with an engine prepared, and what becomes of one after each run.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::slots::{RunOwner, RunSlot, RunSlots, SlotLimits};
use super::supervise::{Assignment, FinishedRun, RunEnd, Supervisor};
use super::wire::Work;
use super::worker::{WorkerCommand, WorkerError, WorkerFault, WorkerProcess, describe_exit};
use crate::error::SandboxError;
use crate::job::{Host, Job, Permissions};
use crate::limits::Limits;
use crate::outcome::{LogLine, Outcome, Used};

/// How long a worker may take to start, or to prepare its engine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs that a worker serves before another takes its place: whatever a run may have left behind in its process is gone
/// then.
const MAX_RUNS_PER_WORKER: usize = 500;

/// What a pool needs.
pub struct PoolParts {
    pub command: WorkerCommand,
    /// Of each run. Those on threads (`runs`, `waiting`, `abandoned`) do not count here.
    pub limits: Limits,
    pub slots: SlotLimits,
    pub host: Host,
    /// What a stop of the program waits for.
    pub tasks: TaskTracker,
}

/// What to run, and on whose account.
pub struct RunRequest {
    pub job: Job,
    pub owner: RunOwner,
    /// Called if the worker had to be killed, or died, because of this run; perhaps after the caller left.
    pub on_kill: Box<dyn FnOnce() + Send>,
}

/// A function of the worker's own program to call, and on whose account.
pub struct NativeRequest {
    /// One of those with which the worker was started; see [`serve_worker`](super::serve_worker).
    pub name: &'static str,
    pub args: Box<RawValue>,
    pub owner: RunOwner,
}

/// Runs foreign code in child processes. Clones share them.
#[derive(Clone)]
pub struct WorkerPool {
    inner: Arc<Inner>,
    confined: bool,
}

struct Inner {
    command: WorkerCommand,
    limits: Arc<Limits>,
    host: Host,
    slots: Arc<RunSlots>,
    /// Longest idle first: that one has surely prepared its engine.
    idle: Mutex<VecDeque<WorkerProcess>>,
    tasks: TaskTracker,
    /// Workers may be given back where no runtime is at hand.
    runtime: Handle,
}

impl fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool").field("command", &self.inner.command).finish_non_exhaustive()
    }
}

impl WorkerPool {
    /// Starts one worker and waits for it, so that a program that cannot be started is told now; a second one starts
    /// meanwhile, and more when they are needed.
    pub async fn start(parts: PoolParts) -> Result<Self, WorkerError> {
        let PoolParts { command, limits, slots, host, tasks } = parts;
        let inner = Inner {
            command,
            limits: Arc::new(limits.within_reason()),
            host,
            slots: RunSlots::new(slots),
            idle: Mutex::default(),
            tasks,
            runtime: Handle::current(),
        };
        let mut first = inner.start_worker()?;
        if slots.runs > 1 {
            inner.idle().push_back(inner.start_worker()?);
        }
        let ready = timeout(START_TIMEOUT, first.ready()).await;
        let program = inner.command.program.clone();
        let prepared = match ready {
            Ok(ready) => ready.map_err(|fault| WorkerError::NotReady { program, why: fault.to_string() })?,
            Err(_) => {
                let why = format!("nothing came within {START_TIMEOUT:?}");
                return Err(WorkerError::NotReady { program, why });
            }
        };
        inner.idle().push_front(first);
        Ok(Self { inner: Arc::new(inner), confined: prepared.confined })
    }

    /// Whether workers have given up all system calls but a few. Not every system can do that.
    pub fn is_confined(&self) -> bool {
        self.confined
    }

    /// The process numbers of the workers that wait for a run.
    pub fn idle_workers(&self) -> Vec<u32> {
        self.inner.idle().iter().filter_map(WorkerProcess::id).collect()
    }

    /// Runs a job in an engine of its own. Lines of `console` are handed to `on_log` as they come, also when the run fails.
    /// Cancelling, or dropping the future, ends the run. The slot is free again when the work has really ended.
    pub async fn run(
        &self,
        request: RunRequest,
        cancel: CancellationToken,
        on_log: &mut (dyn FnMut(&LogLine) + Send),
    ) -> Result<Outcome, SandboxError> {
        let RunRequest { job, owner, on_kill } = request;
        job.check(&self.inner.limits)?;
        let Job { source, name, args, permissions } = job;
        let work = Work::Code(source.as_ref().to_owned());
        self.assign(Assignment { work, name, args, permissions }, &owner, on_kill, cancel, on_log).await
    }

    /// Calls a function of the worker's own program, which gets the same time and can be killed as well. Its result is JSON;
    /// what it refuses is [`SandboxError::Thrown`].
    pub async fn call_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> Result<Outcome, SandboxError> {
        let NativeRequest { name, args, owner } = request;
        let work = Work::Native(name.to_owned());
        let permissions = Permissions::default();
        let assignment = Assignment { work, name: name.to_owned(), args, permissions };
        self.assign(assignment, &owner, Box::new(|| ()), cancel, &mut |_| ()).await
    }

    async fn assign(
        &self,
        assignment: Assignment,
        owner: &RunOwner,
        on_kill: Box<dyn FnOnce() + Send>,
        cancel: CancellationToken,
        on_log: &mut (dyn FnMut(&LogLine) + Send),
    ) -> Result<Outcome, SandboxError> {
        let inner = &self.inner;
        let limits = &inner.limits;
        if cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        let began = Instant::now();
        let deadline = began + limits.time;
        let slot = inner.slots.take(owner, deadline, &cancel).await?;
        let mut lease = Inner::lease(inner, slot, on_kill)?;
        let deadline = deadline + lease.ready(&cancel).await?;
        lease.fate = Fate::Stop;
        let supervisor = Supervisor { limits, host: &inner.host, deadline, cancel: &cancel, on_log };
        let end = supervisor.run(&mut lease.worker()?.process, assignment).await;
        let run = lease.end(end).await?;
        let used = Used {
            time: began.elapsed(),
            compute: run.compute,
            host_calls: run.host_calls,
            memory: run.memory,
        };
        Ok(Outcome { json: run.json, logs: run.logs, used })
    }
}

impl Inner {
    fn idle(&self) -> MutexGuard<'_, VecDeque<WorkerProcess>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_worker(&self) -> Result<WorkerProcess, WorkerError> {
        WorkerProcess::start(&self.command, &self.limits)
            .map_err(|error| WorkerError::Start { program: self.command.program.clone(), error })
    }

    /// The worker that was idle for longest. One that was killed while it was idle is dropped.
    fn idle_worker(&self) -> Option<WorkerProcess> {
        loop {
            let mut worker = self.idle().pop_front()?;
            if worker.is_alive() {
                return Some(worker);
            }
        }
    }

    /// There are never more workers than slots: one is started only by whoever has a slot and finds none idle.
    fn lease(
        pool: &Arc<Self>,
        slot: RunSlot,
        on_kill: Box<dyn FnOnce() + Send>,
    ) -> Result<Lease, SandboxError> {
        let started =
            || pool.start_worker().map_err(|error| SandboxError::Broken { text: error.to_string() });
        let process = match pool.idle_worker() {
            Some(worker) => worker,
            None => started()?,
        };
        let worker = LeasedWorker { process, slot, on_kill };
        Ok(Lease { pool: Arc::clone(pool), worker: Some(worker), fate: Fate::Reuse })
    }

    /// Asks a worker to end its run; kills it if it does not.
    async fn stop(self: Arc<Self>, mut worker: LeasedWorker) {
        if let Ok(Ok(())) = timeout(self.limits.grace, worker.process.stop()).await {
            self.idle().push_back(worker.process);
            return;
        }
        (worker.on_kill)();
        self.replace(worker.process, worker.slot).await;
    }

    /// Kills a worker, and has another one ready before the slot is free.
    async fn replace(self: Arc<Self>, mut process: WorkerProcess, slot: RunSlot) {
        process.kill().await;
        if self.idle().is_empty()
            && let Ok(fresh) = self.start_worker()
        {
            self.idle().push_back(fresh);
        }
        drop(slot);
    }
}

struct LeasedWorker {
    process: WorkerProcess,
    /// Held until the work has ended.
    slot: RunSlot,
    on_kill: Box<dyn FnOnce() + Send>,
}

/// What to do with the worker when the lease ends.
enum Fate {
    /// It waits for the next run.
    Reuse,
    /// It may still run: the caller left.
    Stop,
    /// It is dead, or has to die; whoever cares knows.
    Discard,
}

/// A worker for one run. However the lease ends, the worker and its slot are looked after.
struct Lease {
    pool: Arc<Inner>,
    worker: Option<LeasedWorker>,
    fate: Fate,
}

impl Lease {
    fn worker(&mut self) -> Result<&mut LeasedWorker, SandboxError> {
        let gone = || SandboxError::Broken { text: "its worker is gone".to_owned() };
        self.worker.as_mut().ok_or_else(gone)
    }

    /// Waits until the worker has prepared an engine, and says how long that took: it is not the fault of the run, and does
    /// not count for it.
    async fn ready(&mut self, cancel: &CancellationToken) -> Result<Duration, SandboxError> {
        let began = Instant::now();
        let process = &mut self.worker()?.process;
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(SandboxError::Cancelled),
            ready = timeout(START_TIMEOUT, process.ready()) => match ready {
                Ok(Ok(_)) => return Ok(began.elapsed()),
                Ok(Err(fault)) => Err(SandboxError::Crashed { reason: fault.to_string() }),
                Err(_) => Err(SandboxError::Crashed { reason: "it did not start in time".to_owned() }),
            },
        };
        // Nothing runs in it: one that only prepares itself can be used later.
        if ready != Err(SandboxError::Cancelled) {
            self.fate = Fate::Discard;
        }
        ready
    }

    /// Decides what becomes of the worker, and what the caller hears.
    async fn end(&mut self, end: RunEnd) -> Result<FinishedRun, SandboxError> {
        let limits = Arc::clone(&self.pool.limits);
        match end {
            RunEnd::Finished(outcome) => {
                self.fate = if matches!(outcome, Err(SandboxError::Broken { .. })) {
                    Fate::Discard
                } else {
                    Fate::Reuse
                };
                outcome
            }
            RunEnd::Left => Err(SandboxError::Cancelled),
            RunEnd::Overdue => {
                self.killed();
                Err(SandboxError::TimedOut { limit: limits.time, stuck: true })
            }
            RunEnd::Lost(fault) => {
                let status = self.worker()?.process.kill().await;
                self.killed();
                match (fault, describe_exit(status)) {
                    (WorkerFault::Gone, (_, true)) => {
                        Err(SandboxError::TooMuchWork { limit: limits.compute })
                    }
                    (WorkerFault::Gone, (reason, false)) => Err(SandboxError::Crashed { reason }),
                    (fault, _) => Err(SandboxError::Crashed { reason: fault.to_string() }),
                }
            }
        }
    }

    fn killed(&mut self) {
        self.fate = Fate::Discard;
        if let Some(worker) = &mut self.worker {
            std::mem::replace(&mut worker.on_kill, Box::new(|| ()))();
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut worker) = self.worker.take() else { return };
        let pool = Arc::clone(&self.pool);
        worker.process.runs += 1;
        match self.fate {
            Fate::Reuse if worker.process.runs < MAX_RUNS_PER_WORKER => {
                // First the worker, then the slot: whoever gets the slot finds the worker.
                pool.idle().push_back(worker.process);
                drop(worker.slot);
            }
            Fate::Reuse | Fate::Discard => {
                let replace = Arc::clone(&pool).replace(worker.process, worker.slot);
                pool.tasks.spawn_on(replace, &pool.runtime);
            }
            Fate::Stop => {
                let stop = Arc::clone(&pool).stop(worker);
                pool.tasks.spawn_on(stop, &pool.runtime);
            }
        }
    }
}
