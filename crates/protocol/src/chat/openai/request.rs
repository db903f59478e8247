//! A request for a completion.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ToolSelection, params};
use crate::{
    chat::{
        client_tool::{ClientTool, RawClientTool},
        message::{ChatMessage, parse_messages},
        read_body, read_fields,
        request::MAX_MESSAGES,
        sampling::{self, SamplingParams},
    },
    problem::Problem,
};

/// A request for a completion.
#[derive(Debug)]
pub struct CompletionRequest {
    /// The model; `None` is the server's default.
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// Client tools.
    pub tools: Vec<ClientTool>,
    /// Whether tools may be called, and which.
    pub selection: ToolSelection,
    /// Whether the response is streamed.
    pub stream: bool,
    /// Whether the stream ends with the token usage.
    pub include_usage: bool,
    /// Maximum number of tokens in the response.
    pub max_tokens: Option<u32>,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
    /// Sampling and output format.
    pub sampling: SamplingParams,
}

#[derive(Deserialize)]
struct CompletionBody {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

impl CompletionRequest {
    /// Parses a body and reports every problem.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Problem>> {
        let fields: Map<String, Value> = read_body(body)?;
        let mut problems = params::unsupported_problems(&fields, params::UNSUPPORTED);
        let mut note = ProblemCollector(&mut problems);
        let selection = note.or_default(ToolSelection::parse(fields.get("tool_choice")));
        let temperature =
            note.or_default(sampling::parse_number(fields.get("temperature"), "temperature", 0.0, 2.0));
        let mut sampling = parse_sampling(&fields, &mut note);
        let body: CompletionBody = read_fields(fields)?;
        sampling.parallel_calls = body.parallel_tool_calls;
        if body.messages.is_empty() {
            problems.push(Problem::new("messages", "missing or empty"));
        }
        if body.messages.len() > MAX_MESSAGES {
            problems.push(Problem::new("messages", format!("at most {MAX_MESSAGES}")));
        }
        let (messages, more) = parse_messages(&body.messages);
        problems.extend(more);
        let mut tools = Vec::new();
        for (index, tool) in body.tools.unwrap_or_default().into_iter().enumerate() {
            match parse_tool(tool, &format!("tools[{index}]")) {
                Ok(tool) => tools.push(tool),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            model: body.model.filter(|model| !model.is_empty()),
            messages,
            tools,
            selection,
            stream: body.stream.unwrap_or(false),
            include_usage: body.stream_options.and_then(|options| options.include_usage).unwrap_or(false),
            max_tokens: body.max_completion_tokens.or(body.max_tokens),
            temperature,
            sampling,
        })
    }
}

/// Collects problems and continues with the default.
struct ProblemCollector<'a>(&'a mut Vec<Problem>);

impl ProblemCollector<'_> {
    fn or_default<T: Default>(&mut self, read: Result<T, Problem>) -> T {
        read.unwrap_or_else(|problem| {
            self.0.push(problem);
            T::default()
        })
    }
}

fn parse_sampling(fields: &Map<String, Value>, note: &mut ProblemCollector<'_>) -> SamplingParams {
    let field = |name: &str| fields.get(name);
    let penalty = |name: &str| sampling::parse_number(fields.get(name), name, -2.0, 2.0);
    SamplingParams {
        top_p: note.or_default(sampling::parse_number(field("top_p"), "top_p", 0.0, 1.0)),
        stop: note.or_default(sampling::parse_stops(field("stop"), "stop")),
        seed: note.or_default(sampling::parse_seed(field("seed"), "seed")),
        frequency_penalty: note.or_default(penalty("frequency_penalty")),
        presence_penalty: note.or_default(penalty("presence_penalty")),
        reasoning_effort: note
            .or_default(sampling::parse_effort(field("reasoning_effort"), "reasoning_effort")),
        format: note.or_default(sampling::parse_format(
            field("response_format"),
            "response_format",
            Some("json_schema"),
        )),
        parallel_calls: None,
    }
}

