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
    Answer, ok,
    seen::{OF_APPS, View},
    tools::KEEP_ALIVE,
    usage,
};
use crate::{
    auth::{Anybody, Lease},
    connections::StreamSlot,
    error::Failure,
    events,
    extract::{Path, Query},
    routes::{Access, Route},
    state::AppState,
};

/// Calls on a page where nobody says how many.
const DEFAULT_PAGE: u32 = 50;
/// Most calls on a page.
const MAX_PAGE: u32 = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/calls", Access::Known, "Calls, newest first", page)
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
            .gives::<CallPage>(),
        Route::new(
            Method::GET,
            "/api/calls/stream",
            Access::Known,
            "Calls as they end, as server-sent events",
            stream,
        )
        .query(&[("user", "Operators: only of this user"), ("of", OF_APPS)]),
        Route::new(Method::GET, "/api/calls/{id}", Access::Known, "One call", one)
            .query(&[("of", OF_APPS)])
            .gives::<CallSummary>(),
        Route::new(Method::GET, "/api/usage", Access::Known, "Calls, errors and mean time a tool", usage)
            .query(&[
                ("user", "Operators: only of this user"),
                ("of", OF_APPS),
                ("since", "Only at this time or later, ISO 8601"),
            ])
            .gives::<Usage>(),
    ]
}

#[derive(Deserialize)]
struct PageQuery {
    user: Option<String>,
    of: Option<String>,
    tool: Option<String>,
    app: Option<String>,
    outcome: Option<String>,
    since: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

pub(super) fn time(name: &str, text: Option<&str>) -> Result<Option<jiff::Timestamp>, Failure> {
    let parse = |text: &str| text.parse().map_err(|error| Failure::invalid(format!("{name}: {error}")));
    text.map(parse).transpose()
}

async fn page(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Query(query): Query<PageQuery>,
) -> Answer {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let named = |what: &str, error: &dyn std::fmt::Display| Failure::invalid(format!("{what}: {error}"));
    let view = View::of(&who, query.user.as_deref(), query.of.as_deref())?;
    let (user, owner) = view.bounds();
    let filter = CallFilter {
        user,
        tool: query.tool.map(|text| text.parse().map_err(|error| named("tool", &error))).transpose()?,
        package: query.app.map(|text| text.parse().map_err(|error| named("app", &error))).transpose()?,
        owner,
        outcome: query.outcome,
        since: time("since", query.since.as_deref())?,
        until: None,
        before: query.before.map(|text| text.parse().map_err(|error| named("before", &error))).transpose()?,
        limit: limit + 1,
    };
    let mut calls = state.stores.calls.page(&filter).await?;
    let more = calls.len() > limit as usize;
    calls.truncate(limit as usize);
    let next = calls.last().filter(|_| more).map(|call| call.id.to_string());
    ok(&CallPage { calls: calls.iter().map(|call| view.summary(&state, call)).collect(), next })
}

#[derive(Deserialize)]
struct OneQuery {
    of: Option<String>,
}

async fn one(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Path(id): Path<String>,
    Query(query): Query<OneQuery>,
) -> Answer {
    let id: CallId = id.parse().map_err(|error| Failure::invalid(format!("{error}")))?;
    let view = View::of(&who, None, query.of.as_deref())?;
    let shown = match state.stores.calls.call(&id).await? {
        Some(call) => view.show(&state, &call).await?,
        None => None,
    };
    ok(&shown.ok_or_else(|| Failure::not_found("such call"))?)
}

#[derive(Deserialize)]
struct StreamQuery {
    user: Option<String>,
    of: Option<String>,
}

async fn stream(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Query(query): Query<StreamQuery>,
) -> Answer {
    let view = View::of(&who, query.user.as_deref(), query.of.as_deref())?;
    let watch = Watch {
        _slot: state.process.streams.enter(&who.name())?,
        calls: state.executor.watch(),
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
struct Watch {
    state: AppState,
    _slot: StreamSlot,
    calls: broadcast::Receiver<Arc<CallRecord>>,
    view: View,
    lease: Lease,
    /// Where nothing is called, nothing else would look at the credential.
    beat: Interval,
}

impl Watch {
    async fn next(&mut self) -> Option<Event> {
        loop {
            let ended = tokio::select! {
                ended = self.calls.recv() => Some(ended),
                _ = self.beat.tick() => None,
                () = self.state.lifecycle.stopping.cancelled() => return None,
            };
            if self.lease.is_over(&self.state.tokens, self.state.clock.now()) {
                return None;
            }
            match ended {
                Some(Ok(call)) => match self.view.show(&self.state, &call).await {
                    Ok(Some(shown)) => return Some(call_event(&shown)),
                    Ok(None) => {}
                    // Told as one that was missed: what the store cannot say now, the list says later.
                    Err(_) => return Some(events::named("missed", &JsonLine::new(&1))),
                },
                None => {}
                // A slow watcher is told how many it missed.
                Some(Err(RecvError::Lagged(missed))) => {
                    return Some(events::named("missed", &JsonLine::new(&missed)));
                }
                Some(Err(RecvError::Closed)) => return None,
            }
        }
    }
}

fn call_event(call: &CallSummary) -> Event {
    events::named("call", &JsonLine::new(call)).id(call.id.as_str())
}

#[derive(Deserialize)]
struct UsageQuery {
    user: Option<String>,
    of: Option<String>,
    since: Option<String>,
}

async fn usage(
    State(state): State<AppState>,
    Anybody(who): Anybody,
    Query(query): Query<UsageQuery>,
) -> Answer {
    let UsageQuery { user, of, since } = query;
    let filter = usage::Asked { user, of, since, ..usage::Asked::default() }.filter(&who)?;
    ok(&Usage { tools: state.stores.calls.usage(&filter).await? })
}
