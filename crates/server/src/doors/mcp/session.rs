//! Sessions of the handshake revisions. The id is signed and carries everything, so it needs no storage, survives restarts
//! and is valid on every node. The state kept here may be lost.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use dashmap::DashMap;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::Sha256;
use tokio_util::sync::CancellationToken;
use toolyard_core::ports::{IdGenerator, SecretSealer};
use toolyard_protocol::mcp::McpRevision;

use super::client::McpClientContext;
use crate::auth::CallerContext;

/// Longest session id that is accepted.
const MAX_ID_CHARS: usize = 8 * 1024;
/// Most sessions with state. Beyond that, the least important state is removed.
const MAX_SESSION_STATES: usize = 20_000;
/// Prune passes, one per minute, after which the settings of an unused session are removed, because clients often leave
/// without ending their session. Clients that still listen have an open stream.
const MAX_IDLE_PASSES: u32 = 60;
/// Most resources that one session subscribes to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 256;
/// Total bytes of their URIs. A URI made from a template can be as long as a request.
pub(super) const MAX_SUBSCRIBED_BYTES: usize = 16 * 1024;

/// Contents of a session id.
#[derive(Serialize, Deserialize)]
struct SessionClaims {
    /// The user.
    user: String,
    /// The caller that opened it.
    by: String,
    revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<Box<RawValue>>,
    /// The name of the client program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Arc<str>>,
    /// Expiry, in seconds since the epoch.
    until: i64,
    /// Makes the id unique.
    nonce: String,
}

/// A running request. Each has a number, because two HTTP requests of a session may have the same id.
struct RunningRequest {
    number: u64,
    id: Box<str>,
    cancel: CancellationToken,
}

/// State of a session while it is in use.
#[derive(Default)]
struct McpSessionState {
    ended: bool,
    until: i64,
    log_level: Option<Arc<str>>,
    subscriptions: HashSet<String>,
    under_way: Vec<RunningRequest>,
    streams: usize,
    ended_token: CancellationToken,
    /// Prune passes since its last use.
    idle_passes: u32,
}

/// Opens and verifies sessions, and keeps their state.
pub(crate) struct McpSessions {
    keys: Vec<[u8; 32]>,
    days: i64,
    states: DashMap<Arc<str>, Mutex<McpSessionState>>,
    requests: AtomicU64,
}

impl McpSessions {
    pub(crate) fn new(secrets: &dyn SecretSealer, days: u32) -> Self {
        Self {
            keys: secrets.derive_keys("mcp-session"),
            days: days.into(),
            states: DashMap::new(),
            requests: AtomicU64::new(0),
        }
    }

    /// Opens a session and returns its id.
    pub(super) fn open_session(
        &self,
        client: &McpClientContext,
        now: Timestamp,
        ids: &dyn IdGenerator,
    ) -> String {
        let mut nonce = [0; 12];
        ids.fill_random(&mut nonce);
        let claims = SessionClaims {
            user: client.who.user.as_str().to_owned(),
            by: client.who.caller.to_string(),
            revision: client.revision.as_str().to_owned(),
            declared: client.declared.as_deref().map(RawValue::to_owned),
            client: client.name.clone(),
            until: now.as_second() + self.days * 24 * 60 * 60,
            nonce: hex::encode(nonce),
        };
        let body = URL_SAFE_NO_PAD.encode(toolyard_protocol::raw::to_raw(&claims).get());
        let key = self.keys.first().copied().unwrap_or_default();
        let signature = URL_SAFE_NO_PAD.encode(session_mac(&key, &body).finalize().into_bytes());
        format!("{body}.{signature}")
    }

    /// The client of a session, if the id is ours, belongs to this caller and is still valid.
    pub(super) fn find_client(
        &self,
        id: &str,
        who: CallerContext,
        now: Timestamp,
    ) -> Option<McpClientContext> {
        let (body, signature) = Some(id).filter(|id| id.len() <= MAX_ID_CHARS)?.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let signed = self.keys.iter().any(|key| session_mac(key, body).verify_slice(&signature).is_ok());
        let claims: SessionClaims =
            signed.then(|| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()).flatten()?;
        // The id is no credential: the caller must be the one that opened the session.
        let same = claims.user == who.user.as_str() && claims.by == who.caller.to_string();
        let revision: McpRevision = claims.revision.parse().ok()?;
        if !same || claims.until <= now.as_second() || revision.is_modern() {
            return None;
        }
        let session: Arc<str> = claims.nonce.into();
        let seen = self.with_state(&session, |state| {
            state.idle_passes = 0;
            (state.ended, state.log_level.clone())
        });
        let (ended, log_level) = seen.unwrap_or((false, None));
        (!ended).then(|| McpClientContext {
            who,
            revision,
            declared: claims.declared.map(Into::into),
            has_tasks: false,
            log_level,
            session: Some(session),
            name: claims.client,
        })
    }

