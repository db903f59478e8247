//! Building a server out of its parts, in the order in which they depend on each other.
//!
//! | look for | in |
//! | --- | --- |
//! | stores, secrets, the network, sessions, the verbs | `foundation` |
//! | the catalog, the sources, the executor | `tools` |
//! | work that is done now and then | `housekeeping` |
//! | the end | `drain` |

mod drain;
mod foundation;
mod housekeeping;
mod tools;

use std::sync::Arc;

use toolyard_core::ports::ChangeSubscriber;
use toolyard_platform::upstreams;

pub(crate) use self::drain::drain;
use self::{foundation::Foundation, housekeeping::housekeeping, tools::Tools};
use crate::{
    auth::Oidc,
    change_feed::ChangeFeed,
    config::Config,
    doors::{
        chat::{Replays, TurnGate},
        mcp::McpDoor,
    },
    icons::Icons,
    models::ModelBook,
    openapi,
    serve::{StartError, World},
    state::{AppState, Exposure, Shared},
    telemetry::CallMetrics,
    tickets::Tickets,
};

/// Builds everything, and starts what lives.
pub(crate) async fn assemble(
    config: Config,
    world: World,
    exposure: Exposure,
) -> Result<AppState, StartError> {
    let base = Foundation::open(config, world).await?;
    let (speech, transcriber) = base.speech()?;
    let sessions = base.sessions(transcriber);
    let tools = Tools::build(&base, &sessions).await?;
    let platform = base.platform(&tools).await?;
    let models = Arc::new(ModelBook::new(&base.config, &base.world)?);
    let Foundation { config, world, mode, lifecycle, stores, secrets, guard, http, web, .. } = base;
    let state: AppState = Arc::new(Shared {
        auth_mode: mode,
        exposure,
        mcp: McpDoor::new(&*secrets, &config.mcp),
        icons: Icons::new(web, world.clock.clone()),
        oidc: config.auth.oidc.clone().map(|oidc| Oidc::new(oidc, http)),
        tokens: platform.tokens.clone(),
        change_feed: ChangeFeed::default(),
        tickets: Tickets::new(config.mcp.ticket_s),
        replays: Replays::new(&config.chat),
        turns: TurnGate::new(&config.chat),
        call_metrics: CallMetrics::new(base.recorder),
        metrics: base.metrics,
        process: base.process,
        openapi: serde_json::to_vec(&openapi::document()).unwrap_or_default().into(),
        catalog: tools.catalog,
        executor: tools.executor,
        upstreams: tools.upstreams,
        plugins: tools.plugins,
        limiter: tools.limiter,
        kept: tools.kept,
        vectors: tools.vectors,
        clock: world.clock,
        ids: world.ids,
        console: world.console,
        stores,
        sessions,
        speech,
        platform,
        secrets,
        guard,
        models,
        lifecycle,
        config,
    });
    start(&state).await?;
    Ok(state)
}

/// Starts what lives: followers of changes, sessions of the process before, upstreams, housekeeping.
async fn start(state: &AppState) -> Result<(), StartError> {
    let subscriber: Arc<dyn ChangeSubscriber> = state.clone();
    state.stores.announcements.subscribe(Arc::downgrade(&subscriber));
    let restored = state.sessions.restore().await.map_err(StartError::unreadable)?;
    if restored > 0 {
        tracing::info!(restored, "apps of the process before are expected back");
    }
    let configured = upstreams::sync_from_config(&state.platform, &state.config.upstreams).await;
    configured.map_err(StartError::unreadable)?;
    state.upstreams.start().await.map_err(StartError::unreadable)?;
    housekeeping(state);
    Ok(())
}
