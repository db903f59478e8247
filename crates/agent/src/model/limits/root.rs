//! The top of a schema: an object with properties, without a choice between objects.

use serde_json::{Map, Value, json};

use super::{FamilyLimits, words};

/// The schema as an object, and the notes for the tool's description.
pub(super) fn fit_root(
    limits: &FamilyLimits,
    schema: Value,
    moved: &mut Vec<String>,
) -> Result<(Map<String, Value>, Vec<String>), String> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(true) => Map::new(),
        _ => return Err("its schema is not an object".to_owned()),
    };
    if !is_object(schema.get("type")) {
        return Err("its arguments are not an object".to_owned());
    }
    schema.insert("type".to_owned(), "object".into());
    let mut notes = Vec::new();
    for keyword in ["allOf", "oneOf", "anyOf"] {
        if limits.not_at_root.contains(&keyword) || !limits.keywords.allows(keyword) {
            let Some(Value::Array(forms)) = schema.shift_remove(keyword) else { continue };
            notes.extend(merge_forms(&mut schema, keyword, forms));
            moved.push(format!("{keyword} at the top"));
        }
    }
    for keyword in limits.not_at_root {
        if let Some(value) = schema.shift_remove(*keyword) {
            notes.extend(words::describe_keyword(keyword, &value));
            moved.push(format!("{keyword} at the top"));
        }
    }
    // Some vendors reject an object without properties.
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    Ok((schema, notes))
}

fn is_object(kind: Option<&Value>) -> bool {
    match kind {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    }
}

/// Merges the properties of all forms. What all forms require is required, and the rest becomes a note.
fn merge_forms(schema: &mut Map<String, Value>, keyword: &str, forms: Vec<Value>) -> Option<String> {
    let objects = forms.into_iter().filter_map(|form| match form {
        Value::Object(form) => Some(form),
        _ => None,
    });
    let forms: Vec<Map<String, Value>> = objects.collect();
    let needs: Vec<Vec<String>> = forms.iter().map(required_names).collect();
    let every = keyword == "allOf";
    let mut all = required_names(schema);
    let first = needs.first().cloned().unwrap_or_default();
    let common: Vec<_> = if every {
        needs.iter().flatten().cloned().collect()
    } else {
        first.into_iter().filter(|name| needs.iter().all(|form| form.contains(name))).collect()
    };
    for name in common {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    for form in forms {
        let Some(Value::Object(more)) = form.get("properties") else { continue };
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        let Value::Object(properties) = properties else { continue };
        for (name, property) in more {
            properties.entry(name.clone()).or_insert_with(|| property.clone());
        }
    }
    let notes = (!every).then(|| describe_choice(keyword, &needs, &all)).flatten();
    if !all.is_empty() {
        schema.insert("required".to_owned(), all.into());
    }
    notes
}

fn required_names(schema: &Map<String, Value>) -> Vec<String> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Which properties belong together, beyond those that are always required.
fn describe_choice(keyword: &str, needs: &[Vec<String>], always: &[String]) -> Option<String> {
    let forms: Vec<_> = needs
        .iter()
        .map(|form| {
            form.iter().filter(|name| !always.contains(name)).cloned().collect::<Vec<_>>().join(" and ")
        })
        .filter(|form| !form.is_empty())
        .collect();
    let how = if keyword == "oneOf" { "give exactly one of" } else { "give at least one of" };
    (!forms.is_empty()).then(|| format!("{how}: {}", forms.join(", or ")))
}
