//! JSON that can be interpreted in only one way.
//!
//! A signature covers the canonical form of a document (RFC 8785). So everything that two parsers could interpret differently
//! is rejected first: a duplicate name in one object, half of a surrogate pair, and integers beyond
//! 2^53, which parsers with doubles round.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{name::text_excerpt, problem::Problem};

/// Integers up to this value are exact in every parser.
const MAX_INTEGER: u64 = 1 << 53;
/// From here on ECMAScript writes numbers with an exponent. In between, the canonical text of a number would be an
/// integer that not every parser can represent.
const EXPONENT_FROM: f64 = 1e21;
/// Longest path in a message.
const MAX_PATH_CHARS: usize = 200;

const TOO_LARGE: &str = "integers beyond 2^53 are not the same in every reader; write it as a text";

/// Parses a document, or reports the place that is ambiguous. Numbers are normalized: `1.0`
/// becomes `1`, `-0` becomes `0`.
pub fn parse_strict(text: &str) -> Result<Value, Problem> {
    let mut walk = StrictReader { path: Vec::new(), wrong: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = ValueSeed(&mut walk).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match (value, walk.wrong) {
        (_, Some(wrong)) => Err(wrong),
        (Err(error), None) => Err(Problem::new("", format!("not JSON: {error}"))),
        (Ok(value), None) => long_integer(text).map_or(Ok(value), Err),
    }
}

/// The current path, and the problem found there.
struct StrictReader {
    path: Vec<PathStep>,
    wrong: Option<Problem>,
}

enum PathStep {
    Member(String),
    Item(usize),
}

impl StrictReader {
    fn record_problem(&mut self, why: impl Into<String>) {
        let mut path = String::new();
        for step in &self.path {
            match step {
                PathStep::Member(name) if path.is_empty() => path.push_str(&text_excerpt(name)),
                PathStep::Member(name) => path.extend([".", &text_excerpt(name)]),
                PathStep::Item(index) => path.push_str(&format!("[{index}]")),
            }
        }
        let path = path.chars().take(MAX_PATH_CHARS).collect::<String>();
        self.wrong = Some(Problem::new(path, why));
    }

    fn checked_number<E: serde::de::Error>(&mut self, number: Option<Number>) -> Result<Value, E> {
        number.map(Value::Number).ok_or_else(|| {
            self.record_problem(TOO_LARGE);
            E::custom(TOO_LARGE)
        })
    }
}

/// Deserializes the value at the current path.
struct ValueSeed<'w>(&'w mut StrictReader);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.0.checked_number((value.unsigned_abs() <= MAX_INTEGER).then(|| value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.0.checked_number((value <= MAX_INTEGER).then(|| value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.0.checked_number(canonical_number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        self.0.path.push(PathStep::Item(0));
        while let Some(item) = items.next_element_seed(ValueSeed(self.0))? {
            list.push(item);
            if let Some(PathStep::Item(index)) = self.0.path.last_mut() {
                *index = list.len();
            }
        }
        self.0.path.pop();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.0.path.push(PathStep::Member(name.clone()));
            if map.contains_key(&name) {
                let why = "duplicate name in one object; keep one";
                self.0.record_problem(why);
                return Err(A::Error::custom(why));
            }
            map.insert(name, members.next_value_seed(ValueSeed(self.0))?);
            self.0.path.pop();
        }
        Ok(Value::Object(map))
    }
}

/// A number by its value; an integer if possible.
fn canonical_number(value: f64) -> Option<Number> {
    let exact = MAX_INTEGER as f64;
    match value.abs() {
        size if size <= exact && value.fract() == 0.0 => Some((value as i64).into()),
        size if size <= exact || size >= EXPONENT_FROM => Number::from_f64(value),
        _ => None,
    }
}

/// Finds an integer with so many digits that it was parsed as a double. The text is valid JSON.
fn long_integer(text: &str) -> Option<Problem> {
    let (mut in_string, mut escaped, mut begin) = (false, false, None);
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if in_string {
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match (byte, begin) {
            (b'"', _) => in_string = true,
            (b'0'..=b'9' | b'-' | b'+' | b'.', None) => begin = Some(at),
            (b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E', Some(_)) => {}
            (_, Some(from)) => {
                begin = None;
                let number = &text[from..at];
                let is_integer = !number.contains(['.', 'e', 'E']);
                if is_integer && number.trim_start_matches('-').parse::<u64>().is_err() {
                    let line = text[..from].matches('\n').count() + 1;
                    return Some(Problem::new(
                        "",
                        format!("line {line}: {}: {TOO_LARGE}", text_excerpt(number)),
                    ));
                }
            }
            (_, None) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(text: &str) -> String {
        parse_strict(text).unwrap_err().to_string()
    }

    #[test]
    fn what_means_one_thing_is_read() {
        let text = r#" {"a":[1, 1.0, -0, -0.0, 1e2, 0.5, 1e21, -1e300, 9007199254740992], "b":{"a":null,"é\u00e9":"\ud83d\ude00"}} "#;
        let value = parse_strict(text).unwrap();
        assert_eq!(
            value,
            json!({ "a": [1, 1, 0, 0, 100, 0.5, 1e21, -1e300, 9_007_199_254_740_992_u64],
                    "b": { "a": null, "éé": "😀" } })
        );
        assert_eq!(
            parse_strict(r#""a 12345678901234567890123 \" 12345678901234567890123""#)
                .unwrap()
                .as_str()
                .unwrap()
                .len(),
            51
        );
    }

    #[test]
    fn a_name_twice_is_refused_with_its_place() {
        assert_eq!(refused(r#"{"a":1,"a":1}"#), "a: duplicate name in one object; keep one");
        assert!(refused(r#"{"x":[0,{"b":{"c":1,"\u0063":2}}]}"#).starts_with("x[1].b.c: duplicate name"));
        assert!(parse_strict(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
    }

    #[test]
    fn integers_that_readers_round_are_refused() {
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "18446744073709551616",
            "1000000000000000000000",
            "-1000000000000000000001",
            "1e20",
            "9007199254740994.0",
            "123456789012345678901234567890",
        ] {
            assert!(refused(&format!(r#"{{"n":[true,{text}]}}"#)).contains("beyond 2^53"), "{text}");
        }
        assert!(refused(r#"{"n":[true,9007199254740993]}"#).starts_with("n[1]: "));
        assert!(refused("{\"n\":\n1000000000000000000000}").starts_with(": line 2: 1000"));
    }

    #[test]
    fn invalid_json_is_rejected_with_its_line() {
        for text in [
            r#""\ud800""#,
            r#""\udc00 ""#,
            r#""\ud800\u0041""#,
            "[1",
            "",
            "1 2",
            "NaN",
            "1e999",
            "\u{feff}{}",
            "01",
            "'a'",
        ] {
            let why = refused(text);
            assert!(why.starts_with(": not JSON: ") && why.contains("line 1 column"), "{text}: {why}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(refused(&deep).contains("recursion limit"));
    }

    #[test]
    fn a_path_is_cut() {
        let long = "x".repeat(10_000);
        let text = format!(r#"{{"{long}":{{"{long}":{{"{long}":{{"{long}":9007199254740993}}}}}}}}"#);
        assert_eq!(parse_strict(&text).unwrap_err().path.chars().count(), MAX_PATH_CHARS);
    }
}
