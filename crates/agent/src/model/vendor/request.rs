//! A request in `genai`'s terms.

use genai::chat::{
    Binary, ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ContentPart, JsonSpec, MessageContent,
    ReasoningEffort as Effort, Tool, ToolCall, ToolChoice as Choice, ToolName, ToolResponse,
};
use serde_json::{Value, json};
use toolyard_protocol::chat::sampling::{ReasoningEffort, ResponseFormat, SamplingParams};

use super::VendorKind;
use crate::{
    message::{AssistantMessage, FileData, ModelMessage, ToolAnswer, UserPart},
    model::{
        ModelRequest, ToolChoice,
        ids::WireIds,
        limits::{self, FitCache, LETTER_PREFIX, needs_prefix},
    },
};

/// Names that `genai` takes for the vendor's own tools. A tool with such a name is sent under another one.
const RESERVED: &[&str] =
    &["web_search", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"];

/// The suffix for such a name.
const OURS: &str = "__ours";

/// A tool's name as it is sent.
fn to_wire_name(kind: VendorKind, name: &str) -> String {
    if RESERVED.contains(&name) {
        format!("{name}{OURS}")
    } else if kind == VendorKind::Gemini && needs_prefix(name) {
        format!("{LETTER_PREFIX}{name}")
    } else {
        name.to_owned()
    }
}

/// The original name of a tool that was sent under this name.
pub(super) fn from_wire_name(kind: VendorKind, name: &str) -> &str {
    let name = name.strip_suffix(OURS).filter(|name| RESERVED.contains(name)).unwrap_or(name);
    name.strip_prefix(LETTER_PREFIX).filter(|_| kind == VendorKind::Gemini).unwrap_or(name)
}

/// The request to `model`, which we call `id`.
pub(super) fn chat_request(
    id: &str,
    model: &str,
    kind: VendorKind,
    fits: &FitCache,
    request: &ModelRequest,
) -> (ChatRequest, ChatOptions) {
    let fitted = limits::fit_tools(fits, kind.family(), id, &request.tools).tools;
    let tools: Vec<_> = fitted
        .iter()
        .map(|tool| {
            Tool::new(ToolName::Custom(to_wire_name(kind, &tool.name)))
                .with_description(tool.description.clone())
                .with_schema(tool.schema.clone())
        })
        .collect();
    let mut ids = WireIds::default();
    let messages =
        request.messages.iter().filter_map(|reply| chat_message(id, kind, reply, &mut ids)).collect();
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_reasoning_content(supports_thinking(kind, model));
    let mut chat = ChatRequest::new(messages);
    chat.system = request.system.clone();
    if !tools.is_empty() {
        chat.tools = Some(tools);
        options = match request.choice {
            ToolChoice::Auto => options,
            ToolChoice::Required => options.with_tool_choice(Choice::Required),
            ToolChoice::None => options.with_tool_choice(Choice::None),
        };
    }
    if let Some(most) = request.max_tokens {
        options = options.with_max_tokens(most);
    }
    if let Some(temperature) = request.temperature {
        options = options.with_temperature(temperature);
    }
    (chat, with_sampling(options, &request.sampling))
}

fn with_sampling(mut options: ChatOptions, sampling: &SamplingParams) -> ChatOptions {
    options.top_p = sampling.top_p;
    options.stop_sequences.clone_from(&sampling.stop);
    options.seed = sampling.seed.map(gemini_seed);
    options.reasoning_effort = sampling.reasoning_effort.map(|effort| match effort {
        ReasoningEffort::None => Effort::Zero,
        ReasoningEffort::Minimal => Effort::Minimal,
        ReasoningEffort::Low => Effort::Low,
        ReasoningEffort::Medium => Effort::Medium,
        ReasoningEffort::High => Effort::High,
        ReasoningEffort::XHigh => Effort::XHigh,
    });
    if let ResponseFormat::JsonSchema(format) = &sampling.format {
        let mut spec = JsonSpec::new(format.name.as_str(), format.schema.clone());
        spec.description.clone_from(&format.description);
        options.response_format = Some(ChatResponseFormat::JsonSpec(spec));
    }
    options
}

/// A seed for Gemini, the only vendor here that supports one: 32 bits. Of other seeds only the lowest bits are used.
fn gemini_seed(seed: i64) -> u64 {
    seed.cast_unsigned() & u64::from(i32::MAX.cast_unsigned())
}

/// Whether the model can return reasoning. Gemini rejects the option for models that cannot.
fn supports_thinking(kind: VendorKind, model: &str) -> bool {
    let old = |model: &str| model.starts_with("1.") || model.starts_with("2.0");
    match kind {
        VendorKind::Anthropic => true,
        VendorKind::Gemini => model.strip_prefix("gemini-").is_some_and(|version| !old(version)),
    }
}

fn chat_message(
    id: &str,
    kind: VendorKind,
    message: &ModelMessage,
    ids: &mut WireIds,
) -> Option<ChatMessage> {
    match message {
        ModelMessage::User(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| user_part(kind, part)).collect();
            Some(ChatMessage::user(MessageContent::from_parts(parts)))
        }
        ModelMessage::Assistant(reply) => {
            let parts = assistant_parts(id, kind, reply, ids);
            (!parts.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(parts)))
        }
        ModelMessage::Tools(answers) if answers.is_empty() => None,
        ModelMessage::Tools(answers) => {
            let parts: Vec<_> = answers.iter().map(|answer| tool_part(kind, answer, ids)).collect();
            Some(ChatMessage::tool(MessageContent::from_parts(parts)))
        }
    }
}

