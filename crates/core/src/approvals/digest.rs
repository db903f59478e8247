//! What exactly is approved, as digests of canonical JSON (RFC 8785).

use std::time::Duration;

use serde_json::{Map, Value};
use toolyard_definitions::digest::canonical_digest;
use toolyard_protocol::{ErrorCode, raw::to_raw};

use crate::{Tool, error::ToolError, ports::ApprovedCall, schema::ValidArguments};

/// Deepest level at which defaults are filled in.
const MAX_DEFAULT_DEPTH: usize = 8;

/// A call as it is approved: the arguments with their defaults, and the digests.
#[derive(Debug)]
pub(crate) struct ExactCall {
    /// The arguments as they are sent.
    pub(crate) arguments: Value,
    /// With placeholders in place of secrets, if there are any. A placeholder stands for one secret, so this is bound to the
    /// same call, and its digest tells nothing about the secret.
    shown: Option<Value>,
    /// What the approval is bound to.
    pub(crate) subject: ApprovedCall,
}

impl ExactCall {
    /// The call with the defaults of its arguments. `limit` bounds the validation of what the defaults change.
    pub(crate) async fn new(
        tool: &Tool,
        arguments: &ValidArguments,
        limit: Duration,
    ) -> Result<Self, ToolError> {
        let filled = with_defaults(tool, arguments.value().clone());
        if filled == *arguments.value() {
            return Ok(Self::from_values(tool, filled, arguments.shown().cloned()));
        }
        // Defaults need not fit together, such as those of alternatives that exclude each other.
        match tool.validate_arguments(Some(&to_raw(&filled)), limit).await {
            Ok(_) => {
                let shown = arguments.shown().map(|shown| with_defaults(tool, shown.clone()));
                Ok(Self::from_values(tool, filled, shown))
            }
            Err(error) if error.code == ErrorCode::InvalidArguments => {
                Ok(Self::from_values(tool, arguments.value().clone(), arguments.shown().cloned()))
            }
            Err(error) => Err(error),
        }
    }

    fn from_values(tool: &Tool, arguments: Value, shown: Option<Value>) -> Self {
        let subject = ApprovedCall {
            tool: tool.name.clone(),
            definition: tool.definition_digest(),
            arguments: *canonical_digest(shown.as_ref().unwrap_or(&arguments)).as_bytes(),
        };
        Self { arguments, shown, subject }
    }

    /// The arguments as they are shown, stored and approved: without secrets.
    pub(crate) fn shown(&self) -> &Value {
        self.shown.as_ref().unwrap_or(&self.arguments)
    }
}

/// Whether arguments, as they are or with their defaults, have this digest.
pub(super) fn have_digest(tool: &Tool, arguments: &Value, digest: &[u8; 32]) -> bool {
    canonical_digest(arguments).as_bytes() == digest
        || canonical_digest(&with_defaults(tool, arguments.clone())).as_bytes() == digest
}

fn with_defaults(tool: &Tool, mut arguments: Value) -> Value {
    fill_defaults(&tool.definition.input_schema(), &mut arguments, MAX_DEFAULT_DEPTH);
    arguments
}

/// Adds the defaults of missing properties, so that the user sees what the app will assume.
fn fill_defaults(schema: &Value, value: &mut Value, depth: usize) {
    let (Some(properties), Some(members)) = (properties_of(schema), value.as_object_mut()) else { return };
    for (name, property) in properties {
        match members.get_mut(name) {
            Some(member) if depth > 0 => fill_defaults(property, member, depth - 1),
            Some(_) => {}
            None => {
                if let Some(default) = property.get("default") {
                    members.insert(name.clone(), default.clone());
                }
            }
        }
    }
}

fn properties_of(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_members_get_their_defaults() {
        let schema = json!({ "properties": {
            "all": { "default": true },
            "who": { "properties": { "name": { "default": "Ada" }, "age": {} } },
        }});
        let mut value = json!({ "who": {}, "other": 1 });
        fill_defaults(&schema, &mut value, MAX_DEFAULT_DEPTH);
        assert_eq!(value, json!({ "who": { "name": "Ada" }, "other": 1, "all": true }));
        let filled = value.clone();
        fill_defaults(&schema, &mut value, MAX_DEFAULT_DEPTH);
        assert_eq!(value, filled, "filling twice changes nothing");
    }

    #[test]
    fn the_digest_depends_on_values_only() {
        let text = r#"{ "b": [1.0, "x"], "a": null }"#;
        let other: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical_digest(&json!({ "a": null, "b": [1, "x"] })), canonical_digest(&other));
        assert_ne!(canonical_digest(&json!({ "a": 1 })), canonical_digest(&json!({ "a": "1" })));
        let id = |id: u64| canonical_digest(&json!({ "id": id }));
        assert_ne!(
            id(1_234_567_890_123_456_789),
            id(1_234_567_890_123_456_788),
            "doubles cannot tell them apart"
        );
    }
}
