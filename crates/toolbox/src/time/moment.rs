//! Reads a time as models write it, and formats it for them.

use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, Unit, Zoned};
use serde_json::{Value, json};

use super::zone::{distance_from_utc, name_of, zone_database};
use super::{MAX_TIME_TEXT, TimeError};
use crate::text::truncate_text;

/// Formats of a time of day with am and pm.
const TWELVE_HOURS: [&str; 4] = ["%I:%M %p", "%I:%M%p", "%I %p", "%I%p"];

/// A time in a zone, with a note if needed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ZonedMoment {
    pub(super) zoned: Zoned,
    /// Set if a clock change makes the time ambiguous.
    pub(super) note: Option<String>,
}

/// Reads a time. Without its own offset or zone it is a local time in `zone`.
pub(super) fn read_moment(
    field: &'static str,
    text: &str,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<ZonedMoment, TimeError> {
    let wrong = || TimeError::NotATime { field, text: truncate_text(text, 60) };
    let trimmed = text.trim();
    if trimmed.len() > MAX_TIME_TEXT {
        return Err(wrong());
    }
    let now = now.to_zoned(zone.clone());
    if trimmed.eq_ignore_ascii_case("now") {
        return Ok(ZonedMoment { zoned: whole_seconds(&now), note: None });
    }
    if let Some(time) = time_of_day(trimmed) {
        return at_wall_time(now.date().to_datetime(time), zone);
    }
    let pieces = Pieces::parse(trimmed).map_err(|_| wrong())?;
    let written = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let own_zone = pieces.to_time_zone_with(zone_database()).map_err(|_| wrong())?;
    match (pieces.to_numeric_offset(), own_zone) {
        // With both, the offset selects one of two equal local times.
        (Some(offset), own_zone) => {
            let moment = offset.to_timestamp(written).map_err(|_| TimeError::OutOfRange)?;
            Ok(ZonedMoment { zoned: moment.to_zoned(own_zone.unwrap_or_else(|| zone.clone())), note: None })
        }
        (None, Some(own_zone)) => at_wall_time(written, &own_zone),
        (None, None) => at_wall_time(written, zone),
    }
}

fn time_of_day(text: &str) -> Option<Time> {
    // `14:30`; jiff would also take the time from a whole date, and accept `2026`.
    let is_clock = text.contains(':') && text.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    let with_colon = if is_clock { text.parse::<Time>().ok() } else { None };
    with_colon.or_else(|| TWELVE_HOURS.iter().find_map(|form| Time::strptime(form, text).ok()))
}

/// The time at which the clocks of a zone show this. The note says if they never do, or do twice.
pub(super) fn at_wall_time(written: DateTime, zone: &TimeZone) -> Result<ZonedMoment, TimeError> {
    let ambiguous = zone.to_ambiguous_zoned(written);
    let offset = ambiguous.offset();
    let zoned = ambiguous.compatible().map_err(|_| TimeError::OutOfRange)?;
    let (clock, name) = (written.strftime("%Y-%m-%d %H:%M"), name_of(zone));
    let note = match offset {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { before, after } => Some(format!(
            "{clock} does not exist in {name}: the clocks are set forward over it ({}). {} is used.",
            offset_change(before, after),
            zoned.strftime("%H:%M")
        )),
        AmbiguousOffset::Fold { before, after } => Some(format!(
            "{clock} happens twice in {name}: the clocks are set back ({}). The first is used; for the second write \
             {}{}.",
            offset_change(before, after),
            written.strftime("%Y-%m-%dT%H:%M"),
            distance_from_utc(after).trim_start_matches("UTC")
        )),
    };
    Ok(ZonedMoment { zoned, note })
}

fn offset_change(before: Offset, after: Offset) -> String {
    format!("{} to {}", distance_from_utc(before), distance_from_utc(after))
}

fn whole_seconds(zoned: &Zoned) -> Zoned {
    let rounded = zoned.round(jiff::ZonedRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc));
    rounded.unwrap_or_else(|_| zoned.clone())
}

/// For a model: `Thursday, 2026-03-05 14:30:00 in Europe/Berlin (UTC+01:00)`.
pub(super) fn format_moment(zoned: &Zoned) -> String {
    let name = name_of(zoned.time_zone());
    let clock = zoned.strftime("%A, %Y-%m-%d %H:%M:%S");
    if name.starts_with("UTC") {
        format!("{clock} {name}")
    } else {
        format!("{clock} in {name} ({})", distance_from_utc(zoned.offset()))
    }
}

/// For programs.
pub(super) fn moment_json(zoned: &Zoned) -> Value {
    let is_dst = zoned.time_zone().to_offset_info(zoned.timestamp()).dst().is_dst();
    json!({
        "iso": zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        "utc": zoned.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "unix": zoned.timestamp().as_second(),
        "zone": name_of(zoned.time_zone()),
        "weekday": zoned.strftime("%A").to_string(),
        "daylight_saving": is_dst,
    })
}

