//! Chat completions, streamed and whole.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Odd, Piece},
    server::Out,
};

/// The answer as a stream.
pub(super) fn stream(model: &Value, answer: &Answer) -> Vec<Out> {
    let mut out = Vec::new();
    let say = |out: &mut Vec<Out>, delta: Value, stop: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": stop, "logprobs": null });
        out.push(event(answer, &chunk(model, json!([choice]))));
    };
    say(&mut out, json!({ "role": "assistant", "content": "" }), None);
    let mut calls = 0;
    for piece in &answer.pieces {
        match piece {
            Piece::Text(text) => say(&mut out, json!({ "content": text }), None),
            Piece::Reasoning(text) => say(&mut out, json!({ "reasoning_content": text }), None),
            Piece::Signature(_) => {}
            Piece::Call { name, arguments } => {
                for delta in call(answer, calls, name, arguments) {
                    say(&mut out, json!({ "tool_calls": [delta] }), None);
                }
                calls += 1;
            }
            Piece::Hold => out.push(Out::Hold),
            Piece::Error(error) => {
                out.push(event(answer, &json!({ "error": error })));
                return out;
            }
            Piece::Cut => {
                out.push(Out::Cut);
                return out;
            }
            Piece::Raw(text) => out.push(Out::Say(text.clone())),
        }
    }
    say(&mut out, json!({}), Some(&stop(answer)));
    if let Some(usage) = usage(answer) {
        let mut last = chunk(model, json!([]));
        last["usage"] = usage;
        out.push(event(answer, &last));
    }
    if !answer.is(Odd::NoDone) {
        out.push(Out::Say("data: [DONE]\n\n".to_owned()));
    }
    if answer.is(Odd::StaysOpen) {
        out.push(Out::Hold);
    }
    out
}

/// The answer in one piece.
pub(super) fn whole(model: &Value, answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    let mut calls = Vec::new();
    for piece in &answer.pieces {
        let add = |message: &mut Value, key: &str, text: &str| {
            let grown = format!("{}{text}", message[key].as_str().unwrap_or_default());
            message[key] = grown.into();
        };
        match piece {
            Piece::Text(text) => add(&mut message, "content", text),
            Piece::Reasoning(text) => add(&mut message, "reasoning_content", text),
            Piece::Call { name, arguments } => calls.push(json!({ "id": id(calls.len()), "type": "function",
                "function": { "name": name, "arguments": arguments.concat() } })),
            Piece::Signature(_) | Piece::Hold | Piece::Error(_) | Piece::Cut | Piece::Raw(_) => {}
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "usage": usage(answer),
        "choices": [{ "index": 0, "message": message, "finish_reason": stop(answer) }] })
}

fn chunk(model: &Value, choices: Value) -> Value {
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices })
}

fn event(answer: &Answer, chunk: &Value) -> Out {
    Out::Say(match answer.is(Odd::CrLf) {
        true => format!(": a comment\r\ndata: {chunk}\r\n\r\n"),
        false => format!("data: {chunk}\n\n"),
    })
}

fn id(call: usize) -> String {
    format!("functions.call:{call}")
}

/// The pieces of a call, as odd as ordered.
fn call(answer: &Answer, call: usize, name: &str, arguments: &[String]) -> Vec<Value> {
    let mut first = json!({ "index": call, "id": id(call), "type": "function", "function": { "name": name, "arguments": "" } });
    let more = |text: &str| json!({ "index": call, "function": { "arguments": text } });
    let mut deltas = if answer.is(Odd::ArgumentsAsJson) {
        first["function"]["arguments"] = serde_json::from_str(&arguments.concat()).unwrap();
        vec![first]
    } else if answer.is(Odd::WholeCalls) {
        first["function"]["arguments"] = arguments.concat().into();
        vec![first]
    } else {
        [first].into_iter().chain(arguments.iter().map(|text| more(text))).collect()
    };
    for delta in deltas.iter_mut().filter_map(Value::as_object_mut) {
        if answer.is(Odd::NoIndex) {
            delta.remove("index");
        }
        if answer.is(Odd::IndexZero) {
            delta.insert("index".to_owned(), 0.into());
        }
        if answer.is(Odd::NoIds) {
            delta.remove("id");
        }
    }
    deltas
}

fn stop(answer: &Answer) -> String {
    let usual = if answer.calls() && !answer.is(Odd::StopDespiteCalls) { "tool_calls" } else { "stop" };
    answer.stop.clone().unwrap_or_else(|| usual.to_owned())
}

fn usage(answer: &Answer) -> Option<Value> {
    let (input, output) = answer.usage?;
    Some(json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_has_all_of_its_pieces() {
        let answer =
            Answer::pieces(["Hel", "lo"]).and_reasoning("hm").and_call("add", json!({ "a": 1 })).usage(1, 2);
        let whole = whole(&json!("m"), &answer);
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
