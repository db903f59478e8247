//! Conditions on arguments, as they are typed: `/amount<50`, `/to=Anna`, `/to in ["Anna","Bob"]`.

use serde_json::{Number, Value};
use toolyard_protocol::approval::ArgumentPredicate;

/// The comparisons. `>=` comes before `=`, which is part of it.
const COMPARISONS: [&str; 4] = ["<", ">=", "=", " in "];

/// Parses a condition. The first comparison in the text counts.
pub(super) fn parse_predicate(text: &str) -> Result<ArgumentPredicate, String> {
    let found = COMPARISONS.iter().filter_map(|sign| text.find(sign).map(|at| (at, *sign)));
    // Of two at the same place, the first in the list.
    let (at, sign) = found.min_by_key(|(at, _)| *at).ok_or_else(|| {
        "expected a condition such as /amount<50, /to=Anna or '/to in [\"Anna\"]'".to_owned()
    })?;
    let (pointer, value) = (text[..at].trim().to_owned(), text[at + sign.len()..].trim());
    let json = || serde_json::from_str::<Value>(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    let number = || value.parse::<Number>().map_err(|_| format!("`{value}` is not a number"));
    let mut predicate = ArgumentPredicate { pointer, ..ArgumentPredicate::default() };
    match sign {
        "<" => predicate.less_than = Some(number()?),
        ">=" => predicate.at_least = Some(number()?),
        "=" => predicate.equals = Some(json()),
        _ => match json() {
            Value::Array(values) => predicate.one_of = Some(values),
            _ => return Err(format!("`{value}` is not a JSON list such as [\"Anna\",\"Bob\"]")),
        },
    }
    predicate.check()?;
    Ok(predicate)
}

/// A condition as it can be typed.
pub(super) fn format_predicate(predicate: &ArgumentPredicate) -> String {
    let pointer = &predicate.pointer;
    let tests = [
        predicate.equals.as_ref().map(|value| format!("{pointer}={value}")),
        predicate.one_of.as_ref().map(|values| format!("{pointer} in {}", Value::Array(values.clone()))),
        predicate.less_than.as_ref().map(|number| format!("{pointer}<{number}")),
        predicate.at_least.as_ref().map(|number| format!("{pointer}>={number}")),
    ];
    tests.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_typed_as_people_write_them() {
        for (text, expected) in [
            ("/amount<50", json!({ "pointer": "/amount", "lessThan": 50 })),
            ("/amount >= 0.5", json!({ "pointer": "/amount", "atLeast": 0.5 })),
            ("/to=Anna", json!({ "pointer": "/to", "equals": "Anna" })),
            ("/to=\"4\"", json!({ "pointer": "/to", "equals": "4" })),
            ("/forever=false", json!({ "pointer": "/forever", "equals": false })),
            ("/text=a<b", json!({ "pointer": "/text", "equals": "a<b" })),
            ("/to/0 in [\"Anna\", 2]", json!({ "pointer": "/to/0", "in": ["Anna", 2] })),
        ] {
            let parsed = parse_predicate(text).unwrap();
            assert_eq!(serde_json::to_value(&parsed).unwrap(), expected, "{text}");
            assert_eq!(parse_predicate(&format_predicate(&parsed)).unwrap(), parsed, "{text}");
        }
    }

    #[test]
    fn a_condition_needs_a_pointer_a_comparison_and_a_fitting_value() {
        for text in ["", "/amount", "amount<50", "/amount<many", "/to in Anna", "/to in {}"] {
            assert!(parse_predicate(text).is_err(), "{text}");
        }
    }
}
