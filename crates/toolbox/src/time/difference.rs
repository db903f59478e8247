//! `time_difference`: the time between two times.

use jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{TimeError, moment, zone};
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};

/// The arguments of `time_difference`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeDifferenceArguments {
    /// From when, for example `2026-03-05`, `2026-03-05T14:30` or `now`.
    pub start: String,
    /// Until when, in the same forms.
    pub end: String,
    /// IANA time zone in which both are meant, for example `Europe/Berlin`. UTC if left out.
    pub zone: Option<String>,
}

pub(super) fn time_difference_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "time_difference",
        title: "Time difference",
        description: "Tells how much time lies between two dates or times, in calendar units and in total days, hours \
                      and seconds. Use it for ages, countdowns and deadlines.",
        input_schema: schema_of::<TimeDifferenceArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// The time between two times.
pub fn time_difference(
    arguments: &TimeDifferenceArguments,
    now: Timestamp,
) -> Result<ToolboxOutput, TimeError> {
    let zone = zone::zone_or_utc(arguments.zone.as_deref())?;
    let start = moment::read_moment("start", &arguments.start, &zone, now)?;
    let end = moment::read_moment("end", &arguments.end, &zone, now)?;
    // Days and months are counted in one zone.
    let (from, to) = (start.zoned.with_time_zone(zone.clone()), end.zoned.with_time_zone(zone));
    let calendar = from.until((Unit::Year, &to)).map_err(|_| TimeError::OutOfRange)?;
    let days = from.until((Unit::Day, &to)).map_err(|_| TimeError::OutOfRange)?.get_days();
    let seconds = to.timestamp().as_second() - from.timestamp().as_second();

    let mut notes: Vec<_> = [start.note, end.note].into_iter().flatten().collect();
    notes.extend(moment::change_between(&from, &to));
    if seconds < 0 {
        notes.push("The end is before the start.".to_owned());
    }
    let text = format!(
        "{calendar:#} from {} to {}. In total {days} whole days; {} hours; {seconds} seconds.",
        moment::format_moment(&from),
        moment::format_moment(&to),
        format_hours(seconds),
    );
    Ok(ToolboxOutput {
        text: moment::with_notes(text, &notes),
        structured: Some(json!({
            "start": moment::moment_json(&from),
            "end": moment::moment_json(&to),
            "calendar": calendar.to_string(),
            "whole_days": days,
            "seconds": seconds,
            "notes": notes,
        })),
    })
}

/// At most two decimals, without trailing zeros.
fn format_hours(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let hundredths = (seconds.unsigned_abs() + 18) / 36;
    let text = format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(start: &str, end: &str, zone: &str) -> Result<ToolboxOutput, TimeError> {
        let arguments =
            TimeDifferenceArguments { start: start.into(), end: end.into(), zone: Some(zone.to_owned()) };
        time_difference(&arguments, "2026-03-05T13:30:00Z".parse().unwrap())
    }

    #[test]
    fn the_output_has_calendar_units_and_totals() {
        let output = between("2025-01-31", "2026-03-05T12:30", "UTC").unwrap();
        assert_eq!(
            output.text,
            "1y 1mo 5d 12h 30m from Friday, 2025-01-31 00:00:00 UTC to Thursday, 2026-03-05 12:30:00 UTC. \
             In total 398 whole days; 9564.5 hours; 34432200 seconds."
        );
        let structured = output.structured.unwrap();
        assert_eq!(structured["calendar"], "P1Y1M5DT12H30M");
        assert_eq!(structured["whole_days"], 398);
    }

    #[test]
    fn a_day_on_which_the_clocks_change_has_23_hours() {
        let output = between("2026-03-29", "2026-03-30", "Europe/Berlin").unwrap();
        let structured = output.structured.unwrap();
        assert_eq!((&structured["calendar"], &structured["seconds"]), (&json!("P1D"), &json!(23 * 3600)));
        assert_eq!(
            structured["notes"],
            json!(["The clocks of Europe/Berlin change in between (UTC+01:00 to UTC+02:00)."])
        );
        assert!(output.text.contains("\nNote: The clocks"), "{}", output.text);
    }

    #[test]
    fn a_negative_difference_adds_a_note() {
        let output = between("now", "2026-03-04T13:30", "UTC").unwrap();
        assert_eq!(output.structured.unwrap()["seconds"], -86_400);
        assert!(output.text.ends_with("Note: The end is before the start."), "{}", output.text);
    }

    #[test]
    fn times_of_two_zones_are_compared_as_moments() {
        let output =
            between("2026-03-05T14:30[Europe/Berlin]", "2026-03-05T08:30[America/New_York]", "UTC").unwrap();
        assert_eq!(output.structured.unwrap()["seconds"], 0);
        assert!(output.text.starts_with("0s from"), "{}", output.text);
    }

    #[test]
    fn the_error_names_the_argument() {
        assert!(matches!(between("now", "soon", "UTC"), Err(TimeError::NotATime { field: "end", .. })));
        assert!(matches!(between("soon", "now", "UTC"), Err(TimeError::NotATime { field: "start", .. })));
    }

    #[test]
    fn hours_are_rounded() {
        for (seconds, told) in
            [(0, "0"), (3_600, "1"), (5_400, "1.5"), (-5_400, "-1.5"), (1_200, "0.33"), (36_000, "10")]
        {
            assert_eq!(format_hours(seconds), told);
        }
    }
}
