//! Numbers within a range, as alternatives of digits.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::MAX_WHOLE;

/// Digits after the decimal point.
const FRACTION: &str = r#"( "." [0-9]{1,6} )"#;
/// Positive whole numbers without a limit.
const POSITIVE: &str = "[1-9] [0-9]{0,14}";

/// Any number.
pub(super) fn any_number() -> String {
    format!(r#""-"? ( "0" | {POSITIVE} ) {FRACTION}?"#)
}

/// The range of a schema. Both ends are whole numbers within it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WholeRange {
    low: i64,
    high: i64,
}

/// The rule for the whole numbers that a schema allows. None if there are none.
pub(super) fn whole_rule(schema: &Map<String, Value>) -> Option<String> {
    let found = whole_alternatives(whole_range(schema));
    (!found.is_empty()).then(|| found.join(" | "))
}

/// The rule for the numbers that a schema allows. None if there are none.
pub(super) fn fractional_rule(schema: &Map<String, Value>) -> Option<String> {
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    if !bounds.iter().any(|bound| schema.get(*bound).is_some_and(Value::is_number)) {
        return Some(any_number());
    }
    let WholeRange { low, high } = whole_range(schema);
    let mut found = whole_alternatives(WholeRange { low, high });
    // Everything between two whole numbers of the range is in the range.
    if high > 0 && low < high {
        let with = unsigned_alternatives(low.max(0).unsigned_abs(), (high - 1).unsigned_abs());
        found.extend(with.into_iter().map(|digits| format!("{digits} {FRACTION}")));
    }
    if low < 0 && low < high {
        let nearest = if high < 0 { high.unsigned_abs() } else { 0 };
        let with = unsigned_alternatives(nearest, low.unsigned_abs() - 1);
        found.extend(with.into_iter().map(|digits| format!(r#""-" {digits} {FRACTION}"#)));
    }
    if found.is_empty() {
        return fraction_only_rule(schema);
    }
    Some(found.join(" | "))
}

/// A range without whole numbers still has its ends or its middle.
fn fraction_only_rule(schema: &Map<String, Value>) -> Option<String> {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let low = number("minimum").into_iter().chain(number("exclusiveMinimum")).reduce(f64::max)?;
    let high = number("maximum").into_iter().chain(number("exclusiveMaximum")).reduce(f64::min)?;
    let middle = f64::midpoint(low, high);
    let fits = |value: &f64| {
        number("minimum").is_none_or(|bound| *value >= bound)
            && number("maximum").is_none_or(|bound| *value <= bound)
            && number("exclusiveMinimum").is_none_or(|bound| *value > bound)
            && number("exclusiveMaximum").is_none_or(|bound| *value < bound)
    };
    let fitting = [middle, low, high].into_iter().find(fits)?;
    Some(super::rules::quote_literal(&serde_json::Number::from_f64(fitting)?.to_string()))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast of a float saturates, and is cut to our range anyway"
)]
fn whole_range(schema: &Map<String, Value>) -> WholeRange {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let most = MAX_WHOLE.cast_signed();
    let lows = [
        number("minimum").map(|low| low.ceil() as i64),
        number("exclusiveMinimum").map(|low| (low.floor() as i64).saturating_add(1)),
    ];
    let highs = [
        number("maximum").map(|high| high.floor() as i64),
        number("exclusiveMaximum").map(|high| (high.ceil() as i64).saturating_sub(1)),
    ];
    let low = lows.into_iter().flatten().max().unwrap_or(-most).max(-most);
    let high = highs.into_iter().flatten().min().unwrap_or(most).min(most);
    WholeRange { low, high }
}

/// All whole numbers of a range. Never `-0`, which many parsers do not accept as a whole number.
fn whole_alternatives(WholeRange { low, high }: WholeRange) -> Vec<String> {
    let mut found = Vec::new();
    if low > high {
        return found;
    }
    if high >= 0 {
        found.extend(unsigned_alternatives(low.max(0).unsigned_abs(), high.unsigned_abs()));
    }
    if low < 0 {
        let nearest = if high < 0 { high.unsigned_abs() } else { 1 };
        let below = unsigned_alternatives(nearest, low.unsigned_abs());
        found.extend(below.into_iter().map(|digits| format!(r#""-" {digits}"#)));
    }
    found
}

/// Numbers from `low` to `high`, without a sign.
fn unsigned_alternatives(low: u64, high: u64) -> Vec<String> {
    if high == MAX_WHOLE && low <= 1 {
        let zero = (low == 0).then(|| r#""0""#.to_owned());
        return zero.into_iter().chain([POSITIVE.to_owned()]).collect();
    }
    if low > high {
        return Vec::new();
    }
    let mut start = low;
    let mut found = Vec::new();
    for end in range_ends(low, high) {
        found.push(digit_pattern(start, end));
        start = end + 1;
    }
    found
}

/// Where to split a range so that in each part every digit has a fixed range.
fn range_ends(low: u64, high: u64) -> BTreeSet<u64> {
    let mut ends = BTreeSet::from([high]);
    let powers = || (1..16).map(|digits| 10_u64.pow(digits));
    ends.extend(powers().map(|power| low - low % power + (power - 1)).take_while(|end| *end < high));
    let from_above = powers().map(|power| (high + 1) - (high + 1) % power);
    ends.extend(from_above.take_while(|start| *start > low).map(|start| start - 1));
    ends
}

fn digit_pattern(start: u64, end: u64) -> String {
    let (start, end) = (start.to_string(), end.to_string());
    let digit = |(from, to): (char, char)| {
        if from == to { format!("\"{from}\"") } else { format!("[{from}-{to}]") }
    };
    start.chars().zip(end.chars()).map(digit).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a number is among the alternatives.
    fn has(alternatives: &[String], number: u64) -> bool {
        let text = number.to_string();
        alternatives.iter().any(|alternative| {
            let parts: Vec<_> = alternative.split(' ').collect();
            parts.len() == text.len()
                && parts.iter().zip(text.chars()).all(|(part, digit)| {
                    let part = part.trim_matches(['"', '[', ']']);
                    let (from, to) = part.split_once('-').unwrap_or((part, part));
                    (from.chars().next().unwrap()..=to.chars().next().unwrap()).contains(&digit)
                })
        })
    }

    #[test]
    fn a_range_has_exactly_its_numbers() {
        for (low, high) in
            [(0, 0), (0, 9), (1, 10), (7, 7), (0, 100), (5, 305), (99, 1001), (18, 120), (200, 299)]
        {
            let found = unsigned_alternatives(low, high);
            for number in 0..2_000 {
                let within = (low..=high).contains(&number);
                assert_eq!(has(&found, number), within, "{number} in {low}..={high}: {found:?}");
            }
        }
    }

    #[test]
    fn the_largest_ranges_stay_short() {
        let found = unsigned_alternatives(123_456_789, MAX_WHOLE - 1);
        assert!(found.len() < 60, "{found:?}");
        assert_eq!(unsigned_alternatives(0, MAX_WHOLE), [r#""0""#, POSITIVE]);
        assert_eq!(unsigned_alternatives(2, 1), Vec::<String>::new());
    }
}
