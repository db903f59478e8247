//! Keeps the lists of upstreams up to date: reads them when an upstream comes up, when it says that they changed, and now
//! and then; and keeps the last good ones while it does not answer.

use std::sync::Arc;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::{sync::Notify, time::Instant};
use toolyard_core::ports::{Change, Offer, StoredOffer, UpstreamRecord};
use toolyard_mcp_client::{Client, ClientError, CloseReason, ListKind, ServerEvent};
use toolyard_protocol::{PackageName, UserId, mcp::RpcError, raw::to_raw, upstream::UpstreamAuth};

use super::{
    UpstreamSource,
    connections::{Key, NoConnection},
    hear::{Settled, settle},
};

impl UpstreamSource {
    /// Looks after every upstream in the store, on tasks of its own.
    pub async fn start(self: &Arc<Self>) -> Result<usize, toolyard_core::ports::StoreError> {
        let all = self.parts.stores.upstreams.upstreams().await?;
        let count = all.len();
        for (package, _, record) in all {
            self.connected.insert(package.clone(), record);
            self.keep_reading(package);
        }
        Ok(count)
    }

    /// An upstream was removed. One that comes under its name is another.
    pub(super) fn removed(self: &Arc<Self>, package: &PackageName) {
        self.connected.remove(package);
        self.watched.forget(package, None);
        self.changed(package);
    }

    /// Follows what is stored of an upstream, if it is connected otherwise.
    pub(super) async fn follow_record(self: &Arc<Self>, package: &PackageName) {
        match self.parts.stores.apps.find(package).await {
            Ok(Some(app)) => {
                let Some(record) = app.upstream() else { return };
                let before = self.connected.insert(package.clone(), record.clone());
                if before.as_ref() != Some(record) {
                    self.changed(package);
                }
            }
            Ok(None) => self.removed(package),
            Err(error) => tracing::error!(%error, %package, "upstream could not be read from the store"),
        }
    }

    /// An upstream was added or changed: look at it now.
    fn changed(self: &Arc<Self>, package: &PackageName) {
        self.health.remove(package);
        self.tokens.forget_links(package);
        // What is under way ends as it began; nothing new goes the old way.
        self.connections.forget(package, None);
        self.keep_reading(package.clone());
    }

