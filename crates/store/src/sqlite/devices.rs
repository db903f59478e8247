//! The last device of each user.

use async_trait::async_trait;
use toolyard_core::ports::{DeviceStore, StoreError, StoredDevice};
use toolyard_protocol::UserId;

use super::{SqliteStore, count_rows};
use crate::rows::{from_json, store_error, to_i64, to_json, to_timestamp};

#[async_trait]
impl DeviceStore for SqliteStore {
    async fn last_device(&self, user: &UserId) -> Result<Option<StoredDevice>, StoreError> {
        let sql = "SELECT capabilities, seen_at FROM devices WHERE user_id = ?";
        let query = sqlx::query_as::<_, (String, i64)>(sql).bind(user.as_str());
        let row = query.fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(|(capabilities, at)| {
            Ok(StoredDevice { capabilities: from_json("device", &capabilities)?, at: to_timestamp(at) })
        })
        .transpose()
    }

    async fn save_device(&self, user: &UserId, device: StoredDevice) -> Result<(), StoreError> {
        let sql = "INSERT INTO devices (user_id, capabilities, seen_at) VALUES (?, ?, ?)
             ON CONFLICT (user_id) DO UPDATE SET capabilities = excluded.capabilities, seen_at = excluded.seen_at";
        let capabilities = to_json("device", &device.capabilities)?;
        let mut tx = self.begin_write().await?;
        let is_known =
            count_rows(&mut tx, "SELECT COUNT(*) FROM devices WHERE user_id = ?", user.as_str()).await? > 0;
        let query = sqlx::query(sql).bind(user.as_str()).bind(capabilities).bind(device.at.as_millisecond());
        query.execute(&mut *tx).await.map_err(store_error)?;
        if !is_known {
            let sql = "DELETE FROM devices WHERE user_id IN
                 (SELECT user_id FROM devices ORDER BY seen_at DESC, user_id LIMIT -1 OFFSET ?)";
            let forget = sqlx::query(sql).bind(to_i64(self.quotas.load().remembered_devices));
            forget.execute(&mut *tx).await.map_err(store_error)?;
        }
        tx.commit().await.map_err(store_error)
    }
}
