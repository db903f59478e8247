//! Events of one user's connection, for that user alone, as long as it is open. Events of shared connections are
//! handled in [`sync`](super::sync).

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::FutureExt as _;
use jiff::SignedDuration;
use toolyard_core::ports::{Change, UpstreamRecord};
use toolyard_mcp_client::{ChangeFilter, CloseReason, McpClient, ServerEvent, ServerEvents};
use toolyard_protocol::{PackageName, UserId, upstream::UpstreamAuth};

use super::{UpstreamSource, connections::ConnectionKey, health::retry_pause};

/// How long to collect changes before the lists are read again.
const SETTLE: Duration = Duration::from_millis(50);

impl UpstreamSource {
    /// Follows a new connection, if it belongs to a user and reports changes.
    pub(super) fn follow_connection(&self, key: &ConnectionKey, client: &McpClient) {
        if let (Some(user), None) = (&key.user, &key.declared) {
            // Holds no client: the connection closes when idle, even if its events are followed.
            let (source, events) = (self.me.clone(), client.subscribe_events());
            self.parts.tasks.spawn(follow_events(source, key.clone(), user.clone(), events));
        }
    }

    /// Updates the watched resources of a connection.
    pub(super) fn update_watch(&self, key: &ConnectionKey) {
        if let Some(client) = self.connections.open_client(key) {
            client
                .set_change_filter(ChangeFilter { uris: self.watched.uris(key), ..ChangeFilter::default() });
        }
    }

    pub(super) fn announce_updated(&self, package: &PackageName, user: Option<&UserId>, uri: &str) {
        let (package, user) = (package.clone(), user.cloned());
        let change = Change::ResourceUpdated { package, user, uri: uri.into() };
        self.parts.stores.announcements.notify(&change);
    }

    /// After a gap, every watched resource may have changed.
    pub(super) fn assume_updated(&self, key: &ConnectionKey) {
        for uri in self.watched.uris(key) {
            self.announce_updated(&key.package, key.user.as_ref(), &uri);
        }
    }

    /// The stored upstream, unless it is disabled.
    pub(super) async fn enabled_record(&self, package: &PackageName) -> Option<UpstreamRecord> {
        let app = self.parts.stores.apps.find_app(package).await.ok().flatten()?;
        app.upstream().filter(|upstream| !upstream.disabled).cloned()
    }

    /// Whether the lists for this user are outdated.
    async fn lists_are_old(&self, package: &PackageName, user: &UserId) -> bool {
        let Ok(last) = self.parts.stores.offers.last_offer(package, Some(user)).await else { return false };
        let (now, most) = (self.parts.clock.now(), self.parts.settings.refresh);
        last.is_some_and(|last| {
            now.duration_since(last.at) > SignedDuration::try_from(most).unwrap_or(SignedDuration::MAX)
        })
    }

    async fn read_again(&self, package: &PackageName, user: &UserId) {
        if let Some(record) = self.enabled_record(package).await.filter(is_per_user) {
            self.read_user_lists(package, &record, user).await;
        }
    }

    /// Reopens a lost connection, as long as a resource is watched on it.
    async fn reopen_connection(&self, key: &ConnectionKey) {
        for failures in 0.. {
            if self.parts.stopping.is_cancelled() || !self.watched.has_any(key) {
                return;
            }
            let Some(record) = self.enabled_record(&key.package).await else { return };
            if self.base_connection(&key.package, &record, key.user.as_ref()).await.is_ok() {
                return self.assume_updated(key);
            }
            tokio::select! {
                () = tokio::time::sleep(retry_pause(failures)) => {}
                () = self.parts.stopping.cancelled() => return,
            }
        }
    }
}

/// Whether its lists differ between users.
fn is_per_user(record: &UpstreamRecord) -> bool {
    record.details.auth == UpstreamAuth::OAuth
}

async fn follow_events(
    source: Weak<UpstreamSource>,
    key: ConnectionKey,
    user: UserId,
    mut events: ServerEvents,
) {
    let alive = || -> Option<Arc<UpstreamSource>> { source.upgrade() };
    if let Some(source) = alive()
        && source.lists_are_old(&key.package, &user).await
    {
        source.read_again(&key.package, &user).await;
    }
    while let Some(event) = events.next().await {
        let Some(source) = alive() else { return };
        match event {
            ServerEvent::ResourceUpdated(uri) => source.announce_updated(&key.package, Some(&user), &uri),
            ServerEvent::Closed(_) => return source.reopen_connection(&key).await,
            _ => {
                let SettledEvents { updated, closed } = settle_events(&mut events).await;
                for uri in updated {
                    source.announce_updated(&key.package, Some(&user), &uri);
                }
                if closed.is_some() {
                    return source.reopen_connection(&key).await;
                }
                source.read_again(&key.package, &user).await;
            }
        }
    }
}

/// Events that arrived while changes settled.
#[derive(Default)]
pub(super) struct SettledEvents {
    /// Resources that changed.
    pub(super) updated: BTreeSet<String>,
    /// The connection ended.
    pub(super) closed: Option<CloseReason>,
}

/// Lists change in bursts: waits briefly and takes all events that arrived, so that the lists are read once.
pub(super) async fn settle_events(events: &mut ServerEvents) -> SettledEvents {
    tokio::time::sleep(SETTLE).await;
    let mut settled = SettledEvents::default();
    while let Some(Some(event)) = events.next().now_or_never() {
        match event {
            ServerEvent::ResourceUpdated(uri) => drop(settled.updated.insert(uri)),
            ServerEvent::Closed(reason) => settled.closed = Some(reason),
            _ => {}
        }
    }
    settled
}
