//! `calculate`, in a worker process: some of its functions cannot be interrupted, so it must be possible to kill them.
//! Programs that embed the server without a worker calculate on threads.

use std::{sync::Arc, time::Duration};

use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::ToolError;
use toolyard_net::{Guard, HttpClient};
use toolyard_protocol::{ErrorCode, UserId};
use toolyard_sandbox::{
    SandboxError, SandboxHost, SandboxLimits,
    process::{
        NativeFunction, NativeRequest, PoolParts, RUNS_PER_WORKER, RunOwner, SlotLimits, WorkerCommand,
        WorkerError, WorkerPool,
    },
};
use toolyard_toolbox::{
    ToolboxOutput,
    calculate::{CalculateArguments, CalculateError, calculate, calculate_here},
};

/// The function of the worker.
pub(crate) const CALCULATE: NativeFunction = NativeFunction { name: "calculate", call: call_in_worker };

/// Concurrent calculations, over all users. One user never has more than half of them.
const AT_ONCE: usize = 4;
/// Calculations of one user, waiting ones included: as many as a chat runs at once.
const PER_USER: usize = 16;
/// Waiting calculations, over all users.
const MAX_WAITING: usize = 64;
/// Extra time for a calculation to notice that its limit is over.
const GRACE: Duration = Duration::from_millis(250);

/// How calculations run.
#[derive(Clone)]
pub struct CalculatorSetup {
    /// The worker command; without it, calculations run on threads of this process.
    pub worker: Option<WorkerCommand>,
    /// Longest calculation.
    pub limit: Duration,
    /// Tracks the tasks that a shutdown waits for.
    pub tasks: TaskTracker,
}

pub(super) struct Calculator {
    setup: CalculatorSetup,
    /// Started by the first calculation.
    workers: OnceCell<WorkerPool>,
    /// Used without workers. A running calculation holds a permit, even after its caller left.
    threads: Arc<Semaphore>,
    http: HttpClient,
    guard: Guard,
}

impl Calculator {
    pub(super) fn new(setup: CalculatorSetup, http: HttpClient, guard: Guard) -> Self {
        let threads = Arc::new(Semaphore::new(AT_ONCE));
        Self { setup, workers: OnceCell::new(), threads, http, guard }
    }

    pub(super) async fn run_calculation(
        &self,
        arguments: CalculateArguments,
        user: &UserId,
        cancel: CancellationToken,
        left: Duration,
    ) -> Result<ToolboxOutput, ToolError> {
        let failed = |error: CalculateError| ToolError::new(ErrorCode::ExecutionError, error.to_string());
        let Some(command) = &self.setup.worker else {
            let place = Arc::clone(&self.threads).try_acquire_owned().map_err(|_| busy_error())?;
            return calculate(arguments, self.setup.limit.min(left), place).await.map_err(failed);
        };
        let workers = self
            .workers
            .get_or_try_init(|| self.start_workers(command))
            .await
            .map_err(|error| failed(CalculateError::Failed).with_cause(error.to_string()))?;
        let args = to_raw_value(&arguments).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let owner = RunOwner { user: user.as_str().into(), content: "calculate".into() };
        let called = workers.call_native(NativeRequest { name: CALCULATE.name, args, owner }, cancel).await;
        match called {
            Ok(outcome) => serde_json::from_str(outcome.json.get())
                .map_err(|error| failed(CalculateError::Failed).with_cause(error.to_string())),
            Err(SandboxError::Thrown { text, .. }) => Err(ToolError::new(ErrorCode::ExecutionError, text)),
            Err(SandboxError::TimedOut { .. } | SandboxError::TooMuchWork { .. }) => {
                Err(failed(CalculateError::TooSlow))
            }
            Err(SandboxError::Busy | SandboxError::TooManyRuns { .. }) => Err(busy_error()),
            Err(SandboxError::Cancelled) => {
                Err(ToolError::new(ErrorCode::Cancelled, "The calculation was cancelled."))
            }
            Err(error) => Err(failed(CalculateError::Failed).with_cause(error.to_string())),
        }
    }

    async fn start_workers(&self, command: &WorkerCommand) -> Result<WorkerPool, WorkerError> {
        let limit = self.setup.limit;
        let limits = SandboxLimits { time: limit, compute: limit, grace: GRACE, ..SandboxLimits::default() };
        // A calculation makes no host calls, so it needs neither clock nor randomness.
        let host = SandboxHost {
            client: self.http.clone(),
            guard: self.guard.clone(),
            clock: Arc::new(|| 0),
            random: Arc::new(|_| ()),
        };
        let slots =
            SlotLimits { runs: AT_ONCE, per_user: PER_USER, per_content: AT_ONCE, waiting: MAX_WAITING };
        let (command, tasks) = (command.clone(), self.setup.tasks.clone());
        let runs_per_worker = RUNS_PER_WORKER;
        WorkerPool::start(PoolParts { command, limits, slots, runs_per_worker, host, tasks }).await
    }
}

fn busy_error() -> ToolError {
    let text = "Too many other calculations are running, so this one did not run; try again.";
    ToolError::new(ErrorCode::Overloaded, text)
}

/// Runs in the worker.
fn call_in_worker(arguments: &str, is_over: &(dyn Fn() -> bool + Sync)) -> Result<String, String> {
    let arguments: CalculateArguments = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    let output = calculate_here(&arguments, is_over).map_err(|error| error.to_string())?;
    serde_json::to_string(&output).map_err(|error| error.to_string())
}
