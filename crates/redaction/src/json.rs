//! The strings of a JSON text, replaced in place. Numbers, order and white space are not touched, which a parsed document could
//! not promise.

use std::borrow::Cow;

/// Whether a key may be written with escapes that the raw text does not show: `\u0067hp_...`, `:\/\/`, or text that was escaped
/// twice. Or right after an escape, whose last letter would belong to the key: `\u201cghp_...`.
pub(crate) fn hides_characters(json: &str) -> bool {
    json.contains("\\u") || json.contains("\\/") || json.contains("\\\\")
}

/// What a string of a JSON text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringRole<'m> {
    /// The name of a member.
    Name,
    /// A value, with the name of the member it belongs to.
    Value(Option<&'m str>),
}

impl<'m> StringRole<'m> {
    /// The name of the member that the string belongs to.
    pub(crate) fn member(self) -> Option<&'m str> {
        match self {
            Self::Name => None,
            Self::Value(member) => member,
        }
    }
}

/// Calls `map` with each string, decoded, and its role, and puts in what it returns. `None` if a string does not end: then it
/// is no JSON.
pub(crate) fn map_strings<'j>(
    json: &'j str,
    mut map: impl FnMut(&str, StringRole<'_>) -> Option<String>,
) -> Option<Cow<'j, str>> {
    let mut mapped: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    let mut member: Option<Cow<'j, str>> = None;
    while let Some(quote) = json[at..].find('"') {
        let start = at + quote;
        let end = start + 1 + end_of_string(&json[start + 1..])?;
        at = end + 1;
        let is_name = json[at..].trim_start().starts_with(':');
        let string = decode(&json[start..at]);
        let role = if is_name { StringRole::Name } else { StringRole::Value(member.as_deref()) };
        let replaced = map(&string, role);
        if is_name {
            member = Some(string);
        }
        if let Some(replaced) = replaced {
            let target = mapped.get_or_insert_default();
            target.push_str(&json[copied..start]);
            target.push_str(&serde_json::Value::String(replaced).to_string());
            copied = at;
        }
    }
    Some(match mapped {
        Some(mut mapped) => {
            mapped.push_str(&json[copied..]);
            mapped.into()
        }
        None => json.into(),
    })
}

/// Where the string ends, of which this is all after the first quote.
fn end_of_string(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find(['"', '\\'])?;
        if text.as_bytes()[at] == b'"' {
            return Some(at);
        }
        // A character after a backslash may be long only where this is no JSON.
        at += 1 + text[at + 1..].chars().next()?.len_utf8();
    }
}

/// A string without quotes and escapes. One that no JSON parser accepts (half of a surrogate pair) stays as it is.
fn decode(quoted: &str) -> Cow<'_, str> {
    let inner = &quoted[1..quoted.len() - 1];
    if !inner.contains('\\') {
        return inner.into();
    }
    serde_json::from_str(quoted).map_or(Cow::Borrowed(inner), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_strings_that_change_are_written_again() {
        let json = r#" {"a" : "x\n\"y\"", "big": 12345678901234567890123, "b":["z", 1.0e5], "\u0061b":"q"} "#;
        let mut seen = Vec::new();
        let mapped = map_strings(json, |string, role| {
            seen.push((string.to_owned(), role.member().map(str::to_owned)));
            (string == "z").then(|| "say \"z\"".to_owned())
        });
        assert_eq!(mapped.unwrap(), json.replace("\"z\"", r#""say \"z\"""#));
        let members: Vec<_> =
            seen.iter().filter_map(|(s, m)| m.as_deref().map(|m| (s.as_str(), m))).collect();
        assert_eq!(members, [("x\n\"y\"", "a"), ("z", "b"), ("q", "ab")]);
    }

    #[test]
    fn a_string_that_does_not_end_is_no_json() {
        for broken in ["\"", "{\"a", "\"a\\", "\"a\\\""] {
            assert!(map_strings(broken, |_, _| None).is_none(), "{broken}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_stays_as_it_is() {
        let json = r#"["\ud800 x"]"#;
        assert_eq!(map_strings(json, |string, _| (string == "never").then(String::new)).unwrap(), json);
    }
}
