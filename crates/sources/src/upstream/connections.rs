//! The connections to upstreams: opened on demand, once for all concurrent callers, and closed when idle.
//!
//! Which connection a call uses:
//! - a modern upstream, or a process that all users share: one connection, which also reports changes;
//! - an upstream that knows its users (OAuth, or a process per user): one per user;
//! - a handshake upstream over HTTP: a session per user and client capabilities, because capabilities are declared
//!   once per session, and because the state of a session belongs to its user.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::{sync::Mutex, time::Instant};
use toolyard_core::ports::UpstreamRecord;
use toolyard_mcp_client::{
    ChangeFilter, ClientLimits, ClientOptions, McpClient, McpClientError, McpTransport, ProtocolEra,
};
use toolyard_protocol::{
    PackageName, UserId,
    raw::to_raw,
    upstream::{UpstreamAuth, UpstreamEndpoint},
};

use super::{
    UpstreamSettings, UpstreamSource,
    spec::{self, BadSpec},
};

/// Identifies a connection. Without `declared` it is one that reports changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ConnectionKey {
    pub(super) package: PackageName,
    /// The user it belongs to; `None` if it is shared.
    pub(super) user: Option<UserId>,
    /// The capabilities of the user's client, if they apply to a whole session.
    pub(super) declared: Option<Box<str>>,
}

/// The slot of one connection.
#[derive(Default)]
pub(super) struct UpstreamSlot {
    open: Mutex<Option<OpenConnection>>,
    used: AtomicU64,
}

struct OpenConnection {
    client: McpClient,
    made_from: UpstreamRecord,
}

/// All connections.
pub(super) struct UpstreamConnections {
    slots: DashMap<ConnectionKey, Arc<UpstreamSlot>>,
    started: Instant,
}

