//! `/api/calls` and `/api/usage`: the ledger. A user sees their own calls, an operator everybody's, a developer what
//! their apps are used for.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Sse,
        sse::{Event, KeepAlive},
    },
};
use http::Method;
use serde::Deserialize;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::Interval,
};
use toolyard_core::ports::{CallFilter, CallRecord};
use toolyard_protocol::{
    CallId, JsonLine,
    api::{CallPage, CallSummary, Usage},
};

use super::{
    HandlerResult,
    call_visibility::{CallVisibility, OF_APPS},
    ok_json,
    tools::KEEP_ALIVE,
    usage,
};
use crate::{
    auth::{CredentialLease, KnownActor},
    connections::StreamSlot,
    error::RequestError,
    events,
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Calls on a page where nobody says how many.
const DEFAULT_PAGE: u32 = 50;
/// Most calls on a page.
const MAX_PAGE: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/calls", RouteAccess::Authenticated, "Calls, newest first", list_calls)
            .query(&[
                ("user", "Operators: only of this user"),
                ("of", OF_APPS),
                ("tool", "Only of this tool, by canonical name"),
                ("app", "Only of this app"),
                ("outcome", "Only with this outcome: `OK` or an error code"),
                ("since", "Only at this time or later, ISO 8601"),
                ("before", "The `next` of the page before"),
                ("limit", "At most so many, up to 200; 50 where nothing is said"),
            ])
            .response_body::<CallPage>(),
        Route::new(
            Method::GET,
            "/api/calls/stream",
            RouteAccess::Authenticated,
            "Calls as they end, as server-sent events",
            stream_calls,
        )
        .query(&[("user", "Operators: only of this user"), ("of", OF_APPS)]),
        Route::new(Method::GET, "/api/calls/{id}", RouteAccess::Authenticated, "One call", get_call)
            .query(&[("of", OF_APPS)])
            .response_body::<CallSummary>(),
        Route::new(
            Method::GET,
            "/api/usage",
            RouteAccess::Authenticated,
            "Calls, errors and mean time a tool",
            get_usage,
        )
        .query(&[
            ("user", "Operators: only of this user"),
            ("of", OF_APPS),
            ("since", "Only at this time or later, ISO 8601"),
        ])
        .response_body::<Usage>(),
    ]
}

#[derive(Deserialize)]
struct CallPageQuery {
    user: Option<String>,
    of: Option<String>,
    tool: Option<String>,
    app: Option<String>,
    outcome: Option<String>,
    since: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

pub(super) fn parse_time(name: &str, text: Option<&str>) -> Result<Option<jiff::Timestamp>, RequestError> {
    let parse =
        |text: &str| text.parse().map_err(|error| RequestError::invalid_request(format!("{name}: {error}")));
    text.map(parse).transpose()
}

async fn list_calls(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<CallPageQuery>,
) -> HandlerResult {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let named =
        |what: &str, error: &dyn std::fmt::Display| RequestError::invalid_request(format!("{what}: {error}"));
    let view = CallVisibility::for_actor(&who, query.user.as_deref(), query.of.as_deref())?;
    let (user, owner) = view.filter_bounds();
    let filter = CallFilter {
        user,
        tool: query.tool.map(|text| text.parse().map_err(|error| named("tool", &error))).transpose()?,
        package: query.app.map(|text| text.parse().map_err(|error| named("app", &error))).transpose()?,
        owner,
        outcome: query.outcome,
        since: parse_time("since", query.since.as_deref())?,
        until: None,
        before: query.before.map(|text| text.parse().map_err(|error| named("before", &error))).transpose()?,
        limit: limit + 1,
    };
    let mut calls = state.stores.calls.list_calls(&filter).await?;
    let more = calls.len() > limit as usize;
    calls.truncate(limit as usize);
    let next = calls.last().filter(|_| more).map(|call| call.id.to_string());
    ok_json(&CallPage { calls: calls.iter().map(|call| view.summarize(&state, call)).collect(), next })
}

#[derive(Deserialize)]
struct CallQuery {
    of: Option<String>,
}

async fn get_call(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<CallQuery>,
) -> HandlerResult {
    let id: CallId = id.parse().map_err(|error| RequestError::invalid_request(format!("{error}")))?;
    let view = CallVisibility::for_actor(&who, None, query.of.as_deref())?;
    let shown = match state.stores.calls.find_call(&id).await? {
        Some(call) => view.summarize_visible(&state, &call).await?,
        None => None,
    };
    ok_json(&shown.ok_or_else(|| RequestError::not_found("such call"))?)
}

#[derive(Deserialize)]
struct CallStreamQuery {
    user: Option<String>,
    of: Option<String>,
}

async fn stream_calls(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<CallStreamQuery>,
) -> HandlerResult {
    let view = CallVisibility::for_actor(&who, query.user.as_deref(), query.of.as_deref())?;
    let watch = CallWatcher {
        _slot: state.process.streams.reserve(&who.name())?,
        calls: state.executor.subscribe(),
        view,
        lease: who.into(),
        beat: tokio::time::interval(KEEP_ALIVE),
        state,
    };
    let events = futures_util::stream::unfold(watch, |mut watch| async {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// One who watches calls, for as long as the credential is good.
struct CallWatcher {
    state: ServerState,
    _slot: StreamSlot,
    calls: broadcast::Receiver<Arc<CallRecord>>,
    view: CallVisibility,
    lease: CredentialLease,
    /// Where nothing is called, nothing else would look at the credential.
    beat: Interval,
}

impl CallWatcher {
    async fn next(&mut self) -> Option<Event> {
        loop {
            let ended = tokio::select! {
                ended = self.calls.recv() => Some(ended),
                _ = self.beat.tick() => None,
                () = self.state.lifecycle.stopping.cancelled() => return None,
            };
            if self.lease.is_expired(&self.state.tokens, self.state.clock.now()) {
                return None;
            }
            match ended {
                Some(Ok(call)) => match self.view.summarize_visible(&self.state, &call).await {
                    Ok(Some(shown)) => return Some(call_event(&shown)),
                    Ok(None) => {}
                    // Told as one that was missed: what the store cannot say now, the list says later.
                    Err(_) => return Some(events::named_event("missed", &JsonLine::new(&1))),
                },
                None => {}
                // A slow watcher is told how many it missed.
                Some(Err(RecvError::Lagged(missed))) => {
                    return Some(events::named_event("missed", &JsonLine::new(&missed)));
                }
                Some(Err(RecvError::Closed)) => return None,
            }
        }
    }
}

fn call_event(call: &CallSummary) -> Event {
    events::named_event("call", &JsonLine::new(call)).id(call.id.as_str())
}

#[derive(Deserialize)]
struct UsageQuery {
    user: Option<String>,
    of: Option<String>,
    since: Option<String>,
}

async fn get_usage(
    State(state): State<ServerState>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<UsageQuery>,
) -> HandlerResult {
    let UsageQuery { user, of, since } = query;
    let filter = usage::UsageRequest { user, of, since, ..usage::UsageRequest::default() }.to_filter(&who)?;
    ok_json(&Usage { tools: state.stores.calls.tool_usage(&filter).await? })
}
