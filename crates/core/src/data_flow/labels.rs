//! The labels of a tool: from the operator's settings, otherwise from its annotations and category.

use std::collections::BTreeMap;

use serde_json::Value;
use toolyard_protocol::{
    Problem,
    approval::{DataFlowPolicy, DataLabel},
    text::truncate_chars,
    tool::{Category, ToolDefinition},
    wildcard::matches_pattern,
};

use crate::{Tool, ports::SourceKind};

/// Maximum number of patterns in the operator's settings.
pub const MAX_LABEL_PATTERNS: usize = 500;
/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 300;
/// Most destination pointers of one pattern.
const MAX_DESTINATIONS: usize = 20;

/// A set of labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LabelSet(u8);

impl LabelSet {
    /// No label.
    pub const EMPTY: Self = Self(0);
    /// What is assumed of a result about which nothing is known.
    pub const UNKNOWN_READ: Self = Self::EMPTY.with(DataLabel::Private).with(DataLabel::Untrusted);

    const fn bit(label: DataLabel) -> u8 {
        match label {
            DataLabel::Private => 1,
            DataLabel::Untrusted => 2,
            DataLabel::Outward => 4,
        }
    }

    /// The set with this label.
    #[must_use]
    pub const fn with(self, label: DataLabel) -> Self {
        Self(self.0 | Self::bit(label))
    }

    /// The set with this label if the condition holds.
    #[must_use]
    const fn with_if(self, label: DataLabel, condition: bool) -> Self {
        if condition { self.with(label) } else { self }
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the label is in the set.
    pub const fn contains(self, label: DataLabel) -> bool {
        self.0 & Self::bit(label) != 0
    }

    /// Whether a result with these labels changes what a conversation has read.
    pub const fn is_read(self) -> bool {
        self.contains(DataLabel::Private) || self.contains(DataLabel::Untrusted)
    }

    /// The labels, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = DataLabel> {
        DataLabel::ALL.iter().copied().filter(move |label| self.contains(*label))
    }
}

impl FromIterator<DataLabel> for LabelSet {
    fn from_iter<I: IntoIterator<Item = DataLabel>>(labels: I) -> Self {
        labels.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// The labels of one tool, computed once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolLabels {
    /// The labels.
    pub labels: LabelSet,
    /// Whether the operator set them.
    pub by_operator: bool,
    /// Not read-only, and no hint says whether it reaches outside: MCP implies it. Counts in the preset `strict` only.
    pub implied_outward: bool,
    /// Takes private data with it although none was read: it attaches, shares, pays. Only the operator can say so.
    pub carries_private: bool,
    /// JSON pointers to the arguments that say where the data goes. Set by the operator.
    pub destinations: Vec<String>,
}

/// The operator's settings.
#[derive(Debug, Clone, Default)]
pub struct LabelSettings {
    /// What happens when all three labels come together.
    pub policy: DataFlowPolicy,
    /// Labels by pattern of the canonical name. They replace those of the definition; several matches add up.
    pub labels: BTreeMap<String, Vec<DataLabel>>,
    /// Where the arguments of a tool say who receives the data, by pattern of the canonical name.
    pub destinations: BTreeMap<String, Vec<String>>,
}

impl LabelSettings {
    /// Checks the settings, and reports every problem.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let patterns = [
            ("labels", self.labels.keys().collect::<Vec<_>>()),
            ("destinations", self.destinations.keys().collect()),
        ];
        for (member, patterns) in patterns {
            if patterns.len() > MAX_LABEL_PATTERNS {
                let text = format!("{} patterns; at most {MAX_LABEL_PATTERNS}", patterns.len());
                problems.push(Problem::new(member, text));
            }
            for pattern in patterns {
                if !pattern.contains(':') && pattern != "*" || pattern.len() > MAX_PATTERN_BYTES {
                    let text = "is not a pattern such as `com.example.bank:*`";
                    problems.push(Problem::new(member, format!("`{}` {text}", truncate_chars(pattern, 40))));
                }
            }
        }
        for (pattern, pointers) in &self.destinations {
            let is_pointer =
                |pointer: &String| pointer.starts_with('/') && pointer.len() <= MAX_PATTERN_BYTES;
            if pointers.is_empty() || pointers.len() > MAX_DESTINATIONS || !pointers.iter().all(is_pointer) {
                let text = format!(
                    "`{}`: expected 1 to {MAX_DESTINATIONS} JSON pointers such as `/to`",
                    truncate_chars(pattern, 40)
                );
                problems.push(Problem::new("destinations", text));
            }
        }
        problems
    }

    /// The labels of a tool.
    pub(super) fn labels_for(&self, tool: &Tool) -> ToolLabels {
        let name = tool.name.as_str().to_ascii_lowercase();
        let mut labels = match self.operator_labels(&name) {
            Some(set) => ToolLabels {
                labels: set,
                by_operator: true,
                carries_private: set.contains(DataLabel::Private) && set.contains(DataLabel::Outward),
                ..ToolLabels::default()
            },
            None => builtin_labels(tool).unwrap_or_else(|| derived_labels(&tool.definition)),
        };
        labels.destinations = matching(&self.destinations, &name).flatten().cloned().collect();
        labels
    }

    /// What the operator says about a name in lower case. None if no pattern matches.
    pub(super) fn operator_labels(&self, name: &str) -> Option<LabelSet> {
        let mut matches = matching(&self.labels, name).peekable();
        matches.peek()?;
        Some(matches.flatten().copied().collect())
    }
}

