//! `current_time`, `convert_time`, `time_difference` and `add_to_time`, by `jiff` with the time zones built in.
//!
//! Four tools and not one with an `operation`: which arguments belong to which operation would need a `oneOf`, which
//! some providers refuse and small models fill in wrong. With four, every argument that is required says so, and the
//! name alone tells a model which one it needs.
//!
//! The present is passed in. A time on the wall that a change of clocks skips or repeats is resolved as RFC 5545 says
//! (after the gap, the first of two), and the answer says so in words.

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

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// No zone has this name.
    #[error("there is no time zone `{name}`; {}", zone_hint(.near))]
    UnknownZone {
        /// As it was given, perhaps cut.
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
        /// As it was given, perhaps cut.
        text: String,
    },
    /// Not a duration.
    #[error(
        "cannot read `{text}` as a duration; write it like `2 hours 30 minutes`, `-3 days`, `1 month` or `PT90M`"
    )]
    NotADuration {
        /// As it was given, perhaps cut.
        text: String,
    },
    /// Before the year -9999 or after the year 9999.
    #[error("this leads out of the years -9999 to 9999; use a time or a duration closer to the present")]
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

/// The tools of this module, for models.
pub fn time_tool_specs() -> [ToolboxSpec; 4] {
    [
        current::current_time_spec(),
        convert::convert_time_spec(),
        difference::time_difference_spec(),
        add::add_to_time_spec(),
    ]
}