/// Why there is no connection.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum UpstreamConnectError {
    #[error(transparent)]
    Spec(#[from] BadSpec),
    #[error(transparent)]
    Client(#[from] McpClientError),
    #[error("more than {0} connections to upstreams are open")]
    TooMany(usize),
}

impl ConnectionKey {
    /// The key of the connection that reports changes: shared, or this user's if the upstream knows its users.
    pub(super) fn base_key(package: &PackageName, record: &UpstreamRecord, user: Option<&UserId>) -> Self {
        let knows_users = record.details.auth == UpstreamAuth::OAuth || record.details.per_user;
        Self { package: package.clone(), user: user.filter(|_| knows_users).cloned(), declared: None }
    }
}

impl UpstreamConnections {
    pub(super) fn new() -> Self {
        Self { slots: DashMap::new(), started: Instant::now() }
    }

    /// Seconds since the start, for idle times.
    pub(super) fn now_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    fn slot_for(&self, key: &ConnectionKey, most: usize) -> Option<Arc<UpstreamSlot>> {
        if let Some(slot) = self.slots.get(key) {
            return Some(slot.clone());
        }
        (self.slots.len() < most).then(|| self.slots.entry(key.clone()).or_default().clone())
    }

    /// Closes connections that were idle for this long and are not needed otherwise.
    pub(super) fn close_idle(&self, idle_s: u64, needed: impl Fn(&ConnectionKey) -> bool) {
        let before = self.now_s().saturating_sub(idle_s);
        // Dropping a client ends its connection in the background.
        self.slots.retain(|key, slot| {
            needed(key) || slot.used.load(Ordering::Relaxed) >= before || Arc::strong_count(slot) > 1
        });
    }

    /// The open connection, unless it is being replaced.
    pub(super) fn open_client(&self, key: &ConnectionKey) -> Option<McpClient> {
        let slot = self.slots.get(key)?.clone();
        let open = slot.open.try_lock().ok()?;
        open.as_ref().map(|open| open.client.clone())
    }

    /// Drops all connections of a package, or those of one user: they close in the background.
    pub(super) fn forget_package(&self, package: &PackageName, user: Option<&UserId>) {
        self.slots.retain(|key, _| key.package != *package || (user.is_some() && key.user.as_ref() != user));
    }
}

/// The limits of a connection. Lists may be larger than results; the size of a result is checked when it arrives.
fn client_limits(settings: &UpstreamSettings) -> ClientLimits {
    let usual = ClientLimits::default();
    let message_bytes = usual.message_bytes.max(settings.result_bytes.saturating_mul(2));
    ClientLimits { connect: settings.connect, request: settings.list, message_bytes, ..usual }
}

impl UpstreamSource {
    /// The connection for a user's request.
    pub(super) async fn user_connection(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: &UserId,
        declared: Option<&RawValue>,
    ) -> Result<McpClient, UpstreamConnectError> {
        let base = self.base_connection(package, record, Some(user)).await?;
        let by_session = !base.revision().is_modern()
            && matches!(record.details.endpoint(), Some(UpstreamEndpoint::Url(_)));
        if !by_session {
            return Ok(base);
        }
        let key = ConnectionKey {
            package: package.clone(),
            user: Some(user.clone()),
            declared: Some(declared.map_or("{}", RawValue::get).into()),
        };
        let capabilities = declared.map_or_else(|| to_raw(&serde_json::Map::new()), RawValue::to_owned);
        self.open_connection(&key, record, ProtocolEra::Handshake, capabilities, ChangeFilter::none()).await
    }

    /// The connection that reports changes, see [`ConnectionKey::base_key`]. Resources watched on the previous one are
    /// watched again.
    pub(super) async fn base_connection(
        &self,
        package: &PackageName,
        record: &UpstreamRecord,
        user: Option<&UserId>,
    ) -> Result<McpClient, UpstreamConnectError> {
        let key = ConnectionKey::base_key(package, record, user);
        let nothing = to_raw(&serde_json::Map::new());
        let watch = ChangeFilter { uris: self.watched.uris(&key), ..ChangeFilter::default() };
        self.open_connection(&key, record, ProtocolEra::Either, nothing, watch).await
    }

    async fn open_connection(
        &self,
        key: &ConnectionKey,
        record: &UpstreamRecord,
        era: ProtocolEra,
        capabilities: Box<RawValue>,
        watch: ChangeFilter,
    ) -> Result<McpClient, UpstreamConnectError> {
        let most = self.parts.settings.max_connections;
        let slot = self.connections.slot_for(key, most).ok_or(UpstreamConnectError::TooMany(most))?;
        slot.used.store(self.connections.now_s(), Ordering::Relaxed);
        // One at a time: a waiting caller then finds it open.
        let mut open = slot.open.lock().await;
        if let Some(open) = open.as_ref()
            && !open.client.is_closed()
            && open.made_from == *record
        {
            return Ok(open.client.clone());
        }
        *open = None;
        let transport = self.connection_transport(key, record)?;
        let settings = &self.parts.settings;
        let options = ClientOptions {
            capabilities,
            era,
            watch,
            limits: client_limits(settings),
            ..ClientOptions::new(self.parts.tasks.clone(), self.over.clone())
        };
        let client = McpClient::connect(transport, options).await?;
        self.follow_connection(key, &client);
        *open = Some(OpenConnection { client: client.clone(), made_from: record.clone() });
        Ok(client)
    }

    fn connection_transport(
        &self,
        key: &ConnectionKey,
        record: &UpstreamRecord,
    ) -> Result<McpTransport, BadSpec> {
        let details = spec::resolve_details(record, &*self.parts.secrets, &self.parts.environment)?;
        let mut transport =
            spec::transport_for(&details, &self.parts.guard, &self.parts.http, &self.parts.environment)?;
        if let (McpTransport::Http(target), Some(user)) = (&mut transport, &key.user)
            && details.auth == UpstreamAuth::OAuth
        {
            target.credentials = self.tokens.user_credentials(&key.package, &details, &target.url, user);
        }
        Ok(transport)
    }
}
