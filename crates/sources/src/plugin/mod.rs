//! Plugins of users: signed manifests whose JavaScript runs in worker processes of the sandbox.
//!
//! | look for | in |
//! | --- | --- |
//! | a stored plugin, judged at each load | `load` |
//! | the run of one tool | `run` |
//! | the result of a run | `outcome` |
//! | code that is killed repeatedly | `kill_counter` |
//! | what a plugin stores for a user | `storage` |

mod kill_counter;
mod load;
mod outcome;
mod run;
mod storage;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::{
    CallContext, CallReply, Tool, ToolError,
    ports::{
        Change, Clock, InstalledPlugin, PluginDataQuota, PluginProvider, PluginRuns, PluginSwitch, ReadyTool,
        StoreError, Stores, ToolSource, UserPlugin,
    },
    schema::ValidArguments,
};
use toolyard_net::{Guard, HttpClient};
use toolyard_protocol::{
    ErrorCode, UserId,
    plugin::{ContentHash, MAX_CODE_BYTES},
};
pub use toolyard_sandbox::process::{WorkerCommand, WorkerError};
use toolyard_sandbox::{
    SandboxHost, SandboxLimits,
    process::{PoolParts, RUNS_PER_WORKER, SlotLimits, WorkerPool},
};

use toolyard_trust::PluginJudge;

use self::kill_counter::KillCounter;
pub use self::load::LoadedPlugin;

/// Limits of plugins.
#[derive(Debug, Clone)]
pub struct PluginSettings {
    /// Concurrent runs, over all users; also the number of worker processes.
    pub runs: usize,
    /// Concurrent runs per user.
    pub runs_per_user: usize,
    /// Concurrent runs per plugin, over all users.
    pub runs_per_plugin: usize,
    /// Memory of one run, in bytes.
    pub memory: usize,
    /// Longest run, in wall time.
    pub time: Duration,
    /// Longest processor time of a run.
    pub compute: Duration,
    /// Storage quota of one plugin for one user.
    pub room: PluginDataQuota,
}

/// Dependencies of the plugin source.
pub struct PluginParts {
    /// Installed plugins and their data.
    pub stores: Stores,
    /// Decides which plugins may run.
    pub judge: Arc<dyn PluginJudge>,
    /// The current time.
    pub clock: Arc<dyn Clock>,
    /// Sends the plugins' requests.
    pub http: HttpClient,
    /// Decides which URLs are allowed.
    pub guard: Guard,
    /// Randomness for the code.
    pub random: Arc<toolyard_sandbox::RandomFn>,
    /// Tracks the tasks that a shutdown waits for.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
    /// How a worker process is started.
    pub worker: WorkerCommand,
    /// Limits.
    pub settings: PluginSettings,
}

/// Extra time after the end of a run, or after its caller left, before its process is killed.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// Runs that wait for a worker, over all users.
const MAX_WAITING: usize = 64;

/// Runs the plugins of users.
pub struct PluginSource {
    stores: Stores,
    judge: Arc<dyn PluginJudge>,
    clock: Arc<dyn Clock>,
    workers: WorkerPool,
    kill_counter: Arc<KillCounter>,
    settings: PluginSettings,
}

impl PluginSource {
    /// Creates the source with one worker pool for the whole server.
    pub async fn new(parts: PluginParts) -> Result<Arc<Self>, WorkerError> {
        let settings = parts.settings;
        let limits = SandboxLimits {
            time: settings.time,
            compute: settings.compute,
            memory: settings.memory,
            grace: KILL_GRACE,
            source_bytes: MAX_CODE_BYTES,
            ..SandboxLimits::default()
        };
        let clock = parts.clock.clone();
        let host = SandboxHost {
            client: parts.http,
            guard: parts.guard,
            clock: Arc::new(move || clock.now().as_millisecond()),
            random: parts.random,
        };
        let slots = SlotLimits {
            runs: settings.runs,
            per_user: settings.runs_per_user,
            per_content: settings.runs_per_plugin,
            waiting: MAX_WAITING,
        };
        let tasks = parts.tasks.clone();
        let pool =
            PoolParts { command: parts.worker, limits, slots, runs_per_worker: RUNS_PER_WORKER, host, tasks };
        let workers = WorkerPool::start(pool).await?;
        if !workers.is_confined() {
            tracing::warn!(
                "plugin workers run without a system call filter: seccomp is not available on this system"
            );
        }
        Ok(Arc::new(Self {
            kill_counter: Arc::new(KillCounter::new(parts.stores.clone(), parts.tasks, parts.stopping)),
            stores: parts.stores,
            judge: parts.judge,
            clock: parts.clock,
            workers,
            settings,
        }))
    }

