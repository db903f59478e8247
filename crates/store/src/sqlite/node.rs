//! Which opening of the store began a call. A key that is found open belongs to a call of this opening, which still runs, or to
//! one of an earlier opening, which was cut off: the data folder has one server at a time.

use sqlx::SqlitePool;

/// The number of this opening of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) i64);

impl NodeId {
    /// Takes a number that no opening had before.
    pub(super) async fn next(write: &SqlitePool) -> Result<Self, sqlx::Error> {
        let insert = sqlx::query_scalar("INSERT INTO ledger_nodes DEFAULT VALUES RETURNING id");
        let id: i64 = insert.fetch_one(write).await?;
        // The numbers go on without their rows.
        sqlx::query("DELETE FROM ledger_nodes WHERE id < ?").bind(id).execute(write).await?;
        Ok(Self(id))
    }
}
