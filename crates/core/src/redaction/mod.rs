//! Secrets in results: a model gets placeholders, and only the app that a secret came from gets it back.
//!
//! | look for | in |
//! | --- | --- |
//! | who reads results, and where secrets are kept | here |
//! | one call: its arguments, notices and outcome | `call` |
//! | an outcome without its secrets | `outcome` |
//!
//! Secrets are kept in memory only: by owner and conversation, for a limited time, within limits.

mod call;
mod outcome;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use toolyard_protocol::{
    ToolName,
    result::{McpResult, ToolResult},
};
use toolyard_redaction::{Redactor, may_have_placeholder};

pub use self::call::{CallRedaction, MAX_NOTICE_BYTES};
pub(crate) use self::{call::CallSecretCounts, outcome::RedactedOutcome};
use crate::{
    Tool,
    executor::{CallContext, CallOutcome, CallOwner, CallReply, Caller, Door},
    expiring_shelf::{ExpiringShelf, ShelfLimits, ShelfOverflow},
    ports::{Clock, IdGenerator, SourceKind},
};

/// Conversations of one user whose secrets are kept; the one used longest ago makes room.
pub const USER_CONVERSATIONS: usize = 32;
/// The same for all users.
pub const ALL_CONVERSATIONS: usize = 4_096;

/// Whether secrets are replaced, and for which callers.
#[derive(Debug, Clone, Copy)]
pub struct RedactionSettings {
    /// Whether secrets are replaced at all.
    pub enabled: bool,
    /// Whether people who call a tool over REST get placeholders as well.
    pub for_people: bool,
    /// How long the secrets of a conversation are kept after their last use.
    pub lifetime: Duration,
}

impl Default for RedactionSettings {
    fn default() -> Self {
        Self { enabled: true, for_people: false, lifetime: Duration::from_secs(24 * 60 * 60) }
    }
}

/// How many placeholders were made and used since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedactionCounts {
    /// Secrets that were replaced.
    pub replaced: u64,
    /// Placeholders that were replaced by their secrets.
    pub restored: u64,
    /// Placeholders that a tool of another origin got as they are.
    pub foreign: u64,
    /// Placeholders that stand for nothing; the call did not run.
    pub unknown: u64,
}

/// Whose secrets are kept together: those of one conversation of one caller. Calls without a conversation share theirs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SecretScope {
    owner: CallOwner,
    conversation: Option<Arc<str>>,
}

/// Where a secret came from.
#[derive(Debug, Clone)]
struct SecretOrigin {
    name: Arc<str>,
    /// Whether its tools get the secrets back.
    is_restored: bool,
}

impl SecretOrigin {
    fn of_tool(tool: &Tool) -> Self {
        let outward = tool.definition.annotations.open_world_hint == Some(true);
        match tool.source {
            // They share a package but reach different places: what a file says must not end in the URL of a page.
            SourceKind::Builtin if outward => Self::new(tool.name.as_str(), false),
            SourceKind::App | SourceKind::Upstream | SourceKind::Builtin | SourceKind::Plugin => {
                Self::new(tool.name.package().as_str(), true)
            }
        }
    }

    fn new(name: &str, is_restored: bool) -> Self {
        Self { name: name.into(), is_restored }
    }
}

/// Replaces and restores the secrets of all calls.
pub struct SecretRedaction {
    settings: RedactionSettings,
    conversations: ExpiringShelf<SecretScope, Arc<Mutex<Redactor>>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    replaced: AtomicU64,
    restored: AtomicU64,
    foreign: AtomicU64,
    unknown: AtomicU64,
}

