//! The decision about one call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};
use async_trait::async_trait;
use dashmap::DashSet;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::broadcast;
use toolyard_protocol::{
    ApprovalId, ErrorCode, UserId,
    approval::{
        ApprovalReason, ApprovalState, ApprovalSummary, CallDecision, DataFlowPolicy, RiskLevel, ToolChoice,
    },
};

use super::{
    ApprovalPolicy, CallFacts, PolicyPreset, PolicyVerdict,
    digest::ExactCall,
    summary::{assess_risk, summarize},
};
use crate::{
    Tool,
    bounded_cache::BoundedCache,
    data_flow::{DataFlowTracker, LabelSettings, LeakRisk},
    error::ToolError,
    executor::{AwaitedApproval, CallContext, CallOutcome, outcome},
    live_value::LiveValue,
    ports::{
        Announcements, ApprovalRecord, ApprovalRuleStore, ApprovalStore, AskOutcome, Change,
        ChangeSubscriber, Clock, IdGenerator, LabelStore, SecretSealer, StoreError, StoredChoice,
        StoredGrant, UserRules,
    },
    schema::ValidArguments,
};

/// Users whose rules are cached. More are read from the store again.
const CACHED_USERS: usize = 10_000;
/// Attempts to ask while other callers take the outcome of the same call.
const ASK_ATTEMPTS: usize = 3;
/// Changes that a slow waiter may lag behind; it reads the store again anyway.
const WAKE_DEPTH: usize = 256;

/// Limits of approvals.
#[derive(Debug, Clone)]
pub struct ApprovalSettings {
    /// How long a question can be answered.
    pub expires: Duration,
    /// Open questions of one user at once.
    pub max_open: u64,
    /// Grants of one user.
    pub max_grants: u64,
    /// The URL of the page where approvals are answered; their id is added to it.
    pub page_url: String,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            expires: Duration::from_secs(24 * 60 * 60),
            max_open: 100,
            max_grants: 1_000,
            page_url: String::new(),
        }
    }
}

/// What the gate needs.
pub struct ApprovalGateParts {
    /// The questions.
    pub approvals: Arc<dyn ApprovalStore>,
    /// What users and the operator decided.
    pub rules: Arc<dyn ApprovalRuleStore>,
    /// Announces new questions.
    pub announcements: Arc<dyn Announcements>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Ids of questions.
    pub ids: Arc<dyn IdGenerator>,
    /// Seals arguments and summaries.
    pub secrets: Arc<dyn SecretSealer>,
    /// What conversations have read.
    pub labels: Arc<dyn LabelStore>,
    /// The policy of the configuration file.
    pub policy: LiveValue<ApprovalPolicy>,
    /// What tools do with data, and what happens when private data, outside content and an outward effect come together.
    pub data_flow: LabelSettings,
    /// Limits.
    pub settings: LiveValue<ApprovalSettings>,
}

/// Decides whether a call runs, is asked about, or is refused.
pub struct ApprovalGate {
    pub(super) parts: ApprovalGateParts,
    /// The policy in force: the stored one, else that of the configuration file.
    policy: ArcSwap<ApprovalPolicy>,
    data_flow: DataFlowTracker,
    user_rules: BoundedCache<UserId, Arc<UserRules>>,
    /// Counts invalidations, so that rules which changed while they were read are not cached.
    rules_generation: AtomicU64,
    /// Approvals that changed.
    changed: broadcast::Sender<ApprovalId>,
    /// Approved calls that this process runs.
    running: Arc<DashSet<ApprovalId>>,
}

/// Held while this process runs an approved call.
pub struct RunPermit {
    id: ApprovalId,
    running: Arc<DashSet<ApprovalId>>,
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        self.running.remove(&self.id);
    }
}

/// Why the user is asked.
struct Question {
    verdict: PolicyVerdict,
    reason: ApprovalReason,
    leak: Option<LeakRisk>,
}

/// What the gate decided about a call that is not refused.
pub(crate) enum CallClearance {
    /// It runs.
    Run,
    /// It is the one run of this approval.
    RunApproved(ApprovalId),
    /// The user has to answer first.
    Wait(AwaitedApproval),
    /// It ran after the user's yes; this is its outcome.
    Ended(CallOutcome),
}

