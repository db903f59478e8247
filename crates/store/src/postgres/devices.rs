//! The last device of each user.

use async_trait::async_trait;
use toolyard_core::ports::{DeviceStore, StoreError, StoredDevice};
use toolyard_protocol::UserId;

use super::PostgresStore;
use crate::rows::{from_json, store_error, to_i64, to_json, to_timestamp};

#[async_trait]
impl DeviceStore for PostgresStore {
    async fn last_device(&self, user: &UserId) -> Result<Option<StoredDevice>, StoreError> {
        let query =
            sqlx::query!("SELECT capabilities, seen_at FROM devices WHERE user_id = $1", user.as_str());
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(|row| {
            let capabilities = from_json("device", &row.capabilities)?;
            Ok(StoredDevice { capabilities, at: to_timestamp(row.seen_at) })
        })
        .transpose()
    }

    async fn save_device(&self, user: &UserId, device: StoredDevice) -> Result<(), StoreError> {
        let mut tx = self.begin(&[]).await?;
        // A row that no transaction changed before is new.
        let query = sqlx::query_scalar!(
            r#"INSERT INTO devices (user_id, capabilities, seen_at) VALUES ($1, $2, $3)
               ON CONFLICT (user_id) DO UPDATE SET capabilities = excluded.capabilities, seen_at = excluded.seen_at
               RETURNING xmax = 0 AS "is_new!""#,
            user.as_str(),
            to_json("device", &device.capabilities)?,
            device.at.as_millisecond()
        );
        if query.fetch_one(&mut *tx).await.map_err(store_error)? {
            // Rows that another node removes now are not waited for: it counts as well.
            let forget = sqlx::query!(
                "DELETE FROM devices WHERE user_id IN (SELECT user_id FROM devices WHERE user_id IN
                     (SELECT user_id FROM devices ORDER BY seen_at DESC, user_id OFFSET $1)
                     ORDER BY user_id FOR UPDATE SKIP LOCKED)",
                to_i64(self.quotas.load().remembered_devices)
            );
            forget.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)
    }
}