/// The values of all matching patterns. Case does not count: an app must not lose its labels by the spelling of a name.
fn matching<'a, V>(all: &'a BTreeMap<String, V>, name: &str) -> impl Iterator<Item = &'a V> {
    let matches = move |pattern: &String| matches_pattern(&pattern.to_ascii_lowercase(), name);
    all.iter().filter(move |(pattern, _)| matches(pattern)).map(|(_, value)| value)
}

/// Built-in tools whose hints do not say what their results are.
fn builtin_labels(tool: &Tool) -> Option<ToolLabels> {
    if tool.source != SourceKind::Builtin {
        return None;
    }
    let labels = match tool.definition.name.as_str() {
        "list_files" | "read_file" | "search_files" => LabelSet::EMPTY.with(DataLabel::Private),
        // A page of an earlier result of any tool.
        "read_result" => LabelSet::UNKNOWN_READ,
        _ => return None,
    };
    Some(ToolLabels { labels, ..ToolLabels::default() })
}

/// What the definition says. The table is in `docs/data-flow.md`.
fn derived_labels(definition: &ToolDefinition) -> ToolLabels {
    let (hints, category) = (&definition.annotations, definition.category());
    let world = hints.open_world_hint;
    // The result of a write is a confirmation. A tool without any hint may be a read.
    let is_write = !hints.read_only_hint && definition.declares_effects();
    let is_private = match category {
        _ if is_write => false,
        Category::Productivity | Category::Communication => true,
        Category::Media | Category::Utility => false,
        // MCP's own examples: the world of a memory tool is closed, that of a web search is open.
        Category::Other => world != Some(true),
    };
    let is_untrusted =
        world.unwrap_or(!is_write && matches!(category, Category::Communication | Category::Other));
    let is_outward = match (hints.read_only_hint, world) {
        // A URL can carry data to any address.
        (true, Some(true)) => takes_url(definition),
        (true, _) => false,
        (false, Some(world)) => world,
        // MCP's default is an open world.
        (false, None) => definition.declares_write(),
    };
    let labels = LabelSet::EMPTY
        .with_if(DataLabel::Private, is_private)
        .with_if(DataLabel::Untrusted, is_untrusted)
        .with_if(DataLabel::Outward, is_outward);
    let implied_outward = !hints.read_only_hint && world.is_none() && !is_outward;
    ToolLabels { labels, implied_outward, ..ToolLabels::default() }
}

