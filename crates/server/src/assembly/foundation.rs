//! The parts that all others are built on: stores, secrets, network, limits, metrics.

use std::sync::Arc;

use metrics_exporter_prometheus::{PrometheusHandle, PrometheusRecorder};
use toolyard_core::{
    Executor, LiveValue,
    limits::CallLimits,
    ports::{ChangeSubscriber, ClusterStore, HomeMarks, SecretSealer, StoreQuotas, Stores},
};
use toolyard_net::{Guard, HttpClient};
use toolyard_platform::{Platform, accounts::AccountState, audit::AuditWriter, users::SocketTickets};
use toolyard_sessions::{SessionParts, Sessions, Transcriber};

use super::tools::ToolRuntime;
use crate::{
    auth::TokenSigner,
    cluster::{ClusterNode, JoinedBus},
    config::{AuthMode, Config},
    connections::ProcessState,
    lifecycle::Lifecycle,
    parts::{self, WebAccess},
    root_key,
    serve::{ServerDependencies, ServerStartError},
    speech::{self, SpeechEngine, SpeechMetrics},
    telemetry,
};

/// The parts that all others are built on.
pub(super) struct ServerFoundation {
    pub(super) config: Config,
    pub(super) deps: ServerDependencies,
    pub(super) mode: AuthMode,
    pub(super) lifecycle: Lifecycle,
    pub(super) stores: Stores,
    pub(super) secrets: Arc<dyn SecretSealer>,
    /// The guard and the client for requests to apps and upstreams.
    pub(super) guard: Guard,
    pub(super) http: HttpClient,
    /// Web access for pages, icons and plugins.
    pub(super) web: WebAccess,
    pub(super) limits: LiveValue<CallLimits>,
    pub(super) quotas: LiveValue<StoreQuotas>,
    pub(super) recorder: PrometheusRecorder,
    pub(super) metrics: PrometheusHandle,
    pub(super) process: ProcessState,
    /// The connection to other nodes. None if this server is alone.
    pub(super) bus: Option<JoinedBus>,
}

impl ServerFoundation {
    pub(super) async fn open(config: Config, deps: ServerDependencies) -> Result<Self, ServerStartError> {
        let lifecycle = Lifecycle::default();
        let mode = parts::auth_mode(&config)?;
        // First, because it locks the data folder and knows which root key belongs to it.
        let settings = parts::store_settings(&config);
        let quotas = settings.quotas().clone();
        let mut stores = toolyard_store::open(settings, &lifecycle.tasks).await?;
        // On the heap, like all that is large and rarely needed: the future of a start must fit on the stack.
        let bus = Box::pin(JoinedBus::connect(
            &config.cluster,
            mode,
            config.server.listen,
            &mut stores,
            &lifecycle,
        ));
        let bus = bus.await?;
        let secrets: Arc<dyn SecretSealer> =
            Arc::new(root_key::load_root_keys(&config, &deps, &stores).await?);
        let guard = parts::build_guard(&config, mode)?;
        let own = || HttpClient::new(guard.clone(), parts::client_settings(&config));
        let http = deps.http.clone().unwrap_or_else(own);
        let web = parts::web_access(&config, &deps)?;
        let limits = parts::call_limits(&config.calls, &config.ledger).into();
        let (recorder, metrics) = telemetry::prometheus_recorder();
        let process = ProcessState::new(&config.server, &recorder)?;
        Ok(Self {
            config,
            deps,
            mode,
            lifecycle,
            stores,
            secrets,
            guard,
            http,
            web,
            limits,
            quotas,
            recorder,
            metrics,
            process,
            bus,
        })
    }

    /// Marks what others bring back, if this server is not alone.
    pub(super) fn home_marks(&self) -> HomeMarks {
        match self.bus {
            Some(_) => HomeMarks::new(self.secrets.clone()),
            None => HomeMarks::default(),
        }
    }

    /// Leases of work that one node does for all. None if this server is alone.
    pub(super) fn leases(&self) -> Option<Arc<dyn ClusterStore>> {
        self.bus.as_ref().and(self.stores.cluster.clone())
    }

    /// Joins the cluster, if there is one.
    pub(super) async fn join_cluster(
        &mut self,
        sessions: &Sessions,
        executor: &Executor,
    ) -> Result<Option<ClusterNode>, ServerStartError> {
        let Some(bus) = self.bus.take() else { return Ok(None) };
        let log = self.stores.calls.clone();
        Box::pin(bus.join(sessions, executor, log, &self.secrets, &self.lifecycle)).await.map(Some)
    }

    /// Text to speech, and speech to text if it is configured.
    pub(super) fn build_speech(
        &self,
    ) -> Result<(SpeechEngine, Option<Arc<dyn Transcriber>>), ServerStartError> {
        let speech_deps = speech::SpeechDependencies {
            secrets: &*self.secrets,
            environment: &self.deps.environment,
            ids: &self.deps.ids,
            tasks: &self.lifecycle.tasks,
            client: parts::client_settings(&self.config),
            metrics: SpeechMetrics::new(&self.recorder),
        };
        speech::open_speech(&self.config.speech, speech_deps)
    }

    /// Live users.
    pub(super) fn build_sessions(&self, transcriber: Option<Arc<dyn Transcriber>>) -> Sessions {
        Sessions::new(SessionParts {
            stores: self.stores.clone(),
            secrets: self.secrets.clone(),
            http: self.http.clone(),
            guard: self.guard.clone(),
            clock: self.deps.clock.clone(),
            ids: self.deps.ids.clone(),
            limits: self.limits.clone(),
            transcriber,
            marks: self.home_marks(),
            settings: parts::session_settings(&self.config),
            tasks: self.lifecycle.tasks.clone(),
            stopping: self.lifecycle.stopping.clone(),
        })
    }

    /// The platform's verbs, with the revoked tokens loaded.
    pub(super) async fn build_platform(
        &self,
        tools: &ToolRuntime,
        sessions: &Sessions,
    ) -> Result<Arc<Platform>, ServerStartError> {
        let platform = Arc::new(Platform {
            stores: self.stores.clone(),
            catalog: tools.catalog.clone(),
            approvals: tools.approvals.clone(),
            definitions: tools.definitions.clone(),
            clock: self.deps.clock.clone(),
            ids: self.deps.ids.clone(),
            secrets: self.secrets.clone(),
            accounts: AccountState::default(),
            audit_log: AuditWriter::new(&*self.secrets),
            tokens: Arc::new(TokenSigner::new(&*self.secrets)?),
            sessions: Arc::new(sessions.clone()),
            tickets: SocketTickets::new(self.config.mcp.ticket_s, self.home_marks()),
            guard: self.guard.clone(),
            web_guard: self.web.guard.clone(),
            http: self.http.clone(),
            plugins: tools.plugins.plugin_service(&self.config.plugins),
            limits: parts::request_limits(&self.config.rates)?,
            config: parts::platform_config(&self.config, self.mode).into(),
        });
        let subscriber: Arc<dyn ChangeSubscriber> = platform.clone();
        self.stores.announcements.subscribe(Arc::downgrade(&subscriber));
        platform.load_revoked_tokens().await.map_err(ServerStartError::store_unreadable)?;
        platform.load_disabled_users().await.map_err(ServerStartError::store_unreadable)?;
        Ok(platform)
    }
}
