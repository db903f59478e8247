//! Asking the user before a call runs.
//!
//! A call is judged after its arguments are valid: by the operator's rules, the user's choices, and what the user allowed
//! earlier. If the user has to be asked, the call ends with [`CallReply::AwaitingApproval`], and the question is stored.
//! It is bound to the exact call: user, caller, tool, definition and arguments. After a yes, the platform runs the stored
//! call once; the caller gets its outcome by waiting for it, or by making the same call again.
//!
//! | look for | in |
//! | --- | --- |
//! | rules and presets | `policy` |
//! | what an approval is bound to | `digest` |
//! | what the person reads | `summary` |
//! | the decision about one call | `gate` |
//! | a call after its yes | `run` |
//!
//! [`CallReply::AwaitingApproval`]: crate::CallReply::AwaitingApproval

mod digest;
mod gate;
mod policy;
mod run;
mod summary;

pub(crate) use self::gate::CallClearance;
pub use self::{
    gate::{ApprovalGate, ApprovalGateParts, ApprovalSettings, RunPermit},
    policy::{AnnotationMatch, ApprovalPolicy, CallFacts, PolicyPreset, PolicyRule, PolicyVerdict},
};
pub use crate::executor::outcome::withdrawn as withdrawn_outcome;
