//! Approvals: the records of what users were asked, and what they decided for the future.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_protocol::{
    ApprovalId, CallId, ToolName, UserId,
    approval::{
        ApprovalAnswer, ApprovalReason, ApprovalState, ApprovalSurface, ArgumentPredicate, RememberScope,
        RiskLevel, ToolChoice,
    },
};

use super::{StoreError, StoredOutcome};
use crate::executor::{CallOwner, Door};

/// One question to a user about one exact call.
#[derive(Debug, Clone)]
pub struct ApprovalRecord {
    /// Its id.
    pub id: ApprovalId,
    /// The user who is asked, and the caller on whose behalf.
    pub owner: CallOwner,
    /// The exact call.
    pub subject: ApprovedCall,
    /// The sealed summary: what the user is asked.
    pub summary: Vec<u8>,
    /// The sealed arguments. Removed when nothing more can run.
    pub arguments: Option<Vec<u8>>,
    /// How much a wrong yes can cost.
    pub risk: RiskLevel,
    /// Why the user is asked.
    pub reason: ApprovalReason,
    /// Whether a yes may be remembered. The operator can require a question for each call.
    pub can_remember: bool,
    /// The door of the call that asked.
    pub door: Door,
    /// The client program, if it named itself.
    pub client: Option<Arc<str>>,
    /// The conversation or MCP session of the call, if it has one.
    pub conversation: Option<Arc<str>>,
    /// What stands in for a conversation if there is none.
    pub session: Option<Arc<str>>,
    /// The call that asked.
    pub call: CallId,
    /// When it asked.
    pub created_at: Timestamp,
    /// Until when it can be answered.
    pub expires_at: Timestamp,
    /// Its state.
    pub state: ApprovalState,
    /// The answer, if there is one.
    pub answer: Option<StoredAnswer>,
    /// The call that ran after a yes.
    pub run: Option<CallId>,
    /// The outcome of that call, if it was small enough to store.
    pub outcome: Option<StoredOutcome>,
    /// Whether the caller got the outcome.
    pub delivered: bool,
}

impl ApprovalRecord {
    /// The record as it is at this time: a question that has expired keeps its stored state until the next sweep.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.state == ApprovalState::Pending && self.expires_at <= now {
            self.state = ApprovalState::Expired;
        }
        self
    }
}

/// What exactly is approved. Any difference makes the approval void.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApprovedCall {
    /// The tool.
    pub tool: ToolName,
    /// SHA-256 of its definition, in canonical form.
    pub definition: [u8; 32],
    /// SHA-256 of the validated arguments with their defaults, in canonical form.
    pub arguments: [u8; 32],
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Yes or no.
    pub answer: ApprovalAnswer,
    /// Who answered.
    pub by: String,
    /// Where.
    pub surface: ApprovalSurface,
    /// When.
    pub at: Timestamp,
    /// How it is remembered.
    pub remember: RememberScope,
    /// A note of the person.
    pub note: Option<String>,
}

/// What asking led to.
#[derive(Debug)]
pub enum AskOutcome {
    /// A new question was stored.
    Asked,
    /// The same call was asked before, and its outcome was not delivered yet.
    Known(Box<ApprovalRecord>),
    /// The user has too many open questions.
    QuotaReached,
}

/// What answering led to.
#[derive(Debug)]
pub enum AnswerOutcome {
    /// The answer was stored; this is the record now.
    Answered(Box<ApprovalRecord>),
    /// It was answered before, or has expired; this is the record.
    Conflict(Box<ApprovalRecord>),
    /// The user has no such approval.
    NotFound,
}

/// Selects approvals.
#[derive(Debug, Clone)]
pub struct ApprovalFilter {
    /// Of this user.
    pub user: UserId,
    /// In this state.
    pub state: Option<ApprovalState>,
    /// Older than this one.
    pub before: Option<ApprovalId>,
    /// Maximum number.
    pub limit: u32,
}

