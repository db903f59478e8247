//! `/api/approvals`: what the user is asked before calls run, and the answers.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use http::Method;
use serde::Deserialize;
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, Interval},
};
use toolyard_core::{
    Door,
    ports::{ApprovalFilter, Change},
};
use toolyard_platform::{Platform, approvals as verbs};
use toolyard_protocol::{
    ApprovalId, JsonLine, UserId,
    api::ApiErrorCode,
    approval::{AnswerRequest, ApprovalInfo, ApprovalList, ApprovalState},
    result::RestResult,
};

use super::{
    HandlerResult, WaitQuery, ok_json,
    tools::{KEEP_ALIVE, outcome_response},
};
use crate::{
    approvals::{approval_info, find_own},
    auth::{CallerContext, CredentialLease, TargetUser},
    body::JsonBody,
    change_feed::{ChangeSubscription, MAX_STREAMS_PER_PERSON},
    error::RequestError,
    events,
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Default and maximum page size.
const DEFAULT_PAGE: u32 = 50;
const MAX_PAGE: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/approvals",
            RouteAccess::Approver,
            "The user's approvals, newest first",
            list_approvals,
        )
        .query(&[
            ("state", "`pending`, `approved`, `denied`, `expired`, `running`, `done` or `void`"),
            ("before", "`next` of the previous page"),
            ("limit", "Page size, at most 200. Default: 50"),
        ])
        .response_body::<ApprovalList>(),
        Route::new(
            Method::GET,
            "/api/approvals/events",
            RouteAccess::Approver,
            "Approvals as server-sent events: first every pending one, then `ready`, then each one that is new or \
             changes, as `approval`",
            stream_approvals,
        ),
        Route::new(Method::GET, "/api/approvals/{id}", RouteAccess::Approver, "One approval", get_approval)
            .response_body::<ApprovalInfo>(),
        Route::audited(
            Method::POST,
            "/api/approvals/{id}",
            RouteAccess::Approver,
            "Answers an approval. A second answer is a conflict",
            answer_approval,
        )
        .request_body::<AnswerRequest>()
        .response_body::<ApprovalInfo>(),
        Route::new(
            Method::GET,
            "/api/approvals/{id}/outcome",
            RouteAccess::Caller,
            "The result of the approved call, or 202 while it waits",
            get_outcome,
        )
        .query(&[("wait", "Seconds to wait for it, at most 60. Default: 0")])
        .response_body::<RestResult<'static>>()
        .error_body::<RestResult<'static>>(),
    ]
}

