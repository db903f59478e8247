//! `add_to_time`: adds a duration to a time.

use jiff::{Span, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::moment::ZonedMoment;
use super::{MAX_TIME_TEXT, TimeError, moment, zone};
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};
use crate::text::truncate_text;

/// The arguments of `add_to_time`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddToTimeArguments {
    /// The time to start from, for example `now`, `2026-03-05` or `2026-03-05T14:30`.
    pub start: String,
    /// What to add, for example `2 hours 30 minutes`, `3 weeks` or `1 month`. With `-` before it to go back: `-10 days`.
    pub duration: String,
    /// IANA time zone in which the start is meant, for example `Europe/Berlin`. UTC if left out.
    pub zone: Option<String>,
}

pub(super) fn add_to_time_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "add_to_time",
        title: "Add to a time",
        description: "Adds a duration to a date or time, or takes it away. Use it for questions like: what date is it \
                      in 90 days, when did the day begin 3 weeks ago.",
        input_schema: schema_of::<AddToTimeArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// Adds a duration. Years to days are calendar units; hours and smaller units are exact durations.
pub fn add_to_time(arguments: &AddToTimeArguments, now: Timestamp) -> Result<ToolboxOutput, TimeError> {
    let zone = zone::zone_or_utc(arguments.zone.as_deref())?;
    let start = moment::read_moment("start", &arguments.start, &zone, now)?;
    let span = read_duration(&arguments.duration)?;
    let mut notes: Vec<_> = start.note.clone().into_iter().collect();
    notes.extend(short_month_note(&start, &span)?);
    let end = add_span(&start, span)?;
    notes.extend(end.note);
    notes.extend(moment::change_between(&start.zoned, &end.zoned));

    let text = format!(
        "{} plus {span:#} is {}",
        moment::format_moment(&start.zoned),
        moment::format_moment(&end.zoned)
    );
    Ok(ToolboxOutput {
        text: moment::with_notes(text, &notes),
        structured: Some(json!({
            "start": moment::moment_json(&start.zoned),
            "duration": span.to_string(),
            "end": moment::moment_json(&end.zoned),
            "notes": notes,
        })),
    })
}

fn read_duration(text: &str) -> Result<Span, TimeError> {
    let wrong = || TimeError::NotADuration { text: truncate_text(text, 60) };
    if text.len() > MAX_TIME_TEXT {
        return Err(wrong());
    }
    text.trim().replace(" and ", " ").parse().map_err(|_| wrong())
}

fn add_span(start: &ZonedMoment, span: Span) -> Result<ZonedMoment, TimeError> {
    let days = calendar_part(&span)?;
    let landed = if days.is_zero() {
        ZonedMoment { zoned: start.zoned.clone(), note: None }
    } else {
        let wall = start.zoned.datetime().checked_add(days).map_err(|_| TimeError::OutOfRange)?;
        moment::at_wall_time(wall, start.zoned.time_zone())?
    };
    let rest = clock_part(&span)?;
    let zoned = landed.zoned.checked_add(rest).map_err(|_| TimeError::OutOfRange)?;
    Ok(ZonedMoment { zoned, note: landed.note })
}

fn calendar_part(span: &Span) -> Result<Span, TimeError> {
    let span = months_part(span)?.try_weeks(span.get_weeks()).and_then(|new| new.try_days(span.get_days()));
    span.map_err(|_| TimeError::OutOfRange)
}

fn months_part(span: &Span) -> Result<Span, TimeError> {
    let span = Span::new().try_years(span.get_years()).and_then(|new| new.try_months(span.get_months()));
    span.map_err(|_| TimeError::OutOfRange)
}

fn clock_part(span: &Span) -> Result<Span, TimeError> {
    let span = span.try_years(0).and_then(|span| span.try_months(0));
    let span = span.and_then(|span| span.try_weeks(0)).and_then(|span| span.try_days(0));
    span.map_err(|_| TimeError::OutOfRange)
}

