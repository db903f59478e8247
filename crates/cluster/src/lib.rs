//! Several nodes as one server.
//!
//! Every active user has a *home*: the node that has their sessions, sockets, calls and chats. Any node accepts a request and
//! forwards it to the home of its user, so everything else works as on one node.
//!
//! - PostgreSQL knows which node is the home of a user, with an *epoch* that is raised whenever the home moves. It decides.
//! - NATS carries what is live. The home subscribes to the subject of its user, so that one request finds it, or shows at once
//!   that there is none. Nodes show that they are alive, and that something changed. Everything that NATS may lose is found
//!   in PostgreSQL, too.
//!
//! | look for | in |
//! | --- | --- |
//! | the home of a user: find, claim, lose, release | `homes` |
//! | the users whose home is this node | `residents` |
//! | which other nodes are alive | `peers` |
//! | the connection to NATS, subjects and messages | `bus` |
//! | announcements to all nodes | `announcements` |
//! | the live feed of calls | `calls` |

mod announcements;
mod bus;
mod calls;
mod homes;
mod peers;
mod residents;

pub use self::{
    announcements::{ClusterAnnouncements, follow_announcements},
    bus::{Bus, BusError, BusSettings},
    calls::{RemoteCalls, exchange_calls},
    homes::{Home, HomeOwner, Homes, PeerHome, StartError},
    peers::Peer,
};
