//! JSON as models write it. Repairs spelling, but never makes up an end: see [`CallProblem::Cut`].

use serde_json::value::RawValue;

use super::{limits, markers, problem::CallProblem, scan::BracketScan};

/// One value as valid JSON: unchanged if it is valid, repaired if only its spelling is wrong.
pub(super) fn to_valid_json(text: &str) -> Result<String, CallProblem> {
    let scan = BracketScan::for_json().scan_text(text);
    if scan.is_too_deep() {
        return Err(CallProblem::TooDeep);
    }
    if is_json(text) {
        return Ok(text.to_owned());
    }
    if scan.is_mismatched() {
        return Err(CallProblem::Brackets);
    }
    if !scan.is_complete() {
        return Err(CallProblem::Cut);
    }
    if scan.has_bad_escape() {
        return Err(CallProblem::Backslash);
    }
    let single = single_braces(text);
    if is_json(&single) {
        return Ok(single);
    }
    let repaired = jsonrepair_rs::jsonrepair(&single).map_err(|_| CallProblem::NotJson)?;
    let bounded = !BracketScan::for_json().scan_text(&repaired).is_too_deep();
    if bounded && is_json(&repaired) { Ok(repaired) } else { Err(CallProblem::NotJson) }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// The arguments of a call. Empty text means that they were cut off.
pub(super) fn parse_arguments(text: &str) -> Result<Box<RawValue>, CallProblem> {
    let text = strip_wrapping(text);
    match split_values(text).into_iter().next() {
        Some(value) => to_raw_value(to_valid_json(value?)?),
        None if text.is_empty() => Err(CallProblem::Cut),
        None => Err(CallProblem::NotJson),
    }
}

/// An empty object, for a call without arguments.
pub(super) fn no_arguments() -> Result<Box<RawValue>, CallProblem> {
    to_raw_value("{}".to_owned())
}

/// Text that is known to be JSON, as a raw value.
pub(super) fn to_raw_value(json: String) -> Result<Box<RawValue>, CallProblem> {
    RawValue::from_string(json).map_err(|_| CallProblem::NotJson)
}

/// The objects and arrays in a text, in order. The text between them is ignored.
pub(super) fn split_values(text: &str) -> Vec<Result<&str, CallProblem>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find(['{', '[']) {
        rest = &rest[start..];
        match end_of_value(rest, BracketScan::for_json()) {
            Ok(end) => {
                found.push(Ok(&rest[..end]));
                rest = &rest[end..];
            }
            Err(problem) => {
                found.push(Err(problem));
                break;
            }
        }
        if found.len() > limits::MAX_CALLS {
            break;
        }
    }
    found
}

/// The length of the value at the beginning of a text.
pub(super) fn end_of_value(text: &str, mut scan: BracketScan) -> Result<usize, CallProblem> {
    for (at, c) in text.char_indices() {
        scan.push_char(c);
        if scan.is_mismatched() {
            return Err(CallProblem::Brackets);
        }
        if scan.is_complete() {
            return Ok(at + c.len_utf8());
        }
    }
    Err(CallProblem::Cut)
}

/// Removes white space, a code fence and end tokens around a text.
pub(super) fn strip_wrapping(text: &str) -> &str {
    let text = markers::without_end_tokens(text);
    let Some(fenced) = text.strip_prefix("```") else { return text };
    let inner = fenced.split_once('\n').map_or(fenced, |(_, inner)| inner).trim();
    inner.strip_suffix("```").unwrap_or(inner).trim()
}

/// Replaces `{{…}}`, which models copy from templates, by single braces. An object cannot begin with an object, so a
/// brace right after another one is a double: it is removed, together with the brace that closes it.
fn single_braces(text: &str) -> String {
    let (mut scan, mut doubles, mut single) =
        (BracketScan::for_json(), Vec::new(), String::with_capacity(text.len()));
    for c in text.chars() {
        let (outside, before) = (scan.is_outside(), scan.last_char());
        scan.push_char(c);
        let dropped = match c {
            '{' | '[' if outside => {
                doubles.push(c == '{' && before == Some('{'));
                doubles.last() == Some(&true)
            }
            '}' | ']' if outside => doubles.pop() == Some(true),
            _ => false,
        };
        if !dropped {
            single.push(c);
        }
    }
    single
}

