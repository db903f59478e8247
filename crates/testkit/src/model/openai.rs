//! Chat completions, streamed or not.

use serde_json::{Value, json};

use super::{
    reply::{ReplyPiece, ScriptedReply, VendorQuirk},
    server::StreamStep,
};

/// The reply as a stream.
pub(super) fn openai_stream(model: &Value, reply: &ScriptedReply) -> Vec<StreamStep> {
    let mut out = Vec::new();
    let say = |out: &mut Vec<StreamStep>, delta: Value, stop: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": stop, "logprobs": null });
        out.push(openai_event(reply, &completion_chunk(model, json!([choice]))));
    };
    say(&mut out, json!({ "role": "assistant", "content": "" }), None);
    let mut calls = 0;
    for piece in &reply.pieces {
        match piece {
            ReplyPiece::Text(text) => say(&mut out, json!({ "content": text }), None),
            ReplyPiece::Reasoning(text) => say(&mut out, json!({ "reasoning_content": text }), None),
            ReplyPiece::Signature(_) => {}
            ReplyPiece::Call { name, arguments } => {
                for delta in call_deltas(reply, calls, name, arguments) {
                    say(&mut out, json!({ "tool_calls": [delta] }), None);
                }
                calls += 1;
            }
            ReplyPiece::Hold => out.push(StreamStep::Hold),
            ReplyPiece::Error(error) => {
                out.push(openai_event(reply, &json!({ "error": error })));
                return out;
            }
            ReplyPiece::Cut => {
                out.push(StreamStep::Cut);
                return out;
            }
            ReplyPiece::Raw(text) => out.push(StreamStep::Text(text.clone())),
        }
    }
    say(&mut out, json!({}), Some(&finish_reason(reply)));
    if let Some(usage) = usage_json(reply) {
        let mut last = completion_chunk(model, json!([]));
        last["usage"] = usage;
        out.push(openai_event(reply, &last));
    }
    if !reply.has_quirk(VendorQuirk::NoDone) {
        out.push(StreamStep::Text("data: [DONE]\n\n".to_owned()));
    }
    if reply.has_quirk(VendorQuirk::StaysOpen) {
        out.push(StreamStep::Hold);
    }
    out
}

/// The reply as one response.
pub(super) fn openai_completion(model: &Value, reply: &ScriptedReply) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    let mut calls = Vec::new();
    for piece in &reply.pieces {
        let add = |message: &mut Value, key: &str, text: &str| {
            let grown = format!("{}{text}", message[key].as_str().unwrap_or_default());
            message[key] = grown.into();
        };
        match piece {
            ReplyPiece::Text(text) => add(&mut message, "content", text),
            ReplyPiece::Reasoning(text) => add(&mut message, "reasoning_content", text),
            ReplyPiece::Call { name, arguments } => calls
                .push(json!({ "id": call_id(calls.len()), "type": "function",
                "function": { "name": name, "arguments": arguments.concat() } })),
            ReplyPiece::Signature(_)
            | ReplyPiece::Hold
            | ReplyPiece::Error(_)
            | ReplyPiece::Cut
            | ReplyPiece::Raw(_) => {}
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "usage": usage_json(reply),
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason(reply) }] })
}

fn completion_chunk(model: &Value, choices: Value) -> Value {
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices })
}

fn openai_event(reply: &ScriptedReply, chunk: &Value) -> StreamStep {
    StreamStep::Text(match reply.has_quirk(VendorQuirk::CrLf) {
        true => format!(": a comment\r\ndata: {chunk}\r\n\r\n"),
        false => format!("data: {chunk}\n\n"),
    })
}

fn call_id(call: usize) -> String {
    format!("functions.call:{call}")
}

/// The chunks of a call, with the configured quirks.
fn call_deltas(reply: &ScriptedReply, call: usize, name: &str, arguments: &[String]) -> Vec<Value> {
    let mut first = json!({ "index": call, "id": call_id(call), "type": "function", "function": { "name": name, "arguments": "" } });
    let more = |text: &str| json!({ "index": call, "function": { "arguments": text } });
    let mut deltas = if reply.has_quirk(VendorQuirk::ArgumentsAsJson) {
        first["function"]["arguments"] = serde_json::from_str(&arguments.concat()).unwrap();
        vec![first]
    } else if reply.has_quirk(VendorQuirk::WholeCalls) {
        first["function"]["arguments"] = arguments.concat().into();
        vec![first]
    } else {
        [first].into_iter().chain(arguments.iter().map(|text| more(text))).collect()
    };
    for delta in deltas.iter_mut().filter_map(Value::as_object_mut) {
        if reply.has_quirk(VendorQuirk::NoIndex) {
            delta.remove("index");
        }
        if reply.has_quirk(VendorQuirk::IndexZero) {
            delta.insert("index".to_owned(), 0.into());
        }
        if reply.has_quirk(VendorQuirk::NoIds) {
            delta.remove("id");
        }
    }
    deltas
}

fn finish_reason(reply: &ScriptedReply) -> String {
    let usual = if reply.has_calls() && !reply.has_quirk(VendorQuirk::StopDespiteCalls) {
        "tool_calls"
    } else {
        "stop"
    };
    reply.stop.clone().unwrap_or_else(|| usual.to_owned())
}

fn usage_json(reply: &ScriptedReply) -> Option<Value> {
    let (input, output) = reply.usage?;
    Some(json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_has_all_of_its_pieces() {
        let reply = ScriptedReply::pieces(["Hel", "lo"])
            .and_reasoning("hm")
            .and_call("add", json!({ "a": 1 }))
            .with_usage(1, 2);
        let whole = openai_completion(&json!("m"), &reply);
        assert_eq!(
            whole["choices"][0],
            json!({ "index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "Hello", "reasoning_content": "hm", "tool_calls": [{
                    "id": "functions.call:0", "type": "function",
                    "function": { "name": "add", "arguments": "{\"a\":1}" } }] } })
        );
        assert_eq!(whole["usage"]["total_tokens"], 3);
    }
}
