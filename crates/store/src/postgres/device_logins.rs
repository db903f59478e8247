//! Programs on devices that wait for a person to agree in a browser.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::ports::{
    DeviceLogin, DeviceLoginConsent, DeviceLoginStore, RedeemedDeviceLogin, StoreError,
};
use toolyard_protocol::UserId;

use super::{PostgresStore, WriteLock};
use crate::rows::{
    sign_in::{AgreedLoginRow, DeviceLoginRow},
    store_error,
};

#[async_trait]
impl DeviceLoginStore for PostgresStore {
    async fn add_device_login(
        &self,
        hash: &[u8; 32],
        login: &DeviceLogin,
        max: u32,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin(&[WriteLock::Table("device_logins")]).await?;
        let insert = sqlx::query!(
            "INSERT INTO device_logins (device_hash, user_code, name, created_at, until)
             SELECT $1, $2, $3, $4, $5 WHERE (SELECT COUNT(*) FROM device_logins WHERE until > $4) < $6
             ON CONFLICT DO NOTHING",
            hash.as_slice(),
            login.user_code,
            login.name,
            login.created_at.as_millisecond(),
            login.until.as_millisecond(),
            i64::from(max)
        );
        let is_added = insert.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        tx.commit().await.map_err(store_error)?;
        Ok(is_added)
    }

    async fn find_device_login(
        &self,
        user_code: &str,
        now: Timestamp,
    ) -> Result<Option<DeviceLogin>, StoreError> {
        let query = sqlx::query_as!(
            DeviceLoginRow,
            r#"SELECT user_code, name, created_at, until, user_id IS NOT NULL AS "is_answered!" FROM device_logins
               WHERE user_code = $1 AND until > $2"#,
            user_code,
            now.as_millisecond()
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(row.map(DeviceLogin::from))
    }

    async fn answer_device_login(
        &self,
        user_code: &str,
        user: &UserId,
        consent: Option<&DeviceLoginConsent>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "UPDATE device_logins SET user_id = $1, role = $2, days = $3
             WHERE user_code = $4 AND until > $5 AND user_id IS NULL",
            user.as_str(),
            consent.map(|consent| consent.role.as_str()),
            consent.map(|consent| i64::from(consent.days)),
            user_code,
            now.as_millisecond()
        );
        let answered = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(answered.rows_affected() > 0)
    }

    async fn redeem_device_login(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<RedeemedDeviceLogin, StoreError> {
        let mut connection = self.connect().await?;
        // Asked first: a login that is answered between the two statements is redeemed, not lost.
        let is_waiting = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM device_logins WHERE device_hash = $1 AND until > $2 AND user_id IS NULL)
               AS "is_waiting!""#,
            hash.as_slice(),
            now.as_millisecond()
        );
        if is_waiting.fetch_one(&mut *connection).await.map_err(store_error)? {
            return Ok(RedeemedDeviceLogin::Waiting);
        }
        let redeem = sqlx::query_as!(
            AgreedLoginRow,
            r#"UPDATE device_logins SET redeemed_at = $1 WHERE device_hash = $2 AND until > $1
               AND role IS NOT NULL AND redeemed_at IS NULL
               RETURNING name, user_id AS "user_id!", role AS "role!", days AS "days!""#,
            now.as_millisecond(),
            hash.as_slice()
        );
        let agreed = redeem.fetch_optional(&mut *connection).await.map_err(store_error)?;
        agreed.map_or(Ok(RedeemedDeviceLogin::Gone), AgreedLoginRow::into_redeemed)
    }

    async fn prune_device_logins(&self, now: Timestamp) -> Result<(), StoreError> {
        // Another node that prunes has its own rows; neither waits for the other.
        let query = sqlx::query!(
            "DELETE FROM device_logins WHERE device_hash IN
             (SELECT device_hash FROM device_logins WHERE until <= $1 FOR UPDATE SKIP LOCKED)",
            now.as_millisecond()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }
}
