//! `/api/calls` and `/api/usage`: the ledger. Users see their own calls, operators all calls, developers the calls of
//! their apps.

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
use toolyard_core::ports::Stores;
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
    cluster::ClusterNode,
    connections::StreamSlot,
    error::RequestError,
    events,
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// Default page size.
const DEFAULT_PAGE: u32 = 50;
/// Maximum page size.
const MAX_PAGE: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/calls", RouteAccess::Authenticated, "Calls, newest first", list_calls)
            .query(&[
                ("user", "Operators: only calls of this user"),
                ("of", OF_APPS),
                ("tool", "Only calls of this tool, by canonical name"),
                ("app", "Only calls of this app"),
                ("outcome", "Only calls with this outcome: `OK` or an error code"),
                ("since", "Only calls at this time or later, ISO 8601"),
                ("before", "`next` of the previous page"),
                ("limit", "Page size, at most 200. Default: 50"),
            ])
            .response_body::<CallPage>(),
        Route::new(
            Method::GET,
            "/api/calls/stream",
            RouteAccess::Authenticated,
            "Calls as they end, as server-sent events",
            stream_calls,
        )
        .query(&[("user", "Operators: only calls of this user"), ("of", OF_APPS)]),
        Route::new(Method::GET, "/api/calls/{id}", RouteAccess::Authenticated, "One call", get_call)
            .query(&[("of", OF_APPS)])
            .response_body::<CallSummary>(),
        Route::new(
            Method::GET,
            "/api/usage",
            RouteAccess::Authenticated,
            "Calls, errors and mean duration of each tool",
            get_usage,
        )
        .query(&[
            ("user", "Operators: only calls of this user"),
            ("of", OF_APPS),
            ("since", "Only calls at this time or later, ISO 8601"),
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
        elsewhere: state.cluster.as_ref().map(ClusterNode::watch_calls),
        view,
        lease: CredentialLease::from(&who),
        beat: tokio::time::interval(KEEP_ALIVE),
        state,
    };
    let events = futures_util::stream::unfold(watch, |mut watch| async {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// A client that watches calls while its credential is valid.
struct CallWatcher {
    state: ServerState,
    _slot: StreamSlot,
    calls: broadcast::Receiver<Arc<CallRecord>>,
    /// The calls of other nodes, in a cluster.
    elsewhere: Option<broadcast::Receiver<Arc<CallRecord>>>,
    view: CallVisibility,
    lease: CredentialLease,
    /// Triggers a check of the credential while there are no calls.
    beat: Interval,
}

impl CallWatcher {
    async fn next(&mut self) -> Option<Event> {
        loop {
            let ended = tokio::select! {
                ended = self.calls.recv() => Some(ended),
                ended = next_elsewhere(&mut self.elsewhere) => Some(ended),
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
                    // Reported as missed: the client can read it from the list later.
                    Err(_) => return Some(events::named_event("missed", &JsonLine::new(&1))),
                },
                None => {}
                // A slow client gets the number of calls that it missed.
                Some(Err(RecvError::Lagged(missed))) => {
                    return Some(events::named_event("missed", &JsonLine::new(&missed)));
                }
                Some(Err(RecvError::Closed)) => return None,
            }
        }
    }
}

async fn next_elsewhere(
    elsewhere: &mut Option<broadcast::Receiver<Arc<CallRecord>>>,
) -> Result<Arc<CallRecord>, RecvError> {
    match elsewhere {
        Some(calls) => calls.recv().await,
        None => std::future::pending().await,
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
    State(stores): State<Stores>,
    KnownActor(who): KnownActor,
    QueryParams(query): QueryParams<UsageQuery>,
) -> HandlerResult {
    let UsageQuery { user, of, since } = query;
    let filter =
        usage::UsageRequest { user, of, since, ..usage::UsageRequest::default() }.into_filter(&who)?;
    ok_json(&Usage { tools: stores.calls.tool_usage(&filter).await? })
}