impl ApprovalGate {
    /// Creates the gate with the stored policy, and subscribes it to changes. Runs that were interrupted by the end of
    /// the last server get their outcome: unknown.
    pub async fn start(parts: ApprovalGateParts) -> Result<Arc<Self>, StoreError> {
        let gate = Arc::new(Self {
            policy: ArcSwap::from(parts.policy.load().clone()),
            data_flow: DataFlowTracker::new(
                parts.data_flow.clone(),
                parts.labels.clone(),
                parts.clock.clone(),
            ),
            parts,
            user_rules: BoundedCache::new(CACHED_USERS),
            rules_generation: AtomicU64::new(0),
            changed: broadcast::channel(WAKE_DEPTH).0,
            running: Arc::default(),
        });
        gate.reload_policy().await?;
        gate.end_interrupted_runs().await?;
        let subscriber: Arc<dyn ChangeSubscriber> = gate.clone();
        gate.parts.announcements.subscribe(Arc::downgrade(&subscriber));
        Ok(gate)
    }

    /// Gives runs whose server is gone their outcome: unknown. A server that just crashed counts as alive for a while, so this
    /// is repeated.
    pub async fn end_interrupted_runs(&self) -> Result<u64, StoreError> {
        self.parts.approvals.end_interrupted_runs(outcome::interrupted()).await
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<ApprovalPolicy> {
        self.policy.load_full()
    }

    /// Applies another policy of the configuration file, and other limits. A policy that is stored stays in force.
    pub async fn reconfigure(
        &self,
        policy: ApprovalPolicy,
        settings: ApprovalSettings,
    ) -> Result<(), StoreError> {
        self.parts.policy.replace(policy);
        self.parts.settings.replace(settings);
        self.reload_policy().await
    }

    /// What conversations have read, and what tools do with data.
    pub fn data_flow(&self) -> &DataFlowTracker {
        &self.data_flow
    }

    /// The limits.
    pub fn settings(&self) -> Guard<Arc<ApprovalSettings>> {
        self.parts.settings.load()
    }

    async fn reload_policy(&self) -> Result<(), StoreError> {
        let stored = self.parts.rules.stored_policy().await?;
        let policy = match stored.as_deref().map(serde_json::from_str::<ApprovalPolicy>) {
            None => ApprovalPolicy::clone(&self.parts.policy.load()),
            Some(Ok(policy)) => policy,
            Some(Err(error)) => return Err(StoreError::Failed(format!("stored approval policy: {error}"))),
        };
        self.policy.store(Arc::new(policy));
        Ok(())
    }

    /// Claims an approved call for one task of this process. None if another task has it.
    pub fn start_once(&self, id: &ApprovalId) -> Option<RunPermit> {
        let permit = || RunPermit { id: id.clone(), running: self.running.clone() };
        self.running.insert(id.clone()).then(permit)
    }

    /// Subscribes to approvals that change from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<ApprovalId> {
        self.changed.subscribe()
    }

    /// Decides about a call with valid arguments.
    pub(crate) async fn check(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &ValidArguments,
        check_timeout: Duration,
    ) -> Result<CallClearance, ToolError> {
        if let Some(id) = &cx.approval {
            return self.redeem(id, cx, &ExactCall::new(tool, arguments, check_timeout).await?).await;
        }
        let policy = self.policy.load();
        // Rules see what will run, defaults included. That costs a copy, so only if a rule looks at arguments.
        let exact = match policy.reads_arguments() {
            true => Some(ExactCall::new(tool, arguments, check_timeout).await?),
            false => None,
        };
        let verdict = policy.decide(&CallFacts {
            user: &cx.user,
            tool: &tool.name,
            category: tool.definition.category(),
            annotations: &tool.definition.annotations,
            arguments: Some(exact.as_ref().map_or(arguments.value(), |exact| &exact.arguments)),
        });
        let rules = self.user_rules(&cx.user).await?;
        let choice = rules.choices.get(&tool.name);
        let (decision, reason) = self.decide(tool, verdict, choice);
        if decision == CallDecision::Deny {
            return Err(refused_error(tool, verdict.floor == CallDecision::Deny));
        }
        let is_strict = policy.preset == PolicyPreset::Strict;
        // Neither a rule nor a choice nor a grant for all calls of the tool foresaw what this conversation has read.
        let leak = self.data_flow.find_leak(cx, tool, arguments.value(), is_strict).await?;
        let reason = match &leak {
            Some(leak) if self.data_flow.policy() == DataFlowPolicy::Deny => return Err(leak.refusal()),
            Some(_) => ApprovalReason::DataFlow,
            None if decision == CallDecision::Allow => return Ok(CallClearance::Run),
            None => reason,
        };
        let exact = match exact {
            Some(exact) => exact,
            None => ExactCall::new(tool, arguments, check_timeout).await?,
        };
        Box::pin(self.ask(cx, tool, exact, &rules, Question { verdict, reason, leak })).await
    }

