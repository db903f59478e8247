//! `current_time`, `convert_time`, `time_difference` and `add_to_time`, by `jiff` with bundled time zones.
//!
//! Four tools instead of one with an `operation`: arguments per operation would need a `oneOf`, which some providers
//! refuse and small models fill in wrong. With four tools, every required argument is marked as such, and the name
//! alone tells a model which one it needs.
//!
//! The current time is passed in. A local time that a clock change skips or repeats is resolved as in RFC 5545 (after
//! the gap, the first of two), and the output says so.

mod add;
mod convert;
mod current;
mod difference;
mod moment;
mod zone;

pub use add::{AddToTimeArguments, add_to_time};
pub use convert::{ConvertTimeArguments, convert_time};
pub use current::{CurrentTimeArguments, current_time};
pub use difference::{TimeDifferenceArguments, time_difference};

use crate::spec::ToolboxSpec;

/// Longest text of a time, a duration or a zone, in bytes.
pub const MAX_TIME_TEXT: usize = 200;

/// Why a time tool failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// No zone has this name.
    #[error("there is no time zone `{name}`; {}", zone_hint(.near))]
    UnknownZone {
        /// As it was given, possibly truncated.
        name: String,
        /// Zones with similar names, the best first.
        near: Vec<String>,
    },
    /// Not a time.
    #[error(
        "`{field}`: cannot read `{text}` as a time; write it like `2026-03-05T14:30`, `2026-03-05T14:30:00+02:00`, \
         `2026-03-05`, `14:30` (today) or `now`"
    )]
    NotATime {
        /// The argument.
        field: &'static str,
        /// As it was given, possibly truncated.
        text: String,
    },
    /// Not a duration.
    #[error(
        "cannot read `{text}` as a duration; write it like `2 hours 30 minutes`, `-3 days`, `1 month` or `PT90M`"
    )]
    NotADuration {
        /// As it was given, possibly truncated.
        text: String,
    },
    /// Before the year -9999 or after the year 9999.
    #[error(
        "the result is outside of the years -9999 to 9999; use a time or a duration closer to the present"
    )]
    OutOfRange,
}

fn zone_hint(near: &[String]) -> String {
    if near.is_empty() {
        "use a name of the IANA database, such as Europe/Berlin, America/New_York, Asia/Tokyo or UTC"
            .to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

/// The specifications of the time tools.
pub fn time_tool_specs() -> [ToolboxSpec; 4] {
    [
        current::current_time_spec(),
        convert::convert_time_spec(),
        difference::time_difference_spec(),
        add::add_to_time_spec(),
    ]
}
