//! The workers of a program: idle ones with an engine prepared, and what becomes of one after each run.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::slots::{RunOwner, RunSlot, RunSlots, SlotLimits};
use super::supervise::{FinishedRun, RunAssignment, RunEnd, RunSupervisor};
use super::wire::WorkerTask;
use super::worker::{WorkerCommand, WorkerError, WorkerFault, WorkerProcess, describe_exit};
use crate::error::SandboxError;
use crate::job::{RunPermissions, SandboxHost, SandboxJob};
use crate::limits::SandboxLimits;
use crate::outcome::{LogLine, RunOutcome, RunUsage};

/// How long a worker may take to start, or to prepare its engine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs that a worker serves before another takes its place: whatever a run may have left behind in its process is gone
/// then.
const MAX_RUNS_PER_WORKER: usize = 500;

/// What a pool needs.
pub struct PoolParts {
    pub command: WorkerCommand,
    /// Of each run. Those on threads (`runs`, `waiting`, `abandoned`) do not count here.
    pub limits: SandboxLimits,
    pub slots: SlotLimits,
    pub host: SandboxHost,
    /// What a stop of the program waits for.
    pub tasks: TaskTracker,
}

/// What to run, and on whose account.
pub struct RunRequest {
    pub job: SandboxJob,
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
    inner: Arc<PoolState>,
    confined: bool,
}

struct PoolState {
    command: WorkerCommand,
    limits: Arc<SandboxLimits>,
    host: SandboxHost,
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
        let inner = PoolState {
            command,
            limits: Arc::new(limits.clamped()),
            host,
            slots: RunSlots::new(slots),
            idle: Mutex::default(),
            tasks,
            runtime: Handle::current(),
        };
        let mut first = inner.start_worker()?;
        if slots.runs > 1 {
            inner.lock_idle().push_back(inner.start_worker()?);
        }
        let ready = timeout(START_TIMEOUT, first.wait_ready()).await;
        let program = inner.command.program.clone();
        let prepared = match ready {
            Ok(ready) => ready.map_err(|fault| WorkerError::NotReady { program, why: fault.to_string() })?,
            Err(_) => {
                let why = format!("nothing came within {START_TIMEOUT:?}");
                return Err(WorkerError::NotReady { program, why });
            }
        };
        inner.lock_idle().push_front(first);
        Ok(Self { inner: Arc::new(inner), confined: prepared.confined })
    }

    /// Whether workers have given up all system calls but a few. Not every system can do that.
    pub fn is_confined(&self) -> bool {
        self.confined
    }

    /// The process numbers of the workers that wait for a run.
    pub fn idle_workers(&self) -> Vec<u32> {
        self.inner.lock_idle().iter().filter_map(WorkerProcess::id).collect()
    }

    /// Runs a job in an engine of its own. Lines of `console` are handed to `on_log` as they come, also when the run fails.
    /// Cancelling, or dropping the future, ends the run. The slot is free again when the work has really ended.
    pub async fn run(
        &self,
        request: RunRequest,
        cancel: CancellationToken,
        on_log: &mut (dyn FnMut(&LogLine) + Send),
    ) -> Result<RunOutcome, SandboxError> {
        let RunRequest { job, owner, on_kill } = request;
        job.check_sizes(&self.inner.limits)?;
        let SandboxJob { source, name, args, permissions } = job;
        let work = WorkerTask::Code(source.as_ref().to_owned());
        self.run_assignment(RunAssignment { work, name, args, permissions }, &owner, on_kill, cancel, on_log)
            .await
    }

    /// Calls a function of the worker's own program, which gets the same time and can be killed as well. Its result is JSON;
    /// what it refuses is [`SandboxError::Thrown`].
    pub async fn call_native(
        &self,
        request: NativeRequest,
        cancel: CancellationToken,
    ) -> Result<RunOutcome, SandboxError> {
        let NativeRequest { name, args, owner } = request;
        let work = WorkerTask::Native(name.to_owned());
        let permissions = RunPermissions::default();
        let assignment = RunAssignment { work, name: name.to_owned(), args, permissions };
        self.run_assignment(assignment, &owner, Box::new(|| ()), cancel, &mut |_| ()).await
    }

    async fn run_assignment(
        &self,
        assignment: RunAssignment,
        owner: &RunOwner,
        on_kill: Box<dyn FnOnce() + Send>,
        cancel: CancellationToken,
        on_log: &mut (dyn FnMut(&LogLine) + Send),
    ) -> Result<RunOutcome, SandboxError> {
        let inner = &self.inner;
        let limits = &inner.limits;
        if cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        let began = Instant::now();
        let deadline = began + limits.time;
        let slot = inner.slots.take_slot(owner, deadline, &cancel).await?;
        let mut lease = PoolState::lease_worker(inner, slot, on_kill)?;
        let deadline = deadline + lease.wait_ready(&cancel).await?;
        lease.fate = WorkerFate::Stop;
        let supervisor = RunSupervisor { limits, host: &inner.host, deadline, cancel: &cancel, on_log };
        let end = supervisor.supervise_run(&mut lease.leased_worker()?.process, assignment).await;
        let run = lease.finish_run(end).await?;
        let used = RunUsage {
            time: began.elapsed(),
            compute: run.compute,
            host_calls: run.host_calls,
            memory: run.memory,
        };
        Ok(RunOutcome { json: run.json, logs: run.logs, used })
    }
}

