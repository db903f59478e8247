//! Sessions of the handshake revisions. The id carries everything and is signed, so that it needs no memory, survives
//! restarts, and is good on every node; what is kept here may be lost.

use std::{collections::HashSet, sync::Arc};

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

/// Longest session id that is looked at.
const MAX_ID_CHARS: usize = 8 * 1024;
/// Most sessions of which something is kept; beyond that, what matters least is forgotten.
const MAX_SESSION_STATES: usize = 20_000;
/// Looks, one a minute, after which the wishes of a session that nobody used meanwhile are forgotten: clients often leave
/// without a word. Whoever still listens has a stream open.
const MAX_IDLE_PASSES: u32 = 60;
/// Most resources that one session subscribes to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 256;
/// Bytes of all their URIs together. A URI that is made from a template can be as long as a request.
pub(super) const MAX_SUBSCRIBED_BYTES: usize = 16 * 1024;

/// What a session id says.
#[derive(Serialize, Deserialize)]
struct SessionClaims {
    /// Whose.
    user: String,
    /// Who opened it.
    by: String,
    revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<Box<RawValue>>,
    /// Until when, in seconds.
    until: i64,
    /// Tells sessions apart.
    nonce: String,
}

/// What is kept of a session while it is used.
#[derive(Default)]
struct McpSessionState {
    ended: bool,
    until: i64,
    log_level: Option<Arc<str>>,
    subscriptions: HashSet<String>,
    under_way: Vec<(Box<str>, CancellationToken)>,
    streams: usize,
    ended_token: CancellationToken,
    /// Looks since it was used.
    idle_passes: u32,
}

/// Opens and reads sessions, and keeps the little that has to be remembered.
pub(crate) struct McpSessions {
    keys: Vec<[u8; 32]>,
    days: i64,
    states: DashMap<Arc<str>, Mutex<McpSessionState>>,
}

impl McpSessions {
    pub(crate) fn new(secrets: &dyn SecretSealer, days: u32) -> Self {
        Self { keys: secrets.derive_keys("mcp-session"), days: days.into(), states: DashMap::new() }
    }

