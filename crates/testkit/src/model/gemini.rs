//! Gemini's streams. Its calls come whole and without ids.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Odd, Piece},
    server::Out,
};

/// The answer as a stream.
pub(super) fn stream(answer: &Answer) -> Vec<Out> {
    let mut out = Vec::new();
    let mut signature = None;
    for piece in &answer.pieces {
        let part = match piece {
            Piece::Text(text) => json!({ "text": text }),
            Piece::Reasoning(text) => json!({ "text": text, "thought": true }),
            Piece::Signature(text) => {
                signature = Some(text.clone());
                continue;
            }
            Piece::Call { name, arguments } => {
                let text = arguments.concat();
                let args: Value =
                    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
                let mut part = json!({ "functionCall": { "name": name, "args": args } });
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = signature.into();
                }
                part
            }
            Piece::Hold => {
                out.push(Out::Hold);
                continue;
            }
            Piece::Error(error) => {
                out.push(event(&json!({ "error": error })));
                return out;
            }
            Piece::Cut => {
                out.push(Out::Cut);
                return out;
            }
            Piece::Raw(text) => {
                out.push(Out::Say(text.clone()));
                continue;
            }
        };
        out.push(event(&json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] })));
    }
    if !answer.is(Odd::NoDone) {
        let (input, output) = answer.usage.unwrap_or_default();
        let stop = answer.stop.as_deref().unwrap_or("STOP");
        out.push(event(&json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": stop }],
            "usageMetadata": { "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output } })));
    }
    out
}

fn event(body: &Value) -> Out {
    Out::Say(format!("data: {body}\r\n\r\n"))
}
