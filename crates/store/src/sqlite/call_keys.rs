//! Idempotency keys and the outcomes stored under them, within the limits of one user.

use sqlx::SqliteConnection;
use toolyard_core::ports::{ClaimOutcome, KeyClaim, KeyEnd};

use super::node::NodeId;
use crate::rows::calls::{ANY_CALLER, EVICTED_AT_ONCE};

#[derive(sqlx::FromRow)]
struct KeyRow {
    caller: String,
    digest: Vec<u8>,
    node: i64,
    ended: bool,
    outcome: Option<String>,
}

pub(super) async fn begin_key(
    tx: &mut SqliteConnection,
    claim: &KeyClaim,
    node: NodeId,
) -> Result<ClaimOutcome, sqlx::Error> {
    let (user, caller) = (claim.owner.user.as_str(), claim.owner.caller.to_string());
    let expired = claim.expired_before.as_millisecond();
    let sql = "SELECT caller, digest, node, ended_at IS NOT NULL AS ended, outcome FROM call_keys
        WHERE user_id = ? AND caller IN (?, ?) AND key = ? AND begun_at >= ? ORDER BY caller DESC LIMIT 1";
    let found = sqlx::query_as::<_, KeyRow>(sql).bind(user).bind(&caller).bind(ANY_CALLER).bind(&*claim.key);
    let found = found.bind(expired).fetch_optional(&mut *tx).await?;
    if let Some(found) = found {
        return Ok(match (found.digest == claim.digest, found.ended) {
            (false, _) => ClaimOutcome::Conflict,
            // The caller of this outcome is unknown, so nobody may read it.
            (true, _) if found.caller == ANY_CALLER => ClaimOutcome::Open,
            (true, true) => ClaimOutcome::Done(found.outcome),
            (true, false) if found.node == node.0 => ClaimOutcome::Running,
            (true, false) => ClaimOutcome::Open,
        });
    }
    let gone = sqlx::query(
        "DELETE FROM call_keys WHERE user_id = ? AND caller IN (?, ?) AND key = ? AND begun_at < ?",
    );
    let gone = gone.bind(user).bind(&caller).bind(ANY_CALLER).bind(&*claim.key).bind(expired);
    gone.execute(&mut *tx).await?;
    if !has_key_quota(tx, claim).await? {
        return Ok(ClaimOutcome::QuotaReached);
    }
    let sql = "INSERT INTO call_keys (user_id, caller, key, digest, call, node, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
    let insert = sqlx::query(sql)
        .bind(user)
        .bind(&caller)
        .bind(&*claim.key)
        .bind(claim.digest.as_slice())
        .bind(claim.call.as_str())
        .bind(node.0)
        .bind(claim.at.as_millisecond());
    insert.execute(&mut *tx).await.map(|_| ClaimOutcome::Fresh)
}

/// Whether the user may have another key. Expired keys are removed if needed.
async fn has_key_quota(tx: &mut SqliteConnection, claim: &KeyClaim) -> Result<bool, sqlx::Error> {
    let user = claim.owner.user.as_str();
    let most = i64::try_from(claim.quota.keys).unwrap_or(i64::MAX);
    if key_totals(tx, user).await?.0 < most {
        return Ok(true);
    }
    let late = sqlx::query("DELETE FROM call_keys WHERE user_id = ? AND begun_at < ?").bind(user);
    late.bind(claim.expired_before.as_millisecond()).execute(&mut *tx).await?;
    Ok(key_totals(tx, user).await?.0 < most)
}

/// The number of a user's keys, and the total size of their outcomes.
async fn key_totals(tx: &mut SqliteConnection, user: &str) -> Result<(i64, i64), sqlx::Error> {
    let query = sqlx::query_as::<_, (i64, i64)>("SELECT keys, bytes FROM call_key_totals WHERE user_id = ?");
    let found = query.bind(user).fetch_optional(tx).await?;
    Ok(found.unwrap_or_default())
}

pub(super) async fn end_key(
    tx: &mut SqliteConnection,
    claim: &KeyClaim,
    end: &KeyEnd,
) -> Result<(), sqlx::Error> {
    let (user, caller) = (claim.owner.user.as_str(), claim.owner.caller.to_string());
    // Only this claim: the key may have expired and been claimed again.
    let query = match end {
        KeyEnd::Release => {
            sqlx::query("DELETE FROM call_keys WHERE user_id = ? AND caller = ? AND key = ? AND call = ?")
        }
        KeyEnd::Keep(outcome) => {
            let outcome = outcome.as_deref().filter(|outcome| outcome.len() <= claim.quota.bytes);
            evict_outcomes(tx, claim, outcome.map_or(0, str::len)).await?;
            let sql = "UPDATE call_keys SET ended_at = ?, outcome = ?
                WHERE user_id = ? AND caller = ? AND key = ? AND call = ?";
            sqlx::query(sql).bind(claim.at.as_millisecond()).bind(outcome)
        }
    };
    let query = query.bind(user).bind(caller).bind(&*claim.key).bind(claim.call.as_str());
    query.execute(tx).await.map(drop)
}

/// Evicts the oldest outcomes of a user until one more fits. Their keys stay, so that no call runs twice.
async fn evict_outcomes(
    tx: &mut SqliteConnection,
    claim: &KeyClaim,
    bytes: usize,
) -> Result<(), sqlx::Error> {
    let user = claim.owner.user.as_str();
    let most = i64::try_from(claim.quota.bytes.saturating_sub(bytes)).unwrap_or(i64::MAX);
    while key_totals(tx, user).await?.1 > most {
        let sql = "UPDATE call_keys SET outcome = NULL WHERE (user_id, caller, key) IN (
            SELECT user_id, caller, key FROM call_keys WHERE user_id = ? AND outcome IS NOT NULL ORDER BY begun_at LIMIT ?)";
        let query = sqlx::query(sql).bind(user).bind(EVICTED_AT_ONCE);
        if query.execute(&mut *tx).await?.rows_affected() == 0 {
            break;
        }
    }
    Ok(())
}
