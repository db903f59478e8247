//! Opening a store: every port on one database.

use std::sync::Arc;

use tokio_util::task::TaskTracker;
use toolyard_core::ports::Stores;

use crate::{OpenError, SqliteStore, StoreSettings, announcements::LocalAnnouncements};

/// Opens the store and migrates its tables. Its writer runs on `tasks` until the store is closed.
pub async fn open(settings: StoreSettings, tasks: &TaskTracker) -> Result<Stores, OpenError> {
    let store = Arc::new(SqliteStore::open(settings, tasks).await?);
    let announcements = LocalAnnouncements::start(Arc::new(store.change_log())).await;
    Ok(Stores {
        announcements: Arc::new(announcements.map_err(OpenError::Unreadable)?),
        apps: store.clone(),
        definitions: store.clone(),
        installs: store.clone(),
        settings: store.clone(),
        preferences: store.clone(),
        devices: store.clone(),
        app_data: store.clone(),
        runs: store.clone(),
        upstreams: store.clone(),
        offers: store.clone(),
        upstream_tokens: store.clone(),
        plugins: store.clone(),
        plugin_data: store.clone(),
        plugin_lists: store.clone(),
        published_plugins: store.clone(),
        ledger: store.clone(),
        calls: store.clone(),
        usage: store.clone(),
        approvals: store.clone(),
        approval_rules: store.clone(),
        labels: store.clone(),
        pins: store.clone(),
        quarantine: store.clone(),
        push_subscriptions: store.clone(),
        oauth: store.clone(),
        accounts: store.clone(),
        sign_in: store.clone(),
        browser_sessions: store.clone(),
        device_logins: store.clone(),
        personal_data: store.clone(),
        tokens: store.clone(),
        maintenance: store,
    })
}