/// One month after the 31st is the last day of the next month; the note says so, because it is a choice.
fn short_month_note(start: &ZonedMoment, span: &Span) -> Result<Option<String>, TimeError> {
    let date = start.zoned.date();
    let landed = date.checked_add(months_part(span)?).map_err(|_| TimeError::OutOfRange)?;
    Ok((landed.day() != date.day())
        .then(|| format!("{} has no day {}; its last day is used.", landed.strftime("%B %Y"), date.day())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plus(start: &str, duration: &str, zone: &str) -> Result<ToolboxOutput, TimeError> {
        let arguments = AddToTimeArguments {
            start: start.into(),
            duration: duration.into(),
            zone: Some(zone.to_owned()),
        };
        add_to_time(&arguments, "2026-03-05T13:30:00Z".parse().unwrap())
    }

    #[track_caller]
    fn ends(start: &str, duration: &str, zone: &str, iso: &str, notes: &[&str]) {
        let output = plus(start, duration, zone).unwrap_or_else(|error| panic!("{duration}: {error}"));
        let structured = output.structured.unwrap();
        assert_eq!(structured["end"]["iso"], iso, "{}", output.text);
        assert_eq!(structured["notes"], json!(notes), "{}", output.text);
    }

    #[test]
    fn many_forms_of_a_duration_are_read() {
        for (duration, iso) in [
            ("2 hours 30 minutes", "2026-03-05T16:00:00+00:00"),
            ("2 hours and 30 minutes", "2026-03-05T16:00:00+00:00"),
            ("2h30m", "2026-03-05T16:00:00+00:00"),
            ("1.5 hours", "2026-03-05T15:00:00+00:00"),
            ("PT90M", "2026-03-05T15:00:00+00:00"),
            ("90 days", "2026-06-03T13:30:00+00:00"),
            ("-10 days", "2026-02-23T13:30:00+00:00"),
            ("3 weeks ago", "2026-02-12T13:30:00+00:00"),
            ("1 year, 2 months", "2027-05-05T13:30:00+00:00"),
            ("0 days", "2026-03-05T13:30:00+00:00"),
        ] {
            ends("now", duration, "UTC", iso, &[]);
        }
        let output = plus("2026-03-05", "1 day 2 hours", "UTC").unwrap();
        assert_eq!(
            output.text,
            "Thursday, 2026-03-05 00:00:00 UTC plus 1d 2h is Friday, 2026-03-06 02:00:00 UTC"
        );
    }

    #[test]
    fn a_day_keeps_the_clock_and_24_hours_do_not() {
        let note = "The clocks of Europe/Berlin change in between (UTC+01:00 to UTC+02:00).";
        ends("2026-03-28T12:00", "1 day", "Europe/Berlin", "2026-03-29T12:00:00+02:00", &[note]);
        ends("2026-03-28T12:00", "24 hours", "Europe/Berlin", "2026-03-29T13:00:00+02:00", &[note]);
    }

    #[test]
    fn landing_in_a_gap_adds_a_note() {
        let output = plus("2026-03-28T02:30", "1 day", "Europe/Berlin").unwrap();
        assert!(output.text.contains("2026-03-29 02:30 does not exist in Europe/Berlin"), "{}", output.text);
        assert_eq!(output.structured.unwrap()["end"]["iso"], "2026-03-29T03:30:00+02:00");
    }

    #[test]
    fn the_second_of_two_equal_times_stays_the_second() {
        ends("2026-10-25T02:30+01:00", "10 minutes", "Europe/Berlin", "2026-10-25T02:40:00+01:00", &[]);
    }

    #[test]
    fn a_short_month_adds_a_note() {
        let note = "February 2026 has no day 31; its last day is used.";
        ends("2026-01-31", "1 month", "UTC", "2026-02-28T00:00:00+00:00", &[note]);
        ends("2026-01-31", "2 months", "UTC", "2026-03-31T00:00:00+00:00", &[]);
    }

    #[test]
    fn what_cannot_be_added_is_refused() {
        for duration in ["", "soon", "3", "3 fortnights", &"1".repeat(5_000)] {
            assert!(
                matches!(plus("now", duration, "UTC"), Err(TimeError::NotADuration { .. })),
                "{duration}"
            );
        }
        for duration in ["9000 years", "-15000 years", "200000000 hours"] {
            let outcome = plus("now", duration, "UTC");
            assert!(
                matches!(outcome, Err(TimeError::OutOfRange | TimeError::NotADuration { .. })),
                "{duration}: {outcome:?}"
            );
        }
        assert!(matches!(plus("soon", "1 day", "UTC"), Err(TimeError::NotATime { field: "start", .. })));
    }
}
