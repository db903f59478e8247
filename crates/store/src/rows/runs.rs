//! Rows of app sessions.

use toolyard_core::ports::{StoreError, StoredRun};
use toolyard_protocol::UserId;

use super::parse_column;

/// Most runs that are restored after a start.
pub(crate) const MAX_RUNS: i64 = 100_000;

#[derive(sqlx::FromRow)]
pub(crate) struct RunRow {
    pub(crate) session: String,
    pub(crate) user_id: String,
    pub(crate) package: String,
    pub(crate) by_user: bool,
}

impl RunRow {
    pub(crate) fn into_run(self) -> Result<StoredRun, StoreError> {
        Ok(StoredRun {
            session: parse_column("app session", &self.session)?,
            user: UserId::from_stored(&self.user_id),
            package: parse_column("package name", &self.package)?,
            by_user: self.by_user,
        })
    }
}