    /// The stricter of the operator's floor and the user's choice; without a choice, what the rules say.
    fn decide(
        &self,
        tool: &Tool,
        verdict: PolicyVerdict,
        choice: Option<&StoredChoice>,
    ) -> (CallDecision, ApprovalReason) {
        let Some(chosen) = choice else { return (verdict.decision, ApprovalReason::Policy) };
        let lapsed = chosen.choice == ToolChoice::Always
            && (chosen.until.is_some_and(|until| until <= self.parts.clock.now())
                || chosen.definition.is_some_and(|digest| digest != tool.definition_digest()));
        let (decision, reason) = if lapsed {
            (CallDecision::Ask, ApprovalReason::Lapsed)
        } else {
            (chosen.choice.decision(), ApprovalReason::Choice)
        };
        if verdict.floor > decision { (verdict.floor, ApprovalReason::Policy) } else { (decision, reason) }
    }

    async fn user_rules(&self, user: &UserId) -> Result<Arc<UserRules>, StoreError> {
        if let Some(rules) = self.user_rules.get(user) {
            return Ok(rules);
        }
        let generation = self.rules_generation.load(Ordering::Acquire);
        let rules = Arc::new(self.parts.rules.user_rules(user).await?);
        self.user_rules.insert(user.clone(), rules.clone());
        if self.rules_generation.load(Ordering::Acquire) != generation {
            self.user_rules.remove(user);
        }
        Ok(rules)
    }

    /// Asks the user, unless a grant covers the call or the same call was asked about before.
    async fn ask(
        &self,
        cx: &CallContext,
        tool: &Tool,
        exact: ExactCall,
        rules: &UserRules,
        question: Question,
    ) -> Result<CallClearance, ToolError> {
        let Question { verdict, reason, leak } = question;
        let can_remember = verdict.floor < CallDecision::Ask;
        let grants = rules.grants.get(&tool.name).map(Vec::as_slice).unwrap_or_default();
        let choice = rules.choices.get(&tool.name).filter(|chosen| chosen.choice == ToolChoice::Ask);
        let asked_since = choice.map(|chosen| chosen.at);
        if can_remember && self.is_granted(cx, &exact, grants, asked_since, leak.is_some()).await? {
            return Ok(CallClearance::Run);
        }
        let now = self.parts.clock.now();
        let mut summary = summarize(tool, exact.shown());
        let mut risk = assess_risk(tool, verdict.risk);
        if let Some(leak) = &leak {
            let warning = summary.warning.take().map(|warning| format!(" {warning}")).unwrap_or_default();
            summary.warning = Some(format!("{}{warning}", leak.explain()));
            risk = risk.max(RiskLevel::Medium);
        }
        let record = ApprovalRecord {
            id: self.new_id(),
            owner: cx.owner(),
            summary: self.seal(&summary)?,
            arguments: Some(self.seal(exact.shown())?),
            subject: exact.subject,
            risk,
            reason,
            can_remember,
            door: cx.door,
            client: cx.client.clone(),
            conversation: cx.conversation.clone(),
            session: cx.session.clone(),
            call: cx.id.clone(),
            created_at: now,
            expires_at: later(now, self.parts.settings.load().expires),
            state: ApprovalState::Pending,
            answer: None,
            run: None,
            outcome: None,
            delivered: false,
        };
        let max_open = self.parts.settings.load().max_open;
        for _ in 0..ASK_ATTEMPTS {
            match self.parts.approvals.ask(&record, max_open).await? {
                AskOutcome::Asked => {
                    let (user, id) = (cx.user.clone(), record.id.clone());
                    self.parts.announcements.announce(Change::ApprovalRequested { user, id }).await;
                    return Ok(CallClearance::Wait(self.awaited(&record, summary)));
                }
                AskOutcome::Known(known) => {
                    if let Some(clearance) = self.follow_known(&known).await? {
                        return Ok(clearance);
                    }
                }
                AskOutcome::QuotaReached => return Err(too_many_error(max_open)),
            }
        }
        Err(ToolError::new(ErrorCode::Overloaded, "The same call is being approved elsewhere; try again."))
    }

    /// What is known about a call that was asked about before. None if its outcome was delivered meanwhile.
    async fn follow_known(&self, known: &ApprovalRecord) -> Result<Option<CallClearance>, ToolError> {
        if !known.state.is_final() {
            return Ok(Some(CallClearance::Wait(self.awaited_approval(known))));
        }
        let is_first = self.parts.approvals.mark_delivered(&known.id).await?;
        Ok(is_first.then(|| CallClearance::Ended(outcome::of_approval(known))))
    }

