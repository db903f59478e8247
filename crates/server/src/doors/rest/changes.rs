//! `/api/changes`: notifies a page which of its lists changed, so that it reloads them. Events name the list, never its
//! contents.

use std::{collections::BTreeSet, convert::Infallible};

use axum::{
    extract::State,
    response::{
        IntoResponse as _, Sse,
        sse::{Event, KeepAlive},
    },
};
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Duration, Instant, Interval},
};
use toolyard_core::ports::Change;
use toolyard_protocol::{JsonLine, UserId, api::ApiErrorCode};

use super::{HandlerResult, tools::KEEP_ALIVE};
use crate::{
    auth::{AuthenticatedPerson, CredentialLease, Role},
    change_feed::{ChangeSubscription, MAX_STREAMS_PER_PERSON},
    error::RequestError,
    events,
    routes::{Route, RouteAccess},
    state::ServerState,
};

/// How long a change waits for others, because publishing an app causes several at once.
const SETTLE: Duration = Duration::from_millis(50);
/// Minimum time between two events of a stream, so that many changes do not make every page reload all the time.
const MIN_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::new(
        Method::GET,
        "/api/changes",
        RouteAccess::Person,
        "Which lists changed, as server-sent events: first `ready`, then `changed` with `{\"topics\": […]}`",
        stream_changes,
    )]
}

/// A list that a page can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ChangeTopic {
    /// Apps of a developer; for operators, all apps.
    Apps,
    /// Installable apps.
    Library,
    /// The user's apps and their grants.
    Installs,
    /// The user's tools.
    Tools,
    /// Plugins of the user and in the catalogue.
    Plugins,
    /// Upstreams and their state.
    Upstreams,
    /// Tokens.
    Tokens,
    /// The user's session.
    Session,
    /// The user's approvals, choices and grants.
    Approvals,
    /// Changed definitions that wait for an answer.
    Definitions,
}

impl ChangeTopic {
    const ALL: [Self; 10] = [
        Self::Apps,
        Self::Library,
        Self::Installs,
        Self::Tools,
        Self::Plugins,
        Self::Upstreams,
        Self::Tokens,
        Self::Session,
        Self::Approvals,
        Self::Definitions,
    ];

    /// Whether only developers and operators have this list.
    const fn is_for_builders(self) -> bool {
        matches!(self, Self::Apps | Self::Upstreams)
    }
}

/// The person that subscribes.
struct ChangeAudience {
    name: String,
    role: Role,
    user: Option<UserId>,
}

impl ChangeAudience {
    /// Lists of this person that a change affects.
    fn affected_topics(&self, change: &Change) -> BTreeSet<ChangeTopic> {
        let topics: &[ChangeTopic] = match change {
            Change::AppChanged(_)
            | Change::AppRemoved(_)
            | Change::UpstreamChanged(_)
            | Change::UpstreamRemoved(_)
            | Change::UpstreamOfferChanged(_) => &[
                ChangeTopic::Apps,
                ChangeTopic::Library,
                ChangeTopic::Installs,
                ChangeTopic::Tools,
                ChangeTopic::Upstreams,
            ],
            Change::ViewChanged(user)
            | Change::AppUninstalled { user, .. }
            | Change::AuthorizationChanged { user, .. }
                if self.user.as_ref() == Some(user) =>
            {
                &[
                    ChangeTopic::Library,
                    ChangeTopic::Installs,
                    ChangeTopic::Tools,
                    ChangeTopic::Plugins,
                    ChangeTopic::Session,
                ]
            }
            Change::SharedToolsChanged | Change::PluginListsChanged => {
                &[ChangeTopic::Library, ChangeTopic::Tools, ChangeTopic::Plugins, ChangeTopic::Upstreams]
            }
            Change::TokenIssued { subject } | Change::TokenRevoked { subject, .. }
                if self.can_see_tokens_of(subject) =>
            {
                &[ChangeTopic::Tokens]
            }
            Change::ApprovalRequested { user, .. }
            | Change::ApprovalAnswered { user, .. }
            | Change::ApprovalEnded { user, .. }
            | Change::ApprovalRulesChanged(user)
                if self.user.as_ref() == Some(user) =>
            {
                &[ChangeTopic::Approvals]
            }
            Change::DefinitionsChanged(_) => {
                &[ChangeTopic::Definitions, ChangeTopic::Tools, ChangeTopic::Upstreams]
            }
            Change::ApprovalPolicyChanged => &[ChangeTopic::Approvals],
            Change::UpstreamStatusChanged => &[ChangeTopic::Upstreams],
            Change::PluginCatalogueChanged => &[ChangeTopic::Plugins],
            Change::Everything => &ChangeTopic::ALL,
            Change::ViewChanged(_)
            | Change::AppUninstalled { .. }
            | Change::AuthorizationChanged { .. }
            | Change::TokenIssued { .. }
            | Change::TokenRevoked { .. }
            | Change::UserDisabled(_)
            | Change::UserEnabled(_)
            | Change::AppSettingsChanged { .. }
            | Change::PlatformSettingsChanged(_)
            | Change::ApprovalRequested { .. }
            | Change::ApprovalAnswered { .. }
            | Change::ApprovalEnded { .. }
            | Change::ApprovalRulesChanged(_)
            | Change::ResourceUpdated { .. } => &[],
        };
        topics.iter().copied().filter(|topic| self.can_see(*topic)).collect()
    }

    /// All lists of this person, for when changes were missed.
    fn all_topics(&self) -> BTreeSet<ChangeTopic> {
        ChangeTopic::ALL.into_iter().filter(|topic| self.can_see(*topic)).collect()
    }

    fn can_see(&self, topic: ChangeTopic) -> bool {
        self.role != Role::User || !topic.is_for_builders()
    }

