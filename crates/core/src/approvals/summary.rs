//! What a person is asked: built from the definition and the arguments, never by a model.

use std::borrow::Cow;

use serde_json::Value;
use toolyard_protocol::{
    approval::{ApprovalSummary, RiskLevel, SummaryLine},
    text::truncate_chars,
    visible::strip_invisible,
};

use crate::Tool;

/// Arguments that are shown; a line says how many more there are.
const MAX_LINES: usize = 40;
/// Longest value, in characters. What is cut is counted, so that a long text cannot hide its end.
const MAX_VALUE_CHARS: usize = 400;
/// Longest label and title, in characters.
const MAX_LABEL_CHARS: usize = 80;

/// How much a wrong yes can cost.
pub(crate) fn assess_risk(tool: &Tool, from_rule: Option<RiskLevel>) -> RiskLevel {
    let hints = &tool.definition.annotations;
    let (destructive, outward) = (hints.destructive_hint == Some(true), hints.open_world_hint == Some(true));
    let own = match (destructive, outward) {
        (true, true) => RiskLevel::High,
        (false, false) if hints.read_only_hint => RiskLevel::Low,
        _ => RiskLevel::Medium,
    };
    from_rule.map_or(own, |risk| risk.max(own))
}

/// The question about one call.
pub(crate) fn summarize(tool: &Tool, arguments: &Value) -> ApprovalSummary {
    let schema = tool.definition.input_schema();
    let name = tool.definition.title.as_deref().unwrap_or(tool.definition.name.as_str());
    let app_name = Some(tool.app.record.details.name.as_str()).filter(|name| !name.trim().is_empty());
    let app = clean(app_name.unwrap_or(tool.name.package().as_str()));
    let mut lines = Vec::new();
    let members = arguments.as_object().into_iter().flatten();
    let total = arguments.as_object().map_or(0, serde_json::Map::len);
    for (member, value) in members.take(MAX_LINES) {
        let title = schema.pointer("/properties").and_then(|all| all.get(member)?.get("title")?.as_str());
        // The title comes from the app, so the real name stays visible.
        let label = match title {
            Some(title) if title != member => format!("{} ({})", clean(title), clean(member)),
            _ => clean(member),
        };
        lines.push(SummaryLine { label, value: show_value(value) });
    }
    if total > MAX_LINES {
        let value = format!("{} more arguments", total - MAX_LINES);
        lines.push(SummaryLine { label: "…".to_owned(), value });
    }
    ApprovalSummary { title: format!("{app}: {}", clean(name)), app, lines, warning: warning_for(tool) }
}

fn warning_for(tool: &Tool) -> Option<String> {
    let hints = &tool.definition.annotations;
    match (hints.destructive_hint, hints.open_world_hint) {
        (Some(true), Some(true)) => {
            Some("This cannot be undone, and it reaches others outside the app.".to_owned())
        }
        (Some(true), _) => Some("This can delete or overwrite something.".to_owned()),
        (_, Some(true)) => Some("This reaches others outside the app.".to_owned()),
        _ => None,
    }
}

fn clean(text: &str) -> String {
    let visible = strip_invisible(text);
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_chars(&line, MAX_LABEL_CHARS).into_owned()
}

/// A value as people read it: texts as they are, everything else as JSON.
fn show_value(value: &Value) -> String {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    // Cut first: an argument can be a megabyte.
    let Some((end, _)) = text.char_indices().nth(MAX_VALUE_CHARS) else { return reveal_invisible(&text) };
    format!("{}… ({} more characters)", reveal_invisible(&text[..end]), text[end..].chars().count())
}

/// Arguments are sent as they are, so what cannot be seen is shown as an escape instead of being removed.
fn reveal_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let mut buffer = [0; 4];
        let one = c.encode_utf8(&mut buffer);
        let is_hidden = c != '\n' && (c.is_control() || strip_invisible(one).is_empty());
        if is_hidden {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_they_are_sent() {
        assert_eq!(show_value(&json!("milk")), "milk");
        assert_eq!(show_value(&json!({ "a": [1, null] })), r#"{"a":[1,null]}"#);
        assert_eq!(show_value(&json!("a\u{202e}b\u{200b}c\u{7}")), r"a\u{202e}b\u{200b}c\u{7}");
        let long = show_value(&json!("x".repeat(MAX_VALUE_CHARS + 5)));
        assert!(long.ends_with("… (5 more characters)"), "{long}");
    }

    #[test]
    fn labels_are_one_short_line() {
        assert_eq!(clean("a\n\u{200b} b"), "a b");
        assert!(clean(&"x".repeat(500)).chars().count() <= MAX_LABEL_CHARS + 1);
    }
}
