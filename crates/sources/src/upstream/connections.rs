//! The connections to upstreams: opened when they are needed, once for all who ask at the same time, and closed when
//! nobody did for a while.
//!
//! Which connection a call takes:
//! - an upstream without a handshake, and a process that all users share: one connection, which also tells of changes;
//! - one that knows its users (OAuth, or a process for each): one for each of them;
//! - one with a handshake over HTTP: a session for each user and what their client can do, because it is declared once
//!   for a session, and because what a session remembers is that user's.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::{sync::Mutex, time::Instant};
use toolyard_core::ports::UpstreamRecord;
use toolyard_mcp_client::{Client, ClientError, Era, Limits, Options, Transport, Watch};
use toolyard_protocol::{
    PackageName, UserId,
    raw::to_raw,
    upstream::{Reach, UpstreamAuth},
};

use super::{
    UpstreamSettings, UpstreamSource,
    spec::{self, BadSpec},
};

/// Which connection. Without `declared` it is one that tells of changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) package: PackageName,
    /// Whose it is; none is everybody's.
    pub(super) user: Option<UserId>,
    /// What the user's client declared, where it holds for a whole session.
    pub(super) declared: Option<Box<str>>,
}

/// One connection, or the place for it.
#[derive(Default)]
pub(super) struct Slot {
    open: Mutex<Option<Open>>,
    used: AtomicU64,
}

struct Open {
    client: Client,
    made_from: UpstreamRecord,
}

/// All connections.
pub(super) struct Connections {
    slots: DashMap<Key, Arc<Slot>>,
    started: Instant,
}

/// Why there is no connection.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum NoConnection {
    #[error(transparent)]
    Spec(#[from] BadSpec),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("more than {0} connections to upstreams are open")]
    TooMany(usize),
}

impl Key {
    /// The connection that tells of changes: everybody's, or this user's where the upstream knows its users.
    pub(super) fn base(package: &PackageName, record: &UpstreamRecord, user: Option<&UserId>) -> Self {
        let knows_users = record.details.auth == UpstreamAuth::OAuth || record.details.per_user;
        Self { package: package.clone(), user: user.filter(|_| knows_users).cloned(), declared: None }
    }
}

impl Connections {
    pub(super) fn new() -> Self {
        Self { slots: DashMap::new(), started: Instant::now() }
    }

    /// Seconds since the start: what idleness is measured in.
    pub(super) fn now_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    fn slot(&self, key: &Key, most: usize) -> Option<Arc<Slot>> {
        if let Some(slot) = self.slots.get(key) {
            return Some(slot.clone());
        }
        (self.slots.len() < most).then(|| self.slots.entry(key.clone()).or_default().clone())
    }

    /// Closes connections that nobody used for so long and nobody needs otherwise.
    pub(super) fn close_idle(&self, idle_s: u64, needed: impl Fn(&Key) -> bool) {
        let before = self.now_s().saturating_sub(idle_s);
        // Dropping a client ends its connection in the background.
        self.slots.retain(|key, slot| {
            needed(key) || slot.used.load(Ordering::Relaxed) >= before || Arc::strong_count(slot) > 1
        });
    }

    /// The open connection, where there is one and nobody is just making another.
    pub(super) fn now_open(&self, key: &Key) -> Option<Client> {
        let slot = self.slots.get(key)?.clone();
        let open = slot.open.try_lock().ok()?;
        open.as_ref().map(|open| open.client.clone())
    }

    /// Forgets all connections of a package: they end in the background.
    pub(super) fn forget(&self, package: &PackageName, user: Option<&UserId>) {
        self.slots.retain(|key, _| key.package != *package || (user.is_some() && key.user.as_ref() != user));
    }
}

/// The bounds of a connection. Lists may be larger than results; a result is looked at when it is there.
fn limits(settings: &UpstreamSettings) -> Limits {
    let usual = Limits::default();
    let message_bytes = usual.message_bytes.max(settings.result_bytes.saturating_mul(2));
    Limits { connect: settings.connect, request: settings.list, message_bytes, ..usual }
}

impl UpstreamSource {
    /// The connection on which a user's request goes out.
    pub(super) async fn connection(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: &UserId,
        declared: Option<&RawValue>,
    ) -> Result<Client, NoConnection> {
        let base = self.base(package, record, Some(user)).await?;
        let by_session =
            !base.revision().is_modern() && matches!(record.details.reach(), Some(Reach::Url(_)));
        if !by_session {
            return Ok(base);
        }
        let key = Key {
            package: package.clone(),
            user: Some(user.clone()),
            declared: Some(declared.map_or("{}", RawValue::get).into()),
        };
        let capabilities = declared.map_or_else(|| to_raw(&serde_json::Map::new()), RawValue::to_owned);
        self.open(&key, record, Era::Handshake, capabilities, Watch::nothing()).await
    }

    /// The connection that tells of changes, see [`Key::base`]. What was watched on the one before it is watched again.
    pub(super) async fn base(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: Option<&UserId>,
    ) -> Result<Client, NoConnection> {
        let key = Key::base(package, record, user);
        let nothing = to_raw(&serde_json::Map::new());
        let watch = Watch { uris: self.watched.uris(&key), ..Watch::default() };
        self.open(&key, record, Era::Either, nothing, watch).await
    }

    async fn open(
        &self,
        key: &Key,
        record: &UpstreamRecord,
        era: Era,
        capabilities: Box<RawValue>,
        watch: Watch,
    ) -> Result<Client, NoConnection> {
        let most = self.parts.settings.max_connections;
        let slot = self.connections.slot(key, most).ok_or(NoConnection::TooMany(most))?;
        slot.used.store(self.connections.now_s(), Ordering::Relaxed);
        // One at a time: whoever waited finds it open.
        let mut open = slot.open.lock().await;
        if let Some(open) = open.as_ref()
            && !open.client.is_closed()
            && open.made_from == *record
        {
            return Ok(open.client.clone());
        }
        *open = None;
        let transport = self.transport(key, record)?;
        let settings = &self.parts.settings;
        let options = Options {
            capabilities,
            era,
            watch,
            limits: limits(settings),
            ..Options::new(self.parts.tasks.clone(), self.over.clone())
        };
        let client = Client::connect(transport, options).await?;
        self.hear(key, &client);
        *open = Some(Open { client: client.clone(), made_from: record.clone() });
        Ok(client)
    }

    fn transport(&self, key: &Key, record: &UpstreamRecord) -> Result<Transport, BadSpec> {
        let details = spec::opened(record, &*self.parts.secrets, &self.parts.environment)?;
        let mut transport =
            spec::transport(&details, &self.parts.guard, &self.parts.http, &self.parts.environment)?;
        if let (Transport::Http(target), Some(user)) = (&mut transport, &key.user)
            && details.auth == UpstreamAuth::OAuth
        {
            target.credentials = self.tokens.credentials(&key.package, &details, &target.url, user);
        }
        Ok(transport)
    }
}
