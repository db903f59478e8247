//! Elicitations about approvals: the modes of a client, the question, and the client's answer.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use toolyard_core::executor::AwaitedApproval;
use toolyard_protocol::{
    ApprovalId,
    approval::{ApprovalAnswer, ApprovalSummary},
    mcp::{McpRevision, method},
    raw::{RawFields, to_raw},
    text::truncate_chars,
};

use super::client::McpClientContext;

/// The key of the question in the `inputRequests` of a call.
pub(super) const QUESTION: &str = "approval";
/// Longest message beside a link, in characters. The page shows everything.
const MAX_MESSAGE_CHARS: usize = 500;
/// Longest message of a form, in characters. What is longer is answered on the page, because a form must show everything.
const MAX_FORM_CHARS: usize = 2_000;
/// The member that names the elicitation of a session.
const ELICITATION_ID: &str = "elicitationId";

/// How a client asks the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ElicitationMode {
    /// It opens the approvals page.
    Url,
    /// It shows a form and sends the answer.
    Form,
}

impl ElicitationMode {
    /// Whether the client supports it.
    pub(super) fn is_supported(self, client: &McpClientContext) -> bool {
        let since = match self {
            Self::Url => McpRevision::V2025_11_25,
            Self::Form => McpRevision::V2025_06_18,
        };
        let declared = client.declared.as_deref().map(|raw| serde_json::from_str::<RawFields>(raw.get()));
        let Some(Ok(declared)) = declared else { return false };
        let Some(Ok(modes)) = declared.parse_field::<RawFields>("elicitation") else { return false };
        let is_declared = match self {
            Self::Url => modes.get("url").is_some(),
            // Declaring no mode means forms.
            Self::Form => modes.get("form").is_some() || modes.get("url").is_none(),
        };
        is_declared && client.revision >= since
    }

    /// The params of `elicitation/create`.
    pub(super) fn question_params(self, awaited: &AwaitedApproval, revision: McpRevision) -> Box<RawValue> {
        let message = question_text(&awaited.summary);
        match self {
            Self::Url => page_params(&message, &awaited.url, awaited.id.as_str(), revision),
            // Without a default, so that no client says yes by filling in defaults.
            Self::Form => to_raw(&json!({ "message": message, "requestedSchema": {
                "type": "object",
                "properties": {
                    "answer": { "type": "string", "title": "Allow this call?", "enum": ["yes", "no"] },
                },
                "required": ["answer"],
            } })),
        }
    }

    /// The `inputRequests` of a modern result.
    pub(super) fn input_requests(
        self,
        key: &str,
        awaited: &AwaitedApproval,
        revision: McpRevision,
    ) -> Box<RawValue> {
        let params = self.question_params(awaited, revision);
        to_raw(&json!({ key: { "method": method::ELICIT, "params": params } }))
    }
}

/// The params of an `elicitation/create` that asks the client to open a page.
pub(super) fn page_params(message: &str, url: &str, id: &str, revision: McpRevision) -> Box<RawValue> {
    let message = truncate_chars(message, MAX_MESSAGE_CHARS);
    let mut params = json!({ "mode": "url", "message": message, "url": url });
    if !revision.is_modern() {
        params[ELICITATION_ID] = id.into();
    }
    to_raw(&params)
}

/// The params of the notification that the user is done with a page.
pub(super) fn page_complete(page: &RawValue) -> Box<RawValue> {
    let page: RawFields = serde_json::from_str(page.get()).unwrap_or_default();
    to_raw(&json!({ ELICITATION_ID: page.get(ELICITATION_ID) }))
}

/// An approval that a modern client was asked for. Part of the sealed state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AskedApproval {
    pub(super) id: ApprovalId,
    pub(super) mode: ElicitationMode,
    /// Whether the client has answered, so that only the user's answer is missing.
    pub(super) is_answered: bool,
}

/// What a client answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElicitationAnswer {
    /// The page is open, or the form was sent, with this answer if it is readable.
    Accepted(Option<ApprovalAnswer>),
    /// Declined or dismissed.
    Refused,
}

impl ElicitationAnswer {
    /// The answer in the result of `elicitation/create`.
    pub(super) fn from_result(result: &RawValue) -> Option<Self> {
        let result: Value = serde_json::from_str(result.get()).ok()?;
        match result["action"].as_str()? {
            "accept" => Some(Self::Accepted(match result["content"]["answer"].as_str() {
                Some("yes") => Some(ApprovalAnswer::Approve),
                Some("no") => Some(ApprovalAnswer::Deny),
                _ => None,
            })),
            "decline" | "cancel" => Some(Self::Refused),
            _ => None,
        }
    }

    /// The answer in `inputResponses` under this key.
    pub(super) fn from_responses(key: &str, responses: Option<&RawValue>) -> Option<Self> {
        let responses: RawFields = serde_json::from_str(responses?.get()).ok()?;
        Self::from_result(responses.get(key)?)
    }
}

/// Whether a form can show the whole question.
pub(super) fn fits_form(summary: &ApprovalSummary) -> bool {
    question_text(summary).chars().count() <= MAX_FORM_CHARS
}

/// The question in one line, so that no argument can look like a text of the platform.
fn question_text(summary: &ApprovalSummary) -> String {
    let lines: Vec<_> = summary
        .lines
        .iter()
        .map(|line| format!("{}: {}", line.label, line.value.replace('\n', "\\n")))
        .collect();
    let arguments = if lines.is_empty() { String::new() } else { format!(" {}.", lines.join("; ")) };
    let warning = summary.warning.as_ref().map(|text| format!(" {text}")).unwrap_or_default();
    format!("Allow this call? {}.{arguments}{warning}", summary.title)
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::approval::SummaryLine;

    use super::*;

    #[test]
    fn a_question_is_one_line_with_every_argument() {
        let line =
            |label: &str, value: &str| SummaryLine { label: label.to_owned(), value: value.to_owned() };
        let mut summary = ApprovalSummary {
            title: "Notes: Delete".to_owned(),
            app: "Notes".to_owned(),
            lines: vec![line("id", "milk\nAllowed."), line("all", "false")],
            warning: Some("This can delete something.".to_owned()),
        };
        assert_eq!(
            question_text(&summary),
            "Allow this call? Notes: Delete. id: milk\\nAllowed.; all: false. This can delete something."
        );
        assert!(fits_form(&summary));
        summary.lines.push(line("text", &"x".repeat(MAX_FORM_CHARS)));
        assert!(!fits_form(&summary));
    }

    #[test]
    fn only_a_complete_answer_is_a_yes() {
        let read = |result: Value| ElicitationAnswer::from_result(&to_raw(&result));
        let yes = Some(ElicitationAnswer::Accepted(Some(ApprovalAnswer::Approve)));
        assert_eq!(read(json!({ "action": "accept", "content": { "answer": "yes" } })), yes);
        for content in [json!({}), json!({ "answer": true }), json!({ "answer": "Yes!" }), json!(null)] {
            let read = read(json!({ "action": "accept", "content": content }));
            assert_eq!(read, Some(ElicitationAnswer::Accepted(None)), "{content}");
        }
        for action in ["decline", "cancel"] {
            let read = read(json!({ "action": action, "content": { "answer": "yes" } }));
            assert_eq!(read, Some(ElicitationAnswer::Refused));
        }
        for other in [json!({}), json!([]), json!({ "action": "approve" }), json!("accept")] {
            assert_eq!(read(other), None);
        }
    }
}
