//! Uses a server like a curious client: reads every list, calls every tool with made-up arguments, and answers every
//! server request.

use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::mpsc;
use toolyard_mcp_client::{
    McpClient, McpClientError, RequestOptions, ServerRequest, ToolCallParams, UpstreamListKind, UpstreamReply,
};
use toolyard_protocol::raw::to_raw;

/// Server requests that may wait.
pub(crate) const MAX_ASKS: usize = 16;
/// Rounds of input in one call.
const MAX_ROUNDS: usize = 8;

/// Reads and calls everything, or what `context` names.
pub(crate) async fn explore(client: &McpClient, context: &Value) -> Result<(), McpClientError> {
    let tools = client.list_tools().await?;
    for left_out in &tools.left_out {
        eprintln!("left out: {left_out:?}");
    }
    let tools: Vec<Value> =
        tools.items.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
    match context["toolCalls"].as_array() {
        Some(calls) => {
            for call in calls {
                call_tool(client, call["name"].as_str().unwrap_or_default(), &call["arguments"]).await;
            }
        }
        None => {
            for tool in &tools {
                let arguments = arguments(tool, &tools);
                call_tool(client, tool["name"].as_str().unwrap_or_default(), &arguments).await;
            }
        }
    }
    for (kind, method, member) in [
        (UpstreamListKind::Resources, "resources/read", "uri"),
        (UpstreamListKind::Prompts, "prompts/get", "name"),
    ] {
        if client.server().has_list(kind) {
            for item in client.list_items(kind).await?.items {
                let item: Value = serde_json::from_str(item.get()).unwrap_or_default();
                let params = to_raw(&json!({ member: item[member] }));
                tell(method, client.request(method, Some(&params), RequestOptions::default()).await);
            }
        }
    }
    Ok(())
}

async fn call_tool(client: &McpClient, name: &str, arguments: &Value) {
    let arguments = to_raw(arguments);
    let (mut responses, mut state): (Option<Box<RawValue>>, Option<Box<RawValue>>) = (None, None);
    for _ in 0..MAX_ROUNDS {
        let call = ToolCallParams {
            name,
            arguments: Some(&arguments),
            input_responses: responses.as_deref(),
            request_state: state.as_deref(),
        };
        let (asks, asked) = mpsc::channel(MAX_ASKS);
        let options = RequestOptions { asks: Some(asks), ..RequestOptions::default() };
        let answer = tokio::select! {
            answer = client.call_tool(call, options) => answer,
            () = answer_all(asked) => unreachable_answer(),
        };
        match answer {
            Ok(UpstreamReply::InputRequired(wanted)) => {
                let wanted: Value = serde_json::from_str(wanted.get()).unwrap_or_default();
                responses = Some(to_raw(&input_responses(&wanted["inputRequests"])));
                state = wanted.get("requestState").map(to_raw);
            }
            answer => return tell(name, answer),
        }
    }
}

fn unreachable_answer() -> Result<UpstreamReply, McpClientError> {
    Err(McpClientError::Invalid("the questions ended before the call".to_owned()))
}

/// Answers the requests of a handshake server, as long as it may send them.
pub(crate) async fn answer_all(mut asked: mpsc::Receiver<ServerRequest>) {
    while let Some(ask) = asked.recv().await {
        let params =
            ask.params.map(|raw| serde_json::from_str(raw.get()).unwrap_or_default()).unwrap_or_default();
        drop(ask.answer.send(Ok(to_raw(&input(&ask.method, &params)))));
    }
    std::future::pending().await
}

fn input_responses(requests: &Value) -> Value {
    let each = requests.as_object().into_iter().flatten();
    let answers = each.map(|(key, request)| {
        (key.clone(), input(request["method"].as_str().unwrap_or_default(), &request["params"]))
    });
    Value::Object(answers.collect())
}

fn input(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" => json!({ "action": "accept", "content": object(&params["requestedSchema"]) }),
        "sampling/createMessage" => json!({ "role": "assistant", "model": "none",
            "content": { "type": "text", "text": "an answer" }, "stopReason": "endTurn" }),
        _ => json!({ "roots": [] }),
    }
}

/// Arguments for a tool. The one that wants a schema back gets the first tool's.
fn arguments(tool: &Value, tools: &[Value]) -> Value {
    if tool["name"] == "json_schema_echo" {
        return json!({ "schema": tools[0]["inputSchema"] });
    }
    object(&tool["inputSchema"])
}

/// A value that fits a schema's properties; uses defaults if there are any.
fn object(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let members = properties.map(|(name, property)| (name.clone(), value(property)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn value(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(3),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => object(schema),
        Some("null") => Value::Null,
        _ => json!("text"),
    }
}

fn tell(what: &str, answer: Result<UpstreamReply, McpClientError>) {
    match answer {
        Ok(UpstreamReply::Complete(raw) | UpstreamReply::InputRequired(raw)) => eprintln!("{what}: {raw}"),
        Err(error) => eprintln!("{what}: {error}"),
    }
}