#[derive(Deserialize)]
struct ApprovalListQuery {
    state: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

async fn list_approvals(
    State(state): State<ServerState>,
    who: TargetUser,
    QueryParams(query): QueryParams<ApprovalListQuery>,
) -> HandlerResult {
    let invalid = |member: &str, error: String| RequestError::invalid_request(format!("{member}: {error}"));
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let filter = ApprovalFilter {
        user: who.user,
        state: query
            .state
            .map(|text| text.parse::<ApprovalState>().map_err(|error| invalid("state", error)))
            .transpose()?,
        before: query.before.map(|text| parse_id(&text)).transpose()?,
        limit,
    };
    let records = state.stores.approvals.list_approvals(&filter, state.clock.now()).await?;
    let next =
        (records.len() == limit as usize).then(|| records.last().map(|last| last.id.clone())).flatten();
    let mut approvals = Vec::with_capacity(records.len());
    for record in &records {
        approvals.push(approval_info(&state, record).await);
    }
    ok_json(&ApprovalList { approvals, next })
}

async fn get_approval(
    State(state): State<ServerState>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let id = parse_id(&id)?;
    let record = find_own(&state, &who.user, &id).await?;
    let record = record.ok_or_else(|| RequestError::not_found(format_args!("approval {id}")))?;
    ok_json(&approval_info(&state, &record).await)
}

async fn answer_approval(
    State(state): State<ServerState>,
    State(platform): State<Arc<Platform>>,
    who: TargetUser,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<AnswerRequest>,
) -> HandlerResult {
    let record = verbs::answer(&platform, &who.into(), &parse_id(&id)?, request).await?;
    ok_json(&approval_info(&state, &record).await)
}

async fn get_outcome(
    State(state): State<ServerState>,
    who: CallerContext,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<WaitQuery>,
) -> Result<Response, RequestError> {
    let id = parse_id(&id)?;
    // Only the caller that asked gets the result.
    let record = find_own(&state, &who.user, &id).await?;
    let record = record
        .filter(|record| record.owner == who.call_owner())
        .ok_or_else(|| RequestError::not_found(format_args!("approval {id}")))?;
    let deadline = Instant::now() + query.longest_wait();
    let outcome = state.approvals.wait_for_outcome(&id, &who.user, deadline).await?;
    let outcome =
        state.executor.redaction().reveal_stored(Door::Rest, &record.owner, record.conversation, outcome);
    Ok(outcome_response(&outcome))
}

pub(super) fn parse_id(text: &str) -> Result<ApprovalId, RequestError> {
    text.parse()
        .map_err(|error: toolyard_protocol::id::InvalidId| RequestError::invalid_request(error.to_string()))
}

async fn stream_approvals(State(state): State<ServerState>, who: TargetUser) -> HandlerResult {
    // Subscribed before the list is read, so that nothing is missed in between.
    let subscription = state.change_feed.subscribe(who.user.as_str()).ok_or_else(|| {
        let text = format!("{MAX_STREAMS_PER_PERSON} event streams are open already; close one and retry");
        RequestError::new(ApiErrorCode::Conflict, text)
    })?;
    let filter = ApprovalFilter {
        user: who.user.clone(),
        state: Some(ApprovalState::Pending),
        before: None,
        limit: MAX_PAGE,
    };
    let pending = state.stores.approvals.list_approvals(&filter, state.clock.now()).await?;
    let mut queued = VecDeque::with_capacity(pending.len() + 1);
    for record in pending.iter().rev() {
        queued.push_back(approval_event(&approval_info(&state, record).await));
    }
    queued.push_back(events::named_event("ready", &JsonLine::new(&serde_json::json!({}))));
    let watch = ApprovalWatcher {
        subscription,
        user: who.user,
        lease: (&who.actor).into(),
        beat: tokio::time::interval(KEEP_ALIVE),
        queued,
        state,
    };
    let stream = futures_util::stream::unfold(watch, |mut watch| async {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

fn approval_event(info: &ApprovalInfo) -> Event {
    events::named_event("approval", &JsonLine::new(info))
}

/// A surface that shows approvals while its credential is valid.
struct ApprovalWatcher {
    state: ServerState,
    subscription: ChangeSubscription,
    user: UserId,
    lease: CredentialLease,
    /// Triggers a check of the credential while nothing changes.
    beat: Interval,
    queued: VecDeque<Event>,
}

impl ApprovalWatcher {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Some(event);
            }
            let received = tokio::select! {
                change = self.subscription.changes.recv() => Some(change),
                _ = self.beat.tick() => None,
                () = self.state.lifecycle.stopping.cancelled() => return None,
            };
            if self.lease.is_expired(&self.state.tokens, self.state.clock.now()) {
                return None;
            }
            let id = match received {
                Some(Ok(
                    Change::ApprovalRequested { user, id }
                    | Change::ApprovalAnswered { user, id }
                    | Change::ApprovalEnded { user, id },
                )) if user == self.user => id,
                // The client reconnects and gets every pending approval again.
                Some(Err(RecvError::Lagged(_) | RecvError::Closed)) => return None,
                Some(Ok(_)) | None => continue,
            };
            if let Ok(Some(record)) = find_own(&self.state, &self.user, &id).await {
                let info = approval_info(&self.state, &record).await;
                return Some(approval_event(&info));
            }
        }
    }
}
