//! All sessions of the app: one for each user who has it open.

use std::collections::HashMap;

use parking_lot::Mutex;
use toolyard_protocol::{AppSessionId, UserId};

use super::{EndReason, Session, SessionConnection};

#[derive(Debug, Default)]
pub(crate) struct SessionTable(Mutex<HashMap<UserId, Session>>);

impl SessionTable {
    /// The user's session, only while it is connected: nothing can be shown without a connection.
    pub(crate) fn find_connected(&self, user: &UserId) -> Option<Session> {
        self.find(user).filter(|session| session.connection() == SessionConnection::Connected)
    }

    /// The user's session, even if its connection is lost.
    pub(crate) fn find(&self, user: &UserId) -> Option<Session> {
        self.0.lock().get(user).cloned()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Inserts a session and returns the one that it replaces.
    pub(super) fn insert(&self, session: Session) -> Option<Session> {
        self.0.lock().insert(session.user().clone(), session)
    }

    /// Removes a session, unless it was replaced by another one.
    pub(super) fn remove(&self, session: &Session) {
        let mut sessions = self.0.lock();
        if sessions.get(session.user()).is_some_and(|found| found.is_same_session(session)) {
            sessions.remove(session.user());
        }
    }

    /// Ends a session of a user. A session that has already ended is not an error.
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
