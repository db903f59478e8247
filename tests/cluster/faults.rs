//! What goes wrong.

use std::time::Duration;

use crate::nodes::Nodes;

/// How long a service is down.
const OUTAGE: Duration = Duration::from_millis(1_500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGKILL, and a new process.
    Kill,
    /// SIGTERM, and a new process. Nobody notices.
    Restart,
    /// SIGSTOP, and later SIGCONT.
    Suspend,
    /// NATS is down for a moment.
    Nats,
    /// PostgreSQL is down for a moment.
    Postgres,
}

impl Fault {
    pub(crate) const ALL: [Self; 5] = [Self::Kill, Self::Restart, Self::Suspend, Self::Nats, Self::Postgres];

    pub(crate) async fn happen(self, nodes: &mut Nodes, node: usize, suspended: Duration) {
        match self {
            Self::Kill => nodes.kill(node).await,
            Self::Restart => nodes.restart(node).await,
            Self::Suspend => nodes.suspend(node, suspended).await,
            Self::Nats => {
                nodes.nats.halt();
                tokio::time::sleep(OUTAGE).await;
                nodes.nats.start();
            }
            Self::Postgres => {
                nodes.database.halt();
                tokio::time::sleep(OUTAGE).await;
                nodes.database.start();
            }
        }
    }
}
