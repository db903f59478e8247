//! Arguments of a call, read into a type.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Arguments that do not match the type. The text names the place and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArguments(String);

/// Reads the arguments of a call into the type that its function takes.
pub fn read_arguments<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, InvalidArguments> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        // The root is written as a dot; there the message alone says it: "missing field `name`".
        InvalidArguments(if path == "." { problem.to_string() } else { format!("{path}: {problem}") })
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "list")]
        _list: Vec<u8>,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: Inner,
    }

    #[test]
    fn invalid_arguments_name_the_place() {
        for (arguments, message) in [
            (json!({}), "missing field `inner`"),
            (
                json!({ "inner": { "list": [1, "x"] } }),
                "inner.list[1]: invalid type: string \"x\", expected u8",
            ),
        ] {
            let Value::Object(arguments) = arguments else { unreachable!() };
            assert_eq!(read_arguments::<Outer>(arguments).unwrap_err().to_string(), message);
        }
    }
}
