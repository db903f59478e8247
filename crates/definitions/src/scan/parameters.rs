//! Parameters that collect what the tool does not need: the conversation, the system prompt, other tools.

use std::sync::LazyLock;

use regex::bytes::Regex;
use serde_json::Value;

use super::{FindingList, ScanRule, Severity, normalize::normalize, rules};

/// Maximum number of parameters that are looked at.
const MAX_PARAMETERS: usize = 500;

/// Names of parameters that ask for the model's own context.
static HARVEST_NAME: LazyLock<Regex> = LazyLock::new(|| {
    rules::compile(concat!(
        r"^(?:side ?notes?|(?:full |entire |complete |all |user |raw )?(?:conversation|chat|dialog|dialogue|message|prompt) (?:history|context|log|dump|transcript|so far)",
        r"|(?:full|entire|complete|raw|whole|model|llm|hidden) (?:conversation|context|chat|prompt)|(?:your |current |llm |model |full )?system (?:prompt|message|instructions?)(?: dump)?",
        r"|chain of thought|(?:all |previous |prior )?tool (?:calls?|list|call history|results?|outputs?)(?: history)?|tools list|available tools|(?:all |previous |prior )messages",
        r"|(?:user |all )?(?:secrets?|credentials?) (?:dump|context)|env(?:ironment)? (?:dump|vars? dump)|analysis every .*|every .*tool call.*|previous tool calls?|assistant (?:context|memory|instructions?))$",
    ))
});

/// Tools for which such a parameter is their purpose.
static HARVEST_PURPOSE: LazyLock<Regex> = LazyLock::new(|| {
    rules::compile(concat!(
        r"\b(?:llm|language model|chat|conversation|prompt|agent|assistant|model|completion|memor(?:y|ies)|context|message|summar|persona|generat|dialog|ai\b|session",
        r"|thought|reason|think|history|inference|gpt|claude|gemini|ollama|speech|voice|bot|trace|eval|call|transcript|log|monitor|train|embedding|subagent|task|setting|config)",
    ))
});

/// What a description of such a parameter demands.
static HARVEST_DEMAND: LazyLock<Regex> = LazyLock::new(|| {
    rules::compile(concat!(
        r"\b(?:your|verbatim|the (?:assistant|model|agent|llm)'s own|this conversation|current conversation with the user|everything|all (?:previous|prior|available)",
        r"|full system prompt|always (?:include|fill|provide)|must (?:include|contain|be filled)|user's (?:secrets|credentials|private))\b",
    ))
});

/// Looks at the parameters of the input schema.
pub(super) fn scan_parameters(definition: &Value, report: &mut FindingList) {
    let Some(Value::Object(parameters)) = definition.pointer("/inputSchema/properties") else { return };
    let about = |member: &str| definition.get(member).and_then(Value::as_str).unwrap_or_default();
    let purpose = normalize(&format!("{} {}", about("name").replace(['_', '-'], " "), about("description")));
    let is_purpose = HARVEST_PURPOSE.is_match(purpose.as_bytes());
    for (name, schema) in parameters.iter().take(MAX_PARAMETERS) {
        let words = split_name(name);
        if !HARVEST_NAME.is_match(words.as_bytes()) {
            continue;
        }
        let description = normalize(schema.get("description").and_then(Value::as_str).unwrap_or_default());
        let is_side_note = words.starts_with("side");
        if is_side_note || !is_purpose || HARVEST_DEMAND.is_match(description.as_bytes()) {
            let pointer = format!("/inputSchema/properties/{}", name.replace('~', "~0").replace('/', "~1"));
            let reason = "the parameter collects context of the model that the tool does not need";
            report.push((ScanRule::ContextHarvest, Severity::Medium, reason), &pointer, name);
        }
    }
}

/// `conversationHistory` and `conversation_history` as words.
fn split_name(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut last_lower = false;
    for char in name.chars() {
        if char.is_uppercase() && last_lower {
            words.push(' ');
        }
        last_lower = char.is_lowercase();
        words.extend(if matches!(char, '_' | '-' | '.') { ' ' } else { char }.to_lowercase());
    }
    words
}
