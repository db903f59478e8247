//! JSON Schema of Rust types: 2020-12, references inlined, without members that only cost a model's attention.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of a tool's arguments.
pub fn arguments_schema<T: JsonSchema>() -> Value {
    plain_schema::<T>(SchemaSettings::for_deserialize)
}

/// The schema of a tool's structured result.
pub fn result_schema<T: JsonSchema>() -> Value {
    plain_schema::<T>(SchemaSettings::for_serialize)
}

fn plain_schema<T: JsonSchema>(contract: fn(SchemaSettings) -> SchemaSettings) -> Value {
    let settings = contract(SchemaSettings::draft2020_12()).with(|settings| {
        // Many model vendors, and the server for client tools, accept no references.
        settings.inline_subschemas = true;
        // MCP reads a schema without `$schema` as 2020-12.
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Outer {
        /// What for.
        inner: Option<Inner>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Inner {
        list: Vec<bool>,
    }

    #[test]
    fn a_type_becomes_one_schema_without_references() {
        let inner = json!({
            "type": ["object", "null"],
            "properties": { "list": { "type": "array", "items": { "type": "boolean" } } },
            "required": ["list"],
            "description": "What for.",
        });
        assert_eq!(
            arguments_schema::<Outer>(),
            json!({ "type": "object", "properties": { "inner": inner } })
        );
        assert_eq!(
            result_schema::<Outer>(),
            json!({ "type": "object", "properties": { "inner": inner }, "required": ["inner"] })
        );
    }
}
