//! What is told of a chat.

use std::time::Duration;

use toolyard_protocol::chat::ui::{NoticeData, ToolData};

use super::{CallResult, ChatAnswer, ChatError, ChatFinish};
use crate::tool::{ToolCall, ToolProgress};

/// A notice's code: tools were not run, because the limit of rounds was reached.
pub const NOTICE_TOOL_ROUNDS: &str = "tool-rounds";
/// A notice's code: a plugin's `after_response` failed.
pub const NOTICE_HOOK: &str = "hook";
/// A notice's code: the server ended the answer.
pub const NOTICE_ABORT: &str = "abort";

/// One thing that happened in a chat.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// A request goes out: the first, or one that carries results of tools.
    RoundStart {
        /// From 1.
        round: u32,
    },
    /// The model is asked; the server does that again after each step with tools of its own.
    Step,
    /// More words.
    Text {
        /// To be put behind those before.
        delta: String,
    },
    /// A text is whole. The next words begin another one.
    TextEnd,
    /// More thoughts.
    Reasoning {
        /// To be put behind those before.
        delta: String,
    },
    /// A call is whole. Who runs it: [`ToolCall::of_server`].
    ToolCall(ToolCall),
    /// Which app a call of the server belongs to.
    ToolAbout(ToolData),
    /// How far a call is.
    Progress {
        /// The call.
        call_id: String,
        /// How far.
        progress: ToolProgress,
    },
    /// What a call came to.
    ToolResult(CallResult),
    /// A call is over. Follows its result.
    ToolEnd {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// Since the call was told; for tools of this client, since it began to run.
        took: Duration,
    },
    /// Something that the user should know: why an answer ends early, from the server or from here.
    Notice(NoticeData),
    /// A response is over. If it waits for tools, they run now.
    RoundFinish {
        /// From 1.
        round: u32,
        /// Why it ended.
        finish: ChatFinish,
    },
    /// A chunk as it came, before what it means. Only where [`Question::with_chunks`](crate::Question::with_chunks) asked.
    Chunk {
        /// Its JSON.
        json: String,
    },
    /// The last event of a chat that ended well.
    Finish(Box<ChatAnswer>),
    /// The last event of one that did not. What was told before is in [`ChatStream::so_far`](super::ChatStream::so_far).
    Error(ChatError),
}
