//! Finds suspicious content in tool definitions. Offline, deterministic, in time linear to the size of a definition.
//!
//! Rules look for what a text asks of a model (a verb and its object), not for known payloads. Each finding names its place
//! and reason. A finding of at least [`FLAG_THRESHOLD`] means that a person should look before the tool is used; lower ones
//! are notes. A scanner of this kind finds what is written plainly, encoded or hidden; it cannot judge intent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod context;
mod encoded;
mod hidden;
mod names;
mod normalize;
mod parameters;
mod patterns;
mod promotion;
mod rules;
mod texts;

pub use context::{AppTool, scan_list};

/// Findings from this severity on need a person's review.
pub const FLAG_THRESHOLD: Severity = Severity::Medium;
/// Maximum number of findings for one definition.
pub const MAX_FINDINGS: usize = 64;

/// Kinds of pressure that together need a review.
const PRESSURE_KINDS: usize = 2;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A note: common in tools that mean well.
    Low,
    /// Review it before the tool is used.
    Medium,
    /// No honest definition needs this.
    High,
}

/// What kind of thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanRule {
    /// Asks the model to drop other instructions.
    InstructionOverride,
    /// Gives the model another role or removes its limits.
    RoleChange,
    /// Markup that imitates the structure of a prompt.
    PromptMarkup,
    /// Asks the model to keep something from the user.
    Concealment,
    /// Asks for files that hold secrets.
    SensitiveFile,
    /// Sends data to another place.
    Exfiltration,
    /// Changes how other tools are used.
    ToolHijack,
    /// Names a tool of another app and says what to do with it.
    CrossTool,
    /// Puts pressure on the model.
    Coercion,
    /// Asks to be preferred to other tools.
    Preference,
    /// Asks for the system prompt or other instructions.
    PromptDisclosure,
    /// Collects the conversation or the context of the model.
    ContextHarvest,
    /// Asks the model not to ask the user.
    ApprovalBypass,
    /// Asks the model to run commands.
    CommandPayload,
    /// Several notes about pressure in one definition.
    CombinedPressure,
    /// Characters that a person does not see.
    InvisibleText,
    /// Characters that change the direction of text.
    DirectionControl,
    /// Characters that control a terminal or have no meaning of their own.
    ControlCharacter,
    /// Encoded text that decodes to something suspicious.
    EncodedPayload,
    /// A name with letters of several scripts.
    MixedScriptName,
    /// A name that looks like the name of another app's tool.
    LookAlikeName,
    /// A copy of another app's tool.
    Imitation,
    /// More content than is scanned.
    TooLarge,
}

/// One suspicious place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanFinding {
    /// What kind of thing it is.
    pub rule: ScanRule,
    /// How much it matters.
    pub severity: Severity,
    /// JSON pointer of the text.
    pub pointer: String,
    /// Excerpt of the text, as the rule read it: normalized, invisible characters written out.
    pub excerpt: String,
    /// Why it is suspicious, for people.
    pub reason: String,
}

impl ScanFinding {
    /// Whether a person should review it.
    pub fn is_flag(&self) -> bool {
        self.severity >= FLAG_THRESHOLD
    }
}

/// Whether any finding needs a person's review.
pub fn needs_review(findings: &[ScanFinding]) -> bool {
    findings.iter().any(ScanFinding::is_flag)
}

/// Scans one definition on its own. [`scan_list`] also compares it with the tools of other apps.
pub fn scan_definition(definition: &Value) -> Vec<ScanFinding> {
    let (texts, complete) = texts::collect_texts(definition);
    let mut report = FindingList::default();
    for text in &texts {
        scan_place(text, &mut report);
    }
    parameters::scan_parameters(definition, &mut report);
    if !complete {
        let finding = (ScanRule::TooLarge, Severity::Medium, "the definition is larger than what is scanned");
        report.push(finding, "", "");
    }
    report.finish()
}

/// Scans a text that reaches the model outside of definitions, such as the instructions of a server.
pub fn scan_text(pointer: &str, text: &str) -> Vec<ScanFinding> {
    let end = text.floor_char_boundary(texts::MAX_TEXT_BYTES);
    let mut report = FindingList::default();
    let place =
        texts::PlacedText { pointer: pointer.to_owned(), kind: texts::TextKind::Prose, text: &text[..end] };
    scan_place(&place, &mut report);
    report.finish()
}

fn scan_place(place: &texts::PlacedText<'_>, report: &mut FindingList) {
    hidden::scan_characters(place, report);
    let plain = normalize::normalize(place.text);
    rules::scan_rules(place, &plain, report);
    promotion::scan_promotion(place, &plain, report);
    encoded::scan_encoded(place, report);
    if place.kind == texts::TextKind::ToolName {
        names::scan_name(place, report);
    }
}

/// Findings of one definition: one per rule, reason and place, the worst one.
#[derive(Debug, Default)]
struct FindingList {
    findings: Vec<ScanFinding>,
}

impl FindingList {
    fn push(&mut self, (rule, severity, reason): (ScanRule, Severity, &str), pointer: &str, excerpt: &str) {
        let pointer = crate::excerpt::excerpt(pointer);
        let known = self
            .findings
            .iter()
            .position(|known| known.rule == rule && known.pointer == pointer && known.reason == reason);
        let finding = ScanFinding {
            rule,
            severity,
            pointer,
            excerpt: crate::excerpt::excerpt(excerpt),
            reason: reason.to_owned(),
        };
        match known {
            Some(number) if self.findings[number].severity < severity => self.findings[number] = finding,
            Some(_) => {}
            None if self.findings.len() < MAX_FINDINGS => self.findings.push(finding),
            None => {
                // Notes make room for what matters.
                if let Some(note) = self.findings.iter_mut().find(|known| known.severity < severity) {
                    *note = finding;
                }
            }
        }
    }

    fn finish(mut self) -> Vec<ScanFinding> {
        self.add_combined_pressure();
        self.findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.pointer.cmp(&b.pointer)));
        self.findings
    }

    /// One kind of pressure is ordinary: tools often say when to call them. Several kinds in one definition are not.
    fn add_combined_pressure(&mut self) {
        let kind = |finding: &ScanFinding| match finding.rule {
            // "Always call this first" is both.
            ScanRule::ToolHijack | ScanRule::Preference => Some(0),
            ScanRule::Coercion => Some(1),
            ScanRule::ApprovalBypass => Some(2),
            ScanRule::Concealment => Some(3),
            ScanRule::PromptMarkup => Some(4),
            _ => None,
        };
        let kinds: BTreeMap<u8, &str> = self
            .findings
            .iter()
            .filter_map(|finding| Some((kind(finding)?, finding.reason.as_str())))
            .collect();
        if kinds.len() >= PRESSURE_KINDS && !needs_review(&self.findings) {
            let place = self.findings.first().map_or_else(String::new, |finding| finding.pointer.clone());
            let reasons = kinds.into_values().collect::<Vec<_>>().join("; ");
            let reason = format!("it puts pressure on the model in several ways: {reasons}");
            self.push((ScanRule::CombinedPressure, Severity::Medium, &reason), &place, "");
        }
    }
}

#[cfg(test)]
mod tests;
