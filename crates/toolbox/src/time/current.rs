//! `current_time`: the current date and time.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{TimeError, moment, zone};
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};

/// The arguments of `current_time`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurrentTimeArguments {
    /// IANA time zone, for example `Europe/Berlin`. UTC if left out.
    pub zone: Option<String>,
}

pub(super) fn current_time_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "current_time",
        title: "Current time",
        description: "Tells the current date, weekday and time in a time zone.",
        input_schema: schema_of::<CurrentTimeArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// The current time in a zone.
pub fn current_time(arguments: &CurrentTimeArguments, now: Timestamp) -> Result<ToolboxOutput, TimeError> {
    let zone = zone::zone_or_utc(arguments.zone.as_deref())?;
    let now = moment::read_moment("now", "now", &zone, now)?.zoned;
    Ok(ToolboxOutput { text: moment::format_moment(&now), structured: Some(moment::moment_json(&now)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_what_was_passed_in() {
        let now = "2026-03-05T23:30:00Z".parse().unwrap();
        let output = current_time(&CurrentTimeArguments::default(), now).unwrap();
        assert_eq!(output.text, "Thursday, 2026-03-05 23:30:00 UTC");
        let tokyo = CurrentTimeArguments { zone: Some("Asia/Tokyo".into()) };
        let output = current_time(&tokyo, now).unwrap();
        assert_eq!(output.text, "Friday, 2026-03-06 08:30:00 in Asia/Tokyo (UTC+09:00)");
        assert_eq!(output.structured.unwrap()["iso"], "2026-03-06T08:30:00+09:00");
    }

    #[test]
    fn an_unknown_zone_is_an_error() {
        let arguments = CurrentTimeArguments { zone: Some("Mars/Olympus".into()) };
        assert!(matches!(
            current_time(&arguments, Timestamp::UNIX_EPOCH),
            Err(TimeError::UnknownZone { .. })
        ));
    }
}
