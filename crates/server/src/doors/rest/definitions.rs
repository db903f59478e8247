//! `/api/definitions`: definitions that changed and are not in use, and what is pinned.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use axum::extract::State;
use http::Method;
use serde::Deserialize;
use toolyard_core::{
    pinning::PinSubject,
    ports::{PackagePins, QuarantineFilter, QuarantinePlace, QuarantinedChange, Stores},
    schema::pool::{SET_TIMEOUT, WorkOwner, WorkPool},
};
use toolyard_definitions::{
    ScanFinding,
    change::ChangeClass,
    diff::{diff_definitions, diff_texts},
    pin::PinnedContent,
};
use toolyard_platform::{
    Platform,
    definitions::{self as verbs, ChangeAnswer},
};
use toolyard_protocol::{
    LocalName, PackageName, ToolName, UserId,
    definitions::{
        ChangeReason, DefinitionAnswer, DefinitionAnswerRequest, DefinitionChangeDetails,
        DefinitionChangeInfo, DefinitionChangeKind, DefinitionChangeList, DefinitionChangeState,
        DefinitionFinding, DefinitionNoteInfo, DefinitionPinInfo, PackagePinsInfo, PinKind,
    },
};

use super::{HandlerResult, no_content, ok_json, parse_package};
use crate::{
    auth::AuthenticatedPerson,
    body::JsonBody,
    error::RequestError,
    extract::{PathParams, QueryParams},
    routes::{Route, RouteAccess},
};

/// Default and maximum page size.
const DEFAULT_PAGE: u32 = 50;
const MAX_PAGE: u32 = 200;
/// Longest cursor in bytes.
const MAX_CURSOR_BYTES: usize = 8 * 1024;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/definitions",
            RouteAccess::Person,
            "Changed definitions that are not in use: all for operators, otherwise those of the user's packages",
            list_changes,
        )
        .query(&[
            ("package", "Only this app or upstream"),
            ("state", "`pending` or `rejected`. Default: both"),
            ("after", "`next` of the previous page"),
            ("limit", "Page size, at most 200. Default: 50"),
        ])
        .response_body::<DefinitionChangeList>(),
        Route::new(
            Method::GET,
            "/api/definitions/{id}",
            RouteAccess::Person,
            "A changed definition, with the lines that differ and what the scanner found",
            show_change,
        )
        .response_body::<DefinitionChangeDetails>(),
        Route::audited(
            Method::POST,
            "/api/definitions/{id}",
            RouteAccess::Person,
            "Accepts or rejects a changed definition: operators for everyone, users for themselves",
            answer_change,
        )
        .request_body::<DefinitionAnswerRequest>()
        .success_status(204),
        Route::new(
            Method::GET,
            "/api/definitions/pins/{package}",
            RouteAccess::Person,
            "What is pinned for an app or upstream, since when, and what was applied without a question",
            show_pins,
        )
        .response_body::<PackagePinsInfo>(),
    ]
}

#[derive(Deserialize)]
struct ChangeListQuery {
    package: Option<String>,
    state: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

async fn list_changes(
    State(platform): State<Arc<Platform>>,
    State(stores): State<Stores>,
    who: AuthenticatedPerson,
    QueryParams(query): QueryParams<ChangeListQuery>,
) -> HandlerResult {
    let limit = query.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let state = query.state.map(|text| text.parse::<DefinitionChangeState>());
    let filter = QuarantineFilter {
        viewer: viewer(&platform, &who).await?,
        package: query.package.map(|name| parse_package(&name)).transpose()?,
        state: state.transpose().map_err(|error| RequestError::invalid_request(format!("state: {error}")))?,
        id: None,
        after: query.after.map(|text| parse_cursor(&text)).transpose()?,
        limit,
    };
    let found = stores.quarantine.list_quarantined(&filter).await?;
    let last = found.last().filter(|_| found.len() == limit as usize);
    let next = last.map(|(_, place)| hex::encode(serde_json::to_vec(place).unwrap_or_default()));
    // Most changes of a page belong to few packages.
    let mut pins = HashMap::new();
    let mut changes = Vec::with_capacity(found.len());
    for (change, _) in &found {
        let user = change.user.as_ref().or(who.user.as_ref());
        let key = (&change.package, user);
        let pins = match pins.entry(key) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(unread) => unread.insert(stores.pins.find_pins(&change.package, user).await?),
        };
        changes.push(change_info(change, old_content(change, pins).is_some()));
    }
    ok_json(&DefinitionChangeList { changes, next })
}

/// Operators see everything; others what concerns them.
async fn viewer(
    platform: &Platform,
    who: &AuthenticatedPerson,
) -> Result<Option<(UserId, Vec<PackageName>)>, RequestError> {
    match (&who.user, who.actor.is_operator()) {
        (_, true) => Ok(None),
        (Some(user), false) => Ok(Some((user.clone(), verbs::visible_packages(platform, user).await?))),
        (None, false) => Err(RequestError::invalid_request("name the user in the X-User-Id header")),
    }
}

fn parse_cursor(text: &str) -> Result<QuarantinePlace, RequestError> {
    let bad = || RequestError::invalid_request("after: send `next` of the previous page");
    if text.len() > MAX_CURSOR_BYTES {
        return Err(bad());
    }
    serde_json::from_slice(&hex::decode(text).map_err(|_| bad())?).map_err(|_| bad())
}

