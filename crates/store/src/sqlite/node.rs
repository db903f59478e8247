//! Identifies which opening of the store started a call. An open key belongs either to a running call of this opening,
//! or to an interrupted call of an earlier one, because the data folder has one server at a time.

use sqlx::SqlitePool;

/// The number of this opening of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) i64);

impl NodeId {
    /// Takes a new number.
    pub(super) async fn next(write: &SqlitePool) -> Result<Self, sqlx::Error> {
        let insert = sqlx::query_scalar("INSERT INTO ledger_nodes DEFAULT VALUES RETURNING id");
        let id: i64 = insert.fetch_one(write).await?;
        // The numbers continue without their rows.
        sqlx::query("DELETE FROM ledger_nodes WHERE id < ?").bind(id).execute(write).await?;
        Ok(Self(id))
    }
}
