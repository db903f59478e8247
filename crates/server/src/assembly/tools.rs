//! What lists and runs tools: the catalog, the sources and the executor.

use std::sync::Arc;

use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::{
    Catalog, Executor,
    catalog::CatalogPorts,
    executor::ExecutorParts,
    kept::KeptResults,
    policy::{LocalLimiter, Policy},
    ports::{SourceKind, ToolSource},
};
use toolyard_sessions::Sessions;
use toolyard_sources::{
    AppSource, BuiltinSource, UpstreamSource, app::AppSourceParts, builtin::BuiltinParts,
    upstream::UpstreamParts,
};

use super::foundation::Foundation;
use crate::{
    builtin, parts,
    plugins::{self, PluginDesk},
    serve::StartError,
    telemetry::Traces,
};

/// What lists and runs tools.
pub(super) struct Tools {
    pub(super) catalog: Arc<Catalog>,
    pub(super) executor: Arc<Executor>,
    pub(super) upstreams: Arc<UpstreamSource>,
    pub(super) plugins: PluginDesk,
    pub(super) limiter: Arc<LocalLimiter>,
    pub(super) kept: Arc<KeptResults>,
    pub(super) vectors: Option<Arc<WordVectors>>,
}

impl Tools {
    pub(super) async fn build(base: &Foundation, sessions: &Sessions) -> Result<Self, StartError> {
        let Foundation { config, world, stores, lifecycle, .. } = base;
        let (kept, vectors) = (Arc::new(KeptResults::default()), parts::vectors(config)?);
        let builtin = builtin_parts(base, &kept, vectors.as_ref())?;
        let around = plugins::Around { stores, web: &base.web, lifecycle };
        let plugins = plugins::desk(config, world, around).await?;
        let ports = CatalogPorts {
            plugins: plugins.source.clone().map(|source| source as _),
            builtin: builtin.as_ref().and_then(BuiltinParts::catalog),
            stores: stores.clone(),
            presence: Arc::new(sessions.clone()),
        };
        let catalog = Catalog::new(ports, config.view_limits());
        let upstreams = upstream_source(base)?;
        let mut sources: Vec<(SourceKind, Arc<dyn ToolSource>)> = vec![
            (SourceKind::App, Arc::new(app_source(base, sessions))),
            (SourceKind::Upstream, upstreams.clone()),
        ];
        sources.extend(builtin.map(|parts| (SourceKind::Builtin, Arc::new(BuiltinSource::new(parts)) as _)));
        sources.extend(plugins.source.clone().map(|source| (SourceKind::Plugin, source as _)));
        let limiter = Arc::new(LocalLimiter::new(parts::rates(&config.rates)?));
        let denied = config.policy.deny.iter().map(String::as_str);
        let executor = Executor::new(ExecutorParts {
            sources,
            policy: Policy::denying(denied).map_err(StartError::Config)?,
            limiter: limiter.clone(),
            ledger: stores.ledger.clone(),
            clock: world.clock.clone(),
            limits: base.limits.clone(),
            tasks: lifecycle.calls.clone(),
            cut_off: lifecycle.cut_off.clone(),
        });
        if let Some(url) = &config.telemetry.otlp_url {
            Traces::to(url, world.ids.clone())?.follow(executor.watch(), lifecycle);
        }
        Ok(Self { catalog, executor, upstreams, plugins, limiter, kept, vectors })
    }
}

fn builtin_parts(
    base: &Foundation,
    kept: &Arc<KeptResults>,
    vectors: Option<&Arc<WordVectors>>,
) -> Result<Option<BuiltinParts>, StartError> {
    let around = builtin::Around {
        clock: base.world.clock.clone(),
        web: base.web.clone(),
        http: base.http.clone(),
        guard: base.guard.clone(),
        kept: kept.clone(),
        vectors: vectors.cloned(),
        environment: base.world.environment.clone(),
        worker: base.world.worker(),
        tasks: base.lifecycle.tasks.clone(),
    };
    builtin::parts(&base.config.builtin, around)
}

fn app_source(base: &Foundation, sessions: &Sessions) -> AppSource {
    AppSource::new(AppSourceParts {
        http: base.http.clone(),
        guard: base.guard.clone(),
        secrets: base.secrets.clone(),
        waker: Arc::new(sessions.clone()),
        clock: base.world.clock.clone(),
        limits: base.limits.clone(),
    })
}

fn upstream_source(base: &Foundation) -> Result<Arc<UpstreamSource>, StartError> {
    Ok(UpstreamSource::new(UpstreamParts {
        stores: base.stores.clone(),
        secrets: base.secrets.clone(),
        clock: base.world.clock.clone(),
        ids: base.world.ids.clone(),
        http: base.http.clone(),
        referrals: parts::referral_clients(&base.config, base.mode, &base.world)?,
        guard: base.guard.clone(),
        environment: base.world.environment.clone(),
        oauth: parts::oauth_setup(&base.config),
        tasks: base.lifecycle.tasks.clone(),
        stopping: base.lifecycle.stopping.clone(),
        settings: parts::upstream_settings(&base.config.upstream_settings, &base.config.calls),
    }))
}
