//! Inlines the references of a schema. Some vendors reject them, and some servers lose what they point to.

use serde_json::{Map, Value, json};
use toolyard_protocol::schema_expansion::ByteBudget;

/// Most values after inlining. A few lines of references can expand to more than fits in memory.
pub(super) const MAX_VALUES: usize = 20_000;

/// How deep schemas are followed.
const MAX_NESTING: usize = 64;

/// The schema without references. Recursion is cut: the second time it is any JSON, with a note.
pub(super) fn inline_references(schema: &Value) -> Result<Value, String> {
    let mut inliner =
        ReferenceInliner { root: schema, open: Vec::new(), values: 0, bytes: ByteBudget::default() };
    let mut schema = inliner.inline_value(schema, 0)?;
    if let Value::Object(schema) = &mut schema {
        for key in ["$defs", "definitions", "$schema", "$id", "$anchor", "$comment"] {
            schema.shift_remove(key);
        }
    }
    Ok(schema)
}

struct ReferenceInliner<'a> {
    root: &'a Value,
    /// The references that are being inlined.
    open: Vec<&'a str>,
    values: usize,
    /// Of texts and names. A long text may be referenced many times.
    bytes: ByteBudget,
}

impl<'a> ReferenceInliner<'a> {
    fn inline_value(&mut self, value: &'a Value, depth: usize) -> Result<Value, String> {
        self.values += 1;
        let bytes = match value {
            Value::String(text) => text.len(),
            Value::Object(members) => members.keys().map(String::len).sum(),
            _ => 0,
        };
        let has_room = self.bytes.add(bytes);
        if self.values > MAX_VALUES || !has_room || depth > MAX_NESTING {
            return Err("its schema is too large once its references are written out".to_owned());
        }
        match value {
            Value::Object(map) => self.inline_object(map, depth),
            Value::Array(list) => list.iter().map(|value| self.inline_value(value, depth + 1)).collect(),
            plain => Ok(plain.clone()),
        }
    }

    fn inline_object(&mut self, map: &'a Map<String, Value>, depth: usize) -> Result<Value, String> {
        let reference = map.get("$ref").and_then(Value::as_str);
        let mut out = match reference {
            Some(reference) => self.inline_target(reference, depth)?,
            None => Map::new(),
        };
        for (key, value) in map {
            // Definitions are dropped at the top only. Further down a property may have this name.
            let definitions = depth == 0 && matches!(key.as_str(), "$defs" | "definitions");
            if (key == "$ref" && reference.is_some()) || definitions {
                continue;
            }
            out.insert(key.clone(), self.inline_value(value, depth + 1)?);
        }
        Ok(Value::Object(out))
    }

    fn inline_target(&mut self, reference: &'a str, depth: usize) -> Result<Map<String, Value>, String> {
        let words = |text: String| Map::from_iter([("description".to_owned(), json!(text))]);
        let Some(target) = self.find_target(reference) else {
            return Ok(words(format!("(as in {reference})")));
        };
        if self.open.contains(&reference) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return Ok(words(format!("(again {name}, as above)")));
        }
        self.open.push(reference);
        let written = self.inline_value(target, depth + 1);
        self.open.pop();
        match written? {
            Value::Object(map) => Ok(map),
            _ => Ok(Map::new()),
        }
    }

    fn find_target(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        // Generators do not produce percent signs or anchors. They count as not found.
        self.root.pointer(pointer)
    }
}
