//! Keeps the lists of upstreams up to date: reads them when an upstream comes up, when it says that they changed, and now
//! and then; and keeps the last good ones while it does not answer.

use std::sync::Arc;

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

impl UpstreamSource {
    /// Looks after every upstream in the store, on tasks of its own.
    pub async fn start(self: &Arc<Self>) -> Result<usize, toolyard_core::ports::StoreError> {
        let all = self.parts.stores.upstreams.list_upstreams().await?;
        let count = all.len();
        for (package, _, record) in all {
            self.connected.insert(package.clone(), record);
            self.follow_upstream(package);
        }
        Ok(count)
    }

    /// An upstream was removed. One that comes under its name is another.
    pub(super) fn remove_upstream(self: &Arc<Self>, package: &PackageName) {
        self.connected.remove(package);
        self.watched.forget(package, None);
        self.restart_upstream(package);
    }

    /// Follows what is stored of an upstream, if it is connected otherwise.
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
            Err(error) => tracing::error!(%error, %package, "upstream could not be read from the store"),
        }
    }

    /// An upstream was added or changed: look at it now.
    fn restart_upstream(self: &Arc<Self>, package: &PackageName) {
        self.health.remove(package);
        self.tokens.forget_links(package);
        // What is under way ends as it began; nothing new goes the old way.
        self.connections.forget_package(package, None);
        self.follow_upstream(package.clone());
    }

    /// Follows an upstream until it is removed; looks again where it is followed already.
    fn follow_upstream(self: &Arc<Self>, package: PackageName) {
        let mut fresh = false;
        let poke = self.followed.entry(package.clone()).or_insert_with(|| {
            fresh = true;
            Arc::new(Notify::new())
        });
        if !fresh {
            // While the entry is held, so that it cannot go just now: see below.
            return poke.notify_one();
        }
        let (source, poke, stopping) = (self.clone(), poke.clone(), self.parts.stopping.clone());
        self.parts.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = source.follow_until_removed(&package, &poke) => {}
                    () = stopping.cancelled() => return,
                }
                // Whoever came while it ended is not forgotten.
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

    /// The life of one upstream: until it is gone.
    async fn follow_until_removed(&self, package: &PackageName, poke: &Notify) {
        let mut was_up = false;
        loop {
            let record = match self.parts.stores.apps.find_app(package).await {
                Ok(app) => match app.as_ref().and_then(|app| app.upstream()) {
                    Some(upstream) if !upstream.disabled => upstream.clone(),
                    _ => return self.forget_upstream(package),
                },
                Err(error) => {
                    tracing::error!(%error, %package, "the store failed; trying again");
                    tokio::time::sleep(self.health_snapshot(package).retry_in()).await;
                    continue;
                }
            };
            match self.base_connection(package, &record, None).await {
                Ok(client) => {
                    if std::mem::replace(&mut was_up, true) {
                        self.assume_updated(&ConnectionKey::base_key(package, &record, None));
                    }
                    let again = self.while_up(package, &record, &client, poke).await;
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

    /// Nothing is left of an upstream that is gone.
    fn forget_upstream(&self, package: &PackageName) {
        self.watched.forget(package, None);
        self.connections.forget_package(package, None);
        self.health.remove(package);
    }

    /// Reads the lists, and again whenever that is worth it. Returns when the connection has to be made anew.
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
                        // The record may be another one by now, or the connection was given up.
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

    /// Asks an upstream now, within the bounds of a connection and its lists.
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
            // Whoever asks for it wants to know now: calls are tried again, too.
            Ok(()) => self.health_mut(package, |health| health.record_success()),
            Err(error) => self.record_no_connection(package, record, &error),
        }
    }

    /// Waits before the next try: longer with every failure, or until somebody wants it now.
    async fn wait_before_retry(&self, package: &PackageName, poke: &Notify) {
        let health = self.health_snapshot(package);
        let waits = match health.state {
            // Only a user can change that, and pokes when they did.
            toolyard_protocol::upstream::UpstreamState::NeedsAuthorization => self.parts.settings.refresh,
            _ => health.retry_in(),
        };
        tokio::select! {
            () = tokio::time::sleep(waits) => {}
            () = poke.notified() => {}
        }
    }

    /// Reads what an upstream offers a user, once.
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
            tracing::warn!(%package, %error, "the lists for a user could not be read");
        }
    }

    /// Reads all lists and keeps them. Fails where there is not even a list of tools: then the last good one stays.
    async fn read_lists(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: Option<&UserId>,
        client: &McpClient,
    ) -> Result<(), McpClientError> {
        let last = self.parts.stores.offers.last_offer(package, user).await.ok().flatten();
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
            // Some servers have tools and do not say so.
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
                    offer.incomplete.push(format!("{}: {error}; as it was before", kind.method()));
                }
            }
        }
        // Changed while it was read: what it was then is not what it is.
        if self.enabled_record(package).await.as_ref() == Some(record) {
            self.store_offer(package, user, offer, last.as_ref()).await;
        }
        Ok(())
    }

    async fn store_offer(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: UpstreamOffer,
        last: Option<&StoredOffer>,
    ) {
        let hash = hex::encode(Sha256::digest(to_raw(&offer).get().as_bytes()));
        let (at, changed): (Timestamp, bool) =
            (self.parts.clock.now(), last.is_none_or(|last| last.hash != hash));
        let stored = StoredOffer { offer, hash, at };
        let kept = self.parts.stores.offers.save_offer(package, user, stored).await;
        if user.is_none() && matches!(kept, Ok(true)) {
            // The catalog reads an offer only when it is another one.
            self.health_mut(package, |health| health.listed_at = Some(at));
        }
        match kept {
            Ok(true) if changed => {
                tracing::info!(%package, "its lists are others than before");
                let change = Change::UpstreamOfferChanged(package.clone());
                self.parts.stores.announcements.announce(change).await;
            }
            Ok(_) => {}
            Err(error) => tracing::error!(%error, %package, "its lists could not be kept"),
        }
    }
}

/// A connection that this side gave up is made anew at once; one that was lost is a failure.
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
