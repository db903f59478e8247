//! Keeps the lists of upstreams up to date: reads them when an upstream connects, when it reports a change, and
//! periodically. Keeps the last valid lists while it does not respond.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::{sync::Notify, time::Instant};
use toolyard_core::ports::{Change, StoredOffer, UpstreamOffer, UpstreamRecord};
use toolyard_mcp_client::{CloseReason, McpClient, McpClientError, ServerEvent, UpstreamListKind};
use toolyard_protocol::{PackageName, UserId, mcp::RpcError, raw::to_raw, upstream::UpstreamAuth};

use super::{
    UpstreamSource,
    connections::{ConnectionKey, UpstreamConnectError},
    user_events::{SettledEvents, settle_events},
};

/// How often a node looks whether it follows an upstream.
const LEASE_CHECK: Duration = Duration::from_secs(3);

impl UpstreamSource {
    /// Follows every stored upstream, each on its own task.
    pub async fn start(self: &Arc<Self>) -> Result<usize, toolyard_core::ports::StoreError> {
        let all = self.parts.stores.upstreams.list_upstreams().await?;
        let count = all.len();
        for (package, _, record) in all {
            self.connected.insert(package.clone(), record);
            self.follow_upstream(package);
        }
        Ok(count)
    }

    /// Removes an upstream. A later one with the same name is a different one.
    pub(super) fn remove_upstream(self: &Arc<Self>, package: &PackageName) {
        self.connected.remove(package);
        self.watched.forget(package, None);
        self.restart_upstream(package);
    }

    /// Follows the stored record of an upstream, if it differs from the connected one.
    pub(super) async fn follow_record(self: &Arc<Self>, package: &PackageName) {
        match self.parts.stores.apps.find_app(package).await {
            Ok(Some(app)) => {
                let Some(record) = app.upstream() else { return };
                let before = self.connected.insert(package.clone(), record.clone());
                if before.as_ref() != Some(record) {
                    self.restart_upstream(package);
                }
            }
            Ok(None) => self.remove_upstream(package),
            Err(error) => {
                tracing::error!(%error, upstream = %package, "upstream could not be read from the store")
            }
        }
    }

    /// Reconnects an upstream that was added or changed.
    fn restart_upstream(self: &Arc<Self>, package: &PackageName) {
        self.health.remove(package);
        self.tokens.forget_links(package);
        // Running requests finish on the old connection; new ones use the new one.
        self.connections.forget_package(package, None);
        self.follow_upstream(package.clone());
    }

