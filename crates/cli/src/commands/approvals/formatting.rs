//! Approvals as text.

use toolyard_protocol::approval::{ApprovalAnswer, ApprovalInfo, ApprovalSummary};

use crate::text;

/// What a person is asked, with all arguments. Values can have several lines; a mark shows where each one belongs, so that
/// a value cannot look like another argument.
pub(crate) fn format_summary(summary: &ApprovalSummary) -> String {
    let mut lines = vec![text::sanitize_line(&summary.title)];
    for line in &summary.lines {
        let mut value = line.value.split('\n').map(text::sanitize_line);
        let first = value.next().unwrap_or_default();
        lines.push(format!("  {}: {first}", text::sanitize_line(&line.label)));
        lines.extend(value.map(|more| format!("    | {more}")));
    }
    lines.extend(summary.warning.as_ref().map(|warning| format!("  ! {}", text::sanitize_line(warning))));
    lines.join("\n")
}

/// The question, who asks, and until when.
pub(crate) fn format_question(info: &ApprovalInfo) -> String {
    let requester = &info.requester;
    let client = match (&requester.connected, &requester.client) {
        (Some(connected), _) => format!(", {} at {}", connected.name, connected.host),
        (None, Some(client)) => format!(", {client}"),
        (None, None) => String::new(),
    };
    let about = format!(
        "{}, {} risk, asked by {} ({}{client}), until {}",
        info.tool,
        info.risk.as_str(),
        requester.caller,
        requester.door,
        info.expires_at
    );
    format!("{}\n  {}", format_summary(&info.summary), text::sanitize_line(&about))
}

/// `denied on console by ada@example.com: keep that one`, or only the state.
pub(crate) fn format_state(info: &ApprovalInfo) -> String {
    let Some(answer) = &info.answer else { return info.state.as_str().to_owned() };
    let word = match answer.answer {
        ApprovalAnswer::Approve => "approved",
        ApprovalAnswer::Deny => "denied",
    };
    let note = answer.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let state =
        if info.state.as_str() == word { String::new() } else { format!(", {}", info.state.as_str()) };
    text::sanitize_line(&format!("{word} on {} by {}{state}{note}", answer.surface.as_str(), answer.by))
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::approval::SummaryLine;

    use super::*;

    #[test]
    fn a_value_cannot_look_like_another_argument() {
        let line =
            |label: &str, value: &str| SummaryLine { label: label.to_owned(), value: value.to_owned() };
        let summary = ApprovalSummary {
            title: "Bank: Pay".to_owned(),
            app: "Bank".to_owned(),
            lines: vec![line("note", "hi\n  amount: 1\u{1b}[2J"), line("amount", "900")],
            warning: Some("This cannot be undone.".to_owned()),
        };
        let expected =
            "Bank: Pay\n  note: hi\n    |   amount: 1 [2J\n  amount: 900\n  ! This cannot be undone.";
        assert_eq!(format_summary(&summary), expected);
    }
}
