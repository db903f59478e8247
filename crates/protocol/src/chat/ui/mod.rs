//! The UI message stream of AI SDK 5 and later: server-sent events with one chunk each.
//!
//! Clients of many versions reject a chunk with an unknown key. So the server writes only chunks and keys that all of them
//! know; our own data goes into `data-…` chunks. Reading is lenient: servers of other vendors and later versions send more.
//!
//! | look for | in |
//! | --- | --- |
//! | one chunk, and how it is written | `chunk` |
//! | how a chunk is read | `read` |
//! | our data and that of others | `data` |

mod chunk;
mod data;
mod read;
#[cfg(test)]
mod tests;

use serde_json::{Value, value::RawValue};

use crate::raw::to_raw;

pub use chunk::UiChunk;
pub use data::{ApprovalData, DataChunk, NoticeData, OtherChunk, ProgressData, SignInData, ToolData};
pub use read::UiChunkError;

/// The last event of a stream.
pub const DONE: &str = "data: [DONE]\n\n";
/// Keeps an idle stream open; clients ignore it.
pub const HEARTBEAT: &str = ": keep-alive\n\n";

/// A tool result as clients receive it and send it back for the model: the text, unless it only repeats the
/// structured content as MCP recommends; else the structured content, else the blocks.
pub fn client_output(
    text: Option<&str>,
    structured: Option<&RawValue>,
    blocks: &[&RawValue],
) -> Box<RawValue> {
    match (text, structured) {
        (Some(text), Some(structured)) if !is_same_json(text, structured) => to_raw(text),
        (_, Some(structured)) => structured.to_owned(),
        (Some(text), None) => to_raw(text),
        (None, None) => to_raw(blocks),
    }
}

fn is_same_json(text: &str, structured: &RawValue) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    value(text).is_some_and(|said| Some(said) == value(structured.get()))
}
