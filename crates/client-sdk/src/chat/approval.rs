//! Approvals: calls of server tools that the user has to allow first.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolyard_protocol::chat::ui::ApprovalData;

use crate::tool::ToolCall;

/// Asks the user about a call. It is called for one request at a time.
pub type OnApproval = Arc<dyn Fn(ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> + Send + Sync>;

/// A call of a server tool that waits for the user.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the approval.
    pub id: String,
    /// The call, as the model made it.
    pub call: ToolCall,
    /// What will run, how risky it is and until when it can be answered. Built by the server, not by the model: show this to
    /// the user. `None` if the server does not send it.
    pub details: Option<ApprovalData>,
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ApprovalDecision {
    pub(crate) approved: bool,
    pub(crate) note: Option<String>,
}

impl ApprovalDecision {
    /// Yes: the server runs the call once.
    pub const fn approve() -> Self {
        Self { approved: true, note: None }
    }

    /// No: the call does not run.
    pub const fn deny() -> Self {
        Self { approved: false, note: None }
    }

    /// Adds a note. The model reads it with a no.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// Erases the types of a handler.
pub(crate) fn boxed_approver<F, Fut>(function: F) -> OnApproval
where
    F: Fn(ApprovalRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ApprovalDecision> + Send + 'static,
{
    Arc::new(move |request| Box::pin(function(request)))
}