/// Whether an argument is a URL, by its name or format.
fn takes_url(definition: &ToolDefinition) -> bool {
    let schema = definition.input_schema();
    let is_url = |(name, property): (&String, &Value)| {
        let name = name.to_ascii_lowercase();
        ["url", "uri", "urls", "uris"].iter().any(|end| name.ends_with(end))
            || matches!(property.get("format").and_then(Value::as_str), Some("uri" | "url" | "iri"))
    };
    schema.get("properties").and_then(Value::as_object).is_some_and(|all| all.iter().any(is_url))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    /// The labels as one letter each; `i` for implied outward.
    fn derived(annotations: Value, category: &str, properties: Value) -> String {
        let definition = json!({ "name": "t", "description": "d", "annotations": annotations,
            "mentraExtensions": { "category": category },
            "inputSchema": { "type": "object", "properties": properties } });
        let labels = derived_labels(&ToolDefinition::parse(&to_raw(&definition), "t").unwrap());
        let mut text: String = labels.labels.iter().map(|label| &label.as_str()[..1]).collect();
        if labels.implied_outward {
            text.push('i');
        }
        text
    }

    #[test]
    fn labels_follow_from_annotations_and_category() {
        let (read, open, closed) = ("readOnlyHint", "openWorldHint", false);
        for (annotations, category, expected) in [
            (json!({}), "other", "pui"),
            (json!({}), "communication", "pui"),
            (json!({}), "productivity", "pi"),
            (json!({}), "utility", "i"),
            (json!({}), "media", "i"),
            (json!({ "title": "T" }), "other", "pui"),
            // A read.
            (json!({ read: true }), "other", "pu"),
            (json!({ read: true, open: true }), "other", "u"),
            (json!({ read: true, open: true }), "communication", "pu"),
            (json!({ read: true, open: closed }), "other", "p"),
            (json!({ read: true, open: closed }), "utility", ""),
            // A write.
            (json!({ read: false }), "other", "o"),
            (json!({ read: false, open: true }), "productivity", "uo"),
            (json!({ read: false, open: closed }), "other", ""),
            (json!({ "destructiveHint": true }), "other", "i"),
            (json!({ "destructiveHint": true, open: closed }), "communication", ""),
            (json!({ "idempotentHint": true, open: true }), "other", "uo"),
            // Read-only wins over a contradiction.
            (json!({ read: true, "destructiveHint": true }), "utility", ""),
        ] {
            assert_eq!(
                derived(annotations.clone(), category, json!({})),
                expected,
                "{annotations} {category}"
            );
        }
    }

    #[test]
    fn a_tool_that_fetches_any_url_can_send_data_out() {
        let hints = json!({ "readOnlyHint": true, "openWorldHint": true });
        for (properties, expected) in [
            (json!({ "url": {} }), "uo"),
            (json!({ "pageUrl": {} }), "uo"),
            (json!({ "target": { "format": "uri" } }), "uo"),
            (json!({ "query": {} }), "u"),
        ] {
            assert_eq!(derived(hints.clone(), "other", properties.clone()), expected, "{properties}");
        }
    }

    #[test]
    fn patterns_of_the_operator_add_up_and_ignore_case() {
        let labels = BTreeMap::from([
            ("com.mail:*".to_owned(), vec![DataLabel::Private]),
            ("*:Send_*".to_owned(), vec![DataLabel::Outward]),
            ("com.clock:*".to_owned(), Vec::new()),
        ]);
        let settings = LabelSettings { labels, ..LabelSettings::default() };
        let of = |name: &str| settings.operator_labels(name).map(|set| set.iter().collect::<Vec<_>>());
        assert_eq!(of("com.mail:send_mail"), Some(vec![DataLabel::Private, DataLabel::Outward]));
        assert_eq!(of("com.clock:now"), Some(Vec::new()), "no label is a setting too");
        assert_eq!(of("com.other:x"), None);
    }

    #[test]
    fn invalid_settings_are_named() {
        let labels = BTreeMap::from([("mail".to_owned(), Vec::new())]);
        let destinations = BTreeMap::from([("*:send".to_owned(), vec!["to".to_owned()])]);
        let settings = LabelSettings { labels, destinations, ..LabelSettings::default() };
        let paths: Vec<_> = settings.check().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["labels", "destinations"]);
        let many = (0..=MAX_LABEL_PATTERNS).map(|number| (format!("a:{number}"), Vec::new())).collect();
        assert_eq!(LabelSettings { labels: many, ..LabelSettings::default() }.check().len(), 1);
    }
}
