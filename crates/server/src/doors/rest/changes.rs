//! `/api/changes`: tells a page which of its lists changed, so that it reads them again. It says which list, never what is
//! in it.

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

use super::{Answer, tools::KEEP_ALIVE};
use crate::{
    auth::{Lease, Person, Role},
    change_feed::{MAX_STREAMS_PER_PERSON, Subscription},
    error::Failure,
    events,
    routes::{Access, Route},
    state::AppState,
};

/// How long a change waits for company: publishing an app makes several at once.
const SETTLE: Duration = Duration::from_millis(50);
/// Least time between two events of a stream, so that many changes do not make every page read its lists all the time.
const MIN_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) fn routes() -> Vec<Route> {
    vec![Route::new(
        Method::GET,
        "/api/changes",
        Access::Person,
        "Which lists changed, as server-sent events: `ready` at the beginning, then `changed` with `{\"topics\": […]}`",
        stream,
    )]
}

/// A list that a page can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Topic {
    /// Apps of a developer; operators: all of them.
    Apps,
    /// What can be installed.
    Library,
    /// The user's apps and their grants.
    Installs,
    /// The user's tools.
    Tools,
    /// Plugins, of the user and in the catalogue.
    Plugins,
    /// Upstreams and their state.
    Upstreams,
    /// Tokens.
    Tokens,
    /// The user's session.
    Session,
}

impl Topic {
    const ALL: [Self; 8] = [
        Self::Apps,
        Self::Library,
        Self::Installs,
        Self::Tools,
        Self::Plugins,
        Self::Upstreams,
        Self::Tokens,
        Self::Session,
    ];

    /// Lists of developers and operators.
    const fn is_for_builders(self) -> bool {
        matches!(self, Self::Apps | Self::Upstreams)
    }
}

/// Who listens.
struct Audience {
    name: String,
    role: Role,
    user: Option<UserId>,
}

impl Audience {
    /// The lists of theirs that a change concerns.
    fn topics(&self, change: &Change) -> BTreeSet<Topic> {
        let topics: &[Topic] = match change {
            Change::AppChanged(_)
            | Change::AppRemoved(_)
            | Change::UpstreamChanged(_)
            | Change::UpstreamRemoved(_)
            | Change::UpstreamOfferChanged(_) => {
                &[Topic::Apps, Topic::Library, Topic::Installs, Topic::Tools, Topic::Upstreams]
            }
            Change::ViewChanged(user)
            | Change::AppUninstalled { user, .. }
            | Change::AuthorizationChanged { user, .. }
                if self.user.as_ref() == Some(user) =>
            {
                &[Topic::Library, Topic::Installs, Topic::Tools, Topic::Plugins, Topic::Session]
            }
            Change::SharedToolsChanged | Change::PluginListsChanged => {
                &[Topic::Library, Topic::Tools, Topic::Plugins, Topic::Upstreams]
            }
            Change::TokenIssued { subject } | Change::TokenRevoked { subject, .. }
                if self.sees_tokens_of(subject) =>
            {
                &[Topic::Tokens]
            }
            Change::UpstreamStatusChanged => &[Topic::Upstreams],
            Change::PluginCatalogueChanged => &[Topic::Plugins],
            Change::Everything => &Topic::ALL,
            Change::ViewChanged(_)
            | Change::AppUninstalled { .. }
            | Change::AuthorizationChanged { .. }
            | Change::TokenIssued { .. }
            | Change::TokenRevoked { .. }
            | Change::AppSettingsChanged { .. }
            | Change::PlatformSettingsChanged(_)
            | Change::ResourceUpdated { .. } => &[],
        };
        topics.iter().copied().filter(|topic| self.sees(*topic)).collect()
    }

    /// Everything of theirs, where changes were missed.
    fn all_topics(&self) -> BTreeSet<Topic> {
        Topic::ALL.into_iter().filter(|topic| self.sees(*topic)).collect()
    }

    fn sees(&self, topic: Topic) -> bool {
        self.role != Role::User || !topic.is_for_builders()
    }

    fn sees_tokens_of(&self, subject: &str) -> bool {
        self.role == Role::Operator || self.name == subject
    }
}

