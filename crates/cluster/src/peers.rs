//! Which other nodes are alive. Every node shows it several times a second; one that is silent for longer than that, while this
//! node hears itself, counts as lost until it shows itself again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dashmap::DashMap;
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::NodeId;

use crate::bus::{Bus, BusError, Heartbeat};

/// How often a node shows that it is alive.
pub(crate) const BEAT_EVERY: Duration = Duration::from_millis(250);
/// The silence after which a node counts as lost. Several times the longest pause of a healthy node.
const LOST_AFTER: Duration = Duration::from_millis(1_500);
/// The silence after which this node does not trust its own hearing.
const DEAF_AFTER: Duration = Duration::from_millis(750);

const SUBJECT: &str = "nodes";

/// Another node.
#[derive(Debug)]
pub struct Peer {
    /// Its number.
    pub node: NodeId,
    /// The URL under which it is reached.
    pub address: String,
    /// Fires when it counts as lost: whatever waits for it gives up.
    pub lost: CancellationToken,
    /// It stops: it ends what it runs, and accepts nothing new.
    leaves: AtomicBool,
}

impl Peer {
    pub(crate) fn accepts_requests(&self) -> bool {
        !self.lost.is_cancelled() && !self.leaves.load(Ordering::Relaxed)
    }
}

/// The other nodes, as far as this one has heard of them.
pub(crate) struct Peers {
    me: NodeId,
    known: DashMap<NodeId, KnownPeer>,
    /// When this node last heard its own heartbeat.
    heard_self: Mutex<Option<Instant>>,
}

struct KnownPeer {
    peer: Arc<Peer>,
    seen: Instant,
}

/// What a heartbeat means to this node.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeardBeat {
    /// Nothing new.
    Usual,
    /// This node hears itself again after a silence: it was suspended, or NATS was down.
    BackAgain,
}

impl Peers {
    pub(crate) fn new(me: NodeId) -> Self {
        Self { me, known: DashMap::new(), heard_self: Mutex::new(None) }
    }

    /// A node with its address, as the store knows it.
    pub(crate) fn meet(&self, node: NodeId, address: &str, now: Instant) -> Arc<Peer> {
        let new = || KnownPeer {
            peer: Arc::new(Peer {
                node,
                address: address.to_owned(),
                lost: CancellationToken::new(),
                leaves: AtomicBool::new(false),
            }),
            seen: now,
        };
        self.known.entry(node).or_insert_with(new).peer.clone()
    }

    pub(crate) fn find(&self, node: NodeId) -> Option<Arc<Peer>> {
        self.known.get(&node).map(|known| known.peer.clone())
    }

    fn hear(&self, beat: &Heartbeat, now: Instant) -> HeardBeat {
        let node = NodeId(beat.node);
        if node == self.me {
            let before = self.heard_self.lock().replace(now);
            return match before {
                Some(before) if now.duration_since(before) < DEAF_AFTER => HeardBeat::Usual,
                _ => {
                    // The others may have been silent only to us.
                    self.known.iter_mut().for_each(|mut known| known.seen = now);
                    HeardBeat::BackAgain
                }
            };
        }
        if let Some(mut known) = self.known.get_mut(&node) {
            known.seen = now;
            known.peer.leaves.fetch_or(beat.leaves, Ordering::Relaxed);
        }
        HeardBeat::Usual
    }

    /// A node counts as lost.
    fn lose(&self, node: NodeId) {
        if let Some((_, known)) = self.known.remove(&node) {
            known.peer.lost.cancel();
        }
    }

    /// Finds nodes that have been silent for too long.
    pub(crate) fn sweep(&self, now: Instant) {
        let hears_itself = self.heard_self.lock().is_some_and(|heard| now.duration_since(heard) < DEAF_AFTER);
        if !hears_itself {
            return;
        }
        let is_silent = |known: &KnownPeer| now.duration_since(known.seen) >= LOST_AFTER;
        let silent: Vec<_> =
            self.known.iter().filter(|known| is_silent(known)).map(|known| *known.key()).collect();
        for node in silent {
            tracing::warn!(%node, "node shows no sign of life");
            self.lose(node);
        }
    }
}

/// Shows that this node is alive, or that it leaves.
pub(crate) async fn show_life(bus: &Bus, me: NodeId, leaves: bool) {
    bus.publish(SUBJECT, &Heartbeat { node: me.0, leaves }).await;
}

/// Listens to the heartbeats of all nodes. `on_news` is called for every one that means something.
pub(crate) async fn listen(
    bus: &Bus,
    peers: Arc<Peers>,
    on_news: impl Fn(HeardBeat) + Send + 'static,
) -> Result<impl Future<Output = ()> + Send + 'static, BusError> {
    let mut beats = Box::pin(bus.subscribe::<Heartbeat>(SUBJECT).await?);
    Ok(async move {
        while let Some(beat) = beats.next().await {
            match peers.hear(&beat, Instant::now()) {
                HeardBeat::Usual => {}
                news => on_news(news),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId(1);
    const OTHER: NodeId = NodeId(2);

    fn beat(node: NodeId) -> Heartbeat {
        Heartbeat { node: node.0, leaves: false }
    }

    /// Peers at a time that the test moves.
    fn start() -> (Peers, Arc<Peer>, Instant) {
        let (peers, now) = (Peers::new(ME), Instant::now());
        let other = peers.meet(OTHER, "http://other", now);
        peers.hear(&beat(ME), now);
        (peers, other, now)
    }

    #[test]
    fn a_silent_node_is_lost_and_a_new_one_when_it_is_back() {
        let (peers, other, now) = start();
        let later = now + LOST_AFTER;
        peers.hear(&beat(ME), later - BEAT_EVERY);
        peers.hear(&beat(OTHER), now + BEAT_EVERY);
        peers.sweep(later);
        assert!(other.accepts_requests(), "it was heard meanwhile");
        peers.hear(&beat(ME), later + BEAT_EVERY);
        peers.sweep(later + BEAT_EVERY);
        assert!(!other.accepts_requests() && peers.find(OTHER).is_none());
        assert!(peers.meet(OTHER, "http://other", later).accepts_requests());
    }

    #[test]
    fn a_node_that_does_not_hear_itself_judges_nobody() {
        let (peers, other, now) = start();
        peers.sweep(now + LOST_AFTER * 10);
        assert!(other.accepts_requests());
        assert_eq!(peers.hear(&beat(ME), now + LOST_AFTER * 10), HeardBeat::BackAgain);
        peers.sweep(now + LOST_AFTER * 10);
        assert!(other.accepts_requests(), "it may have been silent only to us");
    }

    #[test]
    fn a_node_that_leaves_accepts_nothing_new_and_ends_what_it_runs() {
        let (peers, other, now) = start();
        peers.hear(&Heartbeat { node: OTHER.0, leaves: true }, now);
        assert!(!other.accepts_requests() && !other.lost.is_cancelled());
        for beats in 1..=6 {
            assert_eq!(peers.hear(&beat(ME), now + BEAT_EVERY * beats), HeardBeat::Usual);
        }
        peers.sweep(now + LOST_AFTER);
        assert!(other.lost.is_cancelled(), "when it is silent");
    }
}
