//! This node in a cluster: a request runs on the home of its user, and any node forwards it there.
//!
//! | look for | in |
//! | --- | --- |
//! | which user a request belongs to | `request_user` |
//! | run it here or there | `route` |
//! | the request to another node | `forward` |
//! | the header by which a node knows that a request was forwarded | `stamp` |

mod forward;
mod join;
mod marked_path;
mod request_user;
mod route;
mod stamp;

pub(crate) use self::{
    join::{ClusterNode, JoinedBus},
    marked_path::MarkedPaths,
    request_user::RouteHome,
    route::run_at_home,
};
