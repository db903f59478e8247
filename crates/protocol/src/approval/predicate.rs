//! Conditions on the arguments of a call.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::text::truncate_chars;

/// Longest JSON pointer, in bytes.
const MAX_POINTER_BYTES: usize = 512;
/// Maximum number of values in a list.
const MAX_VALUES: usize = 256;

/// A condition on one argument. All tests that are given must hold; a missing argument satisfies none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArgumentPredicate {
    /// JSON pointer to the argument: `/amount`.
    pub pointer: String,
    /// It is equal to this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// It is one of these values.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// It is a number less than this one.
    #[serde(default, alias = "less_than", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub less_than: Option<Number>,
    /// It is a number of at least this one.
    #[serde(default, alias = "at_least", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub at_least: Option<Number>,
}

impl ArgumentPredicate {
    /// Checks the predicate itself.
    pub fn check(&self) -> Result<(), String> {
        let pointer = &self.pointer;
        let is_pointer = pointer.is_empty() || pointer.starts_with('/');
        if !is_pointer || pointer.len() > MAX_POINTER_BYTES {
            let shown = truncate_chars(pointer, 40);
            return Err(format!("`{shown}` is not a JSON pointer such as /amount"));
        }
        let has_test = self.equals.is_some() || self.less_than.is_some() || self.at_least.is_some();
        match &self.one_of {
            Some(values) if values.len() > MAX_VALUES => {
                Err(format!("{} values at {pointer}; at most {MAX_VALUES}", values.len()))
            }
            None if !has_test => {
                Err(format!("no test at {pointer}; give `equals`, `in`, `lessThan` or `atLeast`"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the arguments satisfy it.
    pub fn is_satisfied(&self, arguments: &Value) -> bool {
        let Some(value) = arguments.pointer(&self.pointer) else { return false };
        let is_among = |allowed: &Vec<Value>| allowed.iter().any(|expected| is_equal(value, expected));
        let is_less = |bound: &Number| compare(value, bound).is_some_and(|order| order.is_lt());
        let is_enough = |bound: &Number| compare(value, bound).is_some_and(|order| order.is_ge());
        self.equals.as_ref().is_none_or(|expected| is_equal(value, expected))
            && self.one_of.as_ref().is_none_or(is_among)
            && self.less_than.as_ref().is_none_or(is_less)
            && self.at_least.as_ref().is_none_or(is_enough)
    }
}

/// Equality of JSON values; 1 and 1.0 are the same number.
fn is_equal(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Number(_), Value::Number(expected)) => {
            compare(value, expected).is_some_and(|order| order.is_eq())
        }
        _ => value == expected,
    }
}

/// Compares exactly if both are integers. Texts are not numbers, even if they look like one.
fn compare(value: &Value, bound: &Number) -> Option<std::cmp::Ordering> {
    let Value::Number(number) = value else { return None };
    let as_integer = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (as_integer(number), as_integer(bound)) {
        (Some(number), Some(bound)) => Some(number.cmp(&bound)),
        _ => number.as_f64()?.partial_cmp(&bound.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn predicate(json: Value) -> ArgumentPredicate {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn predicates_compare_values() {
        let arguments = json!({ "amount": 40, "to": { "name": "Anna" }, "text": "40", "big": u64::MAX });
        for (rule, expected) in [
            (json!({ "pointer": "/amount", "lessThan": 50 }), true),
            (json!({ "pointer": "/amount", "lessThan": 40 }), false),
            (json!({ "pointer": "/amount", "atLeast": 40.0 }), true),
            (json!({ "pointer": "/amount", "equals": 40.0 }), true),
            (json!({ "pointer": "/to/name", "in": ["Bob", "Anna"] }), true),
            (json!({ "pointer": "/to/name", "in": [] }), false),
            (json!({ "pointer": "/text", "lessThan": 50 }), false),
            (json!({ "pointer": "/missing", "equals": false }), false),
            (json!({ "pointer": "/amount", "atLeast": 40, "lessThan": 41 }), true),
            (json!({ "pointer": "/amount", "equals": 40, "lessThan": 40 }), false),
            (json!({ "pointer": "/big", "lessThan": u64::MAX }), false),
        ] {
            assert_eq!(predicate(rule.clone()).is_satisfied(&arguments), expected, "{rule}");
        }
    }

    #[test]
    fn a_predicate_has_a_pointer_and_a_test() {
        assert!(predicate(json!({ "pointer": "amount", "equals": 1 })).check().is_err());
        assert!(predicate(json!({ "pointer": "/a", "in": vec![0; 257] })).check().is_err());
        assert!(predicate(json!({ "pointer": "/a" })).check().is_err());
        assert!(
            serde_json::from_value::<ArgumentPredicate>(json!({ "pointer": "/a", "less": 1 })).is_err(),
            "a misspelt test must not match everything"
        );
    }
}