    /// The process ids of the idle workers.
    pub fn idle_workers(&self) -> Vec<u32> {
        self.workers.idle_workers()
    }

    /// Judges a stored plugin.
    pub fn load_plugin(&self, user: &UserId, row: InstalledPlugin) -> LoadedPlugin {
        let is_switched_off = self.kill_counter.is_switched_off(user, &row.hash);
        let loaded = load::load_plugin(row, &*self.judge, self.clock.now());
        if is_switched_off && loaded.hidden.is_none() {
            return LoadedPlugin { hidden: Some(kill_counter::REASON.to_owned()), ..loaded };
        }
        loaded
    }
}

impl PluginRuns for PluginSource {
    fn was_killed_too_often(&self, user: &UserId, hash: &ContentHash) -> bool {
        self.kill_counter.is_switched_off(user, hash)
    }
}

#[async_trait]
impl PluginProvider for PluginSource {
    async fn list_plugins(&self, user: &UserId) -> Result<Vec<UserPlugin>, StoreError> {
        let rows = self.stores.plugins.list_installed(user).await?;
        Ok(rows.into_iter().filter_map(|row| self.load_plugin(user, row).into_user_plugin()).collect())
    }
}

#[async_trait]
impl ToolSource for PluginSource {
    /// Loads and judges the plugin again before each call: a view may be older than a revocation, and keys expire
    /// without an announcement.
    async fn make_ready<'a>(
        &'a self,
        cx: &'a CallContext,
        tool: &'a Tool,
    ) -> Result<Box<dyn ReadyTool + 'a>, ToolError> {
        let loaded = self.load_for_call(cx, tool).await?;
        Ok(Box::new(JudgedPlugin { source: self, cx, tool, loaded }))
    }
}

/// A plugin that may run now.
struct JudgedPlugin<'a> {
    source: &'a PluginSource,
    cx: &'a CallContext,
    tool: &'a Tool,
    loaded: LoadedPlugin,
}

#[async_trait]
impl ReadyTool for JudgedPlugin<'_> {
    async fn invoke(self: Box<Self>, arguments: &ValidArguments) -> Result<CallReply, ToolError> {
        self.source.run_tool(self.cx, self.tool, arguments, self.loaded).await
    }
}

impl PluginSource {
    /// A call found that the caller's view is outdated, so it is rebuilt. Nothing was stored.
    fn notify_view_changed(&self, user: &UserId) {
        self.stores.announcements.notify(&Change::ViewChanged(user.clone()));
    }

    async fn load_for_call(&self, cx: &CallContext, tool: &Tool) -> Result<LoadedPlugin, ToolError> {
        let gone = || {
            self.notify_view_changed(&cx.user);
            let text = format!("{} has changed; list the tools again.", tool.name);
            ToolError::new(ErrorCode::ToolNotFound, text)
        };
        let id = load::plugin_id(tool.name.package()).ok_or_else(gone)?;
        let row = self.stores.plugins.find_installed(&cx.user, &id).await?.ok_or_else(gone)?;
        let loaded = self.load_plugin(&cx.user, row);
        if let Some(why) = &loaded.hidden {
            self.notify_view_changed(&cx.user);
            let text = format!("{} is not run: {why}.", tool.name);
            return Err(ToolError::new(ErrorCode::AppNotAvailable, text));
        }
        // The arguments were checked against the schema of the content in the view.
        if tool.app.record.plugin() != Some(&loaded.row.hash) {
            return Err(gone());
        }
        Ok(loaded)
    }
}

/// Why the switch prevents the plugin from running, if it does.
fn switched_off_reason(switch: &PluginSwitch) -> Option<String> {
    match switch {
        PluginSwitch::On => None,
        PluginSwitch::Off => Some("switched off by the user".to_owned()),
        PluginSwitch::Stopped(why) => Some(why.clone()),
    }
}
