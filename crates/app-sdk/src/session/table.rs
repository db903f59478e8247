//! All sessions of the app: one for each user who has it open.

use std::collections::HashMap;

use parking_lot::Mutex;
use toolyard_protocol::{AppSessionId, UserId};

use super::{EndReason, Session, SessionConnection};

#[derive(Debug, Default)]
pub(crate) struct SessionTable(Mutex<HashMap<UserId, Session>>);

impl SessionTable {
    /// The user's session, only while it is connected: with a broken one nothing can be shown.
    pub(crate) fn find_connected(&self, user: &UserId) -> Option<Session> {
        self.find(user).filter(|session| session.connection() == SessionConnection::Connected)
    }

    /// The user's session, connected or lost.
    pub(crate) fn find(&self, user: &UserId) -> Option<Session> {
        self.0.lock().get(user).cloned()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Puts a session in its place and gives back the one that was there.
    pub(super) fn insert(&self, session: Session) -> Option<Session> {
        self.0.lock().insert(session.user().clone(), session)
    }

    /// Takes a session out, unless another one has taken its place.
    pub(super) fn remove(&self, session: &Session) {
        let mut sessions = self.0.lock();
        if sessions.get(session.user()).is_some_and(|found| found.is_same_session(session)) {
            sessions.remove(session.user());
        }
    }

    /// Ends one run of the app for a user. A run that is over already is not an error.
    pub(crate) fn stop_session(&self, user: &UserId, id: &AppSessionId, reason: EndReason) {
        if let Some(session) = self.find(user).filter(|session| session.id() == id) {
            session.request_end(reason);
        }
    }

    pub(crate) fn end_all(&self) {
        for session in self.0.lock().values() {
            session.request_end(EndReason::AppStopped);
        }
    }
}
