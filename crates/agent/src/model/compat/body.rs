//! The body of a chat completions request.

use serde_json::{Value, json, value::RawValue};
use toolyard_protocol::chat::sampling::{ResponseFormat, SamplingParams};

use crate::{
    message::{AssistantMessage, FileData, ModelMessage, ModelToolCall, UserPart},
    model::{
        ModelRequest, ToolChoice, ToolSpec,
        ids::WireIds,
        limits::{self, FitCache, VendorFamily},
    },
};

/// The body of a request to `model`, which we call `id`.
pub(super) fn request_body(
    id: &str,
    model: &str,
    family: VendorFamily,
    fits: &FitCache,
    request: &ModelRequest,
) -> Value {
    let tools = limits::fit_tools(fits, family, id, &request.tools).tools;
    let mut body = json!({ "model": model, "stream": true, "stream_options": { "include_usage": true } });
    // Tools before messages: what stays the same comes first, because vendors cache prefixes.
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(|spec| tool_json(spec)).collect();
        match request.choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => body["tool_choice"] = "required".into(),
            ToolChoice::None => body["tool_choice"] = "none".into(),
        }
    }
    body["messages"] = messages_json(id, request);
    if let Some(most) = request.max_tokens {
        // OpenAI's newer models accept only the new name, other servers only the old one.
        let name = if family == VendorFamily::OpenAi { "max_completion_tokens" } else { "max_tokens" };
        body[name] = most.into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    add_sampling(&mut body, &request.sampling, !tools.is_empty());
    body
}

fn add_sampling(body: &mut Value, sampling: &SamplingParams, has_tools: bool) {
    let SamplingParams {
        top_p,
        stop,
        seed,
        frequency_penalty,
        presence_penalty,
        reasoning_effort,
        format,
        ..
    } = sampling;
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body[name] = value;
        }
    };
    set("top_p", top_p.map(Value::from));
    set("stop", (!stop.is_empty()).then(|| stop.as_slice().into()));
    set("seed", seed.map(Value::from));
    set("frequency_penalty", frequency_penalty.map(Value::from));
    set("presence_penalty", presence_penalty.map(Value::from));
    set("reasoning_effort", reasoning_effort.map(|effort| effort.as_str().into()));
    // Servers reject it if there are no tools.
    set("parallel_tool_calls", sampling.parallel_calls.filter(|_| has_tools).map(Value::from));
    set("response_format", response_format(format));
}

fn response_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({ "type": "json_object" })),
        ResponseFormat::JsonSchema(format) => {
            let mut schema = json!({ "name": format.name, "schema": format.schema });
            if let Some(description) = &format.description {
                schema["description"] = description.as_str().into();
            }
            if let Some(strict) = format.strict {
                schema["strict"] = strict.into();
            }
            Some(json!({ "type": "json_schema", "json_schema": schema }))
        }
    }
}

fn tool_json(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, schema } = tool;
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": schema } })
}

fn messages_json(id: &str, request: &ModelRequest) -> Value {
    let mut ids = WireIds::default();
    let mut messages = Vec::new();
    if let Some(system) = &request.system {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for message in &request.messages {
        match message {
            ModelMessage::User(parts) => messages.push(json!({ "role": "user", "content": user_content(parts) })),
            ModelMessage::Assistant(reply) => messages.extend(assistant_json(id, reply, &mut ids)),
            ModelMessage::Tools(answers) => messages.extend(answers.iter().map(|answer| {
                json!({ "role": "tool", "tool_call_id": ids.result_call_id(&answer.id), "content": answer.text })
            })),
        }
    }
    messages.into()
}

/// A single text as a string, which every server accepts. Anything else as parts.
fn user_content(parts: &[UserPart]) -> Value {
    match parts {
        [UserPart::Text(text)] => text.as_str().into(),
        parts => parts.iter().map(part_json).collect(),
    }
}

fn part_json(part: &UserPart) -> Value {
    let (media_type, data) = match part {
        UserPart::Text(text) => return json!({ "type": "text", "text": text }),
        UserPart::File { media_type, data } => (media_type, data),
    };
    let (kind, format) = media_type.split_once('/').unwrap_or((media_type, ""));
    match (kind, data) {
        ("image", FileData::Url(url)) => json!({ "type": "image_url", "image_url": { "url": url } }),
        ("image", FileData::Base64(data)) => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{data}") } })
        }
        ("audio", FileData::Base64(data)) => {
            let format = if format == "mpeg" { "mp3" } else { format.trim_start_matches("x-") };
            json!({ "type": "input_audio", "input_audio": { "data": &**data, "format": format } })
        }
        (_, FileData::Base64(data)) => {
            let data = format!("data:{media_type};base64,{data}");
            json!({ "type": "file", "file": { "filename": format!("file.{format}"), "file_data": data } })
        }
        // There is no field for it. A model that can fetch URLs still sees where the file is.
        (_, FileData::Url(url)) => {
            json!({ "type": "text", "text": format!("[a file of type {media_type} at {url}]") })
        }
    }
}

