//! Anthropic's streamed messages.

use serde_json::{Value, json};

use super::{
    reply::{ReplyPiece, ScriptedReply, VendorQuirk},
    server::StreamStep,
};

/// The reply as a stream of content blocks.
pub(super) fn anthropic_stream(model: &Value, reply: &ScriptedReply) -> Vec<StreamStep> {
    let (input, output) = reply.usage.unwrap_or_default();
    let mut out = vec![anthropic_event(
        "message_start",
        json!({ "message": { "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "usage": { "input_tokens": input, "output_tokens": 1 } } }),
    )];
    let mut blocks = BlockWriter::default();
    for piece in &reply.pieces {
        match piece {
            ReplyPiece::Text(text) => {
                blocks.open_block(&mut out, "text", json!({ "type": "text", "text": "" }));
                blocks.write_delta(&mut out, json!({ "type": "text_delta", "text": text }));
            }
            ReplyPiece::Reasoning(text) => {
                blocks.open_block(
                    &mut out,
                    "thinking",
                    json!({ "type": "thinking", "thinking": "", "signature": "" }),
                );
                blocks.write_delta(&mut out, json!({ "type": "thinking_delta", "thinking": text }));
            }
            ReplyPiece::Signature(text) => {
                blocks.write_delta(&mut out, json!({ "type": "signature_delta", "signature": text }));
            }
            ReplyPiece::Call { name, arguments } => {
                blocks.close_block(&mut out);
                let id = format!("toolu_{}", blocks.next);
                blocks.open_block(
                    &mut out,
                    "call",
                    json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                );
                for text in arguments {
                    blocks.write_delta(&mut out, json!({ "type": "input_json_delta", "partial_json": text }));
                }
            }
            ReplyPiece::Hold => out.push(StreamStep::Hold),
            ReplyPiece::Error(error) => {
                out.push(anthropic_event("error", json!({ "error": error })));
                return out;
            }
            ReplyPiece::Cut => {
                out.push(StreamStep::Cut);
                return out;
            }
            ReplyPiece::Raw(text) => out.push(StreamStep::Text(text.clone())),
        }
    }
    // A truncated block has no end.
    if reply.stop.as_deref() != Some("max_tokens") {
        blocks.close_block(&mut out);
    }
    let usual = if reply.has_calls() { "tool_use" } else { "end_turn" };
    let stop = reply.stop.as_deref().unwrap_or(usual);
    let ends = json!({ "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": output } });
    out.push(anthropic_event("message_delta", ends));
    if !reply.has_quirk(VendorQuirk::NoDone) {
        out.push(anthropic_event("message_stop", json!({})));
    }
    out
}

#[derive(Default)]
struct BlockWriter {
    open: Option<&'static str>,
    next: usize,
}

impl BlockWriter {
    fn open_block(&mut self, out: &mut Vec<StreamStep>, kind: &'static str, block: Value) {
        if self.open == Some(kind) {
            return;
        }
        self.close_block(out);
        out.push(anthropic_event(
            "content_block_start",
            json!({ "index": self.next, "content_block": block }),
        ));
        self.open = Some(kind);
        out.push(anthropic_event("ping", json!({})));
    }

    fn write_delta(&self, out: &mut Vec<StreamStep>, delta: Value) {
        out.push(anthropic_event("content_block_delta", json!({ "index": self.next, "delta": delta })));
    }

    fn close_block(&mut self, out: &mut Vec<StreamStep>) {
        if self.open.take().is_some() {
            out.push(anthropic_event("content_block_stop", json!({ "index": self.next })));
            self.next += 1;
        }
    }
}

fn anthropic_event(name: &str, mut body: Value) -> StreamStep {
    body["type"] = name.into();
    StreamStep::Text(format!("event: {name}\ndata: {body}\n\n"))
}
