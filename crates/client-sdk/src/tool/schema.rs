//! JSON Schema of Rust types: 2020-12, everything in place, and without what only costs a model's attention.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub(super) fn arguments_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::for_deserialize(SchemaSettings::draft2020_12()).with(|settings| {
        // The server takes no references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    schema.to_value()
}
