//! Users' homes, and leases. A node is alive as long as its row in `ledger_nodes` is fresh, by the clock of the database.

use async_trait::async_trait;
use toolyard_core::ports::{ClusterStore, NodeId, StoreError, UserHome};
use toolyard_protocol::UserId;

use super::PostgresStore;
use crate::rows::store_error;

/// How often a claim is repeated because the home moved meanwhile.
const MAX_ATTEMPTS: usize = 3;

#[async_trait]
impl ClusterStore for PostgresStore {
    fn node(&self) -> NodeId {
        NodeId(self.node.mark.id)
    }

    async fn join(&self, address: &str) -> Result<(), StoreError> {
        self.node.publish_address(address).await
    }

    async fn claim_home(&self, user: &UserId, lost: Option<i64>) -> Result<UserHome, StoreError> {
        let mut connection = self.connect().await?;
        for _ in 0..MAX_ATTEMPTS {
            let claim = sqlx::query_scalar!(
                "INSERT INTO user_homes AS home (user_id, node, epoch) VALUES ($1, $2, nextval('home_epochs'))
                 ON CONFLICT (user_id) DO UPDATE SET node = excluded.node, epoch = excluded.epoch
                 WHERE home.node <> $2 AND (home.epoch = $3 OR NOT EXISTS (SELECT 1 FROM ledger_nodes
                     WHERE id = home.node AND seen_at > clock_timestamp() - make_interval(secs => $4)))
                 RETURNING epoch",
                user.as_str(),
                self.node.mark.id,
                lost,
                self.node.mark.timeout.as_secs_f64()
            );
            if let Some(epoch) = claim.fetch_optional(&mut *connection).await.map_err(store_error)? {
                return Ok(UserHome { node: self.node(), epoch, address: self.node.address() });
            }
            let find = sqlx::query!(
                r#"SELECT home.node, home.epoch, COALESCE(node.address, '') AS "address!"
                   FROM user_homes AS home LEFT JOIN ledger_nodes AS node ON node.id = home.node
                   WHERE home.user_id = $1"#,
                user.as_str()
            );
            // It was given up between the two statements: claim it again.
            if let Some(home) = find.fetch_optional(&mut *connection).await.map_err(store_error)? {
                return Ok(UserHome { node: NodeId(home.node), epoch: home.epoch, address: home.address });
            }
        }
        Err(StoreError::Unavailable("the home of a user moves too often".to_owned()))
    }

    async fn list_homes(&self) -> Result<Vec<(UserId, i64)>, StoreError> {
        let query = sqlx::query!("SELECT user_id, epoch FROM user_homes WHERE node = $1", self.node.mark.id);
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(rows.into_iter().map(|row| (UserId::from_stored(&row.user_id), row.epoch)).collect())
    }

    async fn release_home(&self, user: &UserId, epoch: i64) -> Result<(), StoreError> {
        let query =
            sqlx::query!("DELETE FROM user_homes WHERE user_id = $1 AND epoch = $2", user.as_str(), epoch);
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn leave(&self) -> Result<(), StoreError> {
        let mut connection = self.connect().await?;
        for query in [
            sqlx::query!("DELETE FROM user_homes WHERE node = $1", self.node.mark.id),
            sqlx::query!("DELETE FROM leases WHERE node = $1", self.node.mark.id),
        ] {
            query.execute(&mut *connection).await.map_err(store_error)?;
        }
        Ok(())
    }

    async fn hold_lease(&self, name: &str) -> Result<bool, StoreError> {
        let query = sqlx::query_scalar!(
            "INSERT INTO leases AS lease (name, node) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET node = excluded.node
             WHERE lease.node = $2 OR NOT EXISTS (SELECT 1 FROM ledger_nodes
                 WHERE id = lease.node AND seen_at > clock_timestamp() - make_interval(secs => $3))
             RETURNING node",
            name,
            self.node.mark.id,
            self.node.mark.timeout.as_secs_f64()
        );
        let held = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(held.is_some())
    }
}
