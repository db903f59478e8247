//! The home of a user: find it, claim it, lose it, release it.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use tokio::{sync::Mutex, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_core::{
    bounded_cache::BoundedCache,
    ports::{ClusterStore, NodeId, StoreError},
};
use toolyard_protocol::UserId;

use crate::{
    bus::{Bus, BusError, HomeNotice, Located},
    peers::{self, BEAT_EVERY, HeardBeat, Peer, Peers},
    residents::Residents,
};

/// How long a home may take to answer where it is. Longer, and the store is asked.
const LOCATE_TIMEOUT: Duration = Duration::from_millis(500);
/// Homes on other nodes that are remembered.
const MAX_REMEMBERED: usize = 100_000;
/// Users are looked up one after the other if they share one of these.
const TURNS: usize = 256;
/// How often this node compares the users it has with the store.
const VERIFY_EVERY: Duration = Duration::from_secs(10);
/// How long nothing must be done for a user before the home is given up.
const IDLE_AFTER: Duration = Duration::from_secs(600);

const MOVED_SUBJECT: &str = "moved";

/// Where a user's home is.
#[derive(Debug, Clone)]
pub enum Home {
    /// On this node.
    Here,
    /// On another node.
    At(PeerHome),
}

/// A home on another node.
#[derive(Debug, Clone)]
pub struct PeerHome {
    /// The node.
    pub peer: Arc<Peer>,
    /// The epoch of the home. A request that is forwarded carries it.
    pub epoch: i64,
}

/// What has to be done when the home of a user moves.
#[async_trait]
pub trait HomeOwner: Send + Sync {
    /// This node is the user's home from now on. What another node did for the user is restored.
    async fn move_in(&self, user: &UserId) -> Result<(), StoreError>;
    /// This node is not the user's home any more. The stored state belongs to another node.
    async fn move_out(&self, user: &UserId);
    /// Whether the user has a session or a socket here.
    fn is_active(&self, user: &UserId) -> bool;
}

/// The homes of all users.
pub struct Homes {
    store: Arc<dyn ClusterStore>,
    bus: Bus,
    owner: Arc<dyn HomeOwner>,
    tasks: TaskTracker,
    /// Fires when this node has left the cluster.
    left: CancellationToken,
    leaves: AtomicBool,
    me: NodeId,
    peers: Arc<Peers>,
    residents: Residents,
    remembered: BoundedCache<UserId, PeerHome>,
    turns: [Mutex<()>; TURNS],
    hasher: RandomState,
    /// Wakes the comparison with the store before its time.
    doubts: tokio::sync::Notify,
}

impl Homes {
    /// Joins the cluster under this address, and keeps up with it on `tasks` until it leaves.
    pub async fn start(
        store: Arc<dyn ClusterStore>,
        bus: Bus,
        owner: Arc<dyn HomeOwner>,
        address: &str,
        tasks: &TaskTracker,
    ) -> Result<Arc<Self>, StartError> {
        store.join(address).await?;
        let me = store.node();
        let homes = Arc::new(Self {
            peers: Arc::new(Peers::new(me)),
            residents: Residents::default(),
            remembered: BoundedCache::new(MAX_REMEMBERED),
            turns: std::array::from_fn(|_| Mutex::new(())),
            hasher: RandomState::new(),
            doubts: tokio::sync::Notify::new(),
            tasks: tasks.clone(),
            left: CancellationToken::new(),
            leaves: AtomicBool::new(false),
            store,
            bus,
            owner,
            me,
        });
        homes.keep_up().await?;
        tracing::info!(node = %me, address, "joined the cluster");
        Ok(homes)
    }

    /// This node.
    pub fn node(&self) -> NodeId {
        self.me
    }

    /// How many users have their home here.
    pub fn resident_count(&self) -> usize {
        self.residents.len()
    }

    /// Whether this node is the home of a user, as far as it knows.
    pub fn is_home(&self, user: &UserId) -> bool {
        self.residents.epoch(user).is_some()
    }

