//! Notifies clients of changed lists and resources.
//!
//! A change notifies all users that it may affect. Each of their streams then waits briefly for more changes, and compares
//! the fingerprints of the current lists with the last ones. So a client is notified once of every change of its own lists,
//! and of no others.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use dashmap::DashMap;
use tokio::{
    sync::{broadcast, watch},
    time::Duration,
};
use toolyard_core::{
    catalog::McpListKind,
    ports::{AffectedViews, Change},
};
use toolyard_protocol::{PackageName, UserId, mcp::uri};

use crate::{auth::CallerContext, state::ServerState};

/// Resource updates queued for a slow stream. It misses older ones.
const UPDATE_QUEUE: usize = 64;

/// Notifies all users with open streams.
pub(crate) struct ChangeNotifier {
    users: DashMap<UserId, Arc<UserNotifier>>,
    max_streams_per_user: usize,
}

struct UserNotifier {
    list_changed: watch::Sender<()>,
    resource_updates: broadcast::Sender<Arc<str>>,
    streams: AtomicUsize,
}

/// A change to report to a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum McpChange {
    /// These lists changed.
    Lists {
        /// The tools.
        tools: bool,
        /// The prompts.
        prompts: bool,
        /// The resources, or their templates.
        resources: bool,
    },
    /// A resource changed: its listed URI.
    Resource(Arc<str>),
}

/// The subscription of one stream.
pub(super) struct ChangeListener {
    pub(super) who: CallerContext,
    bell: Arc<UserNotifier>,
    list_changed: watch::Receiver<()>,
    resource_updates: broadcast::Receiver<Arc<str>>,
    last_fingerprints: [u64; McpListKind::ALL.len()],
    /// Notified, but not compared yet. Stored here, because the wait can be cancelled at any time.
    is_check_due: bool,
    debounce: Duration,
}

impl ChangeNotifier {
    pub(crate) fn new(max_streams_per_user: usize) -> Self {
        Self { users: DashMap::new(), max_streams_per_user }
    }

    /// Notifies the users that a change may affect.
    pub(crate) fn on_change(&self, change: &Change) {
        if let Change::ResourceUpdated { package, user, uri } = change {
            self.notify_resource_updated(package, user.as_ref(), uri);
        }
        match change.affected_views() {
            AffectedViews::None => {}
            AffectedViews::User(user) | AffectedViews::UserPackage(user, _) => {
                if let Some(bell) = self.users.get(user) {
                    bell.list_changed.send_replace(());
                }
            }
            AffectedViews::Package(_) | AffectedViews::All => {
                for bell in &self.users {
                    bell.list_changed.send_replace(());
                }
            }
        }
    }

    fn notify_resource_updated(&self, package: &PackageName, user: Option<&UserId>, remote: &str) {
        let Some(listed) = uri::map_uri(package, remote).map(Arc::<str>::from) else { return };
        match user {
            Some(user) => {
                if let Some(bell) = self.users.get(user) {
                    let _ = bell.resource_updates.send(listed);
                }
            }
            None => {
                for bell in &self.users {
                    let _ = bell.resource_updates.send(listed.clone());
                }
            }
        }
    }

    /// A subscription for the caller. `None` if the user has too many streams.
    pub(super) async fn subscribe(state: &ServerState, who: CallerContext) -> Option<ChangeListener> {
        let changes = &state.mcp.changes;
        let bell = {
            let entry = changes.users.entry(who.user.clone()).or_insert_with(|| {
                Arc::new(UserNotifier {
                    list_changed: watch::Sender::new(()),
                    resource_updates: broadcast::channel(UPDATE_QUEUE).0,
                    streams: AtomicUsize::new(0),
                })
            });
            let place = |now: usize| (now < changes.max_streams_per_user).then_some(now + 1);
            entry.streams.fetch_update(Ordering::AcqRel, Ordering::Acquire, place).ok()?;
            entry.clone()
        };
        let (rings, updates) = (bell.list_changed.subscribe(), bell.resource_updates.subscribe());
        let debounce = Duration::from_millis(state.config.load().mcp.debounce_ms);
        let mut listener = ChangeListener {
            who,
            bell,
            list_changed: rings,
            resource_updates: updates,
            last_fingerprints: Default::default(),
            is_check_due: false,
            debounce,
        };
        // After subscribing, so that later changes are not missed.
        listener.last_fingerprints = listener.list_fingerprints(state).await.unwrap_or_default();
        Some(listener)
    }

    /// Whether a client of this user is subscribed.
    pub(crate) fn has_listener(&self, user: &UserId) -> bool {
        self.users.get(user).is_some_and(|bell| bell.streams.load(Ordering::Acquire) > 0)
    }

    /// Removes users without streams.
    pub(super) fn prune_idle_users(&self) {
        self.users.retain(|_, bell| bell.streams.load(Ordering::Acquire) > 0);
    }
}

impl ChangeListener {
    /// Waits for the next change. Never ends by itself.
    pub(super) async fn next(&mut self, state: &ServerState) -> McpChange {
        loop {
            if self.is_check_due {
                tokio::time::sleep(self.debounce).await;
                self.list_changed.borrow_and_update();
                let change = self.compare_lists(state).await;
                self.is_check_due = false;
                if let Some(change) = change {
                    return change;
                }
            }
            tokio::select! {
                changed = self.list_changed.changed() => match changed {
                    Ok(()) => self.is_check_due = true,
                    // Unreachable, because this listener holds the sender. Wait forever to be safe.
                    Err(_) => std::future::pending::<()>().await,
                },
                updated = self.resource_updates.recv() => match updated {
                    Ok(uri) => return McpChange::Resource(uri),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending::<()>().await,
                },
            }
        }
    }

    async fn compare_lists(&mut self, state: &ServerState) -> Option<McpChange> {
        let now = self.list_fingerprints(state).await?;
        let last = std::mem::replace(&mut self.last_fingerprints, now);
        let other = |kind: McpListKind| now[kind as usize] != last[kind as usize];
        let (tools, prompts) = (other(McpListKind::Tools), other(McpListKind::Prompts));
        let resources = other(McpListKind::Resources) || other(McpListKind::Templates);
        (tools || prompts || resources).then_some(McpChange::Lists { tools, prompts, resources })
    }

    /// Fingerprints of the current lists. `None` if the store fails; the next notification retries.
    async fn list_fingerprints(&self, state: &ServerState) -> Option<[u64; McpListKind::ALL.len()]> {
        let view = state.catalog.view(&self.who.user, self.who.scope.clone()).await.ok()?;
        Some(McpListKind::ALL.map(|kind| view.list_fingerprint(kind)))
    }
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        self.bell.streams.fetch_sub(1, Ordering::AcqRel);
    }
}
