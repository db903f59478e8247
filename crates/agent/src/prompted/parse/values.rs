//! Values between tags: text if the schema says so, else JSON.

use serde_json::{Value, value::RawValue};

use super::{json, problem::CallProblem, scan::BracketScan, tools};
use crate::model::ToolSpec;

/// What the tag says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueHint {
    /// Nothing: the schema decides.
    None,
    Text,
    Json,
}

/// Arguments that arrive one by one.
#[derive(Debug, Default)]
pub(super) struct ArgumentList(Vec<(String, String)>);

impl ArgumentList {
    /// Adds an argument. A repeated name replaces the earlier value.
    pub(super) fn add(
        &mut self,
        spec: Option<&ToolSpec>,
        name: &str,
        written: &str,
        hint: ValueHint,
    ) -> Result<(), CallProblem> {
        let schema = spec.and_then(|spec| tools::argument_schema(spec, name));
        let value = typed_value(trim_line_breaks(written), schema, hint)?;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// All arguments as an object.
    pub(super) fn into_object(self) -> Result<Box<RawValue>, CallProblem> {
        let members: Vec<_> =
            self.0.iter().map(|(name, value)| format!("{}:{value}", json::quote_json(name))).collect();
        json::to_raw_value(format!("{{{}}}", members.join(",")))
    }
}

/// Templates put a value on separate lines. The line breaks around it are not part of it.
fn trim_line_breaks(written: &str) -> &str {
    let inner = written.strip_prefix("\r\n").or_else(|| written.strip_prefix('\n')).unwrap_or(written);
    inner.strip_suffix("\r\n").or_else(|| inner.strip_suffix('\n')).unwrap_or(inner)
}

fn typed_value(written: &str, schema: Option<&Value>, hint: ValueHint) -> Result<String, CallProblem> {
    let text = match hint {
        ValueHint::Text => true,
        ValueHint::Json => false,
        ValueHint::None => schema.is_some_and(tools::is_text),
    };
    let trimmed = written.trim();
    if text {
        let null = hint == ValueHint::None && trimmed == "null" && schema.is_some_and(tools::takes_null);
        return Ok(if null { trimmed.to_owned() } else { json::quote_json(written) });
    }
    match trimmed {
        "True" => return Ok("true".to_owned()),
        "False" => return Ok("false".to_owned()),
        "None" => return Ok("null".to_owned()),
        _ => {}
    }
    if trimmed.starts_with(['{', '[']) {
        return json::to_valid_json(trimmed);
    }
    let plain = !BracketScan::for_json().scan_text(trimmed).is_too_deep()
        && serde_json::from_str::<&RawValue>(trimmed).is_ok();
    Ok(if plain { trimmed.to_owned() } else { json::quote_json(written) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Value, written: &str) -> Result<Value, CallProblem> {
        let json = typed_value(written, Some(&schema), ValueHint::None)?;
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
        assert_eq!(read(json!({"type": "array"}), "[1, 2"), Err(CallProblem::Cut));
    }

    #[test]
    fn line_breaks_around_a_value_go_once() {
        assert_eq!(trim_line_breaks("\nx\n"), "x");
        assert_eq!(trim_line_breaks("\r\nx\r\n"), "x");
        assert_eq!(trim_line_breaks("\n\nx\n\n"), "\nx\n");
    }

    #[test]
    fn a_name_that_comes_again_replaces_the_first() {
        let mut arguments = ArgumentList::default();
        arguments.add(None, "a", "1", ValueHint::None).unwrap();
        arguments.add(None, "a", "2", ValueHint::None).unwrap();
        assert_eq!(arguments.into_object().unwrap().get(), r#"{"a":2}"#);
    }
}
