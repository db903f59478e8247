//! Builds a server from its parts, in the order in which they depend on each other.
//!
//! | look for | in |
//! | --- | --- |
//! | stores, secrets, the network, sessions, the verbs | `foundation` |
//! | the catalog, the sources, the executor | `tools` |
//! | periodic work | `housekeeping` |
//! | the graceful stop | `drain` |

mod drain;
mod foundation;
mod housekeeping;
mod tools;

use std::sync::Arc;

use toolyard_core::ports::ChangeSubscriber;
use toolyard_platform::{definitions, upstreams};

pub(crate) use self::drain::drain;
use self::{foundation::ServerFoundation, housekeeping::start_housekeeping, tools::ToolRuntime};
use crate::{
    approval_webhook::ApprovalWebhook,
    approvals,
    auth::{OidcVerifier, ScrapeToken, SessionCookies},
    change_feed::ChangeFeed,
    config::Config,
    doors::{chat::ChatState, mcp::McpDoor, oauth::OAuthDoor, sign_in::SignInIssuers},
    hosts::HostRules,
    icons::IconCache,
    models::ModelRegistry,
    openapi,
    reload::{ConfigReloader, LiveParts},
    serve::{ServerDependencies, ServerStartError},
    state::{ServerExposure, ServerState, SharedState},
    telemetry::CallMetrics,
    web_push::{WebPush, start_push},
};

/// Builds all parts and starts the live ones.
pub(crate) async fn assemble(
    config: Config,
    deps: ServerDependencies,
    exposure: ServerExposure,
) -> Result<ServerState, ServerStartError> {
    let mut base = ServerFoundation::open(config, deps).await?;
    let (speech, transcriber) = base.build_speech()?;
    let sessions = base.build_sessions(transcriber);
    let tools = ToolRuntime::build(&base, &sessions).await?;
    let platform = base.build_platform(&tools, &sessions).await?;
    let models = ModelRegistry::new(&base.config, &base.deps)?;
    let webhook = ApprovalWebhook::from_config(&base.config.approvals, &base.deps, &base.guard, &base.http)?;
    let cluster = base.join_cluster(&sessions, &tools.executor).await?;
    let ServerFoundation { config, deps, mode, lifecycle, stores, secrets, guard, http, web, .. } = base;
    let state = ServerState(Arc::new(SharedState {
        auth_mode: mode,
        exposure,
        mcp: McpDoor::new(&*secrets, &*deps.ids, &config.mcp),
        oauth: OAuthDoor::from_config(&config, web.clone(), &deps)?,
        cookies: SessionCookies::new(&config.base_url()),
        issuers: SignInIssuers::from_config(&config, &deps)?,
        web_push: WebPush::from_config(&config, &*secrets, web.clone()),
        icons: IconCache::new(web, deps.clock.clone()),
        oidc: config.auth.oidc.clone().map(|oidc| OidcVerifier::new(oidc, http)),
        tokens: platform.tokens.clone(),
        change_feed: ChangeFeed::default(),
        chat: ChatState::new(&config.chat, models, tools.long_results, tools.vectors),
        scrape_token: ScrapeToken::from_config(&config.telemetry, &deps)?,
        call_metrics: CallMetrics::new(base.recorder),
        metrics: base.metrics,
        process: base.process,
        openapi: serde_json::to_vec(&openapi::openapi_document()).unwrap_or_default().into(),
        catalog: tools.catalog,
        executor: tools.executor,
        approvals: tools.approvals,
        upstreams: tools.upstreams,
        plugins: tools.plugins,
        limiter: tools.limiter,
        clock: deps.clock,
        ids: deps.ids,
        console: deps.console,
        stores,
        sessions,
        speech,
        platform,
        secrets,
        guard,
        cluster,
        lifecycle,
        reloader: deps.reload.map(ConfigReloader::new),
        live: LiveParts {
            hosts: HostRules::new(&config.server, mode).into(),
            limits: base.limits,
            quotas: base.quotas,
            policy: tools.policy,
        },
        config: config.into(),
    }));
    if let Some(webhook) = webhook {
        webhook.start(&state);
    }
    start_live_parts(&state).await?;
    Ok(state)
}

/// Starts the live parts: change subscribers, sessions of the previous process, upstreams, housekeeping.
async fn start_live_parts(state: &ServerState) -> Result<(), ServerStartError> {
    let subscriber: Arc<dyn ChangeSubscriber> = state.0.clone();
    state.stores.announcements.subscribe(Arc::downgrade(&subscriber));
    // In a cluster they are restored one by one, with the home of their user.
    if state.cluster.is_none() {
        let restored = state.sessions.restore_runs().await.map_err(ServerStartError::store_unreadable)?;
        if restored > 0 {
            tracing::info!(restored, "waiting for apps of the previous process to reconnect");
        }
    }
    let config = state.config.load_full();
    let configured = upstreams::sync_from_config(&state.platform, &config.upstreams).await;
    configured.map_err(ServerStartError::store_unreadable)?;
    match definitions::review_stored(&state.platform).await {
        Ok(0) => {}
        Ok(packages) => tracing::info!(packages, "definitions of stored packages pinned"),
        Err(error) => tracing::error!(%error, "stored definitions could not be reviewed"),
    }
    state.upstreams.start().await.map_err(ServerStartError::store_unreadable)?;
    approvals::start_runs(state);
    start_push(state);
    start_housekeeping(state);
    Ok(())
}
