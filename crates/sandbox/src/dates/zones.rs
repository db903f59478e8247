//! Time zones and their names in `en-US`.

use std::sync::LazyLock;

use jiff::Zoned;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// The bundled zones: what a zone means does not depend on the machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Zones with a common short name in `en-US`, and their long names.
const NAMED: &[(&str, &str)] = &[
    ("EST", "Eastern Standard Time"),
    ("EDT", "Eastern Daylight Time"),
    ("CST", "Central Standard Time"),
    ("CDT", "Central Daylight Time"),
    ("MST", "Mountain Standard Time"),
    ("MDT", "Mountain Daylight Time"),
    ("PST", "Pacific Standard Time"),
    ("PDT", "Pacific Daylight Time"),
    ("AKST", "Alaska Standard Time"),
    ("AKDT", "Alaska Daylight Time"),
    ("HST", "Hawaii-Aleutian Standard Time"),
];

/// A zone by IANA name or by its offset from UTC; default is UTC. The error has the text of browsers.
pub(super) fn find_zone(name: Option<&str>) -> Result<TimeZone, String> {
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    if let Ok(zone) = ZONES.get(name) {
        return Ok(zone);
    }
    if name.starts_with(['+', '-'])
        && let Ok(zone) = DateTimeParser::new().parse_time_zone_with(&ZONES, name)
    {
        return Ok(zone);
    }
    Err(format!("Invalid time zone specified: {name}"))
}

/// The name of a zone.
pub(super) fn zone_name(zone: &TimeZone) -> String {
    match (zone.iana_name(), zone.to_fixed_offset()) {
        (Some(name), _) => name.to_owned(),
        (None, Ok(offset)) => {
            let (sign, hours, minutes) = split_offset(offset);
            format!("{sign}{hours:02}:{minutes:02}")
        }
        (None, Err(_)) => "UTC".to_owned(),
    }
}

/// `EST`, `GMT+9`, `UTC`.
pub(super) fn short_zone_name(moment: &Zoned) -> String {
    if is_utc(moment) {
        return "UTC".to_owned();
    }
    american_zone_names(moment)
        .map_or_else(|| gmt_offset_name(moment.offset(), false), |(short, _)| short.to_owned())
}

/// `Eastern Standard Time`, `GMT+09:00`, `Coordinated Universal Time`.
pub(super) fn long_zone_name(moment: &Zoned) -> String {
    if is_utc(moment) {
        return "Coordinated Universal Time".to_owned();
    }
    american_zone_names(moment)
        .map_or_else(|| gmt_offset_name(moment.offset(), true), |(_, long)| long.to_owned())
}

fn is_utc(moment: &Zoned) -> bool {
    matches!(moment.time_zone().iana_name(), Some("UTC" | "Etc/UTC"))
}

/// Only for zones in America and Hawaii: elsewhere the same abbreviations mean something else.
fn american_zone_names(moment: &Zoned) -> Option<(&'static str, &'static str)> {
    let zone = moment.time_zone();
    let there = zone.iana_name().is_some_and(|name| {
        name.starts_with("America/") || name.starts_with("US/") || name == "Pacific/Honolulu"
    });
    let info = zone.to_offset_info(moment.timestamp());
    NAMED.iter().find(|(short, _)| there && *short == info.abbreviation()).copied()
}

fn gmt_offset_name(offset: Offset, padded: bool) -> String {
    let (sign, hours, minutes) = split_offset(offset);
    match (offset.is_zero(), padded, minutes) {
        (true, _, _) => "GMT".to_owned(),
        (false, true, _) => format!("GMT{sign}{hours:02}:{minutes:02}"),
        (false, false, 0) => format!("GMT{sign}{hours}"),
        (false, false, _) => format!("GMT{sign}{hours}:{minutes:02}"),
    }
}

fn split_offset(offset: Offset) -> (char, u32, u32) {
    let minutes = offset.seconds().unsigned_abs() / 60;
    (if offset.is_negative() { '-' } else { '+' }, minutes / 60, minutes % 60)
}
