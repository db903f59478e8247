//! Anthropic's messages, streamed.

use serde_json::{Value, json};

use super::{
    answer::{Answer, Odd, Piece},
    server::Out,
};

/// The answer as a stream of content blocks.
pub(super) fn stream(model: &Value, answer: &Answer) -> Vec<Out> {
    let (input, output) = answer.usage.unwrap_or_default();
    let mut out = vec![event(
        "message_start",
        json!({ "message": { "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "usage": { "input_tokens": input, "output_tokens": 1 } } }),
    )];
    let mut blocks = Blocks::default();
    for piece in &answer.pieces {
        match piece {
            Piece::Text(text) => {
                blocks.open(&mut out, "text", json!({ "type": "text", "text": "" }));
                blocks.delta(&mut out, json!({ "type": "text_delta", "text": text }));
            }
            Piece::Reasoning(text) => {
                blocks.open(
                    &mut out,
                    "thinking",
                    json!({ "type": "thinking", "thinking": "", "signature": "" }),
                );
                blocks.delta(&mut out, json!({ "type": "thinking_delta", "thinking": text }));
            }
            Piece::Signature(text) => {
                blocks.delta(&mut out, json!({ "type": "signature_delta", "signature": text }));
            }
            Piece::Call { name, arguments } => {
                blocks.close(&mut out);
                let id = format!("toolu_{}", blocks.next);
                blocks.open(
                    &mut out,
                    "call",
                    json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                );
                for text in arguments {
                    blocks.delta(&mut out, json!({ "type": "input_json_delta", "partial_json": text }));
                }
            }
            Piece::Hold => out.push(Out::Hold),
            Piece::Error(error) => {
                out.push(event("error", json!({ "error": error })));
                return out;
            }
            Piece::Cut => {
                out.push(Out::Cut);
                return out;
            }
            Piece::Raw(text) => out.push(Out::Say(text.clone())),
        }
    }
    // A block that was cut has no end.
    if answer.stop.as_deref() != Some("max_tokens") {
        blocks.close(&mut out);
    }
    let usual = if answer.calls() { "tool_use" } else { "end_turn" };
    let stop = answer.stop.as_deref().unwrap_or(usual);
    let ends = json!({ "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": output } });
    out.push(event("message_delta", ends));
    if !answer.is(Odd::NoDone) {
        out.push(event("message_stop", json!({})));
    }
    out
}

#[derive(Default)]
struct Blocks {
    open: Option<&'static str>,
    next: usize,
}

impl Blocks {
    fn open(&mut self, out: &mut Vec<Out>, kind: &'static str, block: Value) {
        if self.open == Some(kind) {
            return;
        }
        self.close(out);
        out.push(event("content_block_start", json!({ "index": self.next, "content_block": block })));
        self.open = Some(kind);
        out.push(event("ping", json!({})));
    }

    fn delta(&self, out: &mut Vec<Out>, delta: Value) {
        out.push(event("content_block_delta", json!({ "index": self.next, "delta": delta })));
    }

    fn close(&mut self, out: &mut Vec<Out>) {
        if self.open.take().is_some() {
            out.push(event("content_block_stop", json!({ "index": self.next })));
            self.next += 1;
        }
    }
}

fn event(name: &str, mut body: Value) -> Out {
    body["type"] = name.into();
    Out::Say(format!("event: {name}\ndata: {body}\n\n"))
}
