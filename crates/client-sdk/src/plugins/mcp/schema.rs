//! Inlines the references of a schema, because client tools may not have any.
//!
//! References within the schema are replaced by their targets. If a reference is recursive or leads out of the schema, the tool
//! is set aside. Other rules for schemas are checked elsewhere.

use serde_json::{Map, Value};
use toolyard_protocol::schema_expansion::{ByteBudget, MAX_EXPANDED_BYTES, approximate_bytes};

/// Most subschemas after inlining. Nested references can grow exponentially.
const MAX_SCHEMAS: usize = 2_000;
/// Deepest nesting. Higher than the limit of client tools, so that their own error message applies first.
const MAX_DEPTH: usize = 32;

/// Annotations, which may stand next to a reference and describe this use of it.
const REMARKS: [&str; 7] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];
/// Keywords that identify a schema and its parts. They are not needed after inlining.
const MACHINERY: [&str; 6] = ["$schema", "$id", "$anchor", "$comment", "$defs", "definitions"];

/// The schema of a tool's arguments without references, or why they cannot be inlined.
pub(super) fn inline_references(schema: &Value) -> Result<Value, String> {
    let mut work = SchemaInliner { root: schema, open: Vec::new(), made: 0, bytes: ByteBudget::default() };
    let mut whole = work.inline_schema(schema, 0)?;
    if let Some(members) = whole.as_object_mut() {
        // Arguments are always an object, even if the schema does not say so.
        members.entry("type").or_insert_with(|| "object".into());
    }
    Ok(whole)
}

struct SchemaInliner<'a> {
    root: &'a Value,
    /// The references that are being inlined, outermost first.
    open: Vec<&'a str>,
    made: usize,
    /// Size of names, texts and data: a long text may be referenced many times.
    bytes: ByteBudget,
}

impl<'a> SchemaInliner<'a> {
    fn inline_schema(&mut self, schema: &'a Value, depth: usize) -> Result<Value, String> {
        // `true`, `false`, and invalid schemas, which are reported later.
        let Value::Object(members) = schema else { return Ok(schema.clone()) };
        self.made += 1;
        if self.made > MAX_SCHEMAS {
            return Err(format!(
                "its schema has more than {MAX_SCHEMAS} parts after its references are inlined"
            ));
        }
        if depth > MAX_DEPTH {
            return Err(format!("its schema is deeper than {MAX_DEPTH}"));
        }
        match members.get("$ref") {
            Some(Value::String(reference)) => self.resolve_reference(reference, members, depth),
            Some(_) => Err("its schema has a `$ref` that is not a string".to_owned()),
            None => Ok(Value::Object(self.inline_members(members, depth)?)),
        }
    }

    /// The members of a schema, each according to its type: a schema, a list of schemas, a map of schemas, or data.
    fn inline_members(
        &mut self,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, String> {
        let mut whole = Map::new();
        for (keyword, inside) in members {
            let inside = match (keyword.as_str(), inside) {
                (keyword, _) if keyword == "$ref" || MACHINERY.contains(&keyword) => continue,
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(map)) => {
                    let all =
                        map.iter().map(|(name, one)| Ok((name.clone(), self.inline_schema(one, depth + 1)?)));
                    Value::Object(all.collect::<Result<_, String>>()?)
                }
                ("oneOf" | "anyOf" | "allOf" | "prefixItems" | "items", Value::Array(list)) => {
                    let all = list.iter().map(|one| self.inline_schema(one, depth + 1));
                    Value::Array(all.collect::<Result<_, _>>()?)
                }
                (
                    "items"
                    | "additionalItems"
                    | "additionalProperties"
                    | "unevaluatedItems"
                    | "unevaluatedProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames",
                    one,
                ) => self.inline_schema(one, depth + 1)?,
                (_, data) => {
                    self.count_bytes(approximate_bytes(data))?;
                    data.clone()
                }
            };
            self.count_bytes(keyword.len())?;
            whole.insert(keyword.clone(), inside);
        }
        Ok(whole)
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), String> {
        let too_many = || {
            format!("its schema has more than {MAX_EXPANDED_BYTES} bytes after its references are inlined")
        };
        if self.bytes.add(bytes) { Ok(()) } else { Err(too_many()) }
    }

    /// The target of a reference, merged with the keywords next to it.
    fn resolve_reference(
        &mut self,
        reference: &'a str,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Value, String> {
        let shown: String = reference.chars().take(100).collect();
        if self.open.contains(&reference) {
            return Err(format!("its schema refers to itself (`{shown}`), which cannot be inlined"));
        }
        let target = self
            .find_target(reference)
            .ok_or_else(|| format!("its schema refers to `{shown}`, which is not in it"))?;
        self.open.push(reference);
        // Counts as one level deeper, so that a long chain of references cannot overflow the stack.
        let target = self.inline_schema(target, depth + 1)?;
        self.open.pop();
        let beside = self.inline_members(members, depth)?;
        let (remarks, rules): (Map<_, _>, Map<_, _>) =
            beside.into_iter().partition(|(keyword, _)| REMARKS.contains(&keyword.as_str()));
        let mut whole = match target {
            Value::Object(target) if rules.is_empty() => target,
            target if rules.is_empty() && remarks.is_empty() => return Ok(target),
            target => {
                let all = [Some(target), (!rules.is_empty()).then_some(Value::Object(rules))];
                Map::from_iter([("allOf".to_owned(), all.into_iter().flatten().collect())])
            }
        };
        whole.extend(remarks);
        Ok(Value::Object(whole))
    }

