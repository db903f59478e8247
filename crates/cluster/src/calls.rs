//! The live feed of calls. A node tells the others the id of each call that ended; those that somebody watches are read in the
//! store.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};
use toolyard_core::ports::{CallLog, CallRecord, NodeId};
use toolyard_protocol::CallId;

use crate::bus::{Bus, BusError};

const SUBJECT: &str = "calls";
/// How many calls a slow subscriber may lag behind before it misses some.
const FEED_DEPTH: usize = 1_024;
/// Pauses before a call is looked for again: the node that ran it writes many at once.
const READ_PAUSES: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1)];

#[derive(Debug, Serialize, Deserialize)]
struct CallNotice {
    from: i64,
    call: CallId,
}

/// The calls of other nodes.
#[derive(Debug, Clone)]
pub struct RemoteCalls(broadcast::Sender<Arc<CallRecord>>);

impl RemoteCalls {
    /// The calls of other nodes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<CallRecord>> {
        self.0.subscribe()
    }

    fn is_watched(&self) -> bool {
        self.0.receiver_count() > 0
    }
}

/// Exchanges calls with the other nodes, forever. `own` are the calls of this node.
pub async fn exchange_calls(
    bus: Bus,
    me: NodeId,
    log: Arc<dyn CallLog>,
    mut own: broadcast::Receiver<Arc<CallRecord>>,
) -> Result<(RemoteCalls, impl Future<Output = ()> + Send + 'static), BusError> {
    let remote = RemoteCalls(broadcast::channel(FEED_DEPTH).0);
    let notices = bus.subscribe::<CallNotice>(SUBJECT).await?;
    let tell = async move {
        loop {
            match own.recv().await {
                Ok(call) => bus.publish(SUBJECT, &CallNotice { from: me.0, call: call.id.clone() }).await,
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "calls not shown to watchers on other nodes");
                }
                Err(RecvError::Closed) => return,
            }
        }
    };
    let feed = remote.clone();
    let read = notices.for_each(move |notice| {
        let (feed, log) = (feed.clone(), log.clone());
        async move {
            if notice.from != me.0
                && feed.is_watched()
                && let Some(call) = read_call(&*log, &notice.call).await
            {
                // Whoever watched may be gone by now.
                let _ = feed.0.send(Arc::new(call));
            }
        }
    });
    let exchange = async move {
        tokio::select! {
            () = tell => {}
            () = read => {}
        }
    };
    Ok((remote, exchange))
}

async fn read_call(log: &dyn CallLog, id: &CallId) -> Option<CallRecord> {
    for pause in READ_PAUSES {
        tokio::time::sleep(pause).await;
        match log.find_call(id).await {
            Ok(Some(call)) => return Some(call),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "call of another node not read");
                return None;
            }
        }
    }
    None
}