fn assistant_json(id: &str, reply: &AssistantMessage, ids: &mut WireIds) -> Option<Value> {
    if reply.text.is_empty() && reply.calls.is_empty() {
        return None;
    }
    let content = if reply.text.is_empty() { Value::Null } else { reply.text.as_str().into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if !reply.calls.is_empty() {
        message["tool_calls"] = reply.calls.iter().map(|made| call_json(made, ids)).collect();
    }
    // Reasoning of another model is not sent.
    if let Some(state) = reply.vendor_state.as_deref().filter(|state| state["model"] == id) {
        for key in ["reasoning_content", "reasoning_details"] {
            if let Some(value) = state.get(key) {
                message[key] = value.clone();
            }
        }
    }
    Some(message)
}

fn call_json(call: &ModelToolCall, ids: &mut WireIds) -> Value {
    json!({ "id": ids.assign_call_id(&call.id), "type": "function",
        "function": { "name": call.name, "arguments": arguments_or_empty(&call.arguments) } })
}

/// The arguments as the model wrote them. Chat templates read them as an object, and fail on anything else.
fn arguments_or_empty(arguments: &RawValue) -> &str {
    if arguments.get().starts_with('{') { arguments.get() } else { "{}" }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolyard_protocol::chat::sampling::{JsonFormat, ReasoningEffort};

    use super::*;
    use crate::{message::ToolAnswer, model::parse_raw_arguments};

    fn spec() -> Arc<ToolSpec> {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        Arc::new(ToolSpec { name: "add".to_owned(), description: "Adds".to_owned(), schema })
    }

    fn made(id: &str, arguments: &str) -> ModelToolCall {
        ModelToolCall {
            id: id.to_owned(),
            name: "add".to_owned(),
            arguments: parse_raw_arguments(arguments).unwrap(),
        }
    }

    #[test]
    fn a_whole_conversation_becomes_a_body() {
        let state = Some(Arc::new(json!({ "model": "local/m", "reasoning_content": "hm" })));
        let calls = vec![made("functions.add:0", "{\"a\":1.0}"), made("call_1", "[1]")];
        let answer = |id: &str, text: &str| ToolAnswer {
            id: id.to_owned(),
            name: "add".to_owned(),
            text: text.to_owned(),
            is_error: false,
        };
        let request = ModelRequest {
            system: Some("Be brief.".to_owned()),
            messages: vec![
                ModelMessage::from_user_text("hi"),
                ModelMessage::Assistant(AssistantMessage { text: String::new(), calls, vendor_state: state }),
                ModelMessage::Tools(vec![answer("functions.add:0", "1"), answer("call_1", "bad")]),
                ModelMessage::Assistant(AssistantMessage::default()),
                ModelMessage::Assistant(AssistantMessage {
                    text: "done".to_owned(),
                    ..AssistantMessage::default()
                }),
            ],
            tools: vec![spec()],
            choice: ToolChoice::Required,
            max_tokens: Some(9),
            temperature: Some(0.5),
            ..ModelRequest::default()
        };
        let sent = request_body("local/m", "m", VendorFamily::Compatible, &FitCache::default(), &request);
        let safe = sent["messages"][2]["tool_calls"][0]["id"].as_str().unwrap().to_owned();
        assert!(safe.starts_with("call_") && safe.len() == 29, "{safe}");
        assert_eq!(
            sent,
            json!({
                "model": "m", "stream": true, "stream_options": { "include_usage": true },
                "tools": [{ "type": "function", "function": { "name": "add", "description": "Adds",
                    "parameters": { "type": "object", "properties": { "a": { "type": "integer" } } } } }],
                "tool_choice": "required",
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "hi" },
                    { "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                        { "id": safe, "type": "function", "function": { "name": "add", "arguments": "{\"a\":1.0}" } },
                        { "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{}" } },
                    ] },
                    { "role": "tool", "tool_call_id": safe, "content": "1" },
                    { "role": "tool", "tool_call_id": "call_1", "content": "bad" },
                    { "role": "assistant", "content": "done" },
                ],
                "max_tokens": 9, "temperature": 0.5,
            })
        );
    }

    #[test]
    fn sampling_options_are_sent() {
        let format = JsonFormat {
            name: "x".to_owned(),
            description: None,
            schema: json!({ "type": "object" }),
            strict: Some(true),
        };
        let sampling = SamplingParams {
            top_p: Some(0.5),
            stop: vec!["END".to_owned()],
            seed: Some(7),
            frequency_penalty: Some(1.0),
            presence_penalty: Some(-1.0),
            reasoning_effort: Some(ReasoningEffort::Low),
            format: ResponseFormat::JsonSchema(Arc::new(format)),
            parallel_calls: Some(false),
        };
        let request = ModelRequest { tools: vec![spec()], sampling, ..ModelRequest::default() };
        let sent = |request: &ModelRequest| {
            request_body("local/m", "m", VendorFamily::Compatible, &FitCache::default(), request)
        };
        let mut body = sent(&request);
        let members = body.as_object_mut().unwrap();
        members.retain(|name, _| {
            !["model", "stream", "stream_options", "tools", "messages"].contains(&name.as_str())
        });
        assert_eq!(
            body,
            json!({ "top_p": 0.5, "stop": ["END"], "seed": 7, "frequency_penalty": 1.0, "presence_penalty": -1.0,
                "reasoning_effort": "low", "parallel_tool_calls": false, "response_format": { "type": "json_schema",
                "json_schema": { "name": "x", "schema": { "type": "object" }, "strict": true } } })
        );
        let without_tools = ModelRequest { tools: Vec::new(), ..request };
        assert!(sent(&without_tools).get("parallel_tool_calls").is_none());
    }

    #[test]
    fn openai_has_its_own_name_for_max_tokens_and_foreign_reasoning_is_not_sent() {
        let state = Some(Arc::new(json!({ "model": "other/m", "reasoning_content": "hm" })));
        let reply = AssistantMessage { text: "hi".to_owned(), calls: Vec::new(), vendor_state: state };
        let request = ModelRequest {
            messages: vec![ModelMessage::Assistant(reply)],
            max_tokens: Some(9),
            ..ModelRequest::default()
        };
        let sent = request_body("openai/m", "m", VendorFamily::OpenAi, &FitCache::default(), &request);
        assert_eq!(sent["max_completion_tokens"], 9);
        assert!(sent.get("max_tokens").is_none() && sent.get("tools").is_none());
        assert!(sent["messages"][0].get("reasoning_content").is_none());
    }

    #[test]
    fn files_take_the_form_that_their_type_has() {
        let file = |media_type: &str, data: FileData| {
            part_json(&UserPart::File { media_type: media_type.to_owned(), data })
        };
        let here = || FileData::Base64("QQ==".into());
        let there = || FileData::Url("https://x/y".to_owned());
        assert_eq!(file("image/png", here())["image_url"]["url"], "data:image/png;base64,QQ==");
        assert_eq!(file("image/png", there())["image_url"]["url"], "https://x/y");
        assert_eq!(file("audio/mpeg", here())["input_audio"]["format"], "mp3");
        assert_eq!(file("audio/x-wav", here())["input_audio"]["format"], "wav");
        assert_eq!(file("application/pdf", here())["file"]["filename"], "file.pdf");
        assert_eq!(
            file("application/pdf", there())["text"],
            "[a file of type application/pdf at https://x/y]"
        );
        assert_eq!(
            user_content(&[UserPart::Text("a".into()), UserPart::Text("b".into())]).as_array().unwrap().len(),
            2
        );
    }
}
