//! `/api/usage/…`: the ledger as a whole. A user sees their own calls, an operator everybody's, a developer what their apps
//! are used for.
//!
//! | look for | in |
//! | --- | --- |
//! | how many calls, over time | [`over_time`] |
//! | how long they took | [`latency`] |
//! | the same as a table for other programs | [`export`] |

mod csv;
mod export;
mod latency;
mod over_time;

use serde::Deserialize;
use toolyard_core::ports::UsageFilter;

use super::{
    calls::time,
    seen::{OF_APPS, View},
};
use crate::{auth::Actor, error::Failure, routes::Route};

pub(crate) fn routes() -> Vec<Route> {
    [over_time::route(), latency::route(), export::route()].into()
}

const USER: (&str, &str) = ("user", "Operators: only of this user");
const APP: (&str, &str) = ("app", "Only of this app");
const TOOL: (&str, &str) = ("tool", "Only of this tool, by canonical name");
const OF: (&str, &str) = ("of", OF_APPS);
const SINCE: (&str, &str) = ("since", "Only at this time or later, ISO 8601");
const UNTIL: (&str, &str) = ("until", "Only before this time, ISO 8601");

/// Which calls, as all of these are asked.
#[derive(Default, Deserialize)]
pub(super) struct Asked {
    pub(super) user: Option<String>,
    pub(super) of: Option<String>,
    pub(super) app: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
}

impl Asked {
    /// The calls that were asked for, as far as they are this one's to see.
    pub(super) fn filter(self, who: &Actor) -> Result<UsageFilter, Failure> {
        let named = |what: &str, error: &dyn std::fmt::Display| Failure::invalid(format!("{what}: {error}"));
        let (user, owner) = View::of(who, self.user.as_deref(), self.of.as_deref())?.bounds();
        let filter = UsageFilter {
            user,
            owner,
            package: self.app.map(|text| text.parse().map_err(|error| named("app", &error))).transpose()?,
            tool: self.tool.map(|text| text.parse().map_err(|error| named("tool", &error))).transpose()?,
            since: time("since", self.since.as_deref())?,
            until: time("until", self.until.as_deref())?,
        };
        if filter.since.zip(filter.until).is_some_and(|(since, until)| since >= until) {
            return Err(Failure::invalid("until: expected a time after `since`"));
        }
        Ok(filter)
    }
}
