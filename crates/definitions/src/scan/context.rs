//! Compares tools with those of other apps: copies, look-alike names, instructions about tools that belong to others.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use regex::bytes::Regex;
use serde_json::Value;

use super::{
    FindingList, ScanFinding, ScanRule, Severity,
    names::{name_skeleton, name_style},
    normalize::normalize,
    rules, scan_definition,
};
use crate::sketch::{SketchIndex, TextSketch};

/// Maximum number of tools compared; the rest are scanned on their own.
const MAX_CONTEXT_TOOLS: usize = 20_000;
/// Shortest description that can be copied. Short ones are alike by chance.
const MIN_COPIED_WORDS: usize = 5;
/// From this similarity on, a description is a copy.
const COPY_SIMILARITY: f64 = 0.8;
/// With the same name, less is enough.
const COPY_WITH_NAME: f64 = 0.5;
/// Shortest name that says whose tool it is. Shorter ones, and single words, are common words in descriptions.
const MIN_OWN_NAME: usize = 6;

/// How far from a name the words are that make it an instruction, in bytes.
const DIRECTIVE_REACH: usize = 40;

static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    rules::compile(
        r"\b(?:call|invoke|use|run|execute|trigger|redirect|replaces?|overrides?|instead of|must|always|when using|whenever)\b",
    )
});

/// A tool and the app that offers it.
#[derive(Debug, Clone, Copy)]
pub struct AppTool<'t> {
    /// The app, or the upstream server.
    pub app: &'t str,
    /// The definition.
    pub definition: &'t Value,
}

impl<'t> AppTool<'t> {
    fn name(&self) -> &'t str {
        self.definition.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    fn description(&self) -> &'t str {
        self.definition.get("description").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Scans each tool of `tools`, also against `others`: tools that the user already has. Tools of the same app are never
/// compared with each other. Returns the findings of each tool in order.
pub fn scan_list(tools: &[AppTool<'_>], others: &[AppTool<'_>]) -> Vec<Vec<ScanFinding>> {
    let known = KnownTools::new(others);
    let own = tools.iter().map(|tool| (tool.app, tool.name().to_lowercase())).collect();
    tools
        .iter()
        .map(|tool| {
            let mut report = FindingList { findings: scan_definition(tool.definition) };
            known.compare_names(tool, &mut report);
            known.find_copy(tool, &mut report);
            known.find_references(tool, &own, &mut report);
            report.finish()
        })
        .collect()
}

/// What the user already has, by what is looked up.
struct KnownTools<'t> {
    tools: Vec<AppTool<'t>>,
    by_skeleton: HashMap<String, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
    descriptions: SketchIndex,
}

impl<'t> KnownTools<'t> {
    fn new(others: &[AppTool<'t>]) -> Self {
        let mut known = Self {
            tools: others.iter().take(MAX_CONTEXT_TOOLS).copied().collect(),
            by_skeleton: HashMap::new(),
            by_name: HashMap::new(),
            descriptions: SketchIndex::default(),
        };
        for (number, tool) in known.tools.iter().enumerate() {
            known.by_skeleton.entry(name_skeleton(tool.name())).or_default().push(number);
            known.by_name.entry(tool.name().to_lowercase()).or_default().push(number);
            known.descriptions.insert(TextSketch::from_text(tool.description()));
        }
        known
    }

    /// A name that reads differently but looks the same.
    fn compare_names(&self, tool: &AppTool<'_>, report: &mut FindingList) {
        let same = self.by_skeleton.get(&name_skeleton(tool.name())).into_iter().flatten();
        let style = name_style(tool.name());
        let look_alike = same
            .map(|number| self.tools[*number])
            .find(|other| other.app != tool.app && name_style(other.name()) != style);
        if let Some(other) = look_alike {
            let reason = format!("the name looks like `{}` of {}", other.name(), other.app);
            report.push((ScanRule::LookAlikeName, Severity::High, &reason), "/name", tool.name());
        }
    }

    /// A description that is taken from another app.
    fn find_copy(&self, tool: &AppTool<'_>, report: &mut FindingList) {
        let description = tool.description();
        let is_short = description.split_whitespace().count() < MIN_COPIED_WORDS;
        let sketch = TextSketch::from_text(description);
        let Some((number, similarity)) =
            self.descriptions.nearest(&sketch, |number| self.tools[number].app != tool.app)
        else {
            return;
        };
        let other = self.tools[number];
        let has_name = name_style(other.name()) == name_style(tool.name());
        let is_copy =
            if has_name { similarity >= COPY_WITH_NAME } else { similarity >= COPY_SIMILARITY && !is_short };
        if is_copy {
            let reason = format!("it imitates `{}` of {}", other.name(), other.app);
            report.push((ScanRule::Imitation, Severity::Medium, &reason), "/description", description);
        }
    }

    /// Instructions about a tool that belongs to another app.
    fn find_references(&self, tool: &AppTool<'_>, own: &HashSet<(&str, String)>, report: &mut FindingList) {
        let plain = normalize(tool.description());
        let mut at = 0;
        for word in plain.split_inclusive(|char: char| !is_name_character(char)) {
            let start = at;
            at += word.len();
            let name = word
                .trim_end_matches(|char: char| !is_name_character(char))
                .trim_end_matches(['.', ':', '-']);
            if name.len() < MIN_OWN_NAME || !name.contains(['_', '-', '.', ':']) {
                continue;
            }
            let owners = || self.by_name.get(name).into_iter().flatten().map(|number| self.tools[*number]);
            let is_own =
                own.contains(&(tool.app, name.to_owned())) || owners().any(|owner| owner.app == tool.app);
            let Some(owner) = owners().next().filter(|_| !is_own) else { continue };
            let from = plain.floor_char_boundary(start.saturating_sub(DIRECTIVE_REACH));
            let to = plain.ceil_char_boundary((start + name.len() + DIRECTIVE_REACH).min(plain.len()));
            // The same word as a noun, or in a list of related tools, asks for nothing.
            let severity = if DIRECTIVE.is_match(&plain.as_bytes()[from..to]) {
                Severity::Medium
            } else {
                Severity::Low
            };
            let reason = format!("it speaks of `{}`, which belongs to {}", owner.name(), owner.app);
            report.push((ScanRule::CrossTool, severity, &reason), "/description", &plain[from..]);
        }
    }
}

fn is_name_character(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | ':')
}
