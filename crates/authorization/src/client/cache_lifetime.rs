//! How long a fetched metadata document or key set may be used.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};

/// Shortest time in seconds, also for `no-store`: a sign-in fetches the document several times.
pub const MIN_CACHE_S: u64 = 60;
/// Longest time in seconds. After it, a client that withdrew a redirect URI or key is safe.
pub const MAX_CACHE_S: u64 = 24 * 60 * 60;
/// Time in seconds if the response says nothing.
pub const DEFAULT_CACHE_S: u64 = 60 * 60;
/// Longest header that is read, in bytes.
const MAX_HEADER_BYTES: usize = 1024;

/// The headers of a response that say how long it may be used. Several headers of a name are joined with a comma.
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheHeaders<'a> {
    /// `Cache-Control`
    pub cache_control: Option<&'a str>,
    /// `Expires`
    pub expires: Option<&'a str>,
    /// `Age`
    pub age: Option<&'a str>,
}

/// How long a document fetched now may be used.
pub fn document_cache_lifetime(headers: CacheHeaders<'_>, now: Timestamp) -> Duration {
    let bounded =
        |header: Option<&'_ str>| header.filter(|text| text.len() <= MAX_HEADER_BYTES).map(str::to_owned);
    let control = bounded(headers.cache_control).unwrap_or_default().to_ascii_lowercase();
    let fresh =
        lifetime_from_control(&control).or_else(|| lifetime_from_expires(&bounded(headers.expires)?, now));
    let age = headers.age.and_then(|age| age.trim().parse::<u64>().ok()).unwrap_or(0);
    let seconds = fresh.map_or(DEFAULT_CACHE_S, |fresh| fresh.saturating_sub(age));
    Duration::from_secs(seconds.clamp(MIN_CACHE_S, MAX_CACHE_S))
}

/// The lifetime in `Cache-Control`. This server caches for many people, so `s-maxage` comes first.
fn lifetime_from_control(control: &str) -> Option<u64> {
    let directives = || control.split(',').map(str::trim);
    if directives().any(|directive| {
        let name = directive.split('=').next().unwrap_or_default();
        matches!(name, "no-store" | "no-cache")
    }) {
        return Some(0);
    }
    let seconds = |name: &str| {
        let value = directives().find_map(|directive| directive.strip_prefix(name)?.strip_prefix('='))?;
        value.trim_matches('"').parse::<u64>().ok()
    };
    seconds("s-maxage").or_else(|| seconds("max-age"))
}

/// The lifetime in `Expires`. An invalid date means that the document is stale already (RFC 9111, 5.3).
fn lifetime_from_expires(expires: &str, now: Timestamp) -> Option<u64> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let until = PARSER.parse_timestamp(expires.trim()).map_or(i64::MIN, Timestamp::as_second);
    u64::try_from(until.saturating_sub(now.as_second())).ok().or(Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetime(cache_control: &str, expires: &str, age: &str) -> u64 {
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let leak = |text: &str| -> &'static str { String::from(text).leak() };
        let headers = CacheHeaders {
            cache_control: some(leak(cache_control)),
            expires: some(leak(expires)),
            age: some(leak(age)),
        };
        // Sun, 06 Nov 1994 08:49:37 GMT
        document_cache_lifetime(headers, Timestamp::from_second(784_111_777).unwrap()).as_secs()
    }

    #[test]
    fn headers_decide_within_bounds() {
        let long = format!("max-age=600, x={}", "x".repeat(MAX_HEADER_BYTES));
        for (control, expires, age, expected) in [
            ("", "", "", DEFAULT_CACHE_S),
            ("max-age=600", "", "", 600),
            ("public, Max-Age=\"600\"", "", "", 600),
            ("max-age=600, s-maxage=1200", "", "", 1200),
            ("max-age=600", "", "100", 500),
            ("max-age=600", "", "9999", MIN_CACHE_S),
            ("max-age=0", "", "", MIN_CACHE_S),
            ("no-store, max-age=600", "", "", MIN_CACHE_S),
            ("no-cache=\"x\"", "", "", MIN_CACHE_S),
            ("max-age=99999999999", "", "", MAX_CACHE_S),
            ("max-age=-1", "", "", DEFAULT_CACHE_S),
            ("max-age=600", "Sun, 06 Nov 1994 10:49:37 GMT", "", 600),
            ("", "Sun, 06 Nov 1994 10:49:37 GMT", "", 7200),
            ("", "Sun, 06 Nov 1994 07:49:37 GMT", "", MIN_CACHE_S),
            ("", "0", "", MIN_CACHE_S),
            ("", "Fri, 06 Nov 2099 08:49:37 GMT", "", MAX_CACHE_S),
            (long.as_str(), "", "", DEFAULT_CACHE_S),
        ] {
            assert_eq!(lifetime(control, expires, age), expected, "{control} | {expires} | {age}");
        }
    }
}
