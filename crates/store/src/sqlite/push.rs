//! The browsers that users want to be notified in.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{PushSubscriptionStore, StoreError, StoredPushSubscription};
use toolyard_protocol::{PushSubscriptionId, UserId};

use super::SqliteStore;
use crate::rows::{push::PushSubscriptionRow, store_error};

#[async_trait]
impl PushSubscriptionStore for SqliteStore {
    async fn put_push_subscription(
        &self,
        subscription: &StoredPushSubscription,
        max: u32,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin_write().await?;
        let query = sqlx::query(
            "INSERT OR REPLACE INTO push_subscriptions
             (id, user_id, endpoint, receiver_key, auth_secret, server_key, label, created_at, last_sent_at, problem)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        );
        let query = query
            .bind(subscription.id.as_str())
            .bind(subscription.user.as_str())
            .bind(&subscription.endpoint)
            .bind(&subscription.receiver_key)
            .bind(&subscription.auth_secret)
            .bind(&subscription.server_key)
            .bind(&subscription.label)
            .bind(subscription.created_at.as_millisecond())
            .bind(subscription.last_sent_at.map(Timestamp::as_millisecond))
            .bind(&subscription.problem);
        query.execute(&mut *tx).await.map_err(store_error)?;
        let query = sqlx::query(
            "DELETE FROM push_subscriptions WHERE id IN (SELECT id FROM push_subscriptions WHERE user_id = ?1
             ORDER BY id = ?2 DESC, created_at DESC, id LIMIT -1 OFFSET ?3)",
        );
        let query = query.bind(subscription.user.as_str()).bind(subscription.id.as_str()).bind(max);
        query.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)
    }

    async fn list_push_subscriptions(
        &self,
        user: &UserId,
    ) -> Result<Vec<StoredPushSubscription>, StoreError> {
        let sql = "SELECT * FROM push_subscriptions WHERE user_id = ? ORDER BY created_at DESC, id";
        let query = sqlx::query_as::<_, PushSubscriptionRow>(sql).bind(user.as_str());
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(PushSubscriptionRow::into_subscription).collect()
    }

    async fn remove_push_subscription(
        &self,
        user: &UserId,
        id: &PushSubscriptionId,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM push_subscriptions WHERE user_id = ? AND id = ?")
            .bind(user.as_str())
            .bind(id.as_str());
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn record_push(
        &self,
        user: &UserId,
        id: &PushSubscriptionId,
        outcome: Result<Timestamp, &str>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE push_subscriptions SET last_sent_at = COALESCE(?, last_sent_at), problem = ?
             WHERE user_id = ? AND id = ?";
        let query = sqlx::query(sql)
            .bind(outcome.ok().map(Timestamp::as_millisecond))
            .bind(outcome.err())
            .bind(user.as_str())
            .bind(id.as_str());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }
}