impl PoolState {
    fn lock_idle(&self) -> MutexGuard<'_, VecDeque<WorkerProcess>> {
        self.idle.lock()
    }

    fn start_worker(&self) -> Result<WorkerProcess, WorkerError> {
        WorkerProcess::start(&self.command, &self.limits)
            .map_err(|error| WorkerError::Start { program: self.command.program.clone(), error })
    }

    /// The worker that was idle for longest. One that was killed while it was idle is dropped.
    fn idle_worker(&self) -> Option<WorkerProcess> {
        loop {
            let mut worker = self.lock_idle().pop_front()?;
            if worker.is_alive() {
                return Some(worker);
            }
        }
    }

    /// There are never more workers than slots: one is started only by whoever has a slot and finds none idle.
    fn lease_worker(
        pool: &Arc<Self>,
        slot: RunSlot,
        on_kill: Box<dyn FnOnce() + Send>,
    ) -> Result<WorkerLease, SandboxError> {
        let started =
            || pool.start_worker().map_err(|error| SandboxError::Broken { text: error.to_string() });
        let process = match pool.idle_worker() {
            Some(worker) => worker,
            None => started()?,
        };
        let worker = LeasedWorker { process, slot, on_kill };
        Ok(WorkerLease { pool: Arc::clone(pool), worker: Some(worker), fate: WorkerFate::Reuse })
    }

    /// Asks a worker to end its run; kills it if it does not.
    async fn stop_worker(self: Arc<Self>, mut worker: LeasedWorker) {
        if let Ok(Ok(())) = timeout(self.limits.grace, worker.process.stop_run()).await {
            self.lock_idle().push_back(worker.process);
            return;
        }
        (worker.on_kill)();
        self.replace_worker(worker.process, worker.slot).await;
    }

    /// Kills a worker, and has another one ready before the slot is free.
    async fn replace_worker(self: Arc<Self>, mut process: WorkerProcess, slot: RunSlot) {
        process.kill().await;
        if self.lock_idle().is_empty()
            && let Ok(fresh) = self.start_worker()
        {
            self.lock_idle().push_back(fresh);
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
enum WorkerFate {
    /// It waits for the next run.
    Reuse,
    /// It may still run: the caller left.
    Stop,
    /// It is dead, or has to die; whoever cares knows.
    Discard,
}

/// A worker for one run. However the lease ends, the worker and its slot are looked after.
struct WorkerLease {
    pool: Arc<PoolState>,
    worker: Option<LeasedWorker>,
    fate: WorkerFate,
}

impl WorkerLease {
    fn leased_worker(&mut self) -> Result<&mut LeasedWorker, SandboxError> {
        let gone = || SandboxError::Broken { text: "its worker is gone".to_owned() };
        self.worker.as_mut().ok_or_else(gone)
    }

    /// Waits until the worker has prepared an engine, and says how long that took: it is not the fault of the run, and does
    /// not count for it.
    async fn wait_ready(&mut self, cancel: &CancellationToken) -> Result<Duration, SandboxError> {
        let began = Instant::now();
        let process = &mut self.leased_worker()?.process;
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(SandboxError::Cancelled),
            ready = timeout(START_TIMEOUT, process.wait_ready()) => match ready {
                Ok(Ok(_)) => return Ok(began.elapsed()),
                Ok(Err(fault)) => Err(SandboxError::Crashed { reason: fault.to_string() }),
                Err(_) => Err(SandboxError::Crashed { reason: "it did not start in time".to_owned() }),
            },
        };
        // Nothing runs in it: one that only prepares itself can be used later.
        if ready != Err(SandboxError::Cancelled) {
            self.fate = WorkerFate::Discard;
        }
        ready
    }

    /// Decides what becomes of the worker, and what the caller hears.
    async fn finish_run(&mut self, end: RunEnd) -> Result<FinishedRun, SandboxError> {
        let limits = Arc::clone(&self.pool.limits);
        match end {
            RunEnd::Finished(outcome) => {
                self.fate = if matches!(outcome, Err(SandboxError::Broken { .. })) {
                    WorkerFate::Discard
                } else {
                    WorkerFate::Reuse
                };
                outcome
            }
            RunEnd::Left => Err(SandboxError::Cancelled),
            RunEnd::Overdue => {
                self.mark_killed();
                Err(SandboxError::TimedOut { limit: limits.time, stuck: true })
            }
            RunEnd::Lost(fault) => {
                let status = self.leased_worker()?.process.kill().await;
                self.mark_killed();
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

    fn mark_killed(&mut self) {
        self.fate = WorkerFate::Discard;
        if let Some(worker) = &mut self.worker {
            std::mem::replace(&mut worker.on_kill, Box::new(|| ()))();
        }
    }
}

impl Drop for WorkerLease {
    fn drop(&mut self) {
        let Some(mut worker) = self.worker.take() else { return };
        let pool = Arc::clone(&self.pool);
        worker.process.runs += 1;
        match self.fate {
            WorkerFate::Reuse if worker.process.runs < MAX_RUNS_PER_WORKER => {
                // First the worker, then the slot: whoever gets the slot finds the worker.
                pool.lock_idle().push_back(worker.process);
                drop(worker.slot);
            }
            WorkerFate::Reuse | WorkerFate::Discard => {
                let replace = Arc::clone(&pool).replace_worker(worker.process, worker.slot);
                pool.tasks.spawn_on(replace, &pool.runtime);
            }
            WorkerFate::Stop => {
                let stop = Arc::clone(&pool).stop_worker(worker);
                pool.tasks.spawn_on(stop, &pool.runtime);
            }
        }
    }
}
