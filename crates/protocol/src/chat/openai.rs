//! What OpenAI's clients send to `POST /v1/chat/completions`, and what they read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    FinishReason,
    client_tool::{ClientTool, RawClientTool},
    message::{ChatMessage, read_messages},
    read_body,
    request::MAX_MESSAGES,
};
use crate::problem::Problem;

/// The last event of a stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// A request for a completion.
#[derive(Debug)]
pub struct CompletionRequest {
    /// Which model; empty is the server's own choice.
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// What the caller runs itself.
    pub tools: Vec<ClientTool>,
    /// Whether a tool may, must or must not be called.
    pub choice: Choice,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Whether the stream ends with what it cost.
    pub include_usage: bool,
    /// Most tokens of the answer.
    pub max_tokens: Option<u32>,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
}

/// `tool_choice`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// As the model likes.
    #[default]
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    n: Option<u64>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl CompletionRequest {
    /// Reads a body, and names everything that is wrong with it.
    pub fn read(body: &[u8]) -> Result<Self, Vec<Problem>> {
        let body: Body = read_body(body)?;
        let mut problems = Vec::new();
        if body.messages.is_empty() {
            problems.push(Problem::new("messages", "missing or empty"));
        }
        if body.messages.len() > MAX_MESSAGES {
            problems.push(Problem::new("messages", format!("at most {MAX_MESSAGES}")));
        }
        if body.n.is_some_and(|n| n != 1) {
            problems.push(Problem::new("n", "only one answer at a time"));
        }
        if body.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            problems.push(Problem::new("temperature", "expected a number from 0 to 2"));
        }
        let (messages, more) = read_messages(&body.messages);
        problems.extend(more);
        let mut tools = Vec::new();
        for (index, tool) in body.tools.unwrap_or_default().into_iter().enumerate() {
            match read_tool(tool, &format!("tools[{index}]")) {
                Ok(tool) => tools.push(tool),
                Err(problem) => problems.push(problem),
            }
        }
        let choice = match body.tool_choice {
            None | Some(Value::Null) => Choice::Auto,
            Some(Value::String(word)) if word == "auto" => Choice::Auto,
            Some(Value::String(word)) if word == "required" => Choice::Required,
            Some(Value::String(word)) if word == "none" => Choice::None,
            // A tool by name: not every model can be told which, but all that one is wanted.
            Some(Value::Object(_)) => Choice::Required,
            Some(_) => {
                problems.push(Problem::new("tool_choice", "expected auto, required, none or a function"));
                Choice::Auto
            }
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            model: body.model.filter(|model| !model.is_empty()),
            messages,
            tools,
            choice,
            stream: body.stream.unwrap_or(false),
            include_usage: body.stream_options.is_some_and(|options| options.include_usage),
            max_tokens: body.max_completion_tokens.or(body.max_tokens),
            temperature: body.temperature,
        })
    }
}

fn read_tool(tool: Value, path: &str) -> Result<ClientTool, Problem> {
    if tool["type"] != "function" {
        return Err(Problem::new(format!("{path}.type"), "expected `function`"));
    }
    let function = tool.get("function").cloned().unwrap_or(Value::Null);
    let raw: RawClientTool = serde_json::from_value(function).map_err(|_| {
        Problem::new(format!("{path}.function"), "expected `name`, `description` and `parameters`")
    })?;
    raw.read(&format!("{path}.function"))
}

/// One event of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionChunk<'a> {
    /// The same for all events of an answer.
    pub id: &'a str,
    /// `chat.completion.chunk`
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: i64,
    /// The model.
    pub model: &'a str,
    /// One, or none in the event with the usage.
    pub choices: Vec<ChunkChoice>,
    /// What it cost, in an event of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<CompletionUsage>,
}

/// What an event adds.
#[derive(Debug, Clone, Serialize)]
pub struct ChunkChoice {
    /// Always 0.
    pub index: u32,
    /// What is added.
    pub delta: Delta,
    /// Why it ends, in the last one.
    pub finish_reason: Option<&'static str>,
}

/// What is added.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Delta {
    /// In the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CalledTool>,
}

/// A call that the caller runs.
#[derive(Debug, Clone, Serialize)]
pub struct CalledTool {
    /// Its place, in a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Ties the answer to it.
    pub id: String,
    /// `function`
    pub r#type: &'static str,
    /// What is called.
    pub function: CalledFunction,
}

/// What is called.
#[derive(Debug, Clone, Serialize)]
pub struct CalledFunction {
    /// Its name.
    pub name: String,
    /// JSON, as a text.
    pub arguments: String,
}

/// An answer in one piece.
#[derive(Debug, Clone, Serialize)]
pub struct Completion<'a> {
    /// Its id.
    pub id: &'a str,
    /// `chat.completion`
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: i64,
    /// The model.
    pub model: &'a str,
    /// One.
    pub choices: Vec<CompletionChoice>,
    /// What it cost.
    pub usage: CompletionUsage,
}

/// The answer.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionChoice {
    /// Always 0.
    pub index: u32,
    /// What is said.
    pub message: CompletionMessage,
    /// Why it ended.
    pub finish_reason: &'static str,
}

/// What is said.
#[derive(Debug, Clone, Serialize)]
pub struct CompletionMessage {
    /// `assistant`
    pub role: &'static str,
    /// Words; null where there are none.
    pub content: Option<String>,
    /// Calls that the caller runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<CalledTool>,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CompletionUsage {
    /// Tokens that the model read.
    pub prompt_tokens: u64,
    /// Tokens that it wrote.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

impl CompletionUsage {
    /// Of these tokens.
    pub const fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens.saturating_add(completion_tokens),
        }
    }
}

/// Why an answer ended, in OpenAI's words.
pub const fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::Error | FinishReason::Other => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ToolCalls => "tool_calls",
    }
}

/// An error as OpenAI's clients read it.
#[derive(Debug, Clone, Serialize)]
pub struct OpenAiError {
    /// What went wrong.
    pub error: OpenAiErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, Serialize)]
pub struct OpenAiErrorBody {
    /// For people.
    pub message: String,
    /// `invalid_request_error`, `authentication_error`, `rate_limit_error`, `server_error`
    pub r#type: &'static str,
    /// Where.
    pub param: Option<String>,
    /// A code.
    pub code: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_read() {
        let body = json!({ "model": "m", "messages": [{ "role": "developer", "content": "Be brief." }, { "role": "user", "content": "hi" }],
            "tools": [{ "type": "function", "function": { "name": "f", "parameters": { "type": "object" } } }], "tool_choice": "required",
            "stream": true, "stream_options": { "include_usage": true }, "max_completion_tokens": 9, "max_tokens": 5, "seed": 1 });
        let request = CompletionRequest::read(body.to_string().as_bytes()).unwrap();
        assert_eq!((request.tools[0].name.as_str(), request.choice), ("f", Choice::Required));
        assert_eq!((request.stream, request.include_usage, request.max_tokens), (true, true, Some(9)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let body = json!({ "messages": [], "n": 2, "temperature": 3, "tools": [{ "type": "web_search" }, { "type": "function" }], "tool_choice": 5 });
        let problems = CompletionRequest::read(body.to_string().as_bytes()).unwrap_err();
        let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            problems,
            [
                "messages: missing or empty",
                "n: only one answer at a time",
                "temperature: expected a number from 0 to 2",
                "tools[0].type: expected `function`",
                "tools[1].function: expected `name`, `description` and `parameters`",
                "tool_choice: expected auto, required, none or a function",
            ]
        );
    }
}