/// A change as clients see it.
fn change_info(change: &QuarantinedChange, has_accepted: bool) -> DefinitionChangeInfo {
    let kind = change.subject.kind();
    let name = change.subject.name();
    let tool = (kind == PinKind::Tool).then(|| name.parse::<LocalName>().ok()).flatten();
    DefinitionChangeInfo {
        id: change.id.clone(),
        package: change.package.clone(),
        subject: kind,
        name: name.to_owned(),
        tool: tool.map(|tool| ToolName::new(&change.package, &tool)),
        user: change.user.clone(),
        kind: change.kind,
        other: change.other.clone(),
        digest: change.digest.to_string(),
        state: change.state,
        since: change.at.to_string(),
        flagged: change.findings.iter().filter(|finding| finding.is_flag()).count(),
        old_in_use: has_accepted && change.kind != DefinitionChangeKind::Renamed,
    }
}

/// The accepted content of the subject; of a renamed tool, that under its old name.
fn old_content<'p>(change: &QuarantinedChange, pins: &'p PackagePins) -> Option<&'p PinnedContent> {
    let subject = match (&change.other, change.kind) {
        (Some(from), DefinitionChangeKind::Renamed) => PinSubject::new(change.subject.kind(), from),
        _ => change.subject.clone(),
    };
    pins.effective().get(&subject).map(|pin| &pin.version.content)
}

async fn show_change(
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    PathParams(id): PathParams<String>,
) -> HandlerResult {
    let change = verbs::find_change(&platform, &who.actor, who.user.as_ref(), &parse_id(&id)?).await?;
    let user = change.user.as_ref().or(who.user.as_ref());
    let pins = platform.stores.pins.find_pins(&change.package, user).await?;
    let old = old_content(&change, &pins).cloned();
    let info = change_info(&change, old.is_some());
    let owner = WorkOwner::for_package(&change.package);
    let (kind, new) = (change.subject.kind(), change.content.clone());
    let diff = WorkPool::global().run_within(&owner, SET_TIMEOUT, move || diff_lines(kind, old, &new)).await;
    let reason = |one: &toolyard_definitions::DefinitionChange| ChangeReason {
        pointer: one.pointer.clone(),
        harmless: one.class == ChangeClass::Harmless,
        reason: one.reason.clone(),
    };
    ok_json(&DefinitionChangeDetails {
        change: info,
        diff: diff.unwrap_or_else(|error| vec![format!("@ the diff cannot be shown: {error}")]),
        reasons: change.changes.iter().map(reason).collect(),
        findings: change.findings.iter().map(finding_info).collect(),
    })
}

fn diff_lines(kind: PinKind, old: Option<PinnedContent>, new: &PinnedContent) -> Vec<String> {
    let old =
        old.unwrap_or_else(|| PinnedContent::new(if kind == PinKind::Instructions { "" } else { "{}" }));
    let mut lines: Vec<String> = match kind {
        PinKind::Instructions => diff_texts(&old.text, &new.text).iter().map(ToString::to_string).collect(),
        PinKind::Tool | PinKind::Page => {
            let lines = diff_definitions(&old.to_value(kind), &new.to_value(kind));
            lines.iter().map(ToString::to_string).collect()
        }
    };
    for (url, digest) in &new.icons {
        if old.icons.get(url).is_some_and(|before| before != digest) {
            lines.push(format!("@ the picture at {url} is another one"));
        }
    }
    lines
}

fn finding_info(finding: &ScanFinding) -> DefinitionFinding {
    let name = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    DefinitionFinding {
        rule: name(serde_json::json!(finding.rule)),
        severity: name(serde_json::json!(finding.severity)),
        pointer: finding.pointer.clone(),
        excerpt: finding.excerpt.clone(),
        reason: finding.reason.clone(),
    }
}

async fn answer_change(
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    PathParams(id): PathParams<String>,
    JsonBody(request): JsonBody<DefinitionAnswerRequest>,
) -> HandlerResult {
    let answer = ChangeAnswer { id: parse_id(&id)?, digest: request.digest, scope: request.scope };
    let user = who.user.as_ref();
    match request.answer {
        DefinitionAnswer::Accept => verbs::accept(&platform, &who.actor, user, &answer).await?,
        DefinitionAnswer::Reject => verbs::reject(&platform, &who.actor, user, &answer).await?,
    }
    no_content()
}

async fn show_pins(
    State(platform): State<Arc<Platform>>,
    who: AuthenticatedPerson,
    PathParams(package): PathParams<String>,
) -> HandlerResult {
    let package = parse_package(&package)?;
    let missing = || RequestError::not_found(format_args!("package {package}"));
    if let Some((_, packages)) = viewer(&platform, &who).await?
        && !packages.contains(&package)
    {
        return Err(missing());
    }
    platform.stores.apps.find_app(&package).await?.ok_or_else(missing)?;
    let pins = platform.stores.pins.find_pins(&package, who.user.as_ref()).await?;
    let notes = platform.stores.pins.list_notes(&package).await?;
    ok_json(&PackagePinsInfo {
        first_seen: pins.first_seen.map(|at| at.to_string()),
        pins: pins
            .pins
            .iter()
            .map(|pin| DefinitionPinInfo {
                subject: pin.subject.kind(),
                name: pin.subject.name().to_owned(),
                user: pin.user.clone(),
                digest: pin.version.digest.to_string(),
                origin: pin.origin,
                by: pin.by.clone(),
                since: pin.at.to_string(),
                findings: pin.findings.iter().map(finding_info).collect(),
            })
            .collect(),
        notes: notes
            .into_iter()
            .map(|note| DefinitionNoteInfo {
                subject: note.subject.kind(),
                name: note.subject.name().to_owned(),
                at: note.at.to_string(),
                text: note.text,
            })
            .collect(),
        package,
    })
}

fn parse_id(text: &str) -> Result<toolyard_protocol::DefinitionChangeId, RequestError> {
    text.parse()
        .map_err(|error: toolyard_protocol::id::InvalidId| RequestError::invalid_request(error.to_string()))
}