    /// Follows an upstream until it is removed; looks again where it is followed already.
    fn keep_reading(self: &Arc<Self>, package: PackageName) {
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
                    () = source.keep_up(&package, &poke) => {}
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
    pub(super) fn look_again(&self, package: &PackageName) {
        if let Some(poke) = self.followed.get(package) {
            poke.notify_one();
        }
    }

    /// The life of one upstream: until it is gone.
    async fn keep_up(&self, package: &PackageName, poke: &Notify) {
        let mut was_up = false;
        loop {
            let record = match self.parts.stores.apps.find(package).await {
                Ok(app) => match app.as_ref().and_then(|app| app.upstream()) {
                    Some(upstream) if !upstream.disabled => upstream.clone(),
                    _ => return self.gone(package),
                },
                Err(error) => {
                    tracing::error!(%error, %package, "the store failed; trying again");
                    tokio::time::sleep(self.health(package).retry_in()).await;
                    continue;
                }
            };
            match self.base(package, &record, None).await {
                Ok(client) => {
                    if std::mem::replace(&mut was_up, true) {
                        self.assume_updated(&Key::base(package, &record, None));
                    }
                    let again = self.while_up(package, &record, &client, poke).await;
                    if let Err(error) = again {
                        self.no_connection(package, &record, &NoConnection::Client(error));
                        self.pause(package, poke).await;
                    }
                }
                Err(error) => {
                    self.no_connection(package, &record, &error);
                    self.pause(package, poke).await;
                }
            }
        }
    }

    /// Nothing is left of an upstream that is gone.
    fn gone(&self, package: &PackageName) {
        self.watched.forget(package, None);
        self.connections.forget(package, None);
        self.health.remove(package);
    }

    /// Reads the lists, and again whenever that is worth it. Returns when the connection has to be made anew.
    async fn while_up(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        client: &Client,
        poke: &Notify,
    ) -> Result<(), ClientError> {
        let mut events = client.events();
        self.health_mut(package, |health| health.revision = Some(client.revision().as_str()));
        loop {
            self.read_lists(package, record, None, client).await?;
            self.health_mut(package, |health| health.listed());
            let refresh = Instant::now() + self.parts.settings.refresh;
            loop {
                tokio::select! {
                    event = events.next() => match event {
                        Some(ServerEvent::ResourceUpdated(uri)) => self.updated(package, None, &uri),
                        Some(ServerEvent::Closed(reason)) => return ended(reason),
                        None => return Ok(()),
                        Some(_) => {
                            let Settled { updated, closed } = settle(&mut events).await;
                            updated.iter().for_each(|uri| self.updated(package, None, uri));
                            if let Some(reason) = closed {
                                return ended(reason);
                            }
                            break;
                        }
                    },
                    () = poke.notified() => {
                        // The record may be another one by now, or the connection was given up.
                        if client.is_closed() || self.current(package).await.as_ref() != Some(record) {
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
            let client = self.base(package, record, None).await?;
            self.health_mut(package, |health| health.revision = Some(client.revision().as_str()));
            self.read_lists(package, record, None, &client).await.map_err(NoConnection::from)
        };
        match read.await {
            // Whoever asks for it wants to know now: calls are tried again, too.
            Ok(()) => self.health_mut(package, |health| health.well()),
            Err(error) => self.no_connection(package, record, &error),
        }
    }

    /// Waits before the next try: longer with every failure, or until somebody wants it now.
    async fn pause(&self, package: &PackageName, poke: &Notify) {
        let health = self.health(package);
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
    pub(super) async fn read_for(&self, package: &PackageName, record: &UpstreamRecord, user: &UserId) {
        if record.details.auth != UpstreamAuth::OAuth {
            return;
        }
        let read = async {
            let client = self.base(package, record, Some(user)).await?;
            self.read_lists(package, record, Some(user), &client).await.map_err(NoConnection::from)
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
        client: &Client,
    ) -> Result<(), ClientError> {
        let last = self.parts.stores.offers.last_offer(package, user).await.ok().flatten();
        let server = client.server();
        let mut offer = Offer {
            completes: server.capabilities.get("completions").is_some(),
            subscribes: server.tells_updates(),
            ..Offer::default()
        };
        for kind in [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates] {
            // Some servers have tools and do not say so.
            if kind != ListKind::Tools && !server.offers(kind) {
                continue;
            }
            let place = place(&mut offer, kind);
            match client.list(kind).await {
                Ok(listing) => {
                    *place = listing.items;
                    offer
                        .incomplete
                        .extend(listing.incomplete.map(|why| format!("{}: {why}", kind.method())));
                }
                Err(ClientError::Rpc(error)) if error.code == RpcError::METHOD_NOT_FOUND => {}
                Err(error) if kind == ListKind::Tools => return Err(error),
                Err(error) => {
                    if let Some(mut last) = last.as_ref().map(|last| last.offer.clone()) {
                        *place = std::mem::take(self::place(&mut last, kind));
                    }
                    offer.incomplete.push(format!("{}: {error}; as it was before", kind.method()));
                }
            }
        }
        // Changed while it was read: what it was then is not what it is.
        if self.current(package).await.as_ref() == Some(record) {
            self.keep(package, user, offer, last.as_ref()).await;
        }
        Ok(())
    }

    async fn keep(
        &self,
        package: &PackageName,
        user: Option<&UserId>,
        offer: Offer,
        last: Option<&StoredOffer>,
    ) {
        let hash = hex::encode(Sha256::digest(to_raw(&offer).get().as_bytes()));
        let (at, changed): (Timestamp, bool) =
            (self.parts.clock.now(), last.is_none_or(|last| last.hash != hash));
        let stored = StoredOffer { offer, hash, at };
        let kept = self.parts.stores.offers.keep_offer(package, user, stored).await;
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
fn ended(reason: CloseReason) -> Result<(), ClientError> {
    match reason {
        CloseReason::Asked => Ok(()),
        reason @ CloseReason::Lost(_) => Err(ClientError::Closed(reason)),
    }
}

fn place(offer: &mut Offer, kind: ListKind) -> &mut Vec<Box<serde_json::value::RawValue>> {
    match kind {
        ListKind::Tools => &mut offer.tools,
        ListKind::Prompts => &mut offer.prompts,
        ListKind::Resources => &mut offer.resources,
        ListKind::Templates => &mut offer.templates,
    }
}
