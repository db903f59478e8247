//! `/api/plugins`: the user's plugins, the curator's service, and the catalogue.
//!
//! | look for | in |
//! | --- | --- |
//! | what a user has: list, install, switch, remove | `installed`, `install` |
//! | signing, calling back, reading the lists again | `curate` |
//! | the catalogue, and the lists that clients read | `catalogue` |
//! | whom this server believes, and its bounds | `policy` |

mod catalogue;
mod curate;
mod install;
mod installed;
mod policy;

use toolyard_protocol::{api::ApiErrorCode, plugin::PluginId};
use toolyard_sources::plugin::TrustError;
use toolyard_trust::Status;

use crate::{error::Failure, routes::Route};

pub(crate) fn routes() -> Vec<Route> {
    let routes = installed::routes().into_iter().chain(curate::routes()).chain(catalogue::routes());
    routes.chain(policy::routes()).collect()
}

/// An id from a path.
fn id_of(text: &str) -> Result<PluginId, Failure> {
    text.parse().map_err(|_| Failure::not_found(format_args!("plugin {text}")))
}

/// A status as the API writes it.
fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Signed { .. } => "signed",
        Status::Unsigned => "unsigned",
        Status::Modified => "modified",
        Status::UnknownKey => "unknown-key",
        Status::Revoked => "revoked",
        Status::Expired => "expired",
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Sign(error) => Self::invalid(error.to_string()),
            TrustError::Store(error) => error.into(),
            TrustError::Setup(_)
            | TrustError::List { .. }
            | TrustError::File { .. }
            | TrustError::NotHere(_)
            | TrustError::NotBelieved(_) => Self::new(ApiErrorCode::Conflict, error.to_string()),
        }
    }
}
