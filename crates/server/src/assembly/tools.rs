//! The parts that list and run tools: the catalog, the sources and the executor.

use std::sync::Arc;

use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    Catalog, Executor, LiveValue,
    approvals::{ApprovalGate, ApprovalGateParts},
    catalog::CatalogPorts,
    executor::ExecutorParts,
    long_results::LongResults,
    policy::{LocalLimiter, ToolPolicy},
    ports::{SourceKind, ToolSource},
    redaction::SecretRedaction,
};
use toolyard_platform::definitions::DefinitionReviewer;
use toolyard_sessions::Sessions;
use toolyard_sources::{
    AppSource, BuiltinSource, UpstreamSource, app::AppSourceParts, builtin::BuiltinParts,
    upstream::UpstreamParts,
};

use super::foundation::ServerFoundation;
use crate::{
    builtin, parts,
    plugins::{self, PluginRuntime},
    serve::ServerStartError,
    telemetry::TraceExporter,
};

/// The parts that list and run tools.
pub(super) struct ToolRuntime {
    pub(super) catalog: Arc<Catalog>,
    pub(super) executor: Arc<Executor>,
    pub(super) approvals: Arc<ApprovalGate>,
    pub(super) definitions: Arc<DefinitionReviewer>,
    pub(super) upstreams: Arc<UpstreamSource>,
    pub(super) plugins: PluginRuntime,
    pub(super) limiter: Arc<LocalLimiter>,
    pub(super) policy: LiveValue<ToolPolicy>,
    pub(super) long_results: Arc<LongResults>,
    pub(super) vectors: Option<Arc<WordVectors>>,
}

impl ToolRuntime {
    pub(super) async fn build(
        base: &ServerFoundation,
        sessions: &Sessions,
    ) -> Result<Self, ServerStartError> {
        let ServerFoundation { config, deps, stores, lifecycle, .. } = base;
        let (kept, vectors) = (Arc::new(LongResults::default()), parts::load_word_vectors(config)?);
        let builtin = builtin_parts(base, &kept, vectors.as_ref())?;
        let plugin_deps = plugins::PluginDependencies { stores, web: &base.web, lifecycle };
        let plugins = plugins::build_plugin_runtime(config, deps, plugin_deps).await?;
        let pinning = base.config.definitions.policy(base.mode);
        let ports = CatalogPorts {
            plugins: plugins.source.clone().map(|source| source as _),
            builtin: builtin.as_ref().and_then(BuiltinParts::catalog_entry),
            stores: stores.clone(),
            presence: Arc::new(sessions.clone()),
            pinning,
        };
        let catalog = Catalog::new(ports, config.view_limits());
        let reviewer = DefinitionReviewer::new(stores.clone(), deps.clock.clone(), pinning);
        let definitions = Arc::new(reviewer);
        let upstreams = upstream_source(base, &definitions)?;
        let mut sources: Vec<(SourceKind, Arc<dyn ToolSource>)> = vec![
            (SourceKind::App, Arc::new(app_source(base, sessions))),
            (SourceKind::Upstream, upstreams.clone()),
        ];
        sources.extend(builtin.map(|parts| (SourceKind::Builtin, Arc::new(BuiltinSource::new(parts)) as _)));
        sources.extend(plugins.source.clone().map(|source| (SourceKind::Plugin, source as _)));
        let limiter = Arc::new(LocalLimiter::new(parts::call_rates(&config.rates)?));
        let policy = LiveValue::new(parts::tool_policy(&config.policy)?);
        let approvals = approval_gate(base).await?;
        let executor = Executor::new(ExecutorParts {
            sources,
            policy: policy.clone(),
            limiter: limiter.clone(),
            ledger: stores.ledger.clone(),
            clock: deps.clock.clone(),
            approvals: approvals.clone(),
            redaction: SecretRedaction::new(
                config.redaction.settings(),
                deps.clock.clone(),
                deps.ids.clone(),
            ),
            limits: base.limits.clone(),
            tasks: lifecycle.calls.clone(),
            cut_off: lifecycle.cut_off.clone(),
        });
        if let Some(url) = &config.telemetry.otlp_url {
            TraceExporter::new(url, deps.ids.clone())?.export_calls(executor.subscribe(), lifecycle);
        }
        Ok(Self {
            catalog,
            executor,
            approvals,
            definitions,
            upstreams,
            plugins,
            limiter,
            policy,
            long_results: kept,
            vectors,
        })
    }
}

async fn approval_gate(base: &ServerFoundation) -> Result<Arc<ApprovalGate>, ServerStartError> {
    let parts = ApprovalGateParts {
        approvals: base.stores.approvals.clone(),
        rules: base.stores.approval_rules.clone(),
        announcements: base.stores.announcements.clone(),
        clock: base.deps.clock.clone(),
        ids: base.deps.ids.clone(),
        secrets: base.secrets.clone(),
        labels: base.stores.labels.clone(),
        policy: base.config.approvals.policy().into(),
        data_flow: base.config.approvals.label_settings(),
        settings: base.config.approvals.settings(&base.config.base_url()).into(),
    };
    ApprovalGate::start(parts).await.map_err(ServerStartError::store_unreadable)
}

fn builtin_parts(
    base: &ServerFoundation,
    kept: &Arc<LongResults>,
    vectors: Option<&Arc<WordVectors>>,
) -> Result<Option<BuiltinParts>, ServerStartError> {
    let builtin_deps = builtin::BuiltinDependencies {
        clock: base.deps.clock.clone(),
        web: base.web.clone(),
        http: base.http.clone(),
        guard: base.guard.clone(),
        long_results: kept.clone(),
        vectors: vectors.cloned(),
        environment: base.deps.environment.clone(),
        worker: base.deps.worker_command(),
        tasks: base.lifecycle.tasks.clone(),
    };
    builtin::build_builtin_parts(&base.config.builtin, builtin_deps)
}

fn app_source(base: &ServerFoundation, sessions: &Sessions) -> AppSource {
    AppSource::new(AppSourceParts {
        http: base.http.clone(),
        guard: base.guard.clone(),
        secrets: base.secrets.clone(),
        waker: Arc::new(sessions.clone()),
        clock: base.deps.clock.clone(),
        limits: base.limits.clone(),
    })
}

fn upstream_source(
    base: &ServerFoundation,
    definitions: &Arc<DefinitionReviewer>,
) -> Result<Arc<UpstreamSource>, ServerStartError> {
    Ok(UpstreamSource::new(UpstreamParts {
        stores: base.stores.clone(),
        secrets: base.secrets.clone(),
        clock: base.deps.clock.clone(),
        ids: base.deps.ids.clone(),
        http: base.http.clone(),
        referrals: parts::referral_clients(&base.config, base.mode, &base.deps)?,
        guard: base.guard.clone(),
        environment: base.deps.environment.clone(),
        leases: base.leases(),
        oauth: parts::oauth_setup(&base.config, base.home_marks()),
        review: definitions.clone(),
        tasks: base.lifecycle.tasks.clone(),
        stopping: base.lifecycle.stopping.clone(),
        settings: parts::upstream_settings(
            &base.config.upstream_settings,
            &base.config.calls,
            &base.config.definitions,
        ),
    }))
}
