//! The text of a tool, for the index. It is untrusted and read up to limits.

use serde_json::Value;
use toolyard_protocol::tool::ActivationPhrases;

use super::MAX_PARAMETERS;

/// Deepest level of a schema at which parameters are read.
const MAX_DEPTH: usize = 4;

/// One tool, as text.
#[derive(Debug, Clone, Default)]
pub struct ToolDocument<'a> {
    /// The caller's key of the tool, usually its position in the view.
    pub key: usize,
    /// Its identifier inside its app, such as `add_task`.
    pub name: &'a str,
    /// Its other identifiers: the alias, the canonical name.
    pub aliases: Vec<&'a str>,
    /// Its title for people. May be empty.
    pub title: &'a str,
    /// The name of its app for people. May be empty.
    pub app_name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// Name and description of each parameter.
    pub parameters: Vec<(&'a str, &'a str)>,
    /// Activation phrases, each with its language tag if known.
    pub phrases: Vec<(&'a str, Option<&'a str>)>,
}

/// Phrases with their language tags.
pub fn phrases_of(phrases: &ActivationPhrases) -> Vec<(&str, Option<&str>)> {
    match phrases {
        ActivationPhrases::Plain(list) => list.iter().map(|phrase| (phrase.as_str(), None)).collect(),
        ActivationPhrases::ByLanguage(map) => map
            .iter()
            .flat_map(|(tag, list)| list.iter().map(move |phrase| (phrase.as_str(), Some(tag.as_str()))))
            .collect(),
    }
}

/// Names and descriptions of a schema's parameters, including nested ones, up to [`MAX_PARAMETERS`].
pub fn parameters_of(schema: &Value) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    collect_parameters(schema, 0, &mut found);
    found
}

fn collect_parameters<'a>(schema: &'a Value, depth: usize, found: &mut Vec<(&'a str, &'a str)>) {
    if depth == MAX_DEPTH {
        return;
    }
    for (name, parameter) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if found.len() == MAX_PARAMETERS {
            return;
        }
        found.push((name, parameter.get("description").and_then(Value::as_str).unwrap_or_default()));
        collect_parameters(parameter, depth + 1, found);
    }
    if let Some(items) = schema.get("items") {
        collect_parameters(items, depth + 1, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_read_through_objects_and_lists() {
        let schema = json!({ "properties": {
            "to": { "description": "Recipients", "items": { "properties": { "mail": { "type": "string" } } } },
            "odd": true,
        } });
        let mut found = parameters_of(&schema);
        found.sort_unstable();
        assert_eq!(found, [("mail", ""), ("odd", ""), ("to", "Recipients")]);
        assert!(parameters_of(&json!("no schema")).is_empty());
    }

    #[test]
    fn deep_and_wide_schemas_are_read_up_to_a_bound() {
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({ "properties": { "in": deep } });
        }
        assert_eq!(parameters_of(&deep).len(), MAX_DEPTH);
        let wide: serde_json::Map<_, _> =
            (0..MAX_PARAMETERS + 1).map(|at| (at.to_string(), json!({}))).collect();
        assert_eq!(parameters_of(&json!({ "properties": wide })).len(), MAX_PARAMETERS);
    }

    #[test]
    fn phrases_keep_their_language() {
        let plain = ActivationPhrases::Plain(vec!["a".to_owned()]);
        assert_eq!(phrases_of(&plain), [("a", None)]);
        let tagged = ActivationPhrases::ByLanguage([("de".to_owned(), vec!["b".to_owned()])].into());
        assert_eq!(phrases_of(&tagged), [("b", Some("de"))]);
    }
}