    /// The home of a user. It is this node if there was none.
    pub async fn find_home(&self, user: &UserId) -> Result<Home, StoreError> {
        if let Some(home) = self.known_home(user) {
            return Ok(home);
        }
        let _turn = self.take_turn(user).await;
        if let Some(home) = self.known_home(user) {
            return Ok(home);
        }
        if let Located::At(node, epoch) = self.bus.locate(user, LOCATE_TIMEOUT).await
            && let Some(peer) = self.peers.find(node).filter(|peer| peer.accepts_requests())
        {
            return Ok(self.remember(user, PeerHome { peer, epoch }));
        }
        self.claim(user, None).await
    }

    /// The home of a user after a request could not be forwarded to this one: another node by now, or this one.
    pub async fn find_home_after(&self, user: &UserId, lost: &PeerHome) -> Result<Home, StoreError> {
        let _turn = self.take_turn(user).await;
        match self.known_home(user) {
            Some(Home::At(home)) if home.epoch == lost.epoch => {}
            Some(home) => return Ok(home),
            None => {}
        }
        self.remembered.remove(user);
        self.claim(user, Some(lost.epoch)).await
    }

    /// Whether this node is the home of a user with that epoch. A node that forwards a request to it believes so.
    pub async fn confirm_home(&self, user: &UserId, epoch: i64) -> Result<bool, StoreError> {
        if self.residents.touch(user) == Some(epoch) {
            return Ok(true);
        }
        // It may have been claimed by this node a moment ago.
        let _turn = self.take_turn(user).await;
        if self.residents.touch(user).is_none() {
            self.claim(user, None).await?;
        }
        Ok(self.residents.touch(user) == Some(epoch))
    }

    /// The home of a user after the node where it was says that it moved.
    pub async fn find_home_again(&self, user: &UserId) -> Result<Home, StoreError> {
        self.remembered.remove(user);
        self.find_home(user).await
    }

    /// Tells the other nodes that this one stops: they forward nothing to it any more, and take its users over when they need
    /// them. What runs here ends here.
    pub async fn give_notice(&self) {
        self.leaves.store(true, Ordering::Relaxed);
        peers::show_life(&self.bus, self.me, true).await;
    }

    /// Whether this node gave notice.
    pub fn is_leaving(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    /// Leaves the cluster, and gives all homes up.
    pub async fn leave(&self) {
        if let Err(error) = self.store.leave().await {
            tracing::error!(%error, "homes not released; other nodes take them over");
        }
        self.left.cancel();
        self.residents.clear();
    }

    fn known_home(&self, user: &UserId) -> Option<Home> {
        if self.residents.touch(user).is_some() {
            return Some(Home::Here);
        }
        self.remembered.get(user).filter(|home| home.peer.accepts_requests()).map(Home::At)
    }

    fn remember(&self, user: &UserId, home: PeerHome) -> Home {
        self.remembered.insert(user.clone(), home.clone());
        Home::At(home)
    }

    async fn take_turn(&self, user: &UserId) -> tokio::sync::MutexGuard<'_, ()> {
        let place = usize::try_from(self.hasher.hash_one(user) % TURNS as u64).unwrap_or(0);
        self.turns[place].lock().await
    }

    /// Claims the home in the store, unless a node that is alive has it.
    async fn claim(&self, user: &UserId, lost: Option<i64>) -> Result<Home, StoreError> {
        let mut lost = lost;
        loop {
            let home = self.store.claim_home(user, lost).await?;
            if home.node == self.me {
                self.owner.move_in(user).await?;
                self.residents.add(user.clone(), home.epoch);
                let notice = HomeNotice { user: user.clone(), node: self.me.0, epoch: home.epoch };
                self.answer_for(&notice).await;
                if lost.is_some() {
                    self.bus.publish(MOVED_SUBJECT, &notice).await;
                }
                return Ok(Home::Here);
            }
            let peer = self.peers.meet(home.node, &home.address, Instant::now());
            let is_reachable = peer.accepts_requests() && !home.address.is_empty();
            if is_reachable || lost == Some(home.epoch) {
                return Ok(self.remember(user, PeerHome { peer, epoch: home.epoch }));
            }
            lost = Some(home.epoch);
        }
    }

