//! Which calls a caller can see, and which details: one rule for the ledger and all reports.

use jiff::{SignedDuration, Timestamp};
use toolyard_core::ports::CallRecord;
use toolyard_protocol::{ErrorCode, UserId, api::CallSummary, session::iso_millis};

use crate::{
    auth::{Actor, AuthRefusal, Credential, Role},
    error::RequestError,
    state::ServerState,
};

/// Describes the query parameter `of`.
pub(super) const OF_APPS: &str = "`apps`: calls of the developer's own apps, without the users";

/// The calls that a caller can see.
pub(super) enum CallVisibility {
    /// Calls of all users, or of one.
    Users(Option<UserId>),
    /// Calls of this owner's apps, without the users.
    Apps(String),
}

impl CallVisibility {
    /// The requested calls, if this actor may see them.
    pub(super) fn for_actor(who: &Actor, user: Option<&str>, of: Option<&str>) -> Result<Self, RequestError> {
        match (of, who) {
            (
                Some("apps"),
                Actor::Person { role: Role::Developer | Role::Curator | Role::Operator, name, .. },
            ) => Ok(Self::Apps(name.clone())),
            (Some("apps"), _) => Err(AuthRefusal::Forbidden("this requires a developer token").into()),
            (Some(_), _) => Err(RequestError::invalid_request("of: expected `apps`")),
            (None, _) => visible_user(who, user).map(Self::Users),
        }
    }

    /// The user or the app owner to filter by.
    pub(super) fn filter_bounds(&self) -> (Option<UserId>, Option<String>) {
        match self {
            Self::Users(user) => (user.clone(), None),
            Self::Apps(owner) => (None, Some(owner.clone())),
        }
    }

    /// The summary of a call, if it is visible.
    pub(super) async fn summarize_visible(
        &self,
        state: &ServerState,
        call: &CallRecord,
    ) -> Result<Option<CallSummary>, RequestError> {
        let is_seen = match (self, &call.package) {
            (Self::Users(user), _) => user.as_ref().is_none_or(|user| call.user == *user),
            (Self::Apps(_), None) => false,
            (Self::Apps(owner), Some(package)) => {
                let app = state.catalog.find_app(package).await?;
                // A package name can change owners. The new owner may not see calls from before.
                app.is_some_and(|app| {
                    let record = &app.head.record;
                    let since = record.created_at.as_millisecond();
                    record.owner == *owner && since <= call.started_at.as_millisecond()
                })
            }
        };
        Ok(is_seen.then(|| self.summarize(state, call)))
    }

    /// The summary of a visible call.
    pub(super) fn summarize(&self, state: &ServerState, call: &CallRecord) -> CallSummary {
        CallSummary {
            error_message: self.error_message(state, call),
            ..call_summary(call, matches!(self, Self::Users(_)))
        }
    }

    /// The error message within its retention time, even if the store has not removed it yet.
    fn error_message(&self, state: &ServerState, call: &CallRecord) -> Option<String> {
        let is_shown = match self {
            Self::Users(_) => true,
            Self::Apps(_) => call.error.is_some_and(is_from_app),
        };
        let message = call.error_message.as_deref().filter(|_| is_shown)?;
        (call.started_at > error_messages_since(state)).then(|| message.to_owned())
    }
}

/// Error messages of calls that started at this time or earlier are not kept.
pub(crate) fn error_messages_since(state: &ServerState) -> Timestamp {
    let now = state.clock.now();
    let hours = i64::from(state.config.load().ledger.error_message_hours);
    now.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(Timestamp::MIN)
}

/// Whether the message of such an error is about the app. Other messages may repeat what a user wrote, and never reached the app.
const fn is_from_app(code: ErrorCode) -> bool {
    match code {
        ErrorCode::AppNotAvailable
        | ErrorCode::Timeout
        | ErrorCode::NetworkError
        | ErrorCode::HttpError
        | ErrorCode::InvalidResponse
        | ErrorCode::ToolNotHandled
        | ErrorCode::ExecutionError
        | ErrorCode::HandlerError => true,
        ErrorCode::InvalidRequest
        | ErrorCode::InvalidToolName
        | ErrorCode::ToolNotFound
        | ErrorCode::InvalidArguments
        | ErrorCode::Conflict
        | ErrorCode::Denied
        | ErrorCode::RateLimited
        | ErrorCode::Overloaded
        | ErrorCode::OutcomeUnknown
        | ErrorCode::Cancelled => false,
    }
}

/// The user whose calls are visible. `None` means all users, for operators only.
fn visible_user(who: &Actor, named: Option<&str>) -> Result<Option<UserId>, RequestError> {
    let parse = |text: &str| {
        text.parse::<UserId>().map_err(|error| RequestError::invalid_request(format!("user: {error}")))
    };
    match (who, named) {
        (Actor::App(_), _) => Err(AuthRefusal::Forbidden("an app key cannot read the ledger").into()),
        (Actor::Person { role: Role::Operator, .. }, Some(user)) => parse(user).map(Some),
        // In dev mode the header names the user. Without it, the operator sees all calls.
        (Actor::Person { role: Role::Operator, credential: Credential::DevHeader, name }, None)
            if name != "dev" =>
        {
            parse(name).map(Some)
        }
        (Actor::Person { role: Role::Operator, .. }, None) => Ok(None),
        (Actor::Person { name, .. }, named) => {
            let own = parse(name)?;
            match named.map(parse).transpose()? {
                Some(other) if other != own => {
                    Err(AuthRefusal::Forbidden("the calls belong to another user").into())
                }
                _ => Ok(Some(own)),
            }
        }
    }
}

/// The summary of a call. Without the user, it also omits what could link calls of the same user.
pub(super) fn call_summary(call: &CallRecord, tells_who: bool) -> CallSummary {
    CallSummary {
        id: call.id.clone(),
        user_id: tells_who.then(|| call.user.clone()),
        tool: call.tool.to_string(),
        source: call.source.as_str().to_owned(),
        door: call.door.as_str().to_owned(),
        caller: tells_who.then(|| call.caller.to_string()),
        outcome: call.outcome_text().to_owned(),
        approval_id: call.approval.clone().filter(|_| tells_who),
        error_message: None,
        replayed: call.replayed,
        started_at: iso_millis(call.started_at),
        duration_us: call.duration_us,
        steps: call.steps,
        bytes_in: call.bytes_in,
        bytes_out: call.bytes_out,
        trace_id: tells_who.then(|| format!("{:032x}", call.trace.trace_id)),
    }
}