    /// Follows an upstream until it is removed; refreshes it if it is followed already.
    fn follow_upstream(self: &Arc<Self>, package: PackageName) {
        let mut fresh = false;
        let poke = self.followed.entry(package.clone()).or_insert_with(|| {
            fresh = true;
            Arc::new(Notify::new())
        });
        if !fresh {
            // While the entry is held, so that it cannot be removed in between: see below.
            return poke.notify_one();
        }
        let (source, poke, stopping) = (self.clone(), poke.clone(), self.parts.stopping.clone());
        self.parts.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = source.follow_until_removed(&package, &poke) => {}
                    () = stopping.cancelled() => return,
                }
                // A request that arrived while it ended is not lost.
                let nobody = |_: &PackageName, poke: &Arc<Notify>| poke.notified().now_or_never().is_none();
                if source.followed.remove_if(&package, nobody).is_some() {
                    return;
                }
            }
        });
    }

    /// Reads the lists again soon.
    pub(super) fn refresh_soon(&self, package: &PackageName) {
        if let Some(poke) = self.followed.get(package) {
            poke.notify_one();
        }
    }

    /// Follows one upstream until it is removed.
    async fn follow_until_removed(&self, package: &PackageName, poke: &Notify) {
        let mut was_up = false;
        loop {
            let record = match self.parts.stores.apps.find_app(package).await {
                Ok(app) => match app.as_ref().and_then(|app| app.upstream()) {
                    Some(upstream) if !upstream.disabled => upstream.clone(),
                    _ => return self.forget_upstream(package),
                },
                Err(error) => {
                    tracing::error!(%error, upstream = %package, "store failed, retrying");
                    tokio::time::sleep(self.health_snapshot(package).retry_in()).await;
                    continue;
                }
            };
            if self.holds_lease(package).await != Some(true) {
                // Another node follows it; this one connects for its calls alone.
                tokio::select! {
                    () = tokio::time::sleep(LEASE_CHECK) => {}
                    () = poke.notified() => {}
                }
                continue;
            }
            match self.base_connection(package, &record, None).await {
                Ok(client) => {
                    if std::mem::replace(&mut was_up, true) {
                        self.assume_updated(&ConnectionKey::base_key(package, &record, None));
                    }
                    let again = tokio::select! {
                        again = self.while_up(package, &record, &client, poke) => again,
                        () = self.lose_lease(package) => Ok(()),
                    };
                    if let Err(error) = again {
                        self.record_no_connection(package, &record, &UpstreamConnectError::Client(error));
                        self.wait_before_retry(package, poke).await;
                    }
                }
                Err(error) => {
                    self.record_no_connection(package, &record, &error);
                    self.wait_before_retry(package, poke).await;
                }
            }
        }
    }

    /// Whether this node follows an upstream. In a cluster one node does. None if the store does not answer.
    async fn holds_lease(&self, package: &PackageName) -> Option<bool> {
        let Some(leases) = &self.parts.leases else { return Some(true) };
        match leases.hold_lease(&format!("upstream:{package}")).await {
            Ok(held) => Some(held),
            Err(error) => {
                tracing::warn!(%error, upstream = %package, "lease not read");
                None
            }
        }
    }

    /// Returns when another node follows the upstream, because this one was silent for too long.
    async fn lose_lease(&self, package: &PackageName) {
        if self.parts.leases.is_none() {
            std::future::pending().await
        }
        loop {
            tokio::time::sleep(LEASE_CHECK).await;
            if self.holds_lease(package).await == Some(false) {
                return;
            }
        }
    }

    /// Drops all state of a removed upstream.
    fn forget_upstream(&self, package: &PackageName) {
        self.watched.forget(package, None);
        self.connections.forget_package(package, None);
        self.health.remove(package);
    }

    /// Reads the lists, and again when they may have changed. Returns when a new connection is needed.
    async fn while_up(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        client: &McpClient,
        poke: &Notify,
    ) -> Result<(), McpClientError> {
        let mut events = client.subscribe_events();
        self.health_mut(package, |health| health.revision = Some(client.revision().as_str()));
        loop {
            self.read_lists(package, record, None, client).await?;
            self.health_mut(package, |health| health.record_listed());
            let refresh = Instant::now() + self.parts.settings.refresh;
            loop {
                tokio::select! {
                    event = events.next() => match event {
                        Some(ServerEvent::ResourceUpdated(uri)) => self.announce_updated(package, None, &uri),
                        Some(ServerEvent::Closed(reason)) => return close_result(reason),
                        None => return Ok(()),
                        Some(_) => {
                            let SettledEvents { updated, closed } = settle_events(&mut events).await;
                            updated.iter().for_each(|uri| self.announce_updated(package, None, uri));
                            if let Some(reason) = closed {
                                return close_result(reason);
                            }
                            break;
                        }
                    },
                    () = poke.notified() => {
                        // The record may have changed, or the connection was closed.
                        if client.is_closed() || self.enabled_record(package).await.as_ref() != Some(record) {
                            return Ok(());
                        }
                        break;
                    }
                    () = tokio::time::sleep_until(refresh) => break,
                }
            }
        }
    }

    /// Refreshes an upstream now, within the limits of a connection and its lists.
    pub async fn refresh(&self, package: &PackageName, record: &UpstreamRecord) {
        if record.disabled {
            return;
        }
        let read = async {
            let client = self.base_connection(package, record, None).await?;
            self.health_mut(package, |health| health.revision = Some(client.revision().as_str()));
            self.read_lists(package, record, None, &client).await.map_err(UpstreamConnectError::from)
        };
        match read.await {
            // A manual refresh also retries calls.
            Ok(()) => self.health_mut(package, |health| health.record_success()),
            Err(error) => self.record_no_connection(package, record, &error),
        }
    }

    /// Waits before the next attempt: longer with every failure, or until a refresh is requested.
    async fn wait_before_retry(&self, package: &PackageName, poke: &Notify) {
        let health = self.health_snapshot(package);
        let waits = match health.state {
            // Only a user can change that, which triggers a refresh.
            toolyard_protocol::upstream::UpstreamState::NeedsAuthorization => self.parts.settings.refresh,
            _ => health.retry_in(),
        };
        tokio::select! {
            () = tokio::time::sleep(waits) => {}
            () = poke.notified() => {}
        }
    }

    /// Reads the lists of an upstream for one user.
    pub(super) async fn read_user_lists(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: &UserId,
    ) {
        if record.details.auth != UpstreamAuth::OAuth {
            return;
        }
        let read = async {
            let client = self.base_connection(package, record, Some(user)).await?;
            self.read_lists(package, record, Some(user), &client).await.map_err(UpstreamConnectError::from)
        };
        if let Err(error) = read.await {
            tracing::warn!(upstream = %package, %user, %error, "lists for user could not be read");
        }
    }

    /// Reads and stores all lists. Fails if the tool list cannot be read: then the last valid one stays.
    async fn read_lists(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: Option<&UserId>,
        client: &McpClient,
    ) -> Result<(), McpClientError> {
        let offers = &self.parts.stores.offers;
        // Without a store nothing could be saved; zero is older than any version, so nothing is.
        let read_since = offers.offer_version().await.unwrap_or(0);
        let last = offers.last_offer(package, user).await.ok().flatten();
        let server = client.server();
        let mut offer = UpstreamOffer {
            completes: server.capabilities.get("completions").is_some(),
            subscribes: server.notifies_resource_updates(),
            ..UpstreamOffer::default()
        };
        for kind in [
            UpstreamListKind::Tools,
            UpstreamListKind::Prompts,
            UpstreamListKind::Resources,
            UpstreamListKind::Templates,
        ] {
            // Some servers have tools and do not declare them.
            if kind != UpstreamListKind::Tools && !server.has_list(kind) {
                continue;
            }
            let place = offer_items(&mut offer, kind);
            match client.list_items(kind).await {
                Ok(listing) => {
                    *place = listing.items;
                    offer
                        .incomplete
                        .extend(listing.incomplete.map(|why| format!("{}: {why}", kind.method())));
                }
                Err(McpClientError::Rpc(error)) if error.code == RpcError::METHOD_NOT_FOUND => {}
                Err(error) if kind == UpstreamListKind::Tools => return Err(error),
                Err(error) => {
                    if let Some(mut last) = last.as_ref().map(|last| last.offer.clone()) {
                        *place = std::mem::take(self::offer_items(&mut last, kind));
                    }
                    offer.incomplete.push(format!("{}: {error}; kept as before", kind.method()));
                }
            }
        }
        if self.parts.settings.read_contents {
            self.read_contents(record, client, &mut offer, last.as_ref().map(|last| &last.offer)).await;
        }
        // If the record changed before the read, the result is outdated. The store notices what changed since.
        if self.enabled_record(package).await.as_ref() == Some(record) {
            self.store_offer(package, user, offer, last.as_ref(), read_since).await;
        }
        Ok(())
    }

    async fn store_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: UpstreamOffer,
        last: Option<&StoredOffer>,
        read_since: u64,
    ) {
        let hash = hex::encode(Sha256::digest(to_raw(&offer).get().as_bytes()));
        let (at, changed): (Timestamp, bool) =
            (self.parts.clock.now(), last.is_none_or(|last| last.hash != hash));
        let (tools, tools_before) = (offer.tools.len(), last.map_or(0, |last| last.offer.tools.len()));
        // What was not reviewed is not stored, so it reaches nobody.
        if let Err(error) = self.parts.review.review_offer(package, user, &offer).await {
            tracing::error!(%error, upstream = %package, "upstream lists could not be reviewed");
            return;
        }
        let offer = StoredOffer { offer, hash, at };
        let outcome = self.parts.stores.offers.save_offer(package, user, offer, read_since).await;
        if user.is_none() && matches!(outcome, Ok(true)) {
            // The catalog reads an offer only if it changed.
            self.health_mut(package, |health| health.listed_at = Some(at));
        }
        match outcome {
            Ok(true) if changed => {
                tracing::info!(upstream = %package, tools, tools_before, "upstream lists changed");
                let change = Change::UpstreamOfferChanged(package.clone());
                self.parts.stores.announcements.announce(change).await;
            }
            Ok(true) => {}
            // Changed during the read. The verb that changed a user's authorization triggers a new read.
            Ok(false) if user.is_none() => self.refresh_soon(package),
            Ok(false) => {}
            Err(error) => tracing::error!(%error, upstream = %package, "upstream lists could not be stored"),
        }
    }
}

/// A connection that this side closed is reopened at once; a lost one is a failure.
fn close_result(reason: CloseReason) -> Result<(), McpClientError> {
    match reason {
        CloseReason::Requested => Ok(()),
        reason @ CloseReason::Lost(_) => Err(McpClientError::Closed(reason)),
    }
}

fn offer_items(
    offer: &mut UpstreamOffer,
    kind: UpstreamListKind,
) -> &mut Vec<Box<serde_json::value::RawValue>> {
    match kind {
        UpstreamListKind::Tools => &mut offer.tools,
        UpstreamListKind::Prompts => &mut offer.prompts,
        UpstreamListKind::Resources => &mut offer.resources,
        UpstreamListKind::Templates => &mut offer.templates,
    }
}
