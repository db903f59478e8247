//! `/api/plugins`: the user's plugins, curation, and the catalogue.
//!
//! | look for | in |
//! | --- | --- |
//! | the user's plugins: list, install, switch, remove | `installed`, `install` |
//! | signing, revoking, reloading the lists | `curate` |
//! | the catalogue, and the lists that clients read | `catalogue` |
//! | trusted keys and limits | `policy` |

mod catalogue;
mod curate;
mod install;
mod installed;
mod policy;

use toolyard_protocol::plugin::PluginId;

use crate::{error::RequestError, routes::Route};

pub(crate) fn routes() -> Vec<Route> {
    let routes = installed::routes().into_iter().chain(curate::routes()).chain(catalogue::routes());
    routes.chain(policy::routes()).collect()
}

/// An id from a path.
fn parse_plugin_id(text: &str) -> Result<PluginId, RequestError> {
    text.parse().map_err(|_| RequestError::not_found(format_args!("plugin {text}")))
}