/// Stores approvals.
#[async_trait]
pub trait ApprovalStore: Send + Sync {
    /// Stores a question, unless the same owner asked about the same call before and its outcome was not delivered.
    /// At most `max_open` questions of a user are open at once.
    async fn ask(&self, record: &ApprovalRecord, max_open: u64) -> Result<AskOutcome, StoreError>;
    /// One approval.
    async fn find_approval(&self, id: &ApprovalId) -> Result<Option<ApprovalRecord>, StoreError>;
    /// The matching approvals, newest first. Expired ones have that state.
    async fn list_approvals(
        &self,
        filter: &ApprovalFilter,
        now: Timestamp,
    ) -> Result<Vec<ApprovalRecord>, StoreError>;
    /// Answers a pending approval of this user, once. A yes with a grant stores both.
    async fn answer_approval(
        &self,
        id: &ApprovalId,
        user: &UserId,
        answer: &StoredAnswer,
        grant: Option<&StoredGrant>,
    ) -> Result<AnswerOutcome, StoreError>;
    /// Begins the one run of an approved call. False if it began before, or is not approved. Durable when it returns.
    async fn begin_run(&self, id: &ApprovalId, run: &CallId) -> Result<bool, StoreError>;
    /// Ends an approval in a final state with its outcome, and removes its arguments.
    async fn end_approval(
        &self,
        id: &ApprovalId,
        state: ApprovalState,
        outcome: Option<StoredOutcome>,
    ) -> Result<(), StoreError>;
    /// Ends a pending approval that its caller withdraws, with this outcome. False if it is no longer pending.
    async fn withdraw_approval(&self, id: &ApprovalId, outcome: StoredOutcome) -> Result<bool, StoreError>;
    /// Marks the outcome as delivered. False if it was before.
    async fn mark_delivered(&self, id: &ApprovalId) -> Result<bool, StoreError>;
    /// Approved calls that have not begun to run, oldest first.
    async fn approved_calls(&self, limit: u32) -> Result<Vec<ApprovalRecord>, StoreError>;
    /// Ends runs that were interrupted by the end of their server, with this outcome. Those of servers that are alive go on.
    async fn end_interrupted_runs(&self, outcome: StoredOutcome) -> Result<u64, StoreError>;
    /// Sets pending approvals that have expired to that state and returns them, at most `limit`.
    async fn expire_approvals(&self, now: Timestamp, limit: u32) -> Result<Vec<ApprovalRecord>, StoreError>;
}

/// A user's choice for one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChoice {
    /// The choice.
    pub choice: ToolChoice,
    /// When it was made.
    pub at: Timestamp,
    /// Until when `always` holds.
    pub until: Option<Timestamp>,
    /// The definition for which `always` holds, if a change ends it.
    pub definition: Option<[u8; 32]>,
}

/// A yes that was given in advance, or remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredGrant {
    /// Its id: that of the approval, or a new one.
    pub id: ApprovalId,
    /// The user.
    pub user: UserId,
    /// The tool.
    pub tool: ToolName,
    /// The definition for which it holds.
    pub definition: [u8; 32],
    /// The arguments for which it holds, if it is restricted to them.
    pub arguments: Option<[u8; 32]>,
    /// What the arguments must satisfy.
    pub predicates: Vec<ArgumentPredicate>,
    /// The conversation in which it holds, if it is restricted to one.
    pub conversation: Option<Arc<str>>,
    /// When it was given.
    pub at: Timestamp,
    /// Until when it holds.
    pub until: Option<Timestamp>,
    /// How many more calls it allows, if that is limited.
    pub uses: Option<u64>,
}

/// A user's decisions for future calls.
#[derive(Debug, Default)]
pub struct UserRules {
    /// Choices by tool.
    pub choices: HashMap<ToolName, StoredChoice>,
    /// Grants by tool.
    pub grants: HashMap<ToolName, Vec<StoredGrant>>,
}

/// Stores what users and the operator decided for future calls.
#[async_trait]
pub trait ApprovalRuleStore: Send + Sync {
    /// A user's choices and grants.
    async fn user_rules(&self, user: &UserId) -> Result<UserRules, StoreError>;
    /// Sets or removes a choice.
    async fn set_choice(
        &self,
        user: &UserId,
        tool: &ToolName,
        choice: Option<&StoredChoice>,
    ) -> Result<(), StoreError>;
    /// Adds a grant. At most `max` for each user.
    async fn add_grant(&self, grant: &StoredGrant, max: u64) -> Result<bool, StoreError>;
    /// Revokes a grant. False if the user has none with this id.
    async fn remove_grant(&self, user: &UserId, id: &ApprovalId) -> Result<bool, StoreError>;
    /// Takes one use of a limited grant. False if none is left.
    async fn use_grant(&self, id: &ApprovalId) -> Result<bool, StoreError>;
    /// The operator's policy as JSON, if one is stored.
    async fn stored_policy(&self) -> Result<Option<String>, StoreError>;
    /// Replaces or removes the operator's policy.
    async fn set_stored_policy(&self, policy: Option<&str>) -> Result<(), StoreError>;
}
