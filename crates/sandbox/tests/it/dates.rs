//! Dates and zones.

use serde_json::json;
use toolyard_sandbox::SandboxError;

use crate::support::job;
use crate::{error, value, with_clock};

/// As a plugin of the older format has it.
const TIME_PLUGIN: &str = "
    const tz = args.timezone || 'UTC';
    const now = new Date();
    return {
      time: now.toISOString(),
      formatted: now.toLocaleString('en-US', { timeZone: tz }),
      timezone: tz
    };
";

#[tokio::test]
async fn the_time_plugin_works() {
    let mut job = with_clock(TIME_PLUGIN);
    job.args = serde_json::value::RawValue::from_string(r#"{"timezone":"America/New_York"}"#.into()).unwrap();
    let expected = json!({
        "time": "2026-03-05T19:30:05.000Z",
        "formatted": "3/5/2026, 2:30:05 PM",
        "timezone": "America/New_York"
    });
    assert_eq!(value(job).await, expected);
}

#[tokio::test]
async fn an_unknown_zone_is_a_range_error_as_in_browsers() {
    let source = "try { new Date(0).toLocaleString('en-US', { timeZone: 'Mars/Base' }) } catch (e) { return String(e) }";
    assert_eq!(value(job(source)).await, json!("RangeError: Invalid time zone specified: Mars/Base"));
    let source = "try { new Intl.DateTimeFormat('en', { timeZone: 'x' }) } catch (e) { return e instanceof RangeError }";
    assert_eq!(value(job(source)).await, json!(true));
}

#[tokio::test]
async fn without_the_permission_there_is_no_current_time() {
    for source in [
        "return Date.now()",
        "return new Date()",
        "return Date()",
        "return new Intl.DateTimeFormat().format()",
    ] {
        let SandboxError::Thrown { text, place } = error(job(source)).await else { panic!("{source}") };
        assert!(text.contains("needs the permission `clock`"), "{text}");
        assert_eq!(place.unwrap().line, 1, "{source}");
    }
    let source = "const d = new Date(2026, 0, 31, 12); d.setMonth(d.getMonth() + 1); return d";
    assert_eq!(value(job(source)).await, json!("2026-03-03T12:00:00.000Z"));
}

#[tokio::test]
async fn no_other_clock_is_left() {
    let source = "return [typeof performance, typeof Temporal, typeof SharedArrayBuffer, typeof Atomics, typeof WeakRef,
        typeof FinalizationRegistry, typeof setInterval]";
    assert_eq!(value(job(source)).await, json!(vec!["undefined"; 7]));
}

#[tokio::test]
async fn local_time_is_utc_on_every_machine() {
    for (source, expected) in [
        ("new Date(2026, 2, 5, 14, 30).toISOString()", json!("2026-03-05T14:30:00.000Z")),
        ("new Date('2026-03-05T14:30').getTime() === Date.UTC(2026, 2, 5, 14, 30)", json!(true)),
        ("new Date('March 5, 2026 14:30').toISOString()", json!("2026-03-05T14:30:00.000Z")),
        ("new Date('2026-03-05T14:30:00+02:00').toISOString()", json!("2026-03-05T12:30:00.000Z")),
        ("new Date('2026-03-05').getHours()", json!(0)),
        ("new Date(0).getTimezoneOffset()", json!(0)),
        ("String(new Date(0))", json!("Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)")),
        ("new Date(0).toDateString()", json!("Thu Jan 01 1970")),
        ("new Date(0) - new Date(-5)", json!(5)),
        ("new Date(new Date(7)).getTime()", json!(7)),
        ("new Date({ valueOf: () => 9 }).getTime()", json!(9)),
        ("String(new Date('nonsense'))", json!("Invalid Date")),
        ("new Date(NaN).toLocaleString()", json!("Invalid Date")),
        ("new Date(0) instanceof Date && new (class extends Date {})(0) instanceof Date", json!(true)),
        ("Intl.DateTimeFormat().resolvedOptions().timeZone", json!("UTC")),
        (
            "new Date(0).toLocaleDateString('en-US', { dateStyle: 'full' })",
            json!("Thursday, January 1, 1970"),
        ),
        ("new Date(0).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })", json!("12:00 AM")),
        (
            "new Intl.DateTimeFormat('en-US', { timeZone: 'Asia/Tokyo', hour: 'numeric' }).formatToParts(new Date(0))[0]",
            json!({ "type": "hour", "value": "9" }),
        ),
    ] {
        assert_eq!(value(job(&format!("return {source}"))).await, expected, "{source}");
    }
}
