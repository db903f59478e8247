//! Periodic work: stops idle apps and sessions, removes old calls and keys, cleans caches.

use std::time::Duration;

use jiff::Timestamp;
use toolyard_core::ports::{PruneBefore, StoreError};
use toolyard_platform::plugins::reload_lists;

use crate::{approvals, doors::rest, state::ServerState};

/// How long it may take to notice a change whose announcement was lost.
const CATCH_UP_EVERY: Duration = Duration::from_secs(2);

/// The same in a cluster: within a second, a token that another node revoked is refused, even if NATS is down.
const CATCH_UP_IN_CLUSTER: Duration = Duration::from_millis(500);

/// How soon an approved call that could not run yet is tried again, and an unanswered question is ended.
const RETRY_APPROVED_EVERY: Duration = Duration::from_secs(5);

/// One node of a cluster removes what is old.
const PRUNE_LEASE: &str = "prune";
/// Entries of the audit log that one transaction removes.
const AUDIT_ENTRIES_AT_ONCE: u32 = 500;

/// Starts the periodic work.
pub(super) fn start_housekeeping(state: &ServerState) {
    let every = |period, work: fn(ServerState) -> futures_util::future::BoxFuture<'static, ()>| {
        let state_of = state.clone();
        state.lifecycle.run_every(period, move || work(state_of.clone()));
    };
    every(Duration::from_millis(state.config.load().sessions.sweep_ms), |state| {
        Box::pin(async move { state.sessions.sweep().await })
    });
    let catch_up = if state.cluster.is_some() { CATCH_UP_IN_CLUSTER } else { CATCH_UP_EVERY };
    every(catch_up, |state| {
        Box::pin(async move {
            match state.stores.announcements.catch_up().await {
                Ok(0) => {}
                Ok(missed) => tracing::info!(missed, "caught up with missed store changes"),
                Err(error) => tracing::error!(%error, "failed to read the store's change log"),
            }
        })
    });
    every(RETRY_APPROVED_EVERY, |state| Box::pin(async move { approvals::sweep(&state).await }));
    every(Duration::from_secs(60), |state| {
        Box::pin(async move {
            state.catalog.evict_idle();
            state.limiter.evict_idle();
            state.platform.limits.evict_idle();
            state.speech.forget_idle();
            state.mcp.prune(&state);
            state.platform.tickets.remove_expired(state.clock.now());
            state.tokens.remove_expired(state.clock.now());
            state.chat.long_results.remove_expired(state.clock.now());
            state.executor.redaction().remove_expired(state.clock.now());
            state.upstreams.close_unused(|user| state.mcp.changes.has_listener(user));
            state.metrics.run_upkeep();
            if let Err(error) = reload_lists(&state.platform).await {
                tracing::error!(%error, "failed to load a plugin key or revocation list; the previous one stays in force");
            }
        })
    });
    every(Duration::from_secs(3_600), |state| {
        Box::pin(async move {
            if !state.holds_lease(PRUNE_LEASE).await {
                return;
            }
            let now = state.clock.now();
            let ago = |seconds: i64| now.checked_sub(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
            let calls = ago(i64::from(state.config.load().ledger.keep_days) * 24 * 60 * 60);
            let keys = ago(i64::try_from(state.config.load().calls.key_lifetime_s).unwrap_or(i64::MAX));
            let messages = rest::call_visibility::error_messages_since(&state);
            let ages = PruneBefore { labels: now, calls, messages, keys };
            if let Err(error) = state.stores.maintenance.prune(ages, &state.lifecycle.stopping).await {
                tracing::error!(%error, "failed to remove old calls and keys");
            }
            let audit = ago(i64::from(state.config.load().audit.keep_days) * 24 * 60 * 60);
            if let Err(error) = prune_audit_log(&state, audit).await {
                tracing::error!(%error, "failed to remove old entries of the audit log");
            }
            if let Err(error) = state.stores.oauth.prune_oauth(now).await {
                tracing::error!(%error, "failed to remove expired grants and codes");
            }
            if let Err(error) = state.stores.device_logins.prune_device_logins(now).await {
                tracing::error!(%error, "failed to remove expired device logins");
            }
            if let Err(error) = state.stores.browser_sessions.prune_browser_sessions(now).await {
                tracing::error!(%error, "failed to remove expired browser sessions");
            }
            if let Err(error) = state.stores.tokens.remove_expired_tokens(now).await {
                tracing::error!(%error, "failed to remove expired tokens");
            }
        })
    });
}

/// Removes entries from before this time, some at a time, so that other writes come in between.
async fn prune_audit_log(state: &ServerState, before: Timestamp) -> Result<(), StoreError> {
    let keys = state.platform.audit_log.keys();
    while state.stores.audit.prune_audit(before, keys, AUDIT_ENTRIES_AT_ONCE).await?
        == u64::from(AUDIT_ENTRIES_AT_ONCE)
        && !state.lifecycle.stopping.is_cancelled()
    {
        tokio::task::yield_now().await;
    }
    Ok(())
}