fn parse_tool(tool: Value, path: &str) -> Result<ClientTool, Problem> {
    if tool["type"] != "function" {
        return Err(Problem::new(format!("{path}.type"), "expected `function`"));
    }
    let function = tool.get("function").cloned().unwrap_or(Value::Null);
    let raw: RawClientTool = serde_json::from_value(function).map_err(|_| {
        Problem::new(format!("{path}.function"), "expected `name`, `description` and `parameters`")
    })?;
    raw.into_client_tool(&format!("{path}.function"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chat::{
        openai::ToolChoiceMode,
        sampling::{ReasoningEffort, ResponseFormat},
    };

    fn read(body: &Value) -> Result<CompletionRequest, Vec<String>> {
        CompletionRequest::parse(body.to_string().as_bytes())
            .map_err(|problems| problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn a_request_is_read() {
        let body = json!({ "model": "m", "messages": [{ "role": "developer", "content": "Be brief." }, { "role": "user", "content": "hi" }],
            "tools": [{ "type": "function", "function": { "name": "f", "parameters": { "type": "object" } } }], "tool_choice": "required",
            "stream": true, "stream_options": { "include_usage": true }, "max_completion_tokens": 9, "max_tokens": 5, "seed": 1,
            "top_p": 0.5, "stop": "END", "reasoning_effort": "low", "frequency_penalty": -1, "presence_penalty": 1,
            "parallel_tool_calls": false, "temperature": 0.25,
            "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": { "type": "object" }, "strict": true } } });
        let request = read(&body).unwrap();
        assert_eq!(
            (request.tools[0].name.as_str(), request.selection.choice),
            ("f", ToolChoiceMode::Required)
        );
        assert_eq!((request.stream, request.include_usage, request.max_tokens), (true, true, Some(9)));
        let sampling = request.sampling;
        assert_eq!(
            (sampling.top_p, sampling.stop.as_slice(), sampling.seed),
            (Some(0.5), &["END".to_owned()][..], Some(1))
        );
        assert_eq!((sampling.frequency_penalty, sampling.presence_penalty), (Some(-1.0), Some(1.0)));
        assert_eq!(
            (sampling.reasoning_effort, sampling.parallel_calls),
            (Some(ReasoningEffort::Low), Some(false))
        );
        assert!(
            matches!(&sampling.format, ResponseFormat::JsonSchema(format) if format.strict == Some(true))
        );
        assert_eq!(request.temperature, Some(0.25));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let body = json!({ "messages": [], "n": 2, "temperature": 3, "tools": [{ "type": "web_search" }, { "type": "function" }], "tool_choice": 5 });
        assert_eq!(
            read(&body).unwrap_err(),
            [
                "n: not supported: only one response per request; leave it out",
                "tool_choice: expected auto, required, none or a function",
                "temperature: expected a number from 0 to 2",
                "messages: missing or empty",
                "tools[0].type: expected `function`",
                "tools[1].function: expected `name`, `description` and `parameters`",
            ]
        );
        let wrong = |more: Value| {
            let mut body = json!({ "messages": [{ "role": "user", "content": "hi" }] });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(&body).unwrap_err().join("; ")
        };
        for (more, path) in [
            (json!({ "top_p": 2 }), "top_p: "),
            (json!({ "stop": ["a", "b", "c", "d", "e"] }), "stop: "),
            (json!({ "stop": "" }), "stop: "),
            (json!({ "stop": "x".repeat(sampling::MAX_STOP_CHARS + 1) }), "stop: "),
            (json!({ "seed": 1.5 }), "seed: "),
            (json!({ "presence_penalty": 3 }), "presence_penalty: "),
            (json!({ "reasoning_effort": "huge" }), "reasoning_effort: expected one of none, minimal"),
            (json!({ "response_format": "json" }), "response_format.type: "),
            (json!({ "response_format": { "type": "json_schema" } }), "response_format.json_schema.name: "),
            (
                json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "x" } } }),
                "response_format.json_schema.schema: ",
            ),
            (json!({ "stream": "yes" }), "stream: "),
            (json!({ "max_tokens": -1 }), "max_tokens: "),
        ] {
            let errors = wrong(more.clone());
            assert!(errors.starts_with(path), "{more}: {errors}");
        }
    }

    #[test]
    fn parameters_that_cannot_be_honoured_are_refused_unless_they_ask_for_nothing() {
        for one in params::UNSUPPORTED {
            let body =
                |value: Value| json!({ "messages": [{ "role": "user", "content": "hi" }], one.name: value });
            let errors = read(&body(json!("something else"))).unwrap_err();
            assert!(errors[0].starts_with(one.name), "{errors:?}");
            read(&body(Value::Null)).unwrap();
        }
        let quiet = json!({ "messages": [{ "role": "user", "content": "hi" }], "n": 1, "logprobs": false, "top_logprobs": 0,
            "logit_bias": {}, "modalities": ["text"], "functions": [], "verbosity": "medium", "stream_options": null });
        read(&quiet).unwrap();
    }
}
