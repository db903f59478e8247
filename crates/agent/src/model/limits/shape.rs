//! The inside of a schema: old spellings become current ones, and unsupported keywords become notes.

use serde_json::{Map, Value, json};

use super::{AllowedKeywords, FamilyLimits, MAX_DEPTH, VendorFamily, words};

/// Where the notes for the top are collected. They go into the tool's description, which models read first.
const AT_ROOT: &str = "description";

/// The schema as the family accepts it.
pub(super) fn fit_schema(
    family: VendorFamily,
    limits: &FamilyLimits,
    schema: Map<String, Value>,
    moved: &mut Vec<String>,
) -> Result<Value, String> {
    let mut shaper = SchemaFitter { family, limits, moved };
    shaper.fit_object(schema, "", 0).map(Value::Object)
}

/// The schema without the notes at its top, and these notes.
pub(super) fn take_root_notes(mut schema: Value) -> (Value, Option<String>) {
    let notes = schema.as_object_mut().and_then(|schema| schema.shift_remove(AT_ROOT));
    let notes = notes.and_then(|notes| notes.as_str().map(str::to_owned));
    (schema, notes.filter(|notes| !notes.is_empty()))
}

struct SchemaFitter<'a> {
    family: VendorFamily,
    limits: &'a FamilyLimits,
    moved: &'a mut Vec<String>,
}

