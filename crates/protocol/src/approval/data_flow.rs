//! Labels of tools: what a call brings into a conversation, and whether it can carry something out.

use serde::{Deserialize, Serialize};

use crate::name::ToolName;

wire_enum! {
    /// What a tool does with data.
    DataLabel {
        /// Its result is the user's own data: mail, files, notes, accounts.
        Private = "private",
        /// Its result contains text that others can write: web pages, received mail, comments.
        Untrusted = "untrusted",
        /// Its effect leaves the conversation: it sends, publishes, pays, shares, or deletes.
        Outward = "outward",
    }
}

wire_enum! {
    /// What happens to a call that can send data out of a conversation which has read private data and content from
    /// outside. Ordered by strictness.
    #[derive(Default)]
    DataFlowPolicy {
        /// Nothing is tracked.
        Off = "off",
        /// The user is asked first.
        #[default]
        Ask = "ask",
        /// It is refused.
        Deny = "deny",
    }
}

/// The labels of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolLabelInfo {
    /// The tool.
    pub tool: ToolName,
    /// Its labels.
    pub labels: Vec<DataLabel>,
    /// Whether the operator set them. Otherwise they come from the definition.
    pub by_operator: bool,
}

/// Response to `GET /api/tools/labels`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolLabelList {
    /// What happens when all three labels come together.
    pub data_flow: DataFlowPolicy,
    /// The tools that this user can call.
    pub tools: Vec<ToolLabelInfo>,
}
