//! Values that stand between tags as plain text: what the schema says is text stays text, the rest is read as JSON.

use serde_json::{Value, value::RawValue};

use super::{json, scan::Scan, tools, wrong::Wrong};
use crate::model::ToolSpec;

/// What the tag itself says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// Nothing: the schema decides.
    None,
    Text,
    Json,
}

/// Arguments that come one by one.
#[derive(Debug, Default)]
pub(super) struct Arguments(Vec<(String, String)>);

impl Arguments {
    /// One more; a name that comes again replaces the first.
    pub(super) fn add(
        &mut self,
        spec: Option<&ToolSpec>,
        name: &str,
        written: &str,
        hint: Hint,
    ) -> Result<(), Wrong> {
        let schema = spec.and_then(|spec| tools::argument(spec, name));
        let value = typed(unwrapped(written), schema, hint)?;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// All of them as an object.
    pub(super) fn object(self) -> Result<Box<RawValue>, Wrong> {
        let members: Vec<_> =
            self.0.iter().map(|(name, value)| format!("{}:{value}", json::quoted(name))).collect();
        json::raw(format!("{{{}}}", members.join(",")))
    }
}

/// Templates put a value on lines of its own; the line breaks around it are not part of it.
fn unwrapped(written: &str) -> &str {
    let inner = written.strip_prefix("\r\n").or_else(|| written.strip_prefix('\n')).unwrap_or(written);
    inner.strip_suffix("\r\n").or_else(|| inner.strip_suffix('\n')).unwrap_or(inner)
}

fn typed(written: &str, schema: Option<&Value>, hint: Hint) -> Result<String, Wrong> {
    let text = match hint {
        Hint::Text => true,
        Hint::Json => false,
        Hint::None => schema.is_some_and(tools::is_text),
    };
    let trimmed = written.trim();
    if text {
        let null = hint == Hint::None && trimmed == "null" && schema.is_some_and(tools::takes_null);
        return Ok(if null { trimmed.to_owned() } else { json::quoted(written) });
    }
    match trimmed {
        "True" => return Ok("true".to_owned()),
        "False" => return Ok("false".to_owned()),
        "None" => return Ok("null".to_owned()),
        _ => {}
    }
    if trimmed.starts_with(['{', '[']) {
        return json::valid(trimmed);
    }
    let plain = !Scan::json().of(trimmed).is_too_deep() && serde_json::from_str::<&RawValue>(trimmed).is_ok();
    Ok(if plain { trimmed.to_owned() } else { json::quoted(written) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Value, written: &str) -> Result<Value, Wrong> {
        let json = typed(written, Some(&schema), Hint::None)?;
        Ok(serde_json::from_str(&json).unwrap())
    }

    #[test]
    fn the_schema_decides_what_is_text() {
        assert_eq!(read(json!({"type": "string"}), "12").unwrap(), json!("12"));
        assert_eq!(read(json!({"type": "string"}), "{\"a\":1").unwrap(), json!("{\"a\":1"));
        assert_eq!(read(json!({"type": "integer"}), " 12 ").unwrap(), json!(12));
        assert_eq!(read(json!({"type": "boolean"}), "True").unwrap(), json!(true));
        assert_eq!(read(json!({"type": ["string", "null"]}), "null").unwrap(), json!(null));
        assert_eq!(read(json!({"type": "object"}), "{'a': 1,}").unwrap(), json!({"a": 1}));
        assert_eq!(read(json!({}), "Paris").unwrap(), json!("Paris"));
        assert_eq!(
            read(json!({"type": "integer"}), "twelve").unwrap(),
            json!("twelve"),
            "the schema will say so"
        );
    }

    #[test]
    fn cut_json_is_not_closed() {
        assert_eq!(read(json!({"type": "array"}), "[1, 2"), Err(Wrong::Cut));
    }

    #[test]
    fn line_breaks_around_a_value_go_once() {
        assert_eq!(unwrapped("\nx\n"), "x");
        assert_eq!(unwrapped("\r\nx\r\n"), "x");
        assert_eq!(unwrapped("\n\nx\n\n"), "\nx\n");
    }

    #[test]
    fn a_name_that_comes_again_replaces_the_first() {
        let mut arguments = Arguments::default();
        arguments.add(None, "a", "1", Hint::None).unwrap();
        arguments.add(None, "a", "2", Hint::None).unwrap();
        assert_eq!(arguments.object().unwrap().get(), r#"{"a":2}"#);
    }
}