impl SchemaFitter<'_> {
    /// A nested schema. None if nothing matches it.
    fn fit_inner(&mut self, schema: Value, at: &str, depth: usize) -> Result<Option<Value>, String> {
        Ok(match schema {
            Value::Bool(false) => None,
            Value::Object(schema) if depth >= MAX_DEPTH && !schema.is_empty() => {
                self.moved.push(format!("{at}: deeper than {MAX_DEPTH}"));
                Some(
                    json!({ "description": words::append_notes("", &[describe_deep_schema(&schema)], super::MAX_DESCRIPTION) }),
                )
            }
            Value::Object(schema) => Some(Value::Object(self.fit_object(schema, at, depth)?)),
            // `true`, or an invalid schema: any JSON.
            _ => Some(json!({})),
        })
    }

    fn fit_object(
        &mut self,
        schema: Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<Map<String, Value>, String> {
        let schema = self.normalise_keywords(schema);
        let mut notes = Vec::new();
        let mut out = Map::new();
        let mut description = String::new();
        for (keyword, value) in schema {
            if keyword == "description" {
                description = value.as_str().unwrap_or_default().to_owned();
            } else if !self.accepts_keyword(&keyword, &value) {
                if let Some(words) = words::describe_keyword(&keyword, &value) {
                    self.moved.push(format!("{}: {words}", if at.is_empty() { "the arguments" } else { at }));
                    notes.push(words);
                }
            } else if let Some(value) = self.fit_keyword(&keyword, value, at, depth)? {
                out.insert(keyword, value);
            }
        }
        self.fix_lists(&mut out);
        self.fix_required(&mut out, at)?;
        let description = words::append_notes(&description, &notes, super::MAX_DESCRIPTION);
        if !description.is_empty() {
            out.insert("description".to_owned(), description.into());
        }
        Ok(out)
    }

    fn accepts_keyword(&self, keyword: &str, value: &Value) -> bool {
        let gemini = self.family == VendorFamily::Gemini;
        self.limits.keywords.allows(keyword)
            && match (keyword, value) {
                // Only texts that are not empty.
                ("enum", Value::Array(values)) if gemini => {
                    values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()))
                }
                ("format", Value::String(format)) if gemini => format == "date-time",
                ("enum" | "anyOf" | "oneOf" | "allOf" | "required", value) => value.is_array(),
                _ => true,
            }
    }

    /// A keyword's value, with the nested schemas fitted as well.
    fn fit_keyword(
        &mut self,
        keyword: &str,
        value: Value,
        at: &str,
        depth: usize,
    ) -> Result<Option<Value>, String> {
        match (keyword, value) {
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(map)) => {
                let mut out = Map::new();
                for (name, schema) in map {
                    let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                    if let Some(schema) = self.fit_inner(schema, &at, depth + 1)? {
                        out.insert(name, schema);
                    }
                }
                Ok(Some(Value::Object(out)))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                let mut out = Vec::new();
                for schema in list {
                    out.extend(self.fit_inner(schema, at, depth + 1)?);
                }
                Ok((!out.is_empty()).then_some(Value::Array(out)))
            }
            ("items" | "not" | "contains" | "propertyNames" | "if" | "then" | "else", schema) => {
                let at = if keyword == "items" { format!("{at}[]") } else { at.to_owned() };
                self.fit_inner(schema, &at, depth + 1)
            }
            ("additionalProperties", schema @ Value::Object(_)) => self.fit_inner(schema, at, depth + 1),
            (_, value) => Ok(Some(value)),
        }
    }

    /// Replaces old and lax spellings with the current ones, which all vendors understand.
    fn normalise_keywords(&self, mut schema: Map<String, Value>) -> Map<String, Value> {
        for (exclusive, plain) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            // A boolean in draft 4.
            match schema.get(exclusive) {
                Some(Value::Bool(true)) => match schema.shift_remove(plain) {
                    Some(bound) => drop(schema.insert(exclusive.to_owned(), bound)),
                    None => drop(schema.shift_remove(exclusive)),
                },
                Some(Value::Bool(false)) => drop(schema.shift_remove(exclusive)),
                _ => {}
            }
        }
        if !schema.get("required").is_none_or(Value::is_array) {
            schema.shift_remove("required");
        }
        if let Some(Value::Array(tuple)) = schema.get_mut("items") {
            let tuple = std::mem::take(tuple);
            schema.shift_remove("items");
            schema.insert("prefixItems".to_owned(), tuple.into());
        }
        if self.has_keyword_list() {
            self.replace_unsupported(&mut schema);
        }
        self.fix_types(&mut schema);
        schema
    }

    fn has_keyword_list(&self) -> bool {
        matches!(self.limits.keywords, AllowedKeywords::Only(_))
    }

    /// For a family with few keywords: replaces others by nearly equivalent ones.
    fn replace_unsupported(&self, schema: &mut Map<String, Value>) {
        if let Some(forms) = schema.shift_remove("oneOf") {
            schema.entry("anyOf").or_insert(forms);
        }
        if schema.get("const").is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()))
            && let Some(value) = schema.shift_remove("const")
        {
            schema.insert("enum".to_owned(), json!([value]));
            schema.entry("type").or_insert_with(|| "string".into());
        }
        // Generators write a single form for a reference with a description.
        if let Some(Value::Array(forms)) = schema.get("allOf")
            && let [Value::Object(form)] = &forms[..]
        {
            let form = form.clone();
            schema.shift_remove("allOf");
            for (keyword, value) in form {
                schema.entry(keyword).or_insert(value);
            }
        }
    }

    /// Keeps valid types only, and a single type if the family does not accept a list.
    fn fix_types(&self, schema: &mut Map<String, Value>) {
        const TYPES: &[&str] = &["string", "number", "integer", "boolean", "object", "array", "null"];
        let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
        match schema.get_mut("type") {
            Some(Value::Array(kinds)) => {
                kinds.retain(known);
                let kinds = kinds.clone();
                match &kinds[..] {
                    [] => drop(schema.shift_remove("type")),
                    [kind] => drop(schema.insert("type".to_owned(), kind.clone())),
                    _ if self.has_keyword_list() => split_types(schema, &kinds),
                    _ => {}
                }
            }
            Some(kind) if !known(kind) => drop(schema.shift_remove("type")),
            _ => {}
        }
    }

    /// Arrays must say what they hold: some vendors reject them otherwise.
    fn fix_lists(&self, schema: &mut Map<String, Value>) {
        let list = match schema.get("type") {
            Some(Value::String(kind)) => kind == "array",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
            _ => false,
        };
        if list && !schema.contains_key("items") {
            schema.insert("items".to_owned(), json!({}));
        }
    }

    /// Keeps valid property names, and required names that exist.
    fn fix_required(&mut self, schema: &mut Map<String, Value>, at: &str) -> Result<(), String> {
        let needs: Vec<String> = match schema.get("required") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        let Some(Value::Object(properties)) = schema.get_mut("properties") else {
            if self.has_keyword_list() {
                schema.shift_remove("required");
            }
            return Ok(());
        };
        if let Some((extra, most)) = self.limits.property {
            let fits = |name: &str| {
                (1..=most).contains(&name.len())
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
            };
            let bad: Vec<_> = properties.keys().filter(|name| !fits(name)).cloned().collect();
            for name in bad {
                if needs.contains(&name) {
                    return Err(format!("it requires the property {name:?}, a name that is not supported"));
                }
                properties.shift_remove(&name);
                self.moved.push(format!(
                    "{}: no property {name:?}",
                    if at.is_empty() { "the arguments" } else { at }
                ));
            }
        }
        if self.has_keyword_list() {
            let known: Vec<_> = needs.into_iter().filter(|name| properties.contains_key(name)).collect();
            match known.is_empty() {
                true => drop(schema.shift_remove("required")),
                false => drop(schema.insert("required".to_owned(), known.into())),
            }
        }
        Ok(())
    }
}

/// The only type that is not null, with a note on null. Or a choice between several.
fn split_types(schema: &mut Map<String, Value>, kinds: &[Value]) {
    let real: Vec<_> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
    match &real[..] {
        [kind] => {
            schema.insert("type".to_owned(), kind.clone());
            schema.insert("nullable".to_owned(), true.into());
        }
        _ => {
            schema.shift_remove("type");
            let forms: Vec<_> = real.iter().map(|kind| json!({ "type": kind })).collect();
            schema.entry("anyOf").or_insert_with(|| forms.into());
        }
    }
}

fn describe_deep_schema(schema: &Map<String, Value>) -> String {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any JSON");
    format!("{kind}, not described further")
}
