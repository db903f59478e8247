//! The device that a user had last.

use async_trait::async_trait;
use toolyard_core::ports::{Devices, StoreError, StoredDevice};
use toolyard_protocol::UserId;

use super::{
    SqliteStore, count, failed,
    rows::{json, signed, text, time},
};

#[async_trait]
impl Devices for SqliteStore {
    async fn last(&self, user: &UserId) -> Result<Option<StoredDevice>, StoreError> {
        let sql = "SELECT capabilities, seen_at FROM devices WHERE user = ?";
        let query = sqlx::query_as::<_, (String, i64)>(sql).bind(user.as_str());
        let row = query.fetch_optional(&self.read).await.map_err(failed)?;
        row.map(|(capabilities, at)| {
            Ok(StoredDevice { capabilities: json("device", &capabilities)?, at: time(at) })
        })
        .transpose()
    }

    async fn remember(&self, user: &UserId, device: StoredDevice) -> Result<(), StoreError> {
        let sql = "INSERT INTO devices (user, capabilities, seen_at) VALUES (?, ?, ?)
             ON CONFLICT (user) DO UPDATE SET capabilities = excluded.capabilities, seen_at = excluded.seen_at";
        let capabilities = text("device", &device.capabilities)?;
        let mut tx = self.begin().await?;
        let is_known =
            count(&mut tx, "SELECT COUNT(*) FROM devices WHERE user = ?", user.as_str()).await? > 0;
        let query = sqlx::query(sql).bind(user.as_str()).bind(capabilities).bind(device.at.as_millisecond());
        query.execute(&mut *tx).await.map_err(failed)?;
        if !is_known {
            let sql = "DELETE FROM devices WHERE user IN
                 (SELECT user FROM devices ORDER BY seen_at DESC, user LIMIT -1 OFFSET ?)";
            let forget = sqlx::query(sql).bind(signed(self.quotas.remembered_devices));
            forget.execute(&mut *tx).await.map_err(failed)?;
        }
        tx.commit().await.map_err(failed)
    }
}
