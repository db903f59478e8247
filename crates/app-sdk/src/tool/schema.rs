//! JSON Schema of Rust types: 2020-12, everything in place, and without what only costs a model's attention.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub(crate) fn arguments_schema<T: JsonSchema>() -> Value {
    type_schema::<T>(SchemaSettings::for_deserialize)
}

pub(super) fn result_schema<T: JsonSchema>() -> Value {
    type_schema::<T>(SchemaSettings::for_serialize)
}

fn type_schema<T: JsonSchema>(contract: fn(SchemaSettings) -> SchemaSettings) -> Value {
    let settings = contract(SchemaSettings::draft2020_12()).with(|settings| {
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
    fn a_type_becomes_one_plain_schema() {
        assert_eq!(
            arguments_schema::<Outer>(),
            json!({
                "type": "object",
                "properties": { "inner": {
                    "type": ["object", "null"],
                    "properties": { "list": { "type": "array", "items": { "type": "boolean" } } },
                    "required": ["list"],
                    "description": "What for.",
                } },
            })
        );
    }
}
