//! Finds a time zone by name, and suggests similar names.

use std::sync::LazyLock;

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::{MAX_TIME_TEXT, TimeError};
use crate::text::truncate_text;

/// The bundled zones: what a zone means does not depend on the machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Most suggestions in an error.
const MAX_NEAR: usize = 5;

pub(super) fn zone_database() -> &'static TimeZoneDatabase {
    &ZONES
}

/// A zone by IANA name or by its offset from UTC (`+02:00`); default is UTC.
pub(super) fn find_zone(name: Option<&str>) -> Result<TimeZone, TimeError> {
    let name = name.map_or("UTC", str::trim);
    if let Ok(zone) = ZONES.get(name) {
        return Ok(zone);
    }
    if name.starts_with(['+', '-'])
        && let Ok(zone) = DateTimeParser::new().parse_time_zone_with(&ZONES, name)
    {
        return Ok(zone);
    }
    if name.eq_ignore_ascii_case("z") {
        return Ok(TimeZone::UTC);
    }
    let near = if name.len() > MAX_TIME_TEXT { Vec::new() } else { similar_zones(name) };
    Err(TimeError::UnknownZone { name: truncate_text(name, 60), near })
}

/// An optional zone; models also send an empty string for a missing argument.
pub(super) fn zone_or_utc(name: Option<&str>) -> Result<TimeZone, TimeError> {
    find_zone(name.filter(|name| !name.trim().is_empty()))
}

/// The name of a zone, or its offset from UTC.
pub(super) fn name_of(zone: &TimeZone) -> String {
    match (zone.iana_name(), zone.to_fixed_offset()) {
        (Some(name), _) => name.to_owned(),
        (None, Ok(offset)) => distance_from_utc(offset),
        (None, Err(_)) => "unknown zone".to_owned(),
    }
}

/// `UTC+02:00`, in the form that can be used in a time.
pub(super) fn distance_from_utc(offset: Offset) -> String {
    let sign = if offset.is_negative() { '-' } else { '+' };
    let minutes = offset.seconds().unsigned_abs() / 60;
    format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Similar names, best first. People and models write only the city, or misspell a letter.
fn similar_zones(name: &str) -> Vec<String> {
    let wanted = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let city = last_part(&wanted);
    let mut found: Vec<(usize, String)> = ZONES
        .available()
        .filter_map(|zone| {
            let known = zone.as_str().to_ascii_lowercase();
            let rank = if last_part(&known) == city {
                0
            } else if city.len() > 3 && known.contains(city) {
                1
            } else {
                let wrong = edit_distance(&known, &wanted).min(edit_distance(last_part(&known), city));
                (wrong <= 1 + city.len() / 4).then_some(1 + wrong)?
            };
            Some((rank, zone.as_str().to_owned()))
        })
        .collect();
    found.sort();
    found.truncate(MAX_NEAR);
    found.into_iter().map(|(_, zone)| zone).collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

/// The number of letters to change, add or remove to get from one name to the other.
fn edit_distance(one: &str, other: &str) -> usize {
    let other = other.as_bytes();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(name: &str) -> Vec<String> {
        match find_zone(Some(name)) {
            Err(TimeError::UnknownZone { near, .. }) => near,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn zones_are_found_whatever_the_machine_has() {
        for name in
            ["Europe/Berlin", "europe/berlin", "America/Argentina/Buenos_Aires", "UTC", " Asia/Tokyo ", "Z"]
        {
            assert!(find_zone(Some(name)).is_ok(), "{name}");
        }
        assert_eq!(name_of(&zone_or_utc(Some(" ")).unwrap()), "UTC");
        assert!(find_zone(Some("")).is_err());
        assert_eq!(name_of(&find_zone(None).unwrap()), "UTC");
        assert_eq!(name_of(&find_zone(Some("+05:30")).unwrap()), "UTC+05:30");
        assert_eq!(name_of(&find_zone(Some("-03")).unwrap()), "UTC-03:00");
        assert_eq!(name_of(&find_zone(Some("europe/berlin")).unwrap()), "Europe/Berlin");
        assert!(ZONES.available().count() > 400);
    }

    #[test]
    fn what_was_meant_is_suggested() {
        assert_eq!(suggested("Berlin")[0], "Europe/Berlin");
        assert_eq!(suggested("New York")[0], "America/New_York");
        assert_eq!(suggested("America/New-York")[0], "America/New_York");
        assert_eq!(suggested("Europe/Berlim")[0], "Europe/Berlin");
        assert_eq!(suggested("Asia/Tokio")[0], "Asia/Tokyo");
        assert_eq!(suggested("US/Los_Angeles")[0], "America/Los_Angeles");
        assert!(suggested("Xyzzyxyzzy").is_empty());
        for name in ["a", "Europe/Berlim", "Asia"] {
            assert!(suggested(name).len() <= MAX_NEAR, "{name}");
        }
    }

    #[test]
    fn the_error_helps() {
        assert_eq!(
            find_zone(Some("Berlin")).unwrap_err().to_string(),
            "there is no time zone `Berlin`; did you mean Europe/Berlin?"
        );
        assert!(find_zone(Some("Xyzzyxyzzy")).unwrap_err().to_string().contains("such as Europe/Berlin"));
        let long = find_zone(Some(&"Berlin".repeat(10_000))).unwrap_err().to_string();
        assert!(long.len() < 250, "{long}");
    }

    #[test]
    fn distance_counts_letters() {
        for (one, other, expected) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("abc", "abc", 0)]
        {
            assert_eq!(edit_distance(one, other), expected, "{one} {other}");
        }
    }
}
