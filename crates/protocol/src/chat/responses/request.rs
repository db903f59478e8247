//! A request to the responses API.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{RequestEcho, input};
use crate::{
    chat::{
        ClientTool,
        client_tool::RawClientTool,
        message::ChatMessage,
        openai::{
            ToolSelection,
            params::{self, TOP_LOGPROBS, UnsupportedParam, is_false, never_default},
        },
        read_body, read_fields,
        sampling::{self, SamplingParams},
    },
    problem::Problem,
};

/// Maximum number of pairs in `metadata`, as OpenAI has it.
const MAX_METADATA: usize = 16;
/// An `include` value that is not supported.
const LOGPROBS: &str = "message.output_text.logprobs";

/// Parameters that are rejected unless they have their default value.
pub(super) const UNSUPPORTED: &[UnsupportedParam] = &[
    UnsupportedParam {
        name: "previous_response_id",
        is_default: never_default,
        instead: "this server stores no conversations; send all of it in `input`",
    },
    UnsupportedParam {
        name: "conversation",
        is_default: never_default,
        instead: "this server stores no conversations; send all of it in `input`",
    },
    UnsupportedParam {
        name: "background",
        is_default: is_false,
        instead: "this server responds synchronously; leave it out, and use streaming for long responses",
    },
    UnsupportedParam {
        name: "prompt",
        is_default: never_default,
        instead: "send its text in `instructions` and `input`",
    },
    UnsupportedParam {
        name: "max_tool_calls",
        is_default: never_default,
        instead: "the operator limits the steps of a response; leave it out",
    },
    UnsupportedParam {
        name: "context_management",
        is_default: never_default,
        instead: "send a conversation that fits the model; leave it out",
    },
    TOP_LOGPROBS,
];

/// A request to the responses API.
#[derive(Debug)]
pub struct ResponseRequest {
    /// The model; `None` is the server's default.
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// The system prompt.
    pub instructions: Option<String>,
    /// Client tools.
    pub tools: Vec<ClientTool>,
    /// Whether tools may be called, and which.
    pub selection: ToolSelection,
    /// Whether the response is streamed.
    pub stream: bool,
    /// Maximum number of tokens in the response.
    pub max_tokens: Option<u32>,
    /// Between 0 and 2.
    pub temperature: Option<f64>,
    /// Sampling and output format.
    pub sampling: SamplingParams,
    /// The parameters to repeat in the response.
    pub echo: RequestEcho,
}

#[derive(Deserialize)]
struct ResponseRequestBody {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    max_output_tokens: Option<u32>,
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    include: Option<Vec<String>>,
}

impl ResponseRequest {
    /// Parses a body and reports every problem.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Problem>> {
        let mut fields: Map<String, Value> = read_body(body)?;
        let mut problems = params::unsupported_problems(&fields, UNSUPPORTED);
        let (messages, more) = input::parse_input(fields.remove("input").as_ref());
        problems.extend(more);
        let (temperature, mut sampling) = parse_sampling(&fields, &mut problems);
        let body: ResponseRequestBody = read_fields(fields)?;
        sampling.parallel_calls = body.parallel_tool_calls;
        let selection = ToolSelection::parse(body.tool_choice.as_ref()).unwrap_or_else(|problem| {
            problems.push(problem);
            ToolSelection::default()
        });
        if body.include.iter().flatten().any(|included| included == LOGPROBS) {
            problems.push(Problem::new("include", format!("{LOGPROBS} is not supported; leave it out")));
        }
        if body.metadata.as_ref().is_some_and(|pairs| pairs.len() > MAX_METADATA) {
            problems.push(Problem::new("metadata", format!("at most {MAX_METADATA} pairs")));
        }
        let sent = body.tools.unwrap_or_default();
        let tools = parse_tools(&sent, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let echo = RequestEcho {
            instructions: body.instructions.clone(),
            max_output_tokens: body.max_output_tokens,
            metadata: body.metadata.unwrap_or_default(),
            parallel_tool_calls: body.parallel_tool_calls.unwrap_or(true),
            reasoning: RequestEcho::echo_reasoning(sampling.reasoning_effort),
            temperature,
            text: RequestEcho::echo_text(&sampling.format),
            tool_choice: body.tool_choice.filter(|choice| !choice.is_null()).unwrap_or_else(|| "auto".into()),
            tools: sent,
            top_p: sampling.top_p,
        };
        Ok(Self {
            model: body.model.filter(|model| !model.is_empty()),
            messages,
            instructions: body.instructions.filter(|text| !text.is_empty()),
            tools,
            selection,
            stream: body.stream.unwrap_or(false),
            max_tokens: body.max_output_tokens,
            temperature,
            sampling,
            echo,
        })
    }
}