/// The note about a clock change between two times in a zone.
pub(super) fn change_between(start: &Zoned, end: &Zoned) -> Option<String> {
    (start.offset() != end.offset()).then(|| {
        let name = name_of(end.time_zone());
        format!("The clocks of {name} change in between ({}).", offset_change(start.offset(), end.offset()))
    })
}

/// Appends the notes, one per line.
pub(super) fn with_notes(text: String, notes: &[String]) -> String {
    notes.iter().fold(text, |text, note| format!("{text}\nNote: {note}"))
}

#[cfg(test)]
mod tests {
    use super::super::zone::find_zone;
    use super::*;

    const NOW: &str = "2026-03-05T13:30:15.75Z";

    fn read_in(text: &str, name: &str) -> Result<ZonedMoment, TimeError> {
        read_moment("time", text, &find_zone(Some(name)).unwrap(), NOW.parse().unwrap())
    }

    #[test]
    fn many_forms_are_read() {
        for (text, told) in [
            ("now", "Thursday, 2026-03-05 14:30:15 in Europe/Berlin (UTC+01:00)"),
            ("2026-03-05T14:30", "Thursday, 2026-03-05 14:30:00 in Europe/Berlin (UTC+01:00)"),
            (" 2026-03-05 14:30:05 ", "Thursday, 2026-03-05 14:30:05 in Europe/Berlin (UTC+01:00)"),
            ("2026-03-05", "Thursday, 2026-03-05 00:00:00 in Europe/Berlin (UTC+01:00)"),
            ("2026-03-05T14:30Z", "Thursday, 2026-03-05 15:30:00 in Europe/Berlin (UTC+01:00)"),
            ("2026-03-05T14:30:00+05:30", "Thursday, 2026-03-05 10:00:00 in Europe/Berlin (UTC+01:00)"),
            ("2026-03-05T14:30[Asia/Tokyo]", "Thursday, 2026-03-05 14:30:00 in Asia/Tokyo (UTC+09:00)"),
            ("18:45", "Thursday, 2026-03-05 18:45:00 in Europe/Berlin (UTC+01:00)"),
            ("6:45 pm", "Thursday, 2026-03-05 18:45:00 in Europe/Berlin (UTC+01:00)"),
            ("6 PM", "Thursday, 2026-03-05 18:00:00 in Europe/Berlin (UTC+01:00)"),
        ] {
            let moment = read_in(text, "Europe/Berlin").unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(format_moment(&moment.zoned), told, "{text}");
            assert_eq!(moment.note, None, "{text}");
        }
        assert_eq!(format_moment(&read_in("now", "UTC").unwrap().zoned), "Thursday, 2026-03-05 13:30:15 UTC");
        assert_eq!(
            format_moment(&read_in("now", "+05:30").unwrap().zoned),
            "Thursday, 2026-03-05 19:00:15 UTC+05:30"
        );
    }

    #[test]
    fn invalid_times_are_refused_with_examples() {
        for text in
            ["", "soon", "2026", "2026-02-30", "25:00", "2026-03-05T14:30[Berlin]", &"1".repeat(5_000)]
        {
            let error = read_in(text, "UTC").unwrap_err();
            assert!(matches!(error, TimeError::NotATime { .. }), "{text}: {error}");
            assert!(error.to_string().len() < 300, "{error}");
        }
        assert!(matches!(read_in("9999-12-31T23:59:59-12:00", "UTC"), Err(TimeError::OutOfRange)));
    }

    #[test]
    fn a_gap_adds_a_note() {
        let moment = read_in("2026-03-29T02:30", "Europe/Berlin").unwrap();
        assert_eq!(format_moment(&moment.zoned), "Sunday, 2026-03-29 03:30:00 in Europe/Berlin (UTC+02:00)");
        assert_eq!(
            moment.note.unwrap(),
            "2026-03-29 02:30 does not exist in Europe/Berlin: the clocks are set forward over it (UTC+01:00 to UTC+02:00). \
             03:30 is used."
        );
    }

    #[test]
    fn a_fold_adds_a_note_and_can_be_resolved_by_an_offset() {
        let moment = read_in("2026-10-25T02:30", "Europe/Berlin").unwrap();
        assert_eq!(format_moment(&moment.zoned), "Sunday, 2026-10-25 02:30:00 in Europe/Berlin (UTC+02:00)");
        let note = moment.note.unwrap();
        assert!(note.contains("happens twice in Europe/Berlin"), "{note}");
        assert!(note.ends_with("for the second write 2026-10-25T02:30+01:00."), "{note}");
        let second = read_in("2026-10-25T02:30+01", "Europe/Berlin").unwrap();
        assert_eq!(second.zoned.timestamp().as_second() - moment.zoned.timestamp().as_second(), 3600);
        assert_eq!(second.note, None);
    }

    #[test]
    fn a_program_gets_every_form() {
        let moment = read_in("2026-07-01T12:00", "America/New_York").unwrap();
        assert_eq!(
            moment_json(&moment.zoned),
            json!({
                "iso": "2026-07-01T12:00:00-04:00",
                "utc": "2026-07-01T16:00:00Z",
                "unix": 1_782_921_600,
                "zone": "America/New_York",
                "weekday": "Wednesday",
                "daylight_saving": true,
            })
        );
    }
}
