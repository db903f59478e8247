//! The events of a chat.

use std::time::Duration;

use toolyard_protocol::chat::ui::{NoticeData, SignInData, ToolData};

use super::{CallResult, ChatAnswer, ChatError, ChatFinish};
use crate::tool::{ToolCall, ToolProgress};

/// Notice code: tools were not run because the limit of rounds was reached.
pub const NOTICE_TOOL_ROUNDS: &str = "tool-rounds";
/// Notice code: a plugin's `after_response` failed.
pub const NOTICE_HOOK: &str = "hook";
/// Notice code: the server aborted the answer.
pub const NOTICE_ABORT: &str = "abort";

/// One thing that happened in a chat.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// A request is sent: the first one, or one with tool results.
    RoundStart {
        /// From 1.
        round: u32,
    },
    /// The model is called. The server calls it again after each step with server tools.
    Step,
    /// More text.
    Text {
        /// Append it to the text so far.
        delta: String,
    },
    /// A text is complete. The next delta starts another one.
    TextEnd,
    /// More reasoning.
    Reasoning {
        /// Append it to the reasoning so far.
        delta: String,
    },
    /// A call is complete. [`ToolCall::of_server`] says who runs it.
    ToolCall(ToolCall),
    /// The app that a server-side call belongs to.
    ToolAbout(ToolData),
    /// A call that the server runs waits for the user's approval. `on_approval` answers it, if it is set.
    ApprovalRequested {
        /// The request.
        approval_id: String,
        /// The call.
        tool_call_id: String,
    },
    /// A call that the server runs waits until the user has signed in on a page of the server. It runs after that.
    SignInNeeded(SignInData),
    /// Progress of a call.
    Progress {
        /// The call.
        call_id: String,
        /// The progress.
        progress: ToolProgress,
    },
    /// The result of a call.
    ToolResult(CallResult),
    /// A call ended. Follows its result.
    ToolEnd {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// Time since the call was received; for tools of this client, since it began to run.
        took: Duration,
    },
    /// Something that the user should know, such as why an answer ends early. From the server or from this client.
    Notice(NoticeData),
    /// A response ended. If it waits for tools, they run now.
    RoundFinish {
        /// From 1.
        round: u32,
        /// Why it ended.
        finish: ChatFinish,
    },
    /// A raw chunk, before the events it causes. Only with [`ChatQuestion::with_chunks`](crate::ChatQuestion::with_chunks).
    Chunk {
        /// Its JSON.
        json: String,
    },
    /// The last event of a successful chat.
    Finish(Box<ChatAnswer>),
    /// The last event of a failed chat. [`ChatStream::so_far`](super::ChatStream::so_far) has the answer up to the failure.
    Error(ChatError),
}
