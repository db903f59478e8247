//! In which browsers users are signed in.

use sqlx::FromRow;
use toolyard_core::ports::{BrowserSession, EndedSessions, StoreError};
use toolyard_protocol::{UserId, accounts::SignInMethod};

use super::{damaged_value, parse_column, to_timestamp};

#[derive(FromRow)]
pub(crate) struct BrowserSessionRow {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) method: String,
    pub(crate) device: String,
    pub(crate) started_at: i64,
    pub(crate) last_seen_at: i64,
    pub(crate) expires_at: i64,
}

impl BrowserSessionRow {
    pub(crate) fn into_session(self) -> Result<BrowserSession, StoreError> {
        let method = SignInMethod::ALL.into_iter().find(|method| method.as_str() == self.method);
        Ok(BrowserSession {
            id: parse_column("session id", &self.id)?,
            user: UserId::from_stored(&self.user_id),
            method: method.ok_or_else(|| damaged_value("sign-in method", self.method))?,
            device: self.device,
            started_at: to_timestamp(self.started_at),
            last_seen_at: to_timestamp(self.last_seen_at),
            expires_at: to_timestamp(self.expires_at),
        })
    }
}

/// The only session that ends, and the only one that does not, if there is such a one.
pub(crate) fn ended_session_ids(which: EndedSessions<'_>) -> (Option<&str>, Option<&str>) {
    match which {
        EndedSessions::All => (None, None),
        EndedSessions::One(id) => (Some(id.as_str()), None),
        EndedSessions::AllBut(id) => (None, Some(id.as_str())),
    }
}