    /// Whether a grant covers the call. Takes one use of a limited grant. A grant from before the user chose to be asked
    /// does not count.
    async fn is_granted(
        &self,
        cx: &CallContext,
        exact: &ExactCall,
        grants: &[StoredGrant],
        asked_since: Option<Timestamp>,
        is_leak: bool,
    ) -> Result<bool, StoreError> {
        let now = self.parts.clock.now();
        let covers = |grant: &&StoredGrant| {
            asked_since.is_none_or(|since| grant.at > since)
                && grant.definition == exact.subject.definition
                && grant.until.is_none_or(|until| until > now)
                && grant.arguments.is_none_or(|digest| digest == exact.subject.arguments)
                && (grant.conversation.is_none() || grant.conversation == cx.conversation)
                && grant.predicates.iter().all(|test| test.is_satisfied(&exact.arguments))
        };
        for grant in grants.iter().filter(covers) {
            if is_leak && !self.foresees_leak(grant).await? {
                continue;
            }
            if grant.uses.is_none() || self.parts.rules.use_grant(&grant.id).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a caller is told about an approval that waits.
    pub fn awaited_approval(&self, record: &ApprovalRecord) -> AwaitedApproval {
        self.awaited(record, self.summary_of(record))
    }

    /// Whether a grant was given with this in view: for exactly these arguments, in advance with conditions on them, or in
    /// the conversation as an answer to the same warning.
    async fn foresees_leak(&self, grant: &StoredGrant) -> Result<bool, StoreError> {
        if grant.arguments.is_some() || !grant.predicates.is_empty() {
            return Ok(true);
        }
        if grant.conversation.is_none() {
            return Ok(false);
        }
        let asked = self.parts.approvals.find_approval(&grant.id).await?;
        Ok(asked.is_some_and(|asked| asked.reason == ApprovalReason::DataFlow))
    }

    pub(super) fn awaited(&self, record: &ApprovalRecord, summary: ApprovalSummary) -> AwaitedApproval {
        AwaitedApproval::new(record, summary, self.page_url(&record.id))
    }

    /// The page where a person answers.
    pub fn page_url(&self, id: &ApprovalId) -> String {
        format!("{}/{id}", self.parts.settings.load().page_url)
    }

    fn new_id(&self) -> ApprovalId {
        let mut bytes = [0; 16];
        self.parts.ids.fill_random(&mut bytes);
        ApprovalId::from_bytes(bytes)
    }

    fn seal<T: serde::Serialize>(&self, value: &T) -> Result<Vec<u8>, ToolError> {
        let text = serde_json::to_string(value).map_err(|error| sealing_error(&error))?;
        self.parts.secrets.seal(&text).map_err(|error| sealing_error(&error))
    }
}

#[async_trait]
impl ChangeSubscriber for ApprovalGate {
    fn invalidate(&self, change: &Change) {
        match change {
            Change::ApprovalRulesChanged(user) => {
                self.rules_generation.fetch_add(1, Ordering::AcqRel);
                self.user_rules.remove(user);
            }
            Change::Everything => {
                self.rules_generation.fetch_add(1, Ordering::AcqRel);
                self.user_rules.clear();
            }
            Change::ApprovalAnswered { id, .. } | Change::ApprovalEnded { id, .. } => {
                let _ = self.changed.send(id.clone());
            }
            _ => {}
        }
    }

    async fn follow(&self, announcement: &crate::ports::Announcement) {
        if matches!(announcement.change, Change::ApprovalPolicyChanged | Change::Everything)
            && let Err(error) = self.reload_policy().await
        {
            tracing::error!(%error, "approval policy not reloaded");
        }
    }
}

fn later(now: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

fn refused_error(tool: &Tool, by_operator: bool) -> ToolError {
    let text = if by_operator {
        format!("The operator of this platform does not allow this call of {}.", tool.name)
    } else {
        format!("The user has set {} to never run. Do not try again; tell the user if it matters.", tool.name)
    };
    ToolError::new(ErrorCode::Denied, text)
}

fn sealing_error(cause: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::Overloaded, "The platform cannot store the question right now; try again.")
        .with_cause(cause)
}

fn too_many_error(max: u64) -> ToolError {
    let text = format!(
        "{max} calls of this user already wait for an approval, so this one was not asked about and did not run. \
         Ask the user to answer the open ones first."
    );
    ToolError::new(ErrorCode::RateLimited, text).retry_after(Duration::from_secs(60))
}
