//! `convert_time`: the same time in another zone.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{TimeError, moment, zone};
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};

/// The arguments of `convert_time`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvertTimeArguments {
    /// The time to convert, for example `2026-03-05T14:30`, `14:30` (today), `2026-03-05T14:30:00+02:00` or `now`.
    pub time: String,
    /// IANA time zone in which `time` is meant, for example `Europe/Berlin`. UTC if left out.
    pub from_zone: Option<String>,
    /// IANA time zone to convert to, for example `America/New_York`.
    pub to_zone: String,
}

pub(super) fn convert_time_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "convert_time",
        title: "Convert time",
        description: "Converts a date and time from one time zone to another. Knows daylight saving time.",
        input_schema: schema_of::<ConvertTimeArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// Converts a time to another zone.
pub fn convert_time(arguments: &ConvertTimeArguments, now: Timestamp) -> Result<ToolboxOutput, TimeError> {
    let from_zone = zone::zone_or_utc(arguments.from_zone.as_deref())?;
    let to_zone = zone::find_zone(Some(&arguments.to_zone))?;
    let from = moment::read_moment("time", &arguments.time, &from_zone, now)?;
    let to = from.zoned.with_time_zone(to_zone);
    let notes: Vec<_> = from.note.into_iter().collect();
    let text = format!("{} is {}", moment::format_moment(&from.zoned), moment::format_moment(&to));
    Ok(ToolboxOutput {
        text: moment::with_notes(text, &notes),
        structured: Some(json!({
            "from": moment::moment_json(&from.zoned),
            "to": moment::moment_json(&to),
            "notes": notes,
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(time: &str, from: Option<&str>, to: &str) -> Result<ToolboxOutput, TimeError> {
        let arguments = ConvertTimeArguments {
            time: time.to_owned(),
            from_zone: from.map(str::to_owned),
            to_zone: to.to_owned(),
        };
        convert_time(&arguments, "2026-03-05T13:30:00Z".parse().unwrap())
    }

    #[test]
    fn a_time_is_shown_in_both_zones() {
        let output = convert("2026-03-05T14:30", Some("Europe/Berlin"), "America/New_York").unwrap();
        assert_eq!(
            output.text,
            "Thursday, 2026-03-05 14:30:00 in Europe/Berlin (UTC+01:00) is \
             Thursday, 2026-03-05 08:30:00 in America/New_York (UTC-05:00)"
        );
        let structured = output.structured.unwrap();
        assert_eq!(structured["to"]["iso"], "2026-03-05T08:30:00-05:00");
        assert_eq!(structured["notes"], json!([]));
    }

    #[test]
    fn each_zone_changes_its_clocks_on_its_own_day() {
        // The United States change two weeks before Europe.
        let output = convert("2026-03-15T14:30", Some("Europe/Berlin"), "America/New_York").unwrap();
        assert_eq!(output.structured.unwrap()["to"]["iso"], "2026-03-15T09:30:00-04:00");
    }

    #[test]
    fn a_gap_is_noted_in_the_output() {
        let output = convert("2026-03-29T02:30", Some("Europe/Berlin"), "UTC").unwrap();
        assert!(
            output.text.contains("\nNote: 2026-03-29 02:30 does not exist in Europe/Berlin"),
            "{}",
            output.text
        );
        assert_eq!(output.structured.unwrap()["notes"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn both_zones_are_checked() {
        for (from, to) in [(Some("Nowhere/At_All"), "UTC"), (None, "Nowhere/At_All")] {
            assert!(matches!(convert("now", from, to), Err(TimeError::UnknownZone { .. })));
        }
        assert!(matches!(convert("soon", None, "UTC"), Err(TimeError::NotATime { field: "time", .. })));
    }
}