fn user_part(kind: VendorKind, part: &UserPart) -> ContentPart {
    let (media_type, data) = match part {
        UserPart::Text(text) => return ContentPart::Text(text.clone()),
        UserPart::File { media_type, data } => (media_type, data),
    };
    match data {
        FileData::Base64(data) => Binary::from_base64(media_type.as_str(), data.clone(), None).into(),
        // `genai` drops images that Anthropic should fetch.
        FileData::Url(url) if kind == VendorKind::Anthropic && media_type.starts_with("image/") => {
            ContentPart::from_custom(
                json!({ "type": "image", "source": { "type": "url", "url": url } }),
                None,
            )
        }
        FileData::Url(url) => Binary::from_url(media_type.as_str(), url.as_str(), None).into(),
    }
}

/// Reasoning first, then text, then calls: the order that vendors require.
fn assistant_parts(
    id: &str,
    kind: VendorKind,
    reply: &AssistantMessage,
    ids: &mut WireIds,
) -> Vec<ContentPart> {
    // Another model's signatures are not valid with this one.
    let state = reply.vendor_state.as_deref().filter(|state| state["model"] == id);
    let mut parts: Vec<ContentPart> =
        state.and_then(|state| serde_json::from_value(state["parts"].clone()).ok()).unwrap_or_default();
    if !reply.text.is_empty() {
        parts.push(ContentPart::Text(reply.text.clone()));
    }
    parts.extend(reply.calls.iter().map(|call| {
        let signatures =
            state.and_then(|state| serde_json::from_value(state["calls"][&call.id].clone()).ok());
        let arguments = serde_json::from_str(call.arguments.get()).unwrap_or_default();
        ContentPart::ToolCall(ToolCall {
            call_id: ids.assign_call_id(&call.id),
            fn_name: to_wire_name(kind, &call.name),
            fn_arguments: if matches!(arguments, Value::Object(_)) { arguments } else { json!({}) },
            thought_signatures: signatures,
        })
    }));
    // Reasoning alone is not a message.
    if reply.text.is_empty() && reply.calls.is_empty() { Vec::new() } else { parts }
}

fn tool_part(kind: VendorKind, answer: &ToolAnswer, ids: &WireIds) -> ContentPart {
    let id = ids.result_call_id(&answer.id);
    if kind == VendorKind::Anthropic && answer.is_error {
        let block =
            json!({ "type": "tool_result", "tool_use_id": id, "content": answer.text, "is_error": true });
        return ContentPart::from_custom(block, None);
    }
    ToolResponse::new(id, answer.text.as_str()).with_fn_name(to_wire_name(kind, &answer.name)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_vendors_tools_are_sent_as_others_and_come_back() {
        for kind in [VendorKind::Anthropic, VendorKind::Gemini] {
            for name in RESERVED {
                assert_ne!(to_wire_name(kind, name), *name);
                assert_eq!(from_wire_name(kind, &to_wire_name(kind, name)), *name);
            }
            assert_eq!(to_wire_name(kind, "todo__add"), "todo__add");
            assert_eq!(from_wire_name(kind, "todo__ours"), "todo__ours");
            for name in ["1st", "-x", "n__1st", "n__n__", "get-weather", "_x"] {
                assert_eq!(from_wire_name(kind, &to_wire_name(kind, name)), name);
            }
        }
        assert_eq!(to_wire_name(VendorKind::Gemini, "1st"), "n__1st");
        assert_eq!(to_wire_name(VendorKind::Anthropic, "1st"), "1st");
    }

    #[test]
    fn reasoning_is_requested_from_models_that_have_it() {
        for (model, want) in [
            ("gemini-2.5-flash", true),
            ("gemini-3-pro", true),
            ("gemini-2.0-flash", false),
            ("gemini-1.5-pro", false),
            ("gemma-3-27b", false),
        ] {
            assert_eq!(supports_thinking(VendorKind::Gemini, model), want, "{model}");
        }
    }
}
