//! `/api/usage/…`: reports on the ledger. Users see their own calls, operators all calls, developers the calls of their
//! apps.
//!
//! | look for | in |
//! | --- | --- |
//! | number of calls over time | [`over_time`] |
//! | durations | [`latency`] |
//! | export as CSV or JSON lines | [`export`] |

mod csv;
mod export;
mod latency;
mod over_time;

use serde::Deserialize;
use toolyard_core::ports::UsageFilter;

use super::{
    call_visibility::{CallVisibility, OF_APPS},
    calls::parse_time,
};
use crate::{auth::Actor, error::RequestError, routes::Route};

pub(crate) fn routes() -> Vec<Route> {
    [over_time::route(), latency::route(), export::route()].into()
}

const USER: (&str, &str) = ("user", "Operators: only calls of this user");
const APP: (&str, &str) = ("app", "Only calls of this app");
const TOOL: (&str, &str) = ("tool", "Only calls of this tool, by canonical name");
const OF: (&str, &str) = ("of", OF_APPS);
const SINCE: (&str, &str) = ("since", "Only calls at this time or later, ISO 8601");
const UNTIL: (&str, &str) = ("until", "Only calls before this time, ISO 8601");

/// The query parameters that all reports share.
#[derive(Default, Deserialize)]
pub(super) struct UsageRequest {
    pub(super) user: Option<String>,
    pub(super) of: Option<String>,
    pub(super) app: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
}

impl UsageRequest {
    /// The filter for the requested calls, if this actor may see them.
    pub(super) fn into_filter(self, who: &Actor) -> Result<UsageFilter, RequestError> {
        let named = |what: &str, error: &dyn std::fmt::Display| {
            RequestError::invalid_request(format!("{what}: {error}"))
        };
        let (user, owner) =
            CallVisibility::for_actor(who, self.user.as_deref(), self.of.as_deref())?.filter_bounds();
        let filter = UsageFilter {
            user,
            owner,
            package: self.app.map(|text| text.parse().map_err(|error| named("app", &error))).transpose()?,
            tool: self.tool.map(|text| text.parse().map_err(|error| named("tool", &error))).transpose()?,
            since: parse_time("since", self.since.as_deref())?,
            until: parse_time("until", self.until.as_deref())?,
        };
        if filter.since.zip(filter.until).is_some_and(|(since, until)| since >= until) {
            return Err(RequestError::invalid_request("until: expected a time after `since`"));
        }
        Ok(filter)
    }
}