/// The probable name in a broken call: the value of its first `name` key.
pub(super) fn guess_name(text: &str) -> Option<String> {
    let quote = |c: char| matches!(c, '"' | '\'' | '“' | '”' | '\\' | '`');
    let after = &text[text.find("name")? + "name".len()..];
    let value = after.trim_start_matches(quote).trim_start().strip_prefix([':', '='])?.trim_start();
    let value = value.trim_start_matches(quote);
    let end = value.find(|c: char| quote(c) || c.is_whitespace() || matches!(c, ',' | '}' | '>'))?;
    (1..=limits::MAX_NAME_BYTES).contains(&end).then(|| value[..end].to_owned())
}

/// A string as JSON.
pub(super) fn quote_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spelling that is repaired, and what it becomes.
    #[test]
    fn spelling_is_repaired() {
        let want = serde_json::json!({"name": "f", "arguments": {"a": 1, "b": "x"}});
        for text in [
            r#"{"name":"f","arguments":{"a":1,"b":"x",},}"#,
            "{'name':'f','arguments':{'a':1,'b':'x'}}",
            r#"{name:"f",arguments:{a:1,b:"x"}}"#,
            "{\"name\":\"f\", // why\n\"arguments\":{\"a\":1,/* so */\"b\":\"x\"}}",
            "{“name”:“f”,“arguments”:{“a”:1,“b”:“x”}}",
            r#"{"name":"f" "arguments":{"a":1 "b":"x"}}"#,
            r#"{{"name":"f","arguments":{{"a":1,"b":"x"}}}}"#,
            r#"{{"name":"f","arguments":{"a":1,"b":"x"}}}"#,
        ] {
            let json = to_valid_json(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn values_are_repaired() {
        for (text, want) in [
            (r#"{"a":True,"b":None,"c":False}"#, serde_json::json!({"a": true, "b": null, "c": false})),
            ("{\"a\":\"one\ntwo\"}", serde_json::json!({"a": "one\ntwo"})),
            (r#"{"a":"say "hi" now"}"#, serde_json::json!({"a": "say \"hi\" now"})),
            (r#"{"a":'it\'s'}"#, serde_json::json!({"a": "it's"})),
        ] {
            let json = to_valid_json(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn an_end_is_never_made_up() {
        for text in
            [r#"{"a":1"#, r#"{"a":"b"#, r#"{"a":[1}"#, r#"{"a":{"b":1}"#, r#"{'a':'b}"#, r#"{"a":"b\"}"#]
        {
            assert!(
                matches!(to_valid_json(text), Err(CallProblem::Cut | CallProblem::Brackets)),
                "{text}: {:?}",
                to_valid_json(text)
            );
        }
        assert_eq!(to_valid_json(r#"{"p":"C:\dir\file"}"#), Err(CallProblem::Backslash));
        assert_eq!(to_valid_json(&"[".repeat(200)), Err(CallProblem::TooDeep));
    }

    #[test]
    fn valid_json_stays_as_it_is() {
        let text = r#"{ "a" : 1.50, "b": 12345678901234567890123 }"#;
        assert_eq!(to_valid_json(text).unwrap(), text);
    }

    #[test]
    fn values_are_found_between_words() {
        let found: Vec<_> = split_values(r#"So: {"a":1}; {"b":2}} and [3] {"c"#).into_iter().collect();
        assert_eq!(found, [Ok(r#"{"a":1}"#), Ok(r#"{"b":2}"#), Ok("[3]"), Err(CallProblem::Cut)]);
    }

    #[test]
    fn names_are_read_from_broken_calls() {
        assert_eq!(guess_name(r#"{"name": "calc", "arg"#).as_deref(), Some("calc"));
        assert_eq!(guess_name("{'name':'calc'").as_deref(), Some("calc"));
        assert_eq!(guess_name("{\"name\": \"ca"), None);
        assert_eq!(guess_name("nothing"), None);
    }

    #[test]
    fn fences_and_end_tokens_around_are_taken_off() {
        assert_eq!(strip_wrapping("\n```json\n{}\n```\n<|im_end|>\n"), "{}");
        assert_eq!(strip_wrapping("```{}```"), "{}");
    }
}
