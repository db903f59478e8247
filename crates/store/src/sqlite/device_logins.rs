//! Programs on devices that wait for a person to agree in a browser.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{
    DeviceLogin, DeviceLoginConsent, DeviceLoginStore, RedeemedDeviceLogin, StoreError,
};
use toolyard_protocol::UserId;

use super::SqliteStore;
use crate::rows::{
    sign_in::{AgreedLoginRow, DeviceLoginRow},
    store_error,
};

#[async_trait]
impl DeviceLoginStore for SqliteStore {
    async fn add_device_login(
        &self,
        hash: &[u8; 32],
        login: &DeviceLogin,
        max: u32,
    ) -> Result<bool, StoreError> {
        let insert = sqlx::query(
            "INSERT OR IGNORE INTO device_logins (device_hash, user_code, name, created_at, until)
             SELECT ?1, ?2, ?3, ?4, ?5 WHERE (SELECT COUNT(*) FROM device_logins WHERE until > ?4) < ?6",
        );
        let insert = insert
            .bind(hash.as_slice())
            .bind(&login.user_code)
            .bind(&login.name)
            .bind(login.created_at.as_millisecond())
            .bind(login.until.as_millisecond())
            .bind(max);
        Ok(insert.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn find_device_login(
        &self,
        user_code: &str,
        now: Timestamp,
    ) -> Result<Option<DeviceLogin>, StoreError> {
        let sql =
            "SELECT user_code, name, created_at, until, user_id IS NOT NULL AS is_answered FROM device_logins
                   WHERE user_code = ? AND until > ?";
        let query = sqlx::query_as::<_, DeviceLoginRow>(sql);
        let query = query.bind(user_code).bind(now.as_millisecond());
        Ok(query.fetch_optional(&self.read).await.map_err(store_error)?.map(DeviceLogin::from))
    }

    async fn answer_device_login(
        &self,
        user_code: &str,
        user: &UserId,
        consent: Option<&DeviceLoginConsent>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE device_logins SET user_id = ?, role = ?, days = ?
                   WHERE user_code = ? AND until > ? AND user_id IS NULL";
        let query = sqlx::query(sql)
            .bind(user.as_str())
            .bind(consent.map(|consent| consent.role.as_str()))
            .bind(consent.map(|consent| consent.days))
            .bind(user_code)
            .bind(now.as_millisecond());
        Ok(query.execute(&self.write).await.map_err(store_error)?.rows_affected() > 0)
    }

    async fn redeem_device_login(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<RedeemedDeviceLogin, StoreError> {
        let sql = "UPDATE device_logins SET redeemed_at = ?1 WHERE device_hash = ?2 AND until > ?1
                   AND role IS NOT NULL AND redeemed_at IS NULL RETURNING name, user_id, role, days";
        let query = sqlx::query_as::<_, AgreedLoginRow>(sql);
        let query = query.bind(now.as_millisecond()).bind(hash.as_slice());
        if let Some(row) = query.fetch_optional(&self.write).await.map_err(store_error)? {
            return row.into_redeemed();
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM device_logins WHERE device_hash = ? AND until > ? AND user_id IS NULL)";
        let query = sqlx::query_scalar::<_, bool>(sql).bind(hash.as_slice()).bind(now.as_millisecond());
        let is_waiting = query.fetch_one(&self.write).await.map_err(store_error)?;
        Ok(if is_waiting { RedeemedDeviceLogin::Waiting } else { RedeemedDeviceLogin::Gone })
    }

    async fn prune_device_logins(&self, now: Timestamp) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM device_logins WHERE until <= ?").bind(now.as_millisecond());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }
}
