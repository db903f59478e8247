//! Arguments of a call on the command line: one JSON object, or `key=value` pairs.

use serde_json::{Map, Value};

use crate::error::CliError;

/// Parses the arguments.
pub(crate) fn parse_arguments(typed: &[String]) -> Result<Map<String, Value>, CliError> {
    if let [whole] = typed
        && whole.trim_start().starts_with('{')
    {
        return serde_json::from_str(whole).map_err(|error| {
            let next = "write one JSON object in single quotes, such as '{\"todo_item\":\"milk\"}', or key=value pairs";
            CliError::usage(format!("the arguments are not a JSON object: {error}"), next)
        });
    }
    typed.iter().map(|pair| parse_pair(pair)).collect()
}

/// A value that parses as JSON is JSON (`5`, `true`, `["a"]`), any other is text.
fn parse_pair(typed: &str) -> Result<(String, Value), CliError> {
    let pair = typed.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or_else(|| {
        let next = "write key=value pairs, such as todo_item=milk, or one JSON object";
        CliError::usage(format!("`{typed}` is not a valid argument"), next)
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_all(typed: &[&str]) -> Result<Value, String> {
        let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
        parse_arguments(&typed).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn values_that_parse_as_json_are_json() {
        assert_eq!(
            read_all(&["n=5", "on=true", "list=[1]", "text=buy milk", "quoted=\"5\"", "empty=", "sum=a=b"])
                .unwrap(),
            json!({ "n": 5, "on": true, "list": [1], "text": "buy milk", "quoted": "5", "empty": "", "sum": "a=b" })
        );
        assert_eq!(read_all(&[]).unwrap(), json!({}));
    }

    #[test]
    fn one_object_is_taken_as_it_is() {
        assert_eq!(read_all(&[r#" {"a":{"b":1}}"#]).unwrap(), json!({ "a": { "b": 1 } }));
        assert!(read_all(&["{"]).unwrap_err().contains("not a JSON object"));
        assert_eq!(read_all(&["milk"]).unwrap_err(), "`milk` is not a valid argument");
        assert!(read_all(&["=5"]).is_err());
    }
}
