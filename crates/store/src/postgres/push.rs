//! The browsers that users want to be notified in.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{PushSubscriptionStore, StoreError, StoredPushSubscription};
use toolyard_protocol::{PushSubscriptionId, UserId};

use super::{PostgresStore, WriteLock};
use crate::rows::{push::PushSubscriptionRow, store_error};

#[async_trait]
impl PushSubscriptionStore for PostgresStore {
    async fn put_push_subscription(
        &self,
        subscription: &StoredPushSubscription,
        max: u32,
    ) -> Result<(), StoreError> {
        // The whole table, too: a browser that had another user moves from that user's rows to these.
        let locks = [WriteLock::Table("push_subscriptions"), WriteLock::User(&subscription.user)];
        let mut tx = self.begin(&locks).await?;
        let query = sqlx::query!(
            "INSERT INTO push_subscriptions
             (id, user_id, endpoint, receiver_key, auth_secret, server_key, label, created_at, last_sent_at, problem)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (id) DO UPDATE SET user_id = excluded.user_id, endpoint = excluded.endpoint,
             receiver_key = excluded.receiver_key, auth_secret = excluded.auth_secret, server_key = excluded.server_key,
             label = excluded.label, created_at = excluded.created_at, last_sent_at = excluded.last_sent_at,
             problem = excluded.problem",
            subscription.id.as_str(),
            subscription.user.as_str(),
            subscription.endpoint,
            subscription.receiver_key,
            subscription.auth_secret,
            subscription.server_key,
            subscription.label,
            subscription.created_at.as_millisecond(),
            subscription.last_sent_at.map(Timestamp::as_millisecond),
            subscription.problem.as_deref()
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        let query = sqlx::query!(
            "DELETE FROM push_subscriptions WHERE id IN (SELECT id FROM push_subscriptions WHERE user_id = $1
             ORDER BY id = $2 DESC, created_at DESC, id OFFSET $3)",
            subscription.user.as_str(),
            subscription.id.as_str(),
            i64::from(max)
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)
    }

    async fn list_push_subscriptions(
        &self,
        user: &UserId,
    ) -> Result<Vec<StoredPushSubscription>, StoreError> {
        let query = sqlx::query_as!(
            PushSubscriptionRow,
            "SELECT id, user_id, endpoint, receiver_key, auth_secret, server_key, label, created_at, last_sent_at, problem
             FROM push_subscriptions WHERE user_id = $1 ORDER BY created_at DESC, id",
            user.as_str()
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(PushSubscriptionRow::into_subscription).collect()
    }

    async fn remove_push_subscription(
        &self,
        user: &UserId,
        id: &PushSubscriptionId,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "DELETE FROM push_subscriptions WHERE user_id = $1 AND id = $2",
            user.as_str(),
            id.as_str()
        );
        let removed = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(removed.rows_affected() > 0)
    }

    async fn record_push(
        &self,
        user: &UserId,
        id: &PushSubscriptionId,
        outcome: Result<Timestamp, &str>,
    ) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "UPDATE push_subscriptions SET last_sent_at = COALESCE($1, last_sent_at), problem = $2
             WHERE user_id = $3 AND id = $4",
            outcome.ok().map(Timestamp::as_millisecond),
            outcome.err(),
            user.as_str(),
            id.as_str()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}