    /// Resolves `#` and a path within the schema.
    fn find_target(&self, reference: &str) -> Option<&'a Value> {
        let path = reference.strip_prefix('#')?;
        self.root.pointer(&percent_decode(path)?)
    }
}

/// Decodes the percent-encoding of a path. `None` if it is invalid.
fn percent_decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else { return None };
        rest = after;
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn local_references_are_inlined() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "from": { "$ref": "#/$defs/place" },
                "to": { "$ref": "#/definitions/old%20place", "description": "Where to." },
                "all": { "type": "array", "items": { "$ref": "#/$defs/place" } },
                "again": { "$ref": "#/properties/all" },
            },
            "$defs": {
                "place": { "type": "object", "properties": { "name": { "$ref": "#/$defs/a~1b" } } },
                "a/b": { "type": "string", "description": "A name." },
            },
            "definitions": { "old place": { "type": "string", "description": "Some place." } },
        });
        let place = json!({ "type": "object", "properties": { "name": { "type": "string", "description": "A name." } } });
        let all = json!({ "type": "array", "items": place });
        assert_eq!(
            inline_references(&schema).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "from": place,
                    "to": { "type": "string", "description": "Where to." },
                    "all": all,
                    "again": all,
                },
            })
        );
    }

    #[test]
    fn rules_beside_a_reference_stay_rules() {
        let schema = json!({
            "type": "object",
            "properties": { "n": { "$ref": "#/$defs/n", "maximum": 9, "title": "N" }, "yes": { "$ref": "#/$defs/yes", "title": "Y" } },
            "$defs": { "n": { "type": "integer" }, "yes": true },
        });
        let whole = inline_references(&schema).unwrap();
        assert_eq!(
            whole["properties"],
            json!({
                "n": { "allOf": [{ "type": "integer" }, { "maximum": 9 }], "title": "N" },
                "yes": { "allOf": [true], "title": "Y" },
            })
        );
    }

    #[test]
    fn data_and_names_are_not_references() {
        let schema = json!({
            "type": "object",
            "properties": {
                "$ref": { "type": "string", "default": { "$ref": "#/nowhere" }, "enum": [{ "$ref": 5 }] },
                "definitions": { "type": "string" },
            },
            "required": ["$ref"],
        });
        assert_eq!(inline_references(&schema).unwrap(), schema);
    }

    #[test]
    fn references_that_cannot_be_inlined_are_an_error() {
        let with = |reference: Value| {
            json!({ "type": "object", "properties": { "x": { "$ref": reference } },
            "$defs": { "tree": { "type": "array", "items": { "$ref": "#/$defs/tree" } },
                       "ping": { "$ref": "#/$defs/pong" }, "pong": { "not": { "$ref": "#/$defs/ping" } } } })
        };
        for (reference, words) in [
            (json!("#"), "refers to itself (`#`)"),
            (json!("#/$defs/tree"), "refers to itself (`#/$defs/tree`)"),
            (json!("#/$defs/ping"), "refers to itself"),
            (json!("#/$defs/none"), "`#/$defs/none`, which is not in it"),
            (json!("#anchor"), "which is not in it"),
            (json!("https://example.com/x.json"), "which is not in it"),
            (json!("other.json#/a"), "which is not in it"),
            (json!("#/%zz"), "which is not in it"),
            (json!("#/%e4"), "which is not in it"),
            (json!(5), "`$ref` that is not a string"),
        ] {
            let error = inline_references(&with(reference.clone())).unwrap_err();
            assert!(error.contains(words), "{reference}: {error}");
        }
    }

    #[test]
    fn growth_and_depth_are_bounded() {
        let mut definitions = Map::new();
        definitions.insert("d0".to_owned(), json!({ "type": "string" }));
        for n in 1..40 {
            let below = json!({ "$ref": format!("#/$defs/d{}", n - 1) });
            definitions.insert(format!("d{n}"), json!({ "anyOf": [below, below] }));
        }
        let laughs = |n: usize| {
            let properties = json!({ "x": { "$ref": format!("#/$defs/d{n}") } });
            inline_references(&json!({ "type": "object", "properties": properties, "$defs": definitions }))
        };
        assert!(laughs(5).is_ok());
        assert!(laughs(12).unwrap_err().contains("more than 2000 parts"));
        let deep = (0..=MAX_DEPTH).fold(json!({}), |inside, _| json!({ "not": inside }));
        assert!(inline_references(&deep).unwrap_err().contains("deeper than 32"));
    }

    #[test]
    fn a_long_text_that_is_referred_to_many_times_is_too_much() {
        let schema = |uses: usize| {
            let properties: Map<_, _> =
                (0..uses).map(|at| (format!("p{at}"), json!({ "$ref": "#/$defs/long" }))).collect();
            json!({ "type": "object", "properties": properties,
                "$defs": { "long": { "type": "string", "description": "x".repeat(8 * 1024) } } })
        };
        assert!(inline_references(&schema(100)).is_ok());
        assert!(inline_references(&schema(200)).unwrap_err().contains("more than 1048576 bytes"));
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(inline_references(&json!({})).unwrap(), json!({ "type": "object" }));
        assert_eq!(inline_references(&json!(true)).unwrap(), json!(true));
        let root = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "object", "required": ["x"] } } });
        assert_eq!(inline_references(&root).unwrap(), json!({ "type": "object", "required": ["x"] }));
    }
}