    /// Ends a session. Remembered until its id expires.
    pub(super) fn end_session(&self, session: &Arc<str>, now: Timestamp) {
        let until = now.as_second() + self.days * 24 * 60 * 60;
        self.with_new_state(session, |state| {
            (state.ended, state.until) = (true, until);
            state.ended_token.cancel();
            for request in state.under_way.drain(..) {
                request.cancel.cancel();
            }
        });
    }

    /// The minimum log level of the session.
    pub(super) fn log_level(&self, session: &Arc<str>) -> Option<Arc<str>> {
        self.with_state(session, |state| state.log_level.clone()).flatten()
    }

    pub(super) fn set_log_level(&self, session: &Arc<str>, level: Arc<str>) {
        self.with_new_state(session, |state| state.log_level = Some(level));
    }

    /// Adds a subscription. False if there are too many, or their URIs are too long.
    pub(super) fn subscribe(&self, session: &Arc<str>, uri: &str) -> bool {
        self.with_new_state(session, |state| {
            let bytes = state.subscriptions.iter().map(String::len).sum::<usize>() + uri.len();
            let fits = state.subscriptions.len() < MAX_SUBSCRIPTIONS && bytes <= MAX_SUBSCRIBED_BYTES;
            let room = fits || state.subscriptions.contains(uri);
            if room {
                state.subscriptions.insert(uri.to_owned());
            }
            room
        })
        .unwrap_or(false)
    }

    pub(super) fn unsubscribe(&self, session: &Arc<str>, uri: &str) {
        self.with_state(session, |state| state.subscriptions.remove(uri));
    }

    pub(super) fn is_subscribed(&self, session: &Arc<str>, uri: &str) -> bool {
        self.with_state(session, |state| state.subscriptions.contains(uri)).unwrap_or(false)
    }

    /// Registers an open stream. The token is cancelled when the session ends.
    pub(super) fn opened_stream(&self, session: &Arc<str>) -> CancellationToken {
        let opened = self.with_new_state(session, |state| {
            state.streams += 1;
            state.ended_token.clone()
        });
        opened.unwrap_or_default()
    }

    /// Unregisters a stream.
    pub(super) fn closed_stream(&self, session: &Arc<str>) {
        self.with_state(session, |state| state.streams = state.streams.saturating_sub(1));
    }

    /// Registers a running request, so that a notification can cancel it. Returns its number and its token.
    pub(super) fn begin_request(&self, session: &Arc<str>, id: &RawValue) -> (u64, CancellationToken) {
        let (number, cancel) = (self.requests.fetch_add(1, Ordering::Relaxed), CancellationToken::new());
        let running = RunningRequest { number, id: id.get().into(), cancel: cancel.clone() };
        self.with_new_state(session, |state| state.under_way.push(running));
        (number, cancel)
    }

    /// Unregisters a request by its number.
    pub(super) fn finish_request(&self, session: &Arc<str>, number: u64) {
        self.with_state(session, |state| state.under_way.retain(|running| running.number != number));
    }

    /// Cancels a request of the client: all that run with this id.
    pub(super) fn cancel_request(&self, session: &Arc<str>, id: &RawValue) {
        self.with_state(session, |state| {
            let named = state.under_way.iter().filter(|running| *running.id == *id.get());
            named.for_each(|running| running.cancel.cancel());
        });
    }

    /// Removes expired state. If there is too much, also the settings of sessions, then the ended marks. That is safe: an
    /// ended id that is valid again only works for the caller that opened it.
    pub(super) fn prune_sessions(&self, now: Timestamp) {
        let pass = |keeps_settings: bool, keeps_ended: bool| {
            self.states.retain(|_, state| {
                let state = state.get_mut();
                let ended = state.ended && state.until > now.as_second();
                let has_settings = !state.subscriptions.is_empty() || state.log_level.is_some();
                let used = state.idle_passes < MAX_IDLE_PASSES;
                state.idle_passes = state.idle_passes.saturating_add(1);
                let busy = !state.under_way.is_empty() || state.streams > 0;
                busy || (ended && keeps_ended) || (has_settings && used && !state.ended && keeps_settings)
            });
            self.states.len() > MAX_SESSION_STATES
        };
        if pass(true, true) && pass(false, true) {
            pass(false, false);
        }
    }

    fn with_state<T>(&self, session: &Arc<str>, with: impl FnOnce(&mut McpSessionState) -> T) -> Option<T> {
        let state = self.states.get(session)?;
        let mut state = state.lock();
        Some(with(&mut state))
    }

