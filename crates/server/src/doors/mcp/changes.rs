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
    catalog::ListKind,
    ports::{AffectedViews, Change},
};
use toolyard_protocol::{PackageName, UserId, mcp::uri};

use crate::{auth::ActingFor, state::AppState};

/// Updates of resources that a slow stream may lag behind before it misses some.
const UPDATE_QUEUE: usize = 64;

/// The bells of all users who listen.
pub(crate) struct Changes {
    users: DashMap<UserId, Arc<Bell>>,
    most: usize,
}

struct Bell {
    rings: watch::Sender<()>,
    updates: broadcast::Sender<Arc<str>>,
    streams: AtomicUsize,
}

/// What a stream is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
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
pub(super) struct Listener {
    pub(super) who: ActingFor,
    bell: Arc<Bell>,
    rings: watch::Receiver<()>,
    updates: broadcast::Receiver<Arc<str>>,
    last: [u64; ListKind::ALL.len()],
    /// Rung and not yet looked at. Kept here, because waiting may be broken off at any time.
    rung: bool,
    debounce: Duration,
}

impl Changes {
    pub(crate) fn new(most: usize) -> Self {
        Self { users: DashMap::new(), most }
    }

    /// Something changed somewhere.
    pub(crate) fn hear(&self, change: &Change) {
        if let Change::ResourceUpdated { package, user, uri } = change {
            self.updated(package, user.as_ref(), uri);
        }
        match change.affected_views() {
            AffectedViews::None => {}
            AffectedViews::User(user) | AffectedViews::UserPackage(user, _) => {
                if let Some(bell) = self.users.get(user) {
                    bell.rings.send_replace(());
                }
            }
            AffectedViews::Package(_) | AffectedViews::All => {
                for bell in &self.users {
                    bell.rings.send_replace(());
                }
            }
        }
    }

    fn updated(&self, package: &PackageName, user: Option<&UserId>, remote: &str) {
        let Some(listed) = uri::mapped(package, remote).map(Arc::<str>::from) else { return };
        match user {
            Some(user) => {
                if let Some(bell) = self.users.get(user) {
                    let _ = bell.updates.send(listed);
                }
            }
            None => {
                for bell in &self.users {
                    let _ = bell.updates.send(listed.clone());
                }
            }
        }
    }

    /// A stream for whoever acts. None where they have too many.
    pub(super) async fn listen(state: &AppState, who: ActingFor) -> Option<Listener> {
        let changes = &state.mcp.changes;
        let bell = {
            let entry = changes.users.entry(who.user.clone()).or_insert_with(|| {
                Arc::new(Bell {
                    rings: watch::Sender::new(()),
                    updates: broadcast::channel(UPDATE_QUEUE).0,
                    streams: AtomicUsize::new(0),
                })
            });
            let place = |now: usize| (now < changes.most).then_some(now + 1);
            entry.streams.fetch_update(Ordering::AcqRel, Ordering::Acquire, place).ok()?;
            entry.clone()
        };
        let (rings, updates) = (bell.rings.subscribe(), bell.updates.subscribe());
        let debounce = Duration::from_millis(state.config.mcp.debounce_ms);
        let mut listener =
            Listener { who, bell, rings, updates, last: Default::default(), rung: false, debounce };
        // After the bell is held: what changes from now on rings it.
        listener.last = listener.look(state).await.unwrap_or_default();
        Some(listener)
    }

    /// Whether a client of that user would hear of a change now.
    pub(crate) fn is_heard(&self, user: &UserId) -> bool {
        self.users.get(user).is_some_and(|bell| bell.streams.load(Ordering::Acquire) > 0)
    }

    /// Forgets users to whom nobody listens.
    pub(super) fn tidy(&self) {
        self.users.retain(|_, bell| bell.streams.load(Ordering::Acquire) > 0);
    }
}

impl Listener {
    /// The next news. Never ends by itself.
    pub(super) async fn next(&mut self, state: &AppState) -> News {
        loop {
            if self.rung {
                tokio::time::sleep(self.debounce).await;
                self.rings.borrow_and_update();
                let news = self.differs(state).await;
                self.rung = false;
                if let Some(news) = news {
                    return news;
                }
            }
            tokio::select! {
                changed = self.rings.changed() => match changed {
                    Ok(()) => self.rung = true,
                    // The bell is held by this listener, so this cannot be; waiting for ever is the safe reading.
                    Err(_) => std::future::pending::<()>().await,
                },
                updated = self.updates.recv() => match updated {
                    Ok(uri) => return News::Resource(uri),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending::<()>().await,
                },
            }
        }
    }

    async fn differs(&mut self, state: &AppState) -> Option<News> {
        let now = self.look(state).await?;
        let last = std::mem::replace(&mut self.last, now);
        let other = |kind: ListKind| now[kind as usize] != last[kind as usize];
        let (tools, prompts) = (other(ListKind::Tools), other(ListKind::Prompts));
        let resources = other(ListKind::Resources) || other(ListKind::Templates);
        (tools || prompts || resources).then_some(News::Lists { tools, prompts, resources })
    }

    /// The lists as they are now, as numbers. None where the store does not answer; the next ring tries again.
    async fn look(&self, state: &AppState) -> Option<[u64; ListKind::ALL.len()]> {
        let view = state.catalog.view(&self.who.user, self.who.scope.clone()).await.ok()?;
        Some(ListKind::ALL.map(|kind| view.fingerprint(kind)))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.bell.streams.fetch_sub(1, Ordering::AcqRel);
    }
}
