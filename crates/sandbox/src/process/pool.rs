//! The workers of a program: idle ones with a prepared engine, and what happens to a worker after each run.

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

/// The usual [`PoolParts::runs_per_worker`].
pub const RUNS_PER_WORKER: usize = 500;

/// Dependencies of a pool.
pub struct PoolParts {
    pub command: WorkerCommand,
    /// Limits of each run. The limits of threads (`runs`, `waiting`, `abandoned`) do not apply here.
    pub limits: SandboxLimits,
    pub slots: SlotLimits,
    /// Runs that a worker serves before it is replaced: so anything that runs left behind in its process is removed.
    pub runs_per_worker: usize,
    pub host: SandboxHost,
    /// Tracks the tasks that a shutdown waits for.
    pub tasks: TaskTracker,
}

/// A run, and the user and plugin it counts against.
pub struct RunRequest {
    pub job: SandboxJob,
    pub owner: RunOwner,
    /// Called if the worker was killed or died because of this run; possibly after the caller left.
    pub on_kill: Box<dyn FnOnce() + Send>,
}

/// A call of a native function, and the user it counts against.
pub struct NativeRequest {
    /// One of the functions with which the worker was started; see [`serve_worker`](super::serve_worker).
    pub name: &'static str,
    pub args: Box<RawValue>,
    pub owner: RunOwner,
}

/// Runs untrusted code in child processes. Clones share them.
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
    runs_per_worker: usize,
    /// Longest idle first: that worker has certainly prepared its engine.
    idle: Mutex<VecDeque<WorkerProcess>>,
    tasks: TaskTracker,
    /// Workers may be returned outside of a runtime.
    runtime: Handle,
}

impl fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool").field("command", &self.inner.command).finish_non_exhaustive()
    }
}

impl WorkerPool {
    /// Starts one worker and waits for it, so that an unusable program is reported now. A second one starts meanwhile,
    /// and more on demand.
    pub async fn start(parts: PoolParts) -> Result<Self, WorkerError> {
        let PoolParts { command, limits, slots, runs_per_worker, host, tasks } = parts;
        let inner = PoolState {
            command,
            limits: Arc::new(limits.clamped()),
            host,
            slots: RunSlots::new(slots),
            runs_per_worker,
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
                let why = format!("no message within {START_TIMEOUT:?}");
                return Err(WorkerError::NotReady { program, why });
            }
        };
        inner.lock_idle().push_front(first);
        Ok(Self { inner: Arc::new(inner), confined: prepared.confined })
    }

    /// Whether workers run with a system call filter. Not every system supports it.
    pub fn is_confined(&self) -> bool {
        self.confined
    }

    /// The process ids of the idle workers.
    pub fn idle_workers(&self) -> Vec<u32> {
        self.inner.lock_idle().iter().filter_map(WorkerProcess::id).collect()
    }

    /// Runs a job in its own engine. Lines of `console` are passed to `on_log` as they arrive, even if the run fails.
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

    /// Calls a native function, with the same time limit; it can be killed as well. Its result is JSON; an error that
    /// it returns is [`SandboxError::Thrown`].
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

    /// The worker that was idle for longest. Dead workers are dropped.
    fn idle_worker(&self) -> Option<WorkerProcess> {
        loop {
            let mut worker = self.lock_idle().pop_front()?;
            if worker.is_alive() {
                return Some(worker);
            }
        }
    }

    /// There are never more workers than slots: one is started only by a caller that holds a slot and finds none idle.
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
        match timeout(self.limits.grace, worker.process.stop_run()).await {
            Ok(Ok(())) if worker.process.runs < self.runs_per_worker => {
                self.lock_idle().push_back(worker.process);
                return;
            }
            // It did as it was asked, and is replaced because of its age.
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => (worker.on_kill)(),
        }
        self.replace_worker(worker.process, worker.slot).await;
    }

    /// Kills a worker, and starts another one before the slot is free.
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
    /// It is dead, or must be killed; `on_kill` was called if necessary.
    Discard,
}

/// A worker for one run. However the lease ends, the worker and its slot are released properly.
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

    /// Waits until the worker has prepared an engine, and returns how long that took: this does not count as time of
    /// the run.
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
        // Nothing runs in it: a worker that is still preparing can be used later.
        if ready != Err(SandboxError::Cancelled) {
            self.fate = WorkerFate::Discard;
        }
        ready
    }

    /// Decides the fate of the worker and the result for the caller.
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
            WorkerFate::Reuse if worker.process.runs < pool.runs_per_worker => {
                // First the worker, then the slot: the next holder of the slot then finds the worker.
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