    fn can_see_tokens_of(&self, subject: &str) -> bool {
        self.role == Role::Operator || self.name == subject
    }
}

async fn stream_changes(State(state): State<ServerState>, who: AuthenticatedPerson) -> HandlerResult {
    let subscription = state.change_feed.subscribe(&who.name).ok_or_else(|| {
        let text = format!("{MAX_STREAMS_PER_PERSON} change streams are open already; close one and retry");
        RequestError::new(ApiErrorCode::Conflict, text)
    })?;
    let watch = ChangeWatcher {
        subscription,
        audience: ChangeAudience { name: who.name, role: who.role, user: who.user },
        lease: CredentialLease::from(&who.actor),
        beat: tokio::time::interval(KEEP_ALIVE),
        pending: PendingTopics::default(),
        is_ready: false,
        state,
    };
    let events = futures_util::stream::unfold(watch, |mut watch| async {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// A page that is subscribed while its credential is valid.
struct ChangeWatcher {
    state: ServerState,
    subscription: ChangeSubscription,
    audience: ChangeAudience,
    lease: CredentialLease,
    /// Triggers a check of the credential while nothing changes.
    beat: Interval,
    pending: PendingTopics,
    is_ready: bool,
}

impl ChangeWatcher {
    async fn next(&mut self) -> Option<Event> {
        if !self.is_ready {
            self.is_ready = true;
            return Some(events::named_event("ready", &JsonLine::new(&serde_json::json!({}))));
        }
        loop {
            let due = self.pending.due;
            let is_due = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let received = tokio::select! {
                change = self.subscription.changes.recv() => Some(change),
                () = is_due => None,
                _ = self.beat.tick() => None,
                () = self.state.lifecycle.stopping.cancelled() => return None,
            };
            if self.lease.is_expired(&self.state.tokens, self.state.clock.now()) {
                return None;
            }
            match received {
                Some(Ok(change)) => self.pending.add(self.audience.affected_topics(&change), Instant::now()),
                Some(Err(RecvError::Lagged(_))) => {
                    self.pending.add(self.audience.all_topics(), Instant::now());
                }
                Some(Err(RecvError::Closed)) => return None,
                None => {}
            }
            if let Some(topics) = self.pending.take_due(Instant::now()) {
                return Some(events::named_event("changed", &JsonLine::new(&ChangedEvent { topics })));
            }
        }
    }
}

/// Changed topics that were not sent yet.
#[derive(Default)]
struct PendingTopics {
    topics: BTreeSet<ChangeTopic>,
    due: Option<Instant>,
    last_sent: Option<Instant>,
}

impl PendingTopics {
    fn add(&mut self, topics: BTreeSet<ChangeTopic>, now: Instant) {
        if topics.is_empty() {
            return;
        }
        self.topics.extend(topics);
        let settled = now + SETTLE;
        let earliest = self.last_sent.map_or(settled, |last| settled.max(last + MIN_INTERVAL));
        self.due.get_or_insert(earliest);
    }

    /// The pending topics, if they are due.
    fn take_due(&mut self, now: Instant) -> Option<BTreeSet<ChangeTopic>> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        self.last_sent = Some(now);
        Some(std::mem::take(&mut self.topics))
    }
}

/// Data of the event `changed`.
#[derive(Serialize)]
struct ChangedEvent {
    topics: BTreeSet<ChangeTopic>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audience(name: &str, role: Role) -> ChangeAudience {
        ChangeAudience { name: name.to_owned(), role, user: name.parse().ok() }
    }

    #[tokio::test(start_paused = true)]
    async fn many_changes_are_merged_into_few_events() {
        let (mut pending, start) = (PendingTopics::default(), Instant::now());
        let mut events = Vec::new();
        for ms in (0..2_000).step_by(10) {
            let now = start + Duration::from_millis(ms);
            pending.add(BTreeSet::from([ChangeTopic::Apps, ChangeTopic::Tools]), now);
            events.extend(pending.take_due(now).map(|topics| (ms, topics.len())));
        }
        assert_eq!(events, [(50, 2), (550, 2), (1_050, 2), (1_550, 2)]);
        assert_eq!(
            pending.take_due(start + Duration::from_secs(3)).map(|topics| topics.len()),
            Some(2),
            "the last"
        );
        assert_eq!(pending.take_due(start + Duration::from_secs(9)), None);
    }

    #[test]
    fn subscribers_get_only_topics_of_their_own_lists() {
        let (ada, dora, boss) = (
            audience("ada", Role::User),
            audience("dora", Role::Developer),
            audience("boss", Role::Operator),
        );
        let app = Change::AppChanged("com.a".parse().unwrap());
        assert!(
            !ada.affected_topics(&app).contains(&ChangeTopic::Apps)
                && dora.affected_topics(&app).contains(&ChangeTopic::Apps)
        );
        let view = Change::ViewChanged("ada".parse().unwrap());
        assert!(ada.affected_topics(&view).contains(&ChangeTopic::Tools));
        assert!(dora.affected_topics(&view).is_empty() && boss.affected_topics(&view).is_empty());
        let token = Change::TokenIssued { subject: "ada".into() };
        assert!(dora.affected_topics(&token).is_empty());
        assert_eq!((ada.affected_topics(&token).len(), boss.affected_topics(&token).len()), (1, 1));
        let upstreams = Change::UpstreamStatusChanged;
        assert!(ada.affected_topics(&upstreams).is_empty() && !dora.affected_topics(&upstreams).is_empty());
        assert_eq!(boss.all_topics().len(), ChangeTopic::ALL.len());
        assert_eq!(ada.all_topics().len(), ChangeTopic::ALL.len() - 2);
    }
}