    /// Answers the question where the user's home is.
    async fn answer_for(&self, home: &HomeNotice) {
        if !self.bus.is_connected() {
            return;
        }
        match self.bus.answer(home).await {
            Ok(questions) => {
                let answers = self.tasks.spawn(self.bus.clone().reply_to(questions, home.clone()));
                self.residents.set_answers(&home.user, home.epoch, answers.abort_handle());
            }
            Err(error) => tracing::warn!(%error, "not subscribed to the subject of a user"),
        }
    }

    /// Another node is the home of a user from now on.
    async fn home_moved(&self, moved: HomeNotice) {
        if moved.node == self.me.0 {
            return;
        }
        self.remembered.remove(&moved.user);
        let is_older = self.residents.epoch(&moved.user).filter(|epoch| *epoch < moved.epoch);
        if let Some(epoch) = is_older {
            self.move_out(&moved.user, epoch).await;
        }
    }

    async fn move_out(&self, user: &UserId, epoch: i64) {
        if self.residents.remove(user, epoch) {
            tracing::info!(%user, "home of a user moved to another node");
            self.owner.move_out(user).await;
        }
    }

    /// Compares the users that this node has with the store. A node that was suspended or cut off may have lost some.
    async fn verify(&self) {
        let before = Instant::now();
        let stored = match self.store.list_homes().await {
            Ok(stored) => stored.into_iter().collect::<std::collections::HashMap<_, _>>(),
            Err(error) => {
                tracing::warn!(%error, "homes not compared with the store");
                return;
            }
        };
        for (user, epoch) in self.residents.list_since(before) {
            if stored.get(&user) != Some(&epoch) {
                self.move_out(&user, epoch).await;
            }
        }
        for (user, epoch) in self.residents.list_unanswered() {
            self.answer_for(&HomeNotice { user, node: self.me.0, epoch }).await;
        }
    }

    /// Gives homes up that nothing is done for.
    async fn release_idle(&self) {
        let Some(since) = Instant::now().checked_sub(IDLE_AFTER) else { return };
        for (user, epoch) in self.residents.list_idle(since) {
            let _turn = self.take_turn(&user).await;
            if self.owner.is_active(&user) || !self.residents.remove(&user, epoch) {
                continue;
            }
            if let Err(error) = self.store.release_home(&user, epoch).await {
                tracing::warn!(%error, "home of an idle user not released");
            }
        }
    }

    /// Starts everything that runs as long as the node does.
    async fn keep_up(self: &Arc<Self>) -> Result<(), BusError> {
        let doubting = Arc::downgrade(self);
        let listening = peers::listen(&self.bus, self.peers.clone(), move |news| {
            tracing::debug!(?news, "nodes");
            if let (HeardBeat::BackAgain, Some(homes)) = (news, doubting.upgrade()) {
                homes.doubts.notify_one();
            }
        });
        self.spawn(listening.await?);
        let mut moves = Box::pin(self.bus.subscribe::<HomeNotice>(MOVED_SUBJECT).await?);
        let homes = self.clone();
        self.spawn(async move {
            while let Some(moved) = moves.next().await {
                homes.home_moved(moved).await;
            }
        });
        let homes = self.clone();
        self.spawn(async move {
            let mut beats = tokio::time::interval(BEAT_EVERY);
            beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                beats.tick().await;
                peers::show_life(&homes.bus, homes.me, homes.is_leaving()).await;
                homes.peers.sweep(Instant::now());
            }
        });
        let homes = self.clone();
        self.spawn(async move {
            loop {
                let _ = tokio::time::timeout(VERIFY_EVERY, homes.doubts.notified()).await;
                homes.verify().await;
                homes.release_idle().await;
            }
        });
        Ok(())
    }

    /// Runs a task until the node has left.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let left = self.left.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = task => {}
                () = left.cancelled() => {}
            }
        });
    }
}

/// A node cannot join the cluster.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// NATS.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