/// Temperature, sampling and output format.
fn parse_sampling(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> (Option<f64>, SamplingParams) {
    let (text, reasoning) = (fields.get("text"), fields.get("reasoning"));
    let within = |outer: Option<&Value>, name: &str| outer.and_then(|outer| outer.get(name)).cloned();
    let verbosity = within(text, "verbosity").unwrap_or_default();
    if !verbosity.is_null() && !params::is_medium(&verbosity) {
        let why = "not supported: ask for it in `instructions`; leave it out";
        problems.push(Problem::new("text.verbosity", why));
    }
    let mut sampling = SamplingParams::default();
    let mut note = |problem| problems.push(problem);
    let temperature = sampling::parse_number(fields.get("temperature"), "temperature", 0.0, 2.0);
    match sampling::parse_number(fields.get("top_p"), "top_p", 0.0, 1.0) {
        Ok(top_p) => sampling.top_p = top_p,
        Err(problem) => note(problem),
    }
    match sampling::parse_effort(within(reasoning, "effort").as_ref(), "reasoning.effort") {
        Ok(effort) => sampling.reasoning_effort = effort,
        Err(problem) => note(problem),
    }
    match sampling::parse_format(within(text, "format").as_ref(), "text.format", None) {
        Ok(format) => sampling.format = format,
        Err(problem) => note(problem),
    }
    let temperature = temperature.unwrap_or_else(|problem| {
        note(problem);
        None
    });
    (temperature, sampling)
}

fn parse_tools(sent: &[Value], problems: &mut Vec<Problem>) -> Vec<ClientTool> {
    let mut tools = Vec::new();
    for (index, tool) in sent.iter().enumerate() {
        match parse_tool(tool, &format!("tools[{index}]")) {
            Ok(tool) => tools.push(tool),
            Err(problem) => problems.push(problem),
        }
    }
    tools
}

fn parse_tool(tool: &Value, path: &str) -> Result<ClientTool, Problem> {
    match tool["type"].as_str() {
        Some("function") => {}
        Some(hosted) => {
            let hosted: String = hosted.chars().take(64).collect();
            let text = format!(
                "tools of type {hosted} are not supported; send `function` tools, the server runs its own tools itself"
            );
            return Err(Problem::new(format!("{path}.type"), text));
        }
        None => return Err(Problem::new(format!("{path}.type"), "expected `function`")),
    }
    let raw: RawClientTool = serde_json::from_value(tool.clone())
        .map_err(|_| Problem::new(path, "expected `name`, `description` and `parameters`"))?;
    raw.into_client_tool(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chat::{
        openai::ToolChoiceMode,
        sampling::{ReasoningEffort, ResponseFormat},
    };

    fn read(more: &Value) -> Result<ResponseRequest, Vec<String>> {
        let mut body = json!({ "model": "m", "input": "hi" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ResponseRequest::parse(body.to_string().as_bytes())
            .map_err(|problems| problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn a_request_is_read_and_echoed() {
        let tool = json!({ "type": "function", "name": "get-weather", "parameters": { "type": "object" }, "strict": true });
        let format = json!({ "type": "json_schema", "name": "x", "schema": { "type": "object" } });
        let request = read(&json!({ "instructions": "Be brief.", "tools": [tool], "tool_choice": "required", "stream": true,
            "max_output_tokens": 9, "temperature": 0.5, "top_p": 0.5, "parallel_tool_calls": false, "store": true,
            "reasoning": { "effort": "low", "summary": "auto" }, "text": { "format": format, "verbosity": "medium" },
            "truncation": "auto", "include": ["reasoning.encrypted_content"], "metadata": { "a": "b" }, "user": "u",
            "background": false, "previous_response_id": null, "top_logprobs": 0, "service_tier": "auto" }))
        .unwrap();
        assert_eq!(
            (request.tools[0].name.as_str(), request.selection.choice),
            ("get-weather", ToolChoiceMode::Required)
        );
        assert_eq!((request.stream, request.max_tokens, request.temperature), (true, Some(9), Some(0.5)));
        assert_eq!(request.sampling.reasoning_effort, Some(ReasoningEffort::Low));
        assert!(matches!(request.sampling.format, ResponseFormat::JsonSchema(_)));
        assert_eq!((request.sampling.top_p, request.sampling.parallel_calls), (Some(0.5), Some(false)));
        let echo = serde_json::to_value(&request.echo).unwrap();
        assert_eq!((&echo["instructions"], &echo["tools"][0]), (&json!("Be brief."), &tool));
        assert_eq!((&echo["reasoning"]["effort"], &echo["metadata"]["a"]), (&json!("low"), &json!("b")));
        assert_eq!(echo["text"]["format"]["name"], "x");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (more, path) in [
            (
                json!({ "previous_response_id": "resp_1" }),
                "previous_response_id: not supported: this server stores no",
            ),
            (json!({ "conversation": "conv_1" }), "conversation: "),
            (json!({ "background": true }), "background: "),
            (json!({ "prompt": { "id": "x" } }), "prompt: "),
            (json!({ "max_tool_calls": 3 }), "max_tool_calls: "),
            (json!({ "context_management": [] }), "context_management: "),
            (json!({ "top_logprobs": 3 }), "top_logprobs: "),
            (json!({ "include": ["message.output_text.logprobs"] }), "include: "),
            (json!({ "tools": [{ "type": "web_search" }] }), "tools[0].type: tools of type web_search"),
            (json!({ "tools": [{ "type": "mcp" }] }), "tools[0].type: tools of type mcp"),
            (json!({ "tools": [{ "type": "function", "name": 5 }] }), "tools[0].name: "),
            (json!({ "tool_choice": { "type": "file_search" } }), "tool_choice.type: "),
            (json!({ "text": { "verbosity": "high" } }), "text.verbosity: "),
            (json!({ "text": { "format": { "type": "xml" } } }), "text.format.type: "),
            (json!({ "text": { "format": { "type": "json_schema", "name": "x" } } }), "text.format.schema: "),
            (json!({ "reasoning": { "effort": 5 } }), "reasoning.effort: "),
            (json!({ "temperature": 3 }), "temperature: "),
            (json!({ "top_p": -1 }), "top_p: "),
            (json!({ "max_output_tokens": "many" }), "max_output_tokens: "),
            (json!({ "input": [] }), "input: "),
        ] {
            let errors = read(&more).unwrap_err().join("; ");
            assert!(errors.starts_with(path), "{more}: {errors}");
        }
        let pairs: Map<String, Value> = (0..=MAX_METADATA).map(|n| (n.to_string(), json!("x"))).collect();
        assert_eq!(read(&json!({ "metadata": pairs })).unwrap_err(), ["metadata: at most 16 pairs"]);
    }
}
