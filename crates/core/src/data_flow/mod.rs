//! No leaks by combination.
//!
//! Three things are harmless alone and dangerous together: a conversation has read private data, it has read content that
//! others can write, and a call can carry something out. The platform remembers the first two for each conversation. A
//! call that completes the three is asked about first, or refused: `[approvals] data_flow`.
//!
//! | look for | in |
//! | --- | --- |
//! | which labels a tool has, and why | `labels` |
//! | what a conversation has read, and calls under way | `tracker` |
//! | what the user reads about it | `leak` |

mod labels;
mod leak;
mod tracker;

pub(crate) use self::tracker::{InFlightLabels, quotes_app};
pub use self::{
    labels::{LabelSet, LabelSettings, MAX_LABEL_PATTERNS, ToolLabels},
    leak::LeakRisk,
    tracker::{ConversationKey, DataFlowTracker, MAX_LABELLED_CONVERSATIONS, ReadItem},
};
