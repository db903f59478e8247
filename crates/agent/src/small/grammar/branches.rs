//! The alternatives of a schema, each as one flat set of keywords: references are followed, `allOf` is merged, `anyOf`
//! and `oneOf` are expanded. Leaving an alternative out is always sound. Merging is not always exact, so an alternative
//! with incompatible keywords is impossible.

use serde_json::{Map, Value, json};
use toolyard_protocol::schema_expansion::approximate_bytes;

use super::{MAX_DEPTH, MAX_WORK, UnfitSchema};

/// Most alternatives of one schema. Further ones are left out.
const MAX_BRANCHES: usize = 16;
/// Bytes that are copied per unit of work. What is referenced many times is copied many times.
const BYTES_OF_WORK: usize = 1024;
/// Longest chain of references and combinations in one place.
const MAX_HOPS: usize = 4 * MAX_DEPTH;

/// A schema with its references, and the remaining work.
#[derive(Debug)]
pub(super) struct SchemaBranches<'a> {
    root: &'a Value,
    work: usize,
}

pub(super) type FlatSchema = Map<String, Value>;

impl<'a> SchemaBranches<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, work: MAX_WORK }
    }

    /// The alternatives of a schema. Empty if nothing matches it.
    pub(super) fn branches_of(&mut self, schema: &Value) -> Result<Vec<FlatSchema>, UnfitSchema> {
        self.expand_schema(schema, 0)
    }

    fn expand_schema(&mut self, schema: &Value, hops: usize) -> Result<Vec<FlatSchema>, UnfitSchema> {
        self.work = self.work.checked_sub(1).ok_or(UnfitSchema::TooMuch)?;
        if hops > MAX_HOPS {
            return Err(UnfitSchema::Impossible);
        }
        let members = match schema {
            Value::Bool(true) => return Ok(vec![Map::new()]),
            Value::Object(members) => members,
            Value::Bool(false) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Ok(Vec::new());
            }
        };
        let own = members.iter().filter(|(name, _)| !COMBINES.contains(&name.as_str()));
        let copied: usize = own.clone().map(|(name, value)| name.len() + approximate_bytes(value)).sum();
        self.work = self.work.checked_sub(copied / BYTES_OF_WORK).ok_or(UnfitSchema::TooMuch)?;
        let mut found = vec![own.map(|(name, value)| (name.clone(), value.clone())).collect()];
        if let Some(target) = members.get("$ref") {
            let root = self.root;
            let target = target.as_str().and_then(|target| root.pointer(target.strip_prefix('#')?));
            let there = self.expand_schema(target.ok_or(UnfitSchema::Impossible)?, hops + 1)?;
            found = merge_branches(&found, &there);
        }
        for part in array_keyword(members, "allOf") {
            let part = self.expand_schema(part, hops + 1)?;
            found = merge_branches(&found, &part);
        }
        for name in ["anyOf", "oneOf"] {
            if members.contains_key(name) {
                let mut any = Vec::new();
                for branch in array_keyword(members, name).iter().take(MAX_BRANCHES) {
                    match self.expand_schema(branch, hops + 1) {
                        Ok(branches) => any.extend(branches),
                        Err(UnfitSchema::Impossible) => {}
                        Err(UnfitSchema::TooMuch) => return Err(UnfitSchema::TooMuch),
                    }
                }
                found = merge_branches(&found, &any);
            }
        }
        Ok(found)
    }
}

/// Keywords that combine schemas.
const COMBINES: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

fn array_keyword<'a>(members: &'a FlatSchema, name: &str) -> &'a [Value] {
    members.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The combinations of two sets of alternatives.
fn merge_branches(these: &[FlatSchema], those: &[FlatSchema]) -> Vec<FlatSchema> {
    let pairs = these.iter().flat_map(|this| those.iter().map(move |that| (this, that)));
    pairs.filter_map(|(this, that)| merge_schemas(this, that)).take(MAX_BRANCHES).collect()
}

fn merge_schemas(this: &FlatSchema, that: &FlatSchema) -> Option<FlatSchema> {
    let mut all = this.clone();
    for (name, theirs) in that {
        let value = match all.get(name) {
            None => theirs.clone(),
            Some(ours) if ours == theirs => continue,
            Some(ours) => merge_keyword(name, ours, theirs)?,
        };
        all.insert(name.clone(), value);
    }
    Some(all)
}

/// Merges one keyword with different values.
fn merge_keyword(name: &str, ours: &Value, theirs: &Value) -> Option<Value> {
    let larger =
        || if number_or_zero(ours) >= number_or_zero(theirs) { ours.clone() } else { theirs.clone() };
    let smaller =
        || if number_or_zero(ours) <= number_or_zero(theirs) { ours.clone() } else { theirs.clone() };
    Some(match name {
        "properties" => merge_properties(ours.as_object()?, theirs.as_object()?),
        "required" => {
            let mut names = ours.as_array()?.clone();
            names.extend(
                theirs
                    .as_array()?
                    .iter()
                    .filter(|name| !ours.as_array().is_some_and(|o| o.contains(name)))
                    .cloned(),
            );
            Value::Array(names)
        }
        "type" | "enum" => {
            let common: Vec<_> =
                one_or_many(ours).into_iter().filter(|value| is_common(name, value, theirs)).collect();
            if common.is_empty() {
                return None;
            }
            Value::Array(common)
        }
        "const" => return None,
        "items" | "additionalProperties" => json!({ "allOf": [ours, theirs] }),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => larger(),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => smaller(),
        // Titles, descriptions, and keywords that are checked afterwards.
        _ => theirs.clone(),
    })
}

fn number_or_zero(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn one_or_many(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(many) => many.clone(),
        one => vec![one.clone()],
    }
}

fn is_common(name: &str, value: &Value, theirs: &Value) -> bool {
    let theirs = one_or_many(theirs);
    theirs.contains(value) || (name == "type" && value == "integer" && theirs.contains(&json!("number")))
}

fn merge_properties(ours: &FlatSchema, theirs: &FlatSchema) -> Value {
    let mut all = ours.clone();
    for (name, schema) in theirs {
        let schema = match all.get(name) {
            Some(known) if known != schema => json!({ "allOf": [known, schema] }),
            _ => schema.clone(),
        };
        all.insert(name.clone(), schema);
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_many_times_is_work() {
        let schema = |bytes: usize| {
            let uses: Vec<_> = (0..MAX_BRANCHES).map(|_| json!({ "$ref": "#/$defs/long" })).collect();
            json!({ "anyOf": uses, "$defs": { "long": { "type": "string", "description": "x".repeat(bytes) } } })
        };
        let spread = |root: &Value| SchemaBranches::new(root).branches_of(&json!({ "anyOf": root["anyOf"] }));
        assert_eq!(spread(&schema(BYTES_OF_WORK)).unwrap().len(), MAX_BRANCHES);
        let long = MAX_WORK / MAX_BRANCHES * BYTES_OF_WORK;
        assert!(matches!(spread(&schema(long)), Err(UnfitSchema::TooMuch)));
    }
}
