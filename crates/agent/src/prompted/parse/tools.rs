//! The tools that a reply may call, by all of their names.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use serde_json::Value;

use super::limits;
use crate::model::ToolSpec;

/// Models put this before a name when they fall back to their vendor's format.
const NAMESPACE: &str = "functions.";

/// The tools that a reply may call.
#[derive(Debug, Clone, Default)]
pub struct CallableTools {
    specs: Vec<Arc<ToolSpec>>,
    names: BTreeMap<String, usize>,
}

impl CallableTools {
    /// These tools by name.
    pub fn new(specs: &[Arc<ToolSpec>]) -> Self {
        let names = specs.iter().enumerate().map(|(at, spec)| (spec.name.clone(), at)).collect();
        Self { specs: specs.to_vec(), names }
    }

    /// Adds another name for the tool `name`, such as its canonical one. Existing names are kept.
    #[must_use]
    pub fn with_alias(mut self, other: impl Into<String>, name: &str) -> Self {
        if let Some(at) = self.names.get(name).copied() {
            self.names.entry(other.into()).or_insert(at);
        }
        self
    }

    /// The tool that a model means by this name.
    pub fn find(&self, written: &str) -> Option<&Arc<ToolSpec>> {
        let written = written.trim();
        let at = self.names.get(written).or_else(|| self.names.get(written.strip_prefix(NAMESPACE)?))?;
        self.specs.get(*at)
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// Whether some name begins like this.
    pub(super) fn has_name_prefix(&self, start: &str) -> bool {
        let from = (Bound::Included(start), Bound::Unbounded);
        self.names.range::<str, _>(from).next().is_some_and(|(name, _)| name.starts_with(start))
    }

    /// The names for the model after an unknown one, at most a few.
    pub(super) fn list_names(&self) -> String {
        let names: Vec<_> =
            self.specs.iter().take(limits::MAX_LISTED_NAMES).map(|spec| spec.name.as_str()).collect();
        let more = self.specs.len().saturating_sub(limits::MAX_LISTED_NAMES);
        if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
    }
}

/// The schema of one argument.
pub(super) fn argument_schema<'a>(spec: &'a ToolSpec, name: &str) -> Option<&'a Value> {
    spec.schema.get("properties")?.get(name)
}

/// Whether an argument of this schema is text, which must not be parsed as JSON.
pub(super) fn is_text(schema: &Value) -> bool {
    let named = |kind: &Value| kind == "string";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(named),
        Some(kind) => named(kind),
        None => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(key)?.as_array())
            .flatten()
            .any(|branch| branch.get("type").is_some_and(named)),
    }
}

/// Whether the schema allows `null`.
pub(super) fn takes_null(schema: &Value) -> bool {
    let null = |kind: &Value| kind == "null";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(null),
        Some(kind) => null(kind),
        None => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(key)?.as_array())
            .flatten()
            .any(|branch| branch.get("type").is_some_and(null)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(count: usize) -> CallableTools {
        let spec = |n| ToolSpec { name: format!("t{n}"), description: String::new(), schema: json!({}) };
        CallableTools::new(&(0..count).map(|n| Arc::new(spec(n))).collect::<Vec<_>>())
    }

    #[test]
    fn names_are_found_with_a_namespace_and_by_further_names() {
        let tools =
            tools(2).with_alias("app:zero", "t0").with_alias("t1", "t0").with_alias("lost", "missing");
        assert_eq!(tools.find(" functions.t1 ").unwrap().name, "t1", "a taken name stays");
        assert_eq!(tools.find("app:zero").unwrap().name, "t0");
        assert!(tools.find("lost").is_none());
        assert!(tools.find("T0").is_none());
        assert!(tools.has_name_prefix("app:") && tools.has_name_prefix("t") && !tools.has_name_prefix("u"));
    }

    #[test]
    fn the_list_of_names_is_bounded() {
        let listed = tools(limits::MAX_LISTED_NAMES + 3).list_names();
        assert!(listed.ends_with("t19 and 3 more"), "{listed}");
        assert_eq!(tools(2).list_names(), "t0, t1");
    }

    #[test]
    fn text_is_seen_in_unions_too() {
        assert!(is_text(&json!({"type": "string"})));
        assert!(is_text(&json!({"type": ["null", "string"]})));
        assert!(is_text(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]})));
        assert!(!is_text(&json!({"type": "integer"})) && !is_text(&json!({})));
        assert!(takes_null(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]})));
        assert!(takes_null(&json!({"type": ["null", "string"]})) && !takes_null(&json!({"type": "string"})));
    }
}
