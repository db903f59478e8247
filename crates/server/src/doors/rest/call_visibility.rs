//! Which calls somebody sees, and what of them: one rule for the ledger and all that is counted from it.

use jiff::{SignedDuration, Timestamp};
use toolyard_core::ports::CallRecord;
use toolyard_protocol::{
    ErrorCode, UserId,
    api::{CallSummary, outcome_text},
    session::iso_millis,
};

use crate::{
    auth::{Actor, AuthRefusal, Credential, Role},
    error::RequestError,
    state::ServerState,
};

/// What `of` means.
pub(super) const OF_APPS: &str = "`apps`: developers see what their own apps are used for, not by whom";

/// Which calls somebody sees.
pub(super) enum CallVisibility {
    /// Everybody's, or one user's.
    Users(Option<UserId>),
    /// Of this one's apps, without a word by whom.
    Apps(String),
}

impl CallVisibility {
    /// Which calls are asked for, as far as they are this one's to see.
    pub(super) fn for_actor(who: &Actor, user: Option<&str>, of: Option<&str>) -> Result<Self, RequestError> {
        match (of, who) {
            (
                Some("apps"),
                Actor::Person { role: Role::Developer | Role::Curator | Role::Operator, name, .. },
            ) => Ok(Self::Apps(name.clone())),
            (Some("apps"), _) => Err(AuthRefusal::Forbidden("this needs a developer's token").into()),
            (Some(_), _) => Err(RequestError::invalid_request("of: expected `apps`")),
            (None, _) => visible_user(who, user).map(Self::Users),
        }
    }

    /// The user and the owner of apps to whom it is bound.
    pub(super) fn filter_bounds(&self) -> (Option<UserId>, Option<String>) {
        match self {
            Self::Users(user) => (user.clone(), None),
            Self::Apps(owner) => (None, Some(owner.clone())),
        }
    }

    /// A call as it is shown, if it is one of these.
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
                // A name can change hands: what was called before is not the new owner's to see.
                app.is_some_and(|app| {
                    let record = &app.head.record;
                    let since = record.created_at.as_millisecond();
                    record.owner == *owner && since <= call.started_at.as_millisecond()
                })
            }
        };
        Ok(is_seen.then(|| self.summarize(state, call)))
    }

    /// One of these calls as it is shown.
    pub(super) fn summarize(&self, state: &ServerState, call: &CallRecord) -> CallSummary {
        CallSummary {
            error_message: self.error_message(state, call),
            ..call_summary(call, matches!(self, Self::Users(_)))
        }
    }

    /// The error message while it is kept, whether or not it was removed from the store already.
    fn error_message(&self, state: &ServerState, call: &CallRecord) -> Option<String> {
        let is_shown = match self {
            Self::Users(_) => true,
            Self::Apps(_) => call.error.is_some_and(is_from_app),
        };
        let message = call.error_message.as_deref().filter(|_| is_shown)?;
        (call.started_at > error_messages_since(state)).then(|| message.to_owned())
    }
}

/// Error messages of calls that began at this time or earlier are not kept.
pub(crate) fn error_messages_since(state: &ServerState) -> Timestamp {
    let now = state.clock.now();
    let hours = i64::from(state.config.ledger.error_message_hours);
    now.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(Timestamp::MIN)
}

/// Whether the message of such an error is about the app. Others repeat what a user wrote, and never reached the app.
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

/// Whose calls: everybody's only for operators.
fn visible_user(who: &Actor, named: Option<&str>) -> Result<Option<UserId>, RequestError> {
    let parse = |text: &str| {
        text.parse::<UserId>().map_err(|error| RequestError::invalid_request(format!("user: {error}")))
    };
    match (who, named) {
        (Actor::App(_), _) => Err(AuthRefusal::Forbidden("an app key cannot read the ledger").into()),
        (Actor::Person { role: Role::Operator, .. }, Some(user)) => parse(user).map(Some),
        // In dev mode the header says who asks; the operator who names nobody sees all.
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
                    Err(AuthRefusal::Forbidden("these are another user's calls").into())
                }
                _ => Ok(Some(own)),
            }
        }
    }
}

/// A call as it is shown. Where it does not tell who it was, it does not tell which calls are the same one's either.
pub(super) fn call_summary(call: &CallRecord, tells_who: bool) -> CallSummary {
    CallSummary {
        id: call.id.clone(),
        user_id: tells_who.then(|| call.user.clone()),
        tool: call.tool.to_string(),
        source: call.source.as_str().to_owned(),
        door: call.door.as_str().to_owned(),
        caller: tells_who.then(|| call.caller.to_string()),
        outcome: outcome_text(call.error).to_owned(),
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