    /// A new session's id.
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
            until: now.as_second() + self.days * 24 * 60 * 60,
            nonce: hex::encode(nonce),
        };
        let body = URL_SAFE_NO_PAD.encode(toolyard_protocol::raw::to_raw(&claims).get());
        let key = self.keys.first().copied().unwrap_or_default();
        let signature = URL_SAFE_NO_PAD.encode(session_mac(&key, &body).finalize().into_bytes());
        format!("{body}.{signature}")
    }

    /// The client of a session, if it is one of ours, of this caller, and not over.
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
        // Possession of an id is no credential: it must be the same one who opened it.
        let same = claims.user == who.user.as_str() && claims.by == who.caller.to_string();
        let revision: McpRevision = claims.revision.parse().ok()?;
        if !same || claims.until <= now.as_second() || revision.is_modern() {
            return None;
        }
        let session: Arc<str> = claims.nonce.into();
        let seen = self.with_state(&session, |kept| {
            kept.idle_passes = 0;
            (kept.ended, kept.log_level.clone())
        });
        let (ended, log_level) = seen.unwrap_or((false, None));
        (!ended).then(|| McpClientContext {
            who,
            revision,
            declared: claims.declared.map(Into::into),
            log_level,
            session: Some(session),
        })
    }

    /// Ends a session. Remembered until it would have ended by itself.
    pub(super) fn end_session(&self, session: &Arc<str>, now: Timestamp) {
        let until = now.as_second() + self.days * 24 * 60 * 60;
        self.with_new_state(session, |kept| {
            (kept.ended, kept.until) = (true, until);
            kept.ended_token.cancel();
            for (_, call) in kept.under_way.drain(..) {
                call.cancel();
            }
        });
    }

    /// The level of log lines that the session wants.
    pub(super) fn log_level(&self, session: &Arc<str>) -> Option<Arc<str>> {
        self.with_state(session, |kept| kept.log_level.clone()).flatten()
    }

    pub(super) fn set_log_level(&self, session: &Arc<str>, level: Arc<str>) {
        self.with_new_state(session, |kept| kept.log_level = Some(level));
    }

    /// Adds a subscription. False where there are too many, or they are too long.
    pub(super) fn subscribe(&self, session: &Arc<str>, uri: &str) -> bool {
        self.with_new_state(session, |kept| {
            let bytes = kept.subscriptions.iter().map(String::len).sum::<usize>() + uri.len();
            let fits = kept.subscriptions.len() < MAX_SUBSCRIPTIONS && bytes <= MAX_SUBSCRIBED_BYTES;
            let room = fits || kept.subscriptions.contains(uri);
            if room {
                kept.subscriptions.insert(uri.to_owned());
            }
            room
        })
        .unwrap_or(false)
    }

    pub(super) fn unsubscribe(&self, session: &Arc<str>, uri: &str) {
        self.with_state(session, |kept| kept.subscriptions.remove(uri));
    }

    pub(super) fn is_subscribed(&self, session: &Arc<str>, uri: &str) -> bool {
        self.with_state(session, |kept| kept.subscriptions.contains(uri)).unwrap_or(false)
    }

    /// Remembers an open stream. What comes back fires when the session is ended.
    pub(super) fn opened_stream(&self, session: &Arc<str>) -> CancellationToken {
        let opened = self.with_new_state(session, |kept| {
            kept.streams += 1;
            kept.ended_token.clone()
        });
        opened.unwrap_or_default()
    }

    /// The stream is over.
    pub(super) fn closed_stream(&self, session: &Arc<str>) {
        self.with_state(session, |kept| kept.streams = kept.streams.saturating_sub(1));
    }

    /// Remembers a request under way, so that a notification can cancel it.
    pub(super) fn begin_request(&self, session: &Arc<str>, id: &RawValue) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.with_new_state(session, |kept| kept.under_way.push((id.get().into(), cancel.clone())));
        cancel
    }

    /// The request is over.
    pub(super) fn finish_request(&self, session: &Arc<str>, id: &RawValue) {
        self.with_state(session, |kept| kept.under_way.retain(|(known, _)| **known != *id.get()));
    }

    /// The client wants no answer to that request any more.
    pub(super) fn cancel_request(&self, session: &Arc<str>, id: &RawValue) {
        self.with_state(session, |kept| {
            kept.under_way
                .iter()
                .filter(|(known, _)| **known == *id.get())
                .for_each(|(_, call)| call.cancel());
        });
    }

    /// Forgets what is over. Where there is too much, also what sessions wished, and then that they ended: an ended id
    /// that is good again opens nothing to anybody but who opened it.
    pub(super) fn prune_sessions(&self, now: Timestamp) {
        let pass = |keeps_wishes: bool, keeps_ended: bool| {
            self.states.retain(|_, kept| {
                let kept = kept.get_mut();
                let ended = kept.ended && kept.until > now.as_second();
                let wished = !kept.subscriptions.is_empty() || kept.log_level.is_some();
                let used = kept.idle_passes < MAX_IDLE_PASSES;
                kept.idle_passes = kept.idle_passes.saturating_add(1);
                let busy = !kept.under_way.is_empty() || kept.streams > 0;
                busy || (ended && keeps_ended) || (wished && used && !kept.ended && keeps_wishes)
            });
            self.states.len() > MAX_SESSION_STATES
        };
        if pass(true, true) && pass(false, true) {
            pass(false, false);
        }
    }

    fn with_state<T>(&self, session: &Arc<str>, with: impl FnOnce(&mut McpSessionState) -> T) -> Option<T> {
        let kept = self.states.get(session)?;
        let mut kept = kept.lock();
        Some(with(&mut kept))
    }

    fn with_new_state<T>(
        &self,
        session: &Arc<str>,
        with: impl FnOnce(&mut McpSessionState) -> T,
    ) -> Option<T> {
        if self.states.len() >= MAX_SESSION_STATES * 2 {
            // Too many since the last look; none of them is over by its time alone.
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

    fn book() -> McpSessions {
        McpSessions::new(&RootKeys::new(vec![[1; 32]], Arc::new(SystemIds)), 1)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_is_kept_is_forgotten_when_it_is_over() {
        let book = book();
        let session = |name: &str| -> Arc<str> { name.into() };
        let id = toolyard_protocol::raw::to_raw(&1);
        book.begin_request(&session("asks"), &id);
        book.finish_request(&session("asks"), &id);
        let under_way = book.begin_request(&session("works"), &id);
        let listens = book.opened_stream(&session("listens"));
        book.set_log_level(&session("logs"), "debug".into());
        assert!(book.subscribe(&session("subscribes"), "a:b"));
        book.end_session(&session("ended"), at(0));
        book.prune_sessions(at(24 * 60 * 60 - 1));
        let kept = |name: &str| book.states.contains_key(name);
        assert!(!kept("asks"));
        for name in ["works", "listens", "logs", "subscribes", "ended"] {
            assert!(kept(name), "{name}");
        }
        // Their end is heard, and remembered until it would have come by itself.
        for name in ["works", "listens", "logs"] {
            book.end_session(&session(name), at(0));
        }
        book.closed_stream(&session("listens"));
        book.prune_sessions(at(24 * 60 * 60));
        assert!(under_way.is_cancelled() && listens.is_cancelled());
        assert_eq!(book.states.iter().map(|kept| kept.key().to_string()).collect::<Vec<_>>(), ["subscribes"]);
    }

    #[test]
    fn wishes_of_a_session_that_nobody_uses_are_forgotten() {
        let book = book();
        book.set_log_level(&"left".into(), "debug".into());
        book.set_log_level(&"listens".into(), "debug".into());
        let _stream = book.opened_stream(&"listens".into());
        for _ in 0..MAX_IDLE_PASSES {
            book.prune_sessions(at(1));
        }
        assert_eq!(book.states.len(), 2);
        book.prune_sessions(at(1));
        assert_eq!(book.states.iter().map(|kept| kept.key().to_string()).collect::<Vec<_>>(), ["listens"]);
    }

    #[test]
    fn what_a_session_subscribes_to_has_a_bound_in_bytes() {
        let (book, session): (_, Arc<str>) = (book(), "s".into());
        let uri = |name: char| format!("a:{}", name.to_string().repeat(MAX_SUBSCRIBED_BYTES / 2 - 2));
        assert!(book.subscribe(&session, &uri('x')) && book.subscribe(&session, &uri('y')));
        assert!(!book.subscribe(&session, "a:z"));
        assert!(book.subscribe(&session, &uri('x')), "it has that one");
        book.unsubscribe(&session, &uri('x'));
        assert!(book.subscribe(&session, "a:z"));
    }

    #[test]
    fn what_is_kept_has_a_bound_also_between_two_looks() {
        let book = book();
        for number in 0..MAX_SESSION_STATES * 2 + 1 {
            book.set_log_level(&format!("logs{number}").into(), "debug".into());
        }
        assert_eq!(book.states.len(), 1);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let session = |kind: &str, number: usize| -> Arc<str> { format!("{kind}{number}").into() };
        let (book, busy) = (book(), session("busy", 0));
        book.begin_request(&busy, &toolyard_protocol::raw::to_raw(&1));
        for number in 0..MAX_SESSION_STATES {
            book.set_log_level(&session("logs", number), "debug".into());
        }
        book.end_session(&session("ended", 0), at(0));
        book.prune_sessions(at(1));
        assert_eq!(book.states.len(), 2, "wishes go first");
        for number in 1..=MAX_SESSION_STATES {
            book.end_session(&session("ended", number), at(0));
        }
        book.prune_sessions(at(1));
        assert_eq!(book.states.len(), 1);
        assert!(book.states.contains_key(&busy), "whoever is busy stays");
    }
}
