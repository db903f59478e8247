//! Who wants to be told of changes, and when there is something to tell.
//!
//! A change rings the bell of the users it may concern. Each stream then waits a moment for more of them, looks at the
//! view as it is now, and tells what is another than before: so a client hears of every change of its own lists, once,
//! and of no other.

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

/// Updates of resources that a slow stream may lag behind before it misses some.
const UPDATE_QUEUE: usize = 64;

/// The bells of all users who listen.
pub(crate) struct ChangeNotifier {
    users: DashMap<UserId, Arc<UserNotifier>>,
    max_streams_per_user: usize,
}

struct UserNotifier {
    list_changed: watch::Sender<()>,
    resource_updates: broadcast::Sender<Arc<str>>,
    streams: AtomicUsize,
}

/// What a stream is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum McpChange {
    /// Lists are others than before.
    Lists {
        /// The tools.
        tools: bool,
        /// The prompts.
        prompts: bool,
        /// The resources, or their templates.
        resources: bool,
    },
    /// A resource changed: its URI as it is listed.
    Resource(Arc<str>),
}

/// One stream that listens.
pub(super) struct ChangeListener {
    pub(super) who: CallerContext,
    bell: Arc<UserNotifier>,
    list_changed: watch::Receiver<()>,
    resource_updates: broadcast::Receiver<Arc<str>>,
    last_fingerprints: [u64; McpListKind::ALL.len()],
    /// Rung and not yet looked at. Kept here, because waiting may be broken off at any time.
    is_check_due: bool,
    debounce: Duration,
}

impl ChangeNotifier {
    pub(crate) fn new(most: usize) -> Self {
        Self { users: DashMap::new(), max_streams_per_user: most }
    }

    /// Something changed somewhere.
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

    /// A stream for whoever acts. None where they have too many.
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
        let debounce = Duration::from_millis(state.config.mcp.debounce_ms);
        let mut listener = ChangeListener {
            who,
            bell,
            list_changed: rings,
            resource_updates: updates,
            last_fingerprints: Default::default(),
            is_check_due: false,
            debounce,
        };
        // After the bell is held: what changes from now on rings it.
        listener.last_fingerprints = listener.list_fingerprints(state).await.unwrap_or_default();
        Some(listener)
    }

    /// Whether a client of that user would hear of a change now.
    pub(crate) fn has_listener(&self, user: &UserId) -> bool {
        self.users.get(user).is_some_and(|bell| bell.streams.load(Ordering::Acquire) > 0)
    }

    /// Forgets users to whom nobody listens.
    pub(super) fn prune_idle_users(&self) {
        self.users.retain(|_, bell| bell.streams.load(Ordering::Acquire) > 0);
    }
}

impl ChangeListener {
    /// The next news. Never ends by itself.
    pub(super) async fn next(&mut self, state: &ServerState) -> McpChange {
        loop {
            if self.is_check_due {
                tokio::time::sleep(self.debounce).await;
                self.list_changed.borrow_and_update();
                let news = self.compare_lists(state).await;
                self.is_check_due = false;
                if let Some(news) = news {
                    return news;
                }
            }
            tokio::select! {
                changed = self.list_changed.changed() => match changed {
                    Ok(()) => self.is_check_due = true,
                    // The bell is held by this listener, so this cannot be; waiting for ever is the safe reading.
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

    /// The lists as they are now, as numbers. None where the store does not answer; the next ring tries again.
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
