//! Matches URIs against URI templates and extracts the values of the variables.
//!
//! Supports only `{name}` and `{+name}` of RFC 6570: the other forms are ambiguous when matched.

use serde_json::{Map, Value};

/// A fixed prefix, and variables, each with the text after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UriTemplate {
    front: String,
    variables: Vec<TemplateVariable>,
}

#[derive(Debug, PartialEq, Eq)]
struct TemplateVariable {
    name: String,
    kind: VariableKind,
    behind: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariableKind {
    /// `{name}`: no slash.
    Segment,
    /// `{+name}`: anything.
    Anything,
}

impl UriTemplate {
    /// A template that matches only this URI.
    pub(super) fn exact(uri: &str) -> Self {
        Self { front: uri.to_owned(), variables: Vec::new() }
    }

    /// Parses a template, or says what is not supported.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = text.split('{');
        let mut template = Self::exact(pieces.next().unwrap_or_default());
        for piece in pieces {
            let (inside, behind) = piece.split_once('}').ok_or("a `{` without its `}`")?;
            if template.variables.last().is_some_and(|before| before.behind.is_empty()) {
                return Err(format!("put a separator between `{{{inside}}}` and the variable before it"));
            }
            let (name, takes) = match inside.strip_prefix('+') {
                Some(name) => (name, VariableKind::Anything),
                None => (inside, VariableKind::Segment),
            };
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(format!(
                    "`{{{inside}}}`: expected {{name}} or {{+name}}, of letters, digits and `_`"
                ));
            }
            if template.variables.iter().any(|before| before.name == name) {
                return Err(format!("the variable `{name}` is used twice"));
            }
            template.variables.push(TemplateVariable {
                name: name.to_owned(),
                kind: takes,
                behind: behind.to_owned(),
            });
        }
        Ok(template)
    }

    /// The values with which the template gives this URI. Each value except the last is as short as possible.
    pub(super) fn extract_values(&self, uri: &str) -> Option<Map<String, Value>> {
        let (mut values, mut rest) = (Map::new(), uri.strip_prefix(self.front.as_str())?);
        for (index, TemplateVariable { name, kind: takes, behind }) in self.variables.iter().enumerate() {
            let is_last = index + 1 == self.variables.len();
            let end = if is_last { rest.strip_suffix(behind.as_str())?.len() } else { rest.find(behind)? };
            let (value, tail) = rest.split_at(end);
            if value.is_empty() || (*takes == VariableKind::Segment && value.contains('/')) {
                return None;
            }
            values.insert(name.clone(), percent_decode(value)?.into());
            rest = tail.strip_prefix(behind.as_str())?;
        }
        rest.is_empty().then_some(values)
    }
}

/// Decodes percent-encoding. `None` if the result is not UTF-8.
fn percent_decode(value: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(value.len()), value.as_bytes());
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(template: &str, uri: &str) -> Option<Value> {
        UriTemplate::parse(template).unwrap().extract_values(uri).map(Value::Object)
    }

    #[test]
    fn values_are_extracted_from_a_uri() {
        for (template, uri, expected) in [
            ("todo://item/{id}", "todo://item/7", json!({ "id": "7" })),
            ("todo://item/{id}", "todo://item/a%20b%C3%A9", json!({ "id": "a bé" })),
            ("a://{x}/b/{y}.json", "a://1/b/2.json.json", json!({ "x": "1", "y": "2.json" })),
            ("a://{+path}", "a://b/c/d", json!({ "path": "b/c/d" })),
            ("a://{+path}/{file}", "a://b/c", json!({ "path": "b", "file": "c" })),
            ("a://{x}", "a://100%", json!({ "x": "100%" })),
            ("a://{x}", "a://%é", json!({ "x": "%é" })),
            ("a://b", "a://b", json!({})),
        ] {
            assert_eq!(values(template, uri), Some(expected), "{template} {uri}");
        }
        for (template, uri) in [
            ("todo://item/{id}", "todo://item/"),
            ("todo://item/{id}", "todo://item/a/b"),
            ("todo://item/{id}", "todo://list"),
            ("a://{x}/b", "a://1/c"),
            ("a://{x}", "a://%FF"),
            ("a://b", "a://bc"),
        ] {
            assert_eq!(values(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn unsupported_templates_are_refused() {
        for (template, word) in [
            ("a://{x", "without its"),
            ("a://{x}{y}", "put a separator between"),
            ("a://{?q}", "expected {name}"),
            ("a://{}", "expected {name}"),
            ("a://{x}/{x}", "twice"),
        ] {
            let error = UriTemplate::parse(template).unwrap_err();
            assert!(error.contains(word), "{template}: {error}");
        }
    }
}
