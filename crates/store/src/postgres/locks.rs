//! Locks of write transactions.

use sqlx::PgConnection;
use toolyard_core::ports::StoreError;
use toolyard_protocol::{PackageName, UserId};

use crate::rows::store_error;

/// What a transaction has to itself until it ends, on all nodes. A transaction that counts rows, or reads them and writes what
/// follows from them, locks what it counts; all writers of the same rows take the same lock.
#[derive(Debug, Clone, Copy)]
pub(super) enum WriteLock<'a> {
    /// What belongs to a user.
    User(&'a UserId),
    /// A package: its tools, its offers, its pins.
    Package(&'a PackageName),
    /// The apps and upstreams of a developer.
    Owner(&'a str),
    /// A table with a bound for all users together.
    Table(&'static str),
}

impl WriteLock<'_> {
    fn name(self) -> String {
        match self {
            Self::User(user) => format!("user:{user}"),
            Self::Package(package) => format!("package:{package}"),
            Self::Owner(owner) => format!("owner:{owner}"),
            Self::Table(table) => format!("table:{table}"),
        }
    }
}

/// Takes the locks, always in the same order, so that no two transactions wait for each other.
pub(super) async fn take_locks(tx: &mut PgConnection, locks: &[WriteLock<'_>]) -> Result<(), StoreError> {
    if locks.is_empty() {
        return Ok(());
    }
    let mut names: Vec<String> = locks.iter().map(|lock| lock.name()).collect();
    names.sort();
    names.dedup();
    let query = sqlx::query!(
        "SELECT COUNT(pg_advisory_xact_lock(hashtextextended(name, 0))) FROM UNNEST($1::TEXT[]) AS name",
        &names
    );
    query.fetch_one(tx).await.map(drop).map_err(store_error)
}