    fn with_new_state<T>(
        &self,
        session: &Arc<str>,
        with: impl FnOnce(&mut McpSessionState) -> T,
    ) -> Option<T> {
        if self.states.len() >= MAX_SESSION_STATES * 2 {
            // Too many since the last pass. The minimum time keeps all ended marks unexpired.
            self.prune_sessions(Timestamp::MIN);
        }
        self.states.entry(session.clone()).or_default();
        self.with_state(session, with)
    }
}

fn session_mac(key: &[u8; 32], body: &str) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes any key");
    mac.update(body.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;
    use crate::secrets::RootKeys;

    fn sessions() -> McpSessions {
        McpSessions::new(&RootKeys::new(vec![[1; 32]], Arc::new(SystemIds)), 1)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn expired_state_is_removed() {
        let sessions = sessions();
        let session = |name: &str| -> Arc<str> { name.into() };
        let id = toolyard_protocol::raw::to_raw(&1);
        let (number, _) = sessions.begin_request(&session("asks"), &id);
        sessions.finish_request(&session("asks"), number);
        let (_, under_way) = sessions.begin_request(&session("works"), &id);
        let listens = sessions.opened_stream(&session("listens"));
        sessions.set_log_level(&session("logs"), "debug".into());
        assert!(sessions.subscribe(&session("subscribes"), "a:b"));
        sessions.end_session(&session("ended"), at(0));
        sessions.prune_sessions(at(24 * 60 * 60 - 1));
        let is_stored = |name: &str| sessions.states.contains_key(name);
        assert!(!is_stored("asks"));
        for name in ["works", "listens", "logs", "subscribes", "ended"] {
            assert!(is_stored(name), "{name}");
        }
        // Ended sessions are cancelled, and remembered until their ids expire.
        for name in ["works", "listens", "logs"] {
            sessions.end_session(&session(name), at(0));
        }
        sessions.closed_stream(&session("listens"));
        sessions.prune_sessions(at(24 * 60 * 60));
        assert!(under_way.is_cancelled() && listens.is_cancelled());
        assert_eq!(
            sessions.states.iter().map(|entry| entry.key().to_string()).collect::<Vec<_>>(),
            ["subscribes"]
        );
    }

    #[test]
    fn settings_of_an_unused_session_are_removed() {
        let sessions = sessions();
        sessions.set_log_level(&"left".into(), "debug".into());
        sessions.set_log_level(&"listens".into(), "debug".into());
        let _stream = sessions.opened_stream(&"listens".into());
        for _ in 0..MAX_IDLE_PASSES {
            sessions.prune_sessions(at(1));
        }
        assert_eq!(sessions.states.len(), 2);
        sessions.prune_sessions(at(1));
        assert_eq!(
            sessions.states.iter().map(|entry| entry.key().to_string()).collect::<Vec<_>>(),
            ["listens"]
        );
    }

    #[test]
    fn subscriptions_of_a_session_are_limited_in_bytes() {
        let (sessions, session): (_, Arc<str>) = (sessions(), "s".into());
        let uri = |name: char| format!("a:{}", name.to_string().repeat(MAX_SUBSCRIBED_BYTES / 2 - 2));
        assert!(sessions.subscribe(&session, &uri('x')) && sessions.subscribe(&session, &uri('y')));
        assert!(!sessions.subscribe(&session, "a:z"));
        assert!(sessions.subscribe(&session, &uri('x')), "already subscribed");
        sessions.unsubscribe(&session, &uri('x'));
        assert!(sessions.subscribe(&session, "a:z"));
    }

    #[test]
    fn state_is_limited_between_two_prune_passes() {
        let sessions = sessions();
        for number in 0..MAX_SESSION_STATES * 2 + 1 {
            sessions.set_log_level(&format!("logs{number}").into(), "debug".into());
        }
        assert_eq!(sessions.states.len(), 1);
    }

    #[test]
    fn state_is_limited_by_a_prune_pass() {
        let session = |kind: &str, number: usize| -> Arc<str> { format!("{kind}{number}").into() };
        let (sessions, busy) = (sessions(), session("busy", 0));
        sessions.begin_request(&busy, &toolyard_protocol::raw::to_raw(&1));
        for number in 0..MAX_SESSION_STATES {
            sessions.set_log_level(&session("logs", number), "debug".into());
        }
        sessions.end_session(&session("ended", 0), at(0));
        sessions.prune_sessions(at(1));
        assert_eq!(sessions.states.len(), 2, "settings go first");
        for number in 1..=MAX_SESSION_STATES {
            sessions.end_session(&session("ended", number), at(0));
        }
        sessions.prune_sessions(at(1));
        assert_eq!(sessions.states.len(), 1);
        assert!(sessions.states.contains_key(&busy), "busy sessions stay");
    }
}