impl fmt::Debug for SecretRedaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretRedaction").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl SecretRedaction {
    /// Without secrets yet.
    pub fn new(settings: RedactionSettings, clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Arc<Self> {
        let limits = ShelfLimits {
            lifetime: SignedDuration::try_from(settings.lifetime).unwrap_or(SignedDuration::MAX),
            user_size: USER_CONVERSATIONS,
            total_size: ALL_CONVERSATIONS,
            overflow: ShelfOverflow::EvictOldest,
        };
        Arc::new(Self {
            settings,
            conversations: ExpiringShelf::new(limits),
            clock,
            ids,
            replaced: AtomicU64::new(0),
            restored: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
        })
    }

    /// How many placeholders were made and used since the start.
    pub fn counts(&self) -> RedactionCounts {
        RedactionCounts {
            replaced: self.replaced.load(Ordering::Relaxed),
            restored: self.restored.load(Ordering::Relaxed),
            foreign: self.foreign.load(Ordering::Relaxed),
            unknown: self.unknown.load(Ordering::Relaxed),
        }
    }

    /// Removes expired secrets. Called periodically.
    pub fn remove_expired(&self, now: Timestamp) {
        self.conversations.remove_expired(now);
    }

    /// What is done for a call of this tool. None if secrets are not replaced.
    pub(crate) fn for_tool(self: &Arc<Self>, cx: &CallContext, tool: &Tool) -> Option<Arc<CallRedaction>> {
        self.for_origin(cx, || SecretOrigin::of_tool(tool), &tool.name)
    }

    /// The same for a request about prompts and resources, which get no secrets back.
    pub(crate) fn for_request(
        self: &Arc<Self>,
        cx: &CallContext,
        name: &ToolName,
    ) -> Option<Arc<CallRedaction>> {
        self.for_origin(cx, || SecretOrigin::new(name.package().as_str(), false), name)
    }

    fn for_origin(
        self: &Arc<Self>,
        cx: &CallContext,
        origin: impl FnOnce() -> SecretOrigin,
        name: &ToolName,
    ) -> Option<Arc<CallRedaction>> {
        if !self.settings.enabled {
            return None;
        }
        let scope = SecretScope { owner: cx.owner(), conversation: cx.conversation.clone() };
        let for_model = self.reads_placeholders(cx.door, &cx.caller);
        Some(Arc::new(CallRedaction::new(self.clone(), scope, origin(), name.clone(), for_model)))
    }

    /// Whether this caller gets placeholders: everyone who passes results to a model. People who call a tool themselves get
    /// them only if the operator wants it.
    fn reads_placeholders(&self, door: Door, caller: &Caller) -> bool {
        match (door, caller) {
            (Door::Rest, Caller::User | Caller::Person(_)) => self.settings.for_people,
            (Door::Rest, Caller::App(_) | Caller::Client(_)) | (Door::Legacy | Door::Mcp | Door::Chat, _) => {
                true
            }
        }
    }

    /// What a caller reads of the outcome of a call with a key, which another caller of the same owner may have made.
    pub(crate) fn read_outcome(&self, cx: &CallContext, outcome: RedactedOutcome) -> CallOutcome {
        match outcome.plain() {
            Some(plain) if !self.reads_placeholders(cx.door, &cx.caller) => plain.clone(),
            _ => self.reveal_stored(cx.door, &cx.owner(), cx.conversation.clone(), outcome.stored),
        }
    }

    /// An outcome that was stored, as this caller reads it: people get their secrets, as long as they are kept.
    pub fn reveal_stored(
        &self,
        door: Door,
        owner: &CallOwner,
        conversation: Option<Arc<str>>,
        outcome: CallOutcome,
    ) -> CallOutcome {
        if !self.settings.enabled || self.reads_placeholders(door, &owner.caller) {
            return outcome;
        }
        self.reveal(&SecretScope { owner: owner.clone(), conversation }, outcome)
    }

    /// A result with the secrets behind its placeholders.
    fn reveal(&self, scope: &SecretScope, outcome: CallOutcome) -> CallOutcome {
        let Ok(CallReply::Done(result)) = outcome else { return outcome };
        let revealed = self.reveal_json(scope, result.mcp.raw()).and_then(McpResult::from_raw);
        let mcp = revealed.unwrap_or(result.mcp);
        Ok(CallReply::Done(ToolResult { mcp, extensions: result.extensions }))
    }

    fn reveal_json(&self, scope: &SecretScope, raw: &RawValue) -> Option<Box<RawValue>> {
        if !may_have_placeholder(raw.get()) {
            return None;
        }
        let secrets = self.conversations.get(scope, self.clock.now())?;
        let secrets = secrets.lock();
        let revealed = secrets.reveal_json(raw.get());
        (revealed.outcome.restored > 0).then(|| RawValue::from_string(revealed.text.into_owned()).ok())?
    }

    /// The secrets of a conversation, which now live on. None if there are none.
    fn find_secrets(&self, scope: &SecretScope) -> Option<Arc<Mutex<Redactor>>> {
        let now = self.clock.now();
        let found = self.conversations.get(scope, now)?;
        self.conversations.renew_or_insert(&scope.owner.user, scope.clone(), now, || found).ok()
    }

    /// The same; new if there are none.
    fn secrets_of(&self, scope: &SecretScope) -> Arc<Mutex<Redactor>> {
        let create = || {
            let mut random = [0; 32];
            self.ids.fill_random(&mut random);
            Arc::new(Mutex::new(Redactor::new(random)))
        };
        let kept =
            self.conversations.renew_or_insert(&scope.owner.user, scope.clone(), self.clock.now(), create);
        // Beyond the limits the secrets are replaced all the same, and cannot be restored.
        kept.unwrap_or_else(|_full| create())
    }
}
