//! Announcements to all nodes. A stored change is announced by the version of the store alone: the other nodes read it in the
//! change log. A change of live state that concerns users of all nodes is sent whole.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;
use toolyard_core::ports::{Announcements, Change, ChangeSubscriber, NodeId, StoreError};
use toolyard_protocol::{PackageName, UserId};

use crate::bus::{Bus, BusError};

const SUBJECT: &str = "changes";

/// What other nodes are told.
#[derive(Debug, Serialize, Deserialize)]
struct ChangeNotice {
    from: i64,
    change: NoticedChange,
}

#[derive(Debug, Serialize, Deserialize)]
enum NoticedChange {
    /// Something was stored.
    Stored,
    UpstreamStatus,
    ResourceUpdated {
        package: PackageName,
        user: Option<UserId>,
        uri: Arc<str>,
    },
}

impl NoticedChange {
    /// None if the change concerns one user's home only, which is where it is announced.
    fn of_live(change: &Change) -> Option<Self> {
        match change {
            Change::UpstreamStatusChanged => Some(Self::UpstreamStatus),
            Change::ResourceUpdated { package, user, uri } => {
                Some(Self::ResourceUpdated { package: package.clone(), user: user.clone(), uri: uri.clone() })
            }
            _ => None,
        }
    }

    fn into_live(self) -> Option<Change> {
        match self {
            Self::Stored => None,
            Self::UpstreamStatus => Some(Change::UpstreamStatusChanged),
            Self::ResourceUpdated { package, user, uri } => {
                Some(Change::ResourceUpdated { package, user, uri })
            }
        }
    }
}

/// Announces changes to this node and to all others.
pub struct ClusterAnnouncements {
    local: Arc<dyn Announcements>,
    bus: Bus,
    me: NodeId,
    tasks: TaskTracker,
}

impl ClusterAnnouncements {
    /// Announces to the subscribers of `local`, and to other nodes.
    pub fn new(local: Arc<dyn Announcements>, bus: Bus, me: NodeId, tasks: TaskTracker) -> Self {
        Self { local, bus, me, tasks }
    }
}

#[async_trait]
impl Announcements for ClusterAnnouncements {
    async fn announce(&self, change: Change) {
        self.local.announce(change).await;
        self.bus.publish(SUBJECT, &ChangeNotice { from: self.me.0, change: NoticedChange::Stored }).await;
    }

    fn notify(&self, change: &Change) {
        self.local.notify(change);
        if let Some(change) = NoticedChange::of_live(change) {
            let (bus, notice) = (self.bus.clone(), ChangeNotice { from: self.me.0, change });
            self.tasks.spawn(async move { bus.publish(SUBJECT, &notice).await });
        }
    }

    fn subscribe(&self, subscriber: Weak<dyn ChangeSubscriber>) {
        self.local.subscribe(subscriber);
    }

    async fn catch_up(&self) -> Result<usize, StoreError> {
        self.local.catch_up().await
    }
}

/// Follows the announcements of other nodes, forever. `local` are the announcements of this node alone.
pub async fn follow_announcements(
    local: Arc<dyn Announcements>,
    bus: Bus,
    me: NodeId,
) -> Result<impl Future<Output = ()> + Send + 'static, BusError> {
    let mut notices = Box::pin(bus.subscribe::<ChangeNotice>(SUBJECT).await?);
    let stored = Arc::new(Notify::new());
    let wake = stored.clone();
    let reader = local.clone();
    // One reader for many notices: it reads all that was stored meanwhile.
    let read = async move {
        loop {
            stored.notified().await;
            if let Err(error) = reader.catch_up().await {
                tracing::error!(%error, "changes of another node not read");
            }
        }
    };
    let listen = async move {
        while let Some(notice) = notices.next().await {
            if notice.from == me.0 {
                continue;
            }
            match notice.change.into_live() {
                Some(change) => local.notify(&change),
                None => wake.notify_one(),
            }
        }
    };
    Ok(async move {
        tokio::select! {
            () = read => {}
            () = listen => {}
        }
    })
}