async fn stream(State(state): State<AppState>, who: Person) -> Answer {
    let subscription = state.change_feed.subscribe(&who.name).ok_or_else(|| {
        let text =
            format!("{MAX_STREAMS_PER_PERSON} streams of changes are open already; close one and retry");
        Failure::new(ApiErrorCode::Conflict, text)
    })?;
    let watch = Watch {
        subscription,
        audience: Audience { name: who.name, role: who.role, user: who.user },
        lease: who.actor.into(),
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

/// One page that listens, for as long as its credential is good.
struct Watch {
    state: AppState,
    subscription: Subscription,
    audience: Audience,
    lease: Lease,
    /// Where nothing changes, nothing else would look at the credential.
    beat: Interval,
    pending: PendingTopics,
    is_ready: bool,
}

impl Watch {
    async fn next(&mut self) -> Option<Event> {
        if !self.is_ready {
            self.is_ready = true;
            return Some(events::named("ready", &JsonLine::new(&serde_json::json!({}))));
        }
        loop {
            let due = self.pending.due;
            let is_due = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let heard = tokio::select! {
                change = self.subscription.changes.recv() => Some(change),
                () = is_due => None,
                _ = self.beat.tick() => None,
                () = self.state.lifecycle.stopping.cancelled() => return None,
            };
            if self.lease.is_over(&self.state.tokens, self.state.clock.now()) {
                return None;
            }
            match heard {
                Some(Ok(change)) => self.pending.add(self.audience.topics(&change), Instant::now()),
                Some(Err(RecvError::Lagged(_))) => {
                    self.pending.add(self.audience.all_topics(), Instant::now());
                }
                Some(Err(RecvError::Closed)) => return None,
                None => {}
            }
            if let Some(topics) = self.pending.take(Instant::now()) {
                return Some(events::named("changed", &JsonLine::new(&Changed { topics })));
            }
        }
    }
}

/// What changed and was not sent yet: at most all topics, however much changes.
#[derive(Default)]
struct PendingTopics {
    topics: BTreeSet<Topic>,
    due: Option<Instant>,
    last_sent: Option<Instant>,
}

impl PendingTopics {
    fn add(&mut self, topics: BTreeSet<Topic>, now: Instant) {
        if topics.is_empty() {
            return;
        }
        self.topics.extend(topics);
        let settled = now + SETTLE;
        let earliest = self.last_sent.map_or(settled, |last| settled.max(last + MIN_INTERVAL));
        self.due.get_or_insert(earliest);
    }

    /// What is due now.
    fn take(&mut self, now: Instant) -> Option<BTreeSet<Topic>> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        self.last_sent = Some(now);
        Some(std::mem::take(&mut self.topics))
    }
}

/// Data of the event `changed`.
#[derive(Serialize)]
struct Changed {
    topics: BTreeSet<Topic>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audience(name: &str, role: Role) -> Audience {
        Audience { name: name.to_owned(), role, user: name.parse().ok() }
    }

    #[tokio::test(start_paused = true)]
    async fn many_changes_are_few_events() {
        let (mut pending, begun) = (PendingTopics::default(), Instant::now());
        let mut events = Vec::new();
        for ms in (0..2_000).step_by(10) {
            let now = begun + Duration::from_millis(ms);
            pending.add(BTreeSet::from([Topic::Apps, Topic::Tools]), now);
            events.extend(pending.take(now).map(|topics| (ms, topics.len())));
        }
        assert_eq!(events, [(50, 2), (550, 2), (1_050, 2), (1_550, 2)]);
        assert_eq!(
            pending.take(begun + Duration::from_secs(3)).map(|topics| topics.len()),
            Some(2),
            "the last"
        );
        assert_eq!(pending.take(begun + Duration::from_secs(9)), None);
    }

    #[test]
    fn each_hears_of_their_own_lists_only() {
        let (ada, dora, boss) = (
            audience("ada", Role::User),
            audience("dora", Role::Developer),
            audience("boss", Role::Operator),
        );
        let app = Change::AppChanged("com.a".parse().unwrap());
        assert!(!ada.topics(&app).contains(&Topic::Apps) && dora.topics(&app).contains(&Topic::Apps));
        let view = Change::ViewChanged("ada".parse().unwrap());
        assert!(ada.topics(&view).contains(&Topic::Tools));
        assert!(dora.topics(&view).is_empty() && boss.topics(&view).is_empty());
        let token = Change::TokenIssued { subject: "ada".into() };
        assert!(dora.topics(&token).is_empty());
        assert_eq!((ada.topics(&token).len(), boss.topics(&token).len()), (1, 1));
        let upstreams = Change::UpstreamStatusChanged;
        assert!(ada.topics(&upstreams).is_empty() && !dora.topics(&upstreams).is_empty());
        assert_eq!(boss.all_topics().len(), Topic::ALL.len());
        assert_eq!(ada.all_topics().len(), Topic::ALL.len() - 2);
    }
}
