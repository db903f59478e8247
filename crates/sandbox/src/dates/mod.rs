//! Formats a time in a time zone, as `toLocaleString` and `Intl.DateTimeFormat` do for `en-US`: the engine has neither
//! zones nor `Intl`, and plugins that were written for browsers use both. Other languages are not supported: their tables
//! are larger than the rest of the program.

mod options;
mod parts;
mod zones;

use serde::Serialize;

use options::DateFormatOptions;

/// A part of the text, as in `formatToParts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DatePart {
    #[serde(rename = "type")]
    kind: &'static str,
    value: String,
}

/// The parts as JSON, or the message of a `RangeError`.
pub(crate) fn format_date_parts(
    time: f64,
    options: &str,
    need: &str,
    defaults: &str,
) -> Result<String, String> {
    let options = DateFormatOptions::parse(options)?.with_defaults(need, defaults)?;
    let zone = zones::find_zone(options.time_zone.as_deref())?;
    let moment = jiff::Timestamp::from_millisecond(time as i64)
        .map_err(|_| "dates can be formatted for the years -9999 to 9999 only".to_owned())?;
    let parts = parts::format_parts(&moment.to_zoned(zone), &options);
    serde_json::to_string(&parts).map_err(|error| error.to_string())
}

/// The name of the zone in the options. Checks the options as well.
pub(crate) fn resolve_zone_name(options: &str) -> Result<String, String> {
    let options = DateFormatOptions::parse(options)?;
    options.check_conflicts()?;
    Ok(zones::zone_name(&zones::find_zone(options.time_zone.as_deref())?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// 5 March 2026, 19:30:05 UTC, a Thursday.
    const WINTER: f64 = 1_772_739_005_000.0;
    /// 4 July 2026, 04:00:00 UTC, a Saturday.
    const SUMMER: f64 = 1_783_137_600_000.0;

    fn show(time: f64, options: Value, need: &str, defaults: &str) -> String {
        let parts: Vec<Value> =
            serde_json::from_str(&format_date_parts(time, &options.to_string(), need, defaults).unwrap())
                .unwrap();
        parts.iter().map(|part| part["value"].as_str().unwrap()).collect()
    }

    fn both(time: f64, options: Value) -> String {
        show(time, options, "any", "all")
    }

    #[test]
    fn the_usual_form_in_several_zones() {
        for (zone, expected) in [
            ("UTC", "3/5/2026, 7:30:05 PM"),
            ("America/New_York", "3/5/2026, 2:30:05 PM"),
            ("america/new_york", "3/5/2026, 2:30:05 PM"),
            ("Asia/Tokyo", "3/6/2026, 4:30:05 AM"),
            ("Asia/Kolkata", "3/6/2026, 1:00:05 AM"),
            ("+02:00", "3/5/2026, 9:30:05 PM"),
        ] {
            assert_eq!(both(WINTER, json!({ "timeZone": zone })), expected, "{zone}");
        }
        assert_eq!(both(WINTER, json!({})), "3/5/2026, 7:30:05 PM");
        assert_eq!(show(WINTER, json!({}), "date", "date"), "3/5/2026");
        assert_eq!(show(WINTER, json!({}), "time", "time"), "7:30:05 PM");
        assert_eq!(both(0.0, json!({})), "1/1/1970, 12:00:00 AM");
        assert_eq!(both(43_200_000.0, json!({})), "1/1/1970, 12:00:00 PM");
    }

    #[test]
    fn summer_time_is_known() {
        let zone = json!({ "timeZone": "America/New_York", "timeZoneName": "short" });
        assert_eq!(both(SUMMER, zone.clone()), "7/4/2026, 12:00:00 AM EDT");
        assert_eq!(both(WINTER, zone), "3/5/2026, 2:30:05 PM EST");
    }

    #[test]
    fn styles() {
        for (options, expected) in [
            (json!({ "dateStyle": "full", "timeStyle": "short" }), "Thursday, March 5, 2026 at 7:30 PM"),
            (json!({ "dateStyle": "long", "timeStyle": "long" }), "March 5, 2026 at 7:30:05 PM UTC"),
            (json!({ "dateStyle": "medium", "timeStyle": "medium" }), "Mar 5, 2026, 7:30:05 PM"),
            (json!({ "dateStyle": "short" }), "3/5/26"),
            (json!({ "timeStyle": "short", "hour12": false }), "19:30"),
            (
                json!({ "timeStyle": "full", "timeZone": "America/New_York" }),
                "2:30:05 PM Eastern Standard Time",
            ),
        ] {
            assert_eq!(both(WINTER, options.clone()), expected, "{options}");
        }
    }

    #[test]
    fn single_options() {
        for (options, expected) in [
            (json!({ "weekday": "long" }), "Thursday"),
            (json!({ "weekday": "short", "month": "short", "day": "numeric" }), "Thu, Mar 5"),
            (json!({ "year": "numeric", "month": "long", "day": "numeric" }), "March 5, 2026"),
            (json!({ "year": "numeric", "month": "long" }), "March 2026"),
            (json!({ "year": "numeric", "month": "2-digit", "day": "2-digit" }), "03/05/2026"),
            (json!({ "month": "numeric", "year": "2-digit" }), "3/26"),
            (json!({ "weekday": "narrow", "month": "narrow", "day": "2-digit" }), "T, M 05"),
            (json!({ "second": "numeric" }), "5"),
            (
                json!({ "weekday": "short", "year": "numeric", "month": "numeric", "day": "numeric" }),
                "Thu, 3/5/2026",
            ),
            (json!({ "hour": "2-digit", "minute": "2-digit" }), "07:30 PM"),
            (json!({ "hour": "2-digit", "minute": "2-digit", "hour12": false }), "19:30"),
            (json!({ "hour": "numeric", "hourCycle": "h23" }), "19"),
            (json!({ "hour": "numeric" }), "7 PM"),
            (json!({ "minute": "numeric", "second": "numeric" }), "30:05"),
            (
                json!({ "month": "long", "day": "numeric", "hour": "numeric", "minute": "2-digit" }),
                "March 5 at 7:30 PM",
            ),
            (json!({ "hour": "numeric", "timeZone": "Asia/Tokyo", "timeZoneName": "short" }), "4 AM GMT+9"),
            (
                json!({ "hour": "numeric", "timeZone": "Asia/Kolkata", "timeZoneName": "short" }),
                "1 AM GMT+5:30",
            ),
            (json!({ "hour": "numeric", "timeZone": "Europe/London", "timeZoneName": "short" }), "7 PM GMT"),
        ] {
            assert_eq!(both(WINTER, options.clone()), expected, "{options}");
        }
        assert_eq!(show(WINTER, json!({ "hour": "numeric" }), "date", "date"), "3/5/2026, 7 PM");
        assert_eq!(show(WINTER, json!({ "weekday": "long" }), "time", "time"), "Thursday 7:30:05 PM");
    }

    #[test]
    fn midnight_is_zero_on_a_clock_of_24_hours() {
        let options = json!({ "timeZone": "America/New_York", "hour12": false });
        assert_eq!(both(SUMMER, options), "7/4/2026, 00:00:00");
    }

    #[test]
    fn what_is_wrong_is_a_range_error() {
        let error =
            |options: Value| format_date_parts(WINTER, &options.to_string(), "any", "all").unwrap_err();
        assert_eq!(error(json!({ "timeZone": "Mars/Olympus" })), "Invalid time zone specified: Mars/Olympus");
        assert_eq!(error(json!({ "timeZone": "" })), "Invalid time zone specified: ");
        assert!(error(json!({ "month": "huge" })).contains("huge"));
        assert!(error(json!({ "dateStyle": "full", "day": "numeric" })).contains("dateStyle"));
        assert!(resolve_zone_name(r#"{"timeZone":"Mars/Olympus"}"#).is_err());
        assert!(format_date_parts(9e15, "{}", "any", "all").is_err());
        assert!(format_date_parts(f64::INFINITY, "{}", "any", "all").is_err());
    }

    #[test]
    fn zones_are_named_as_they_are_written() {
        for (options, expected) in [
            ("{}", "UTC"),
            (r#"{"timeZone":"europe/berlin"}"#, "Europe/Berlin"),
            (r#"{"timeZone":"-03:30"}"#, "-03:30"),
        ] {
            assert_eq!(resolve_zone_name(options).unwrap(), expected);
        }
    }
}
