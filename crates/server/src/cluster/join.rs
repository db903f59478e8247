//! Joins the cluster, and leaves it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::broadcast;
use toolyard_cluster::{
    Bus, BusSettings, ClusterAnnouncements, HomeOwner, Homes, RemoteCalls, exchange_calls,
    follow_announcements,
};
use toolyard_core::{
    Executor,
    ports::{Announcements, CallLog, CallRecord, ClusterStore, HomeMarks, SecretSealer, StoreError, Stores},
};
use toolyard_protocol::UserId;
use toolyard_sessions::Sessions;

use super::{MarkedPaths, forward::Forwarder, stamp::ForwardStamps};
use crate::{
    config::{AuthMode, ClusterConfig},
    lifecycle::Lifecycle,
    serve::ServerStartError,
};

/// How long a node that leaves still accepts requests: until all others know.
const LEAVE_NOTICE: Duration = Duration::from_millis(600);

/// How long a connection that was accepted last may take to send its request.
const LAST_REQUESTS: Duration = Duration::from_millis(100);

/// The connection to the other nodes, before this node has joined them.
pub(crate) struct JoinedBus {
    bus: Bus,
    store: Arc<dyn ClusterStore>,
    address: String,
    /// The announcements of this node alone.
    local: Arc<dyn Announcements>,
}

/// This node as a part of its cluster.
pub(crate) struct ClusterNode {
    pub(super) homes: Arc<Homes>,
    pub(super) stamps: ForwardStamps,
    pub(super) forwarder: Forwarder,
    pub(super) marks: HomeMarks,
    remote_calls: RemoteCalls,
}

impl JoinedBus {
    /// Connects to NATS, and announces the changes of `stores` there from now on. None without a cluster.
    pub(crate) async fn connect(
        config: &ClusterConfig,
        mode: AuthMode,
        listen: SocketAddr,
        stores: &mut Stores,
        lifecycle: &Lifecycle,
    ) -> Result<Option<Self>, ServerStartError> {
        let Some(url) = config.nats_url.clone() else { return Ok(None) };
        let wrong = |text: &str| ServerStartError::Config(text.to_owned());
        let store = stores.cluster.clone().ok_or_else(|| {
            wrong("cluster.nats_url: a cluster needs PostgreSQL, because nodes cannot share a file; set store.url")
        })?;
        if mode == AuthMode::Dev {
            return Err(wrong(
                "cluster.nats_url: dev mode trusts everyone on this machine, so it has one node; set auth.mode",
            ));
        }
        let address = advertised_address(config, listen)?;
        let settings = BusSettings { url, prefix: config.subject_prefix.clone() };
        let bus =
            Bus::connect(&settings).await.map_err(|error| ServerStartError::Config(error.to_string()))?;
        let local = stores.announcements.clone();
        let announcements =
            ClusterAnnouncements::new(local.clone(), bus.clone(), store.node(), lifecycle.tasks.clone());
        stores.announcements = Arc::new(announcements);
        Ok(Some(Self { bus, store, address, local }))
    }

    /// Joins the other nodes.
    pub(crate) async fn join(
        self,
        sessions: &Sessions,
        executor: &Executor,
        log: Arc<dyn CallLog>,
        secrets: &Arc<dyn SecretSealer>,
        lifecycle: &Lifecycle,
    ) -> Result<ClusterNode, ServerStartError> {
        let failed = |error: &dyn std::fmt::Display| ServerStartError::Config(format!("cluster: {error}"));
        let follow = follow_announcements(self.local, self.bus.clone(), self.store.node()).await;
        let follow = follow.map_err(|error| failed(&error))?;
        let exchange = exchange_calls(self.bus.clone(), self.store.node(), log, executor.subscribe()).await;
        let (remote_calls, exchange) = exchange.map_err(|error| failed(&error))?;
        let stopping = lifecycle.stopping.clone();
        lifecycle.spawn(async move {
            tokio::select! {
                () = follow => {}
                () = exchange => {}
                () = stopping.cancelled() => {}
            }
        });
        let owner = Arc::new(SessionHomes(sessions.clone()));
        let homes = Homes::start(self.store, self.bus, owner, &self.address, &lifecycle.tasks).await;
        Ok(ClusterNode {
            homes: homes.map_err(|error| failed(&error))?,
            stamps: ForwardStamps::new(&**secrets),
            forwarder: Forwarder::new(),
            marks: HomeMarks::new(secrets.clone()),
            remote_calls,
        })
    }
}

/// The URL under which other nodes reach this one, without a trailing slash.
fn advertised_address(config: &ClusterConfig, listen: SocketAddr) -> Result<String, ServerStartError> {
    let wrong = |why: &str| ServerStartError::Config(format!("cluster.advertise_url: {why}"));
    let Some(text) = &config.advertise_url else {
        if listen.ip().is_unspecified() {
            return Err(wrong(
                "missing; the other nodes need it to reach this one, e.g. `http://10.0.0.5:8787`",
            ));
        }
        return Ok(format!("http://{listen}"));
    };
    let url: http::Uri = text.parse().map_err(|_| wrong("not a URL; expected `http://host:port`"))?;
    let is_plain = url.scheme_str() == Some("http") && url.authority().is_some() && url.path() == "/";
    if !is_plain || url.query().is_some() {
        return Err(wrong("expected `http://host:port`, without a path"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

impl ClusterNode {
    /// The paths that are marked with their user.
    pub(crate) fn marked_paths(&self) -> MarkedPaths {
        MarkedPaths::new(self.marks.clone())
    }

    /// Whether this node is the home of a user, or becomes it because there is none.
    pub(crate) async fn claims(&self, user: &UserId) -> Result<bool, StoreError> {
        Ok(matches!(self.homes.find_home(user).await?, toolyard_cluster::Home::Here))
    }

    /// The calls of other nodes from now on.
    pub(crate) fn watch_calls(&self) -> broadcast::Receiver<Arc<CallRecord>> {
        self.remote_calls.subscribe()
    }

    /// Tells the others that this node stops, and waits until they know.
    pub(crate) async fn give_notice(&self) {
        self.homes.give_notice().await;
        tokio::time::sleep(LEAVE_NOTICE).await;
    }

    /// Waits for requests on connections that were accepted last.
    pub(crate) async fn finish_notice(&self) {
        tokio::time::sleep(LAST_REQUESTS).await;
    }

    /// Whether this node stops, so that a load balancer should send it nothing more.
    pub(crate) fn is_leaving(&self) -> bool {
        self.homes.is_leaving()
    }

    /// Gives all users up.
    pub(crate) async fn leave(&self) {
        self.homes.leave().await;
    }
}

/// The live state of users moves with their home.
struct SessionHomes(Sessions);

#[async_trait]
impl HomeOwner for SessionHomes {
    async fn move_in(&self, user: &UserId) -> Result<(), StoreError> {
        let restored = self.0.restore_user(user).await?;
        if restored > 0 {
            tracing::info!(%user, restored, "waiting for apps of another node to reconnect");
        }
        Ok(())
    }

    async fn move_out(&self, user: &UserId) {
        self.0.release_user(user);
    }

    fn is_active(&self, user: &UserId) -> bool {
        self.0.is_live(user)
    }
}
