//! Idempotency keys and the outcomes stored under them, within the limits of one user.
//!
//! A batch locks the totals of its users first, in order, so that no other node writes their keys until it is committed. What it
//! then reads stays true.

use std::collections::{BTreeMap, HashMap, HashSet};

use sqlx::PgConnection;
use toolyard_core::ports::{ClaimOutcome, KeyClaim, KeyEnd};

use super::super::node::NodeMark;
use crate::{
    ledger::LedgerBatch,
    rows::{
        calls::{ANY_CALLER, EVICTED_AT_ONCE},
        to_i64,
    },
};

/// Locks the keys of every user of the batch.
pub(super) async fn lock_keys(tx: &mut PgConnection, batch: &LedgerBatch) -> Result<(), sqlx::Error> {
    let claims = batch.claims.iter().chain(batch.ends.iter().map(|(claim, _)| claim));
    let mut users: Vec<String> = claims.map(|claim| claim.owner.user.as_str().to_owned()).collect();
    users.sort_unstable();
    users.dedup();
    // An update that changes nothing locks the row.
    let query = sqlx::query!(
        r#"INSERT INTO call_key_totals AS totals (user_id, keys, bytes)
         SELECT user_id, 0, 0 FROM UNNEST($1::TEXT[]) AS user_id ORDER BY user_id COLLATE "C"
         ON CONFLICT (user_id) DO UPDATE SET keys = totals.keys"#,
        &users
    );
    query.execute(tx).await.map(drop)
}

/// The columns that name claims, as arrays.
#[derive(Default)]
struct ClaimColumns {
    users: Vec<String>,
    callers: Vec<String>,
    keys: Vec<Vec<u8>>,
    calls: Vec<String>,
}

impl ClaimColumns {
    fn push(&mut self, claim: &KeyClaim) {
        self.users.push(claim.owner.user.as_str().to_owned());
        self.callers.push(claim.owner.caller.to_string());
        self.keys.push(claim.key.as_bytes().to_vec());
        self.calls.push(claim.call.as_str().to_owned());
    }
}

/// Writes how calls ended. Only their own claims: a key may have expired and been claimed again.
pub(super) async fn end_keys(tx: &mut PgConnection, ends: &[(KeyClaim, KeyEnd)]) -> Result<(), sqlx::Error> {
    let (mut released, mut kept) = (ClaimColumns::default(), ClaimColumns::default());
    let (mut ended_at, mut outcomes) = (Vec::new(), Vec::new());
    let mut room = OutcomeRoom::default();
    // The newest outcomes come last, and have the room first.
    for (claim, end) in ends.iter().rev() {
        match end {
            KeyEnd::Release => released.push(claim),
            KeyEnd::Keep(outcome) => {
                kept.push(claim);
                ended_at.push(claim.at.as_millisecond());
                outcomes.push(outcome.clone().filter(|outcome| room.take(claim, outcome.len())));
            }
        }
    }
    room.evict_others(tx).await?;
    if !released.keys.is_empty() {
        let query = sqlx::query!(
            "DELETE FROM call_keys USING UNNEST($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::TEXT[])
                 AS ended (user_id, caller, key, call)
             WHERE call_keys.user_id = ended.user_id AND call_keys.caller = ended.caller
                 AND call_keys.key = ended.key AND call_keys.call = ended.call",
            &released.users,
            &released.callers,
            &released.keys,
            &released.calls
        );
        query.execute(&mut *tx).await?;
    }
    if !kept.keys.is_empty() {
        let query = sqlx::query!(
            "UPDATE call_keys SET ended_at = ended.at, outcome = ended.outcome
             FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::TEXT[], $5::BIGINT[], $6::TEXT[])
                 AS ended (user_id, caller, key, call, at, outcome)
             WHERE call_keys.user_id = ended.user_id AND call_keys.caller = ended.caller
                 AND call_keys.key = ended.key AND call_keys.call = ended.call",
            &kept.users,
            &kept.callers,
            &kept.keys,
            &kept.calls,
            &ended_at,
            &outcomes as _
        );
        query.execute(&mut *tx).await?;
    }
    Ok(())
}

/// The room that users have left for outcomes, beside those of this batch.
#[derive(Default)]
struct OutcomeRoom(BTreeMap<String, i64>);

impl OutcomeRoom {
    /// Whether an outcome fits beside the others of this batch.
    fn take(&mut self, claim: &KeyClaim, bytes: usize) -> bool {
        let bytes = to_i64(bytes as u64);
        let left = self.0.entry(claim.owner.user.as_str().to_owned());
        let left = left.or_insert_with(|| to_i64(claim.quota.bytes as u64));
        let fits = bytes <= *left;
        *left -= if fits { bytes } else { 0 };
        fits
    }

    /// Evicts the oldest outcomes of each user until what is stored fits into what is left. Their keys stay, so that no call runs
    /// twice.
    async fn evict_others(self, tx: &mut PgConnection) -> Result<(), sqlx::Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let (users, left): (Vec<String>, Vec<i64>) = self.0.into_iter().unzip();
        loop {
            let over = sqlx::query_scalar!(
                "SELECT totals.user_id FROM call_key_totals AS totals
                 JOIN UNNEST($1::TEXT[], $2::BIGINT[]) AS room (user_id, bytes) ON room.user_id = totals.user_id
                 WHERE totals.bytes > room.bytes",
                &users,
                &left
            );
            let over = over.fetch_all(&mut *tx).await?;
            if over.is_empty() {
                return Ok(());
            }
            for user in over {
                let query = sqlx::query!(
                    "UPDATE call_keys SET outcome = NULL WHERE (user_id, caller, key) IN (
                         SELECT user_id, caller, key FROM call_keys WHERE user_id = $1 AND outcome IS NOT NULL
                         ORDER BY begun_at LIMIT $2)",
                    user,
                    EVICTED_AT_ONCE
                );
                if query.execute(&mut *tx).await?.rows_affected() == 0 {
                    return Ok(());
                }
            }
        }
    }
}

/// A key that was claimed before.
struct KnownClaim {
    /// Which of the claims asks for it.
    place: i64,
    caller: String,
    digest: Vec<u8>,
    begun_at: i64,
    is_ended: bool,
    /// Whether the node that began it is alive.
    is_running: bool,
    outcome: Option<String>,
}

impl KnownClaim {
    fn into_outcome(self, claim: &KeyClaim) -> ClaimOutcome {
        match (self.digest == claim.digest, self.is_ended) {
            (false, _) => ClaimOutcome::Conflict,
            // The caller of this outcome is unknown, so nobody may read it.
            (true, _) if self.caller == ANY_CALLER => ClaimOutcome::Open,
            (true, true) => ClaimOutcome::Done(self.outcome),
            (true, false) if self.is_running => ClaimOutcome::Running,
            (true, false) => ClaimOutcome::Open,
        }
    }
}

async fn find_claims(
    tx: &mut PgConnection,
    claims: &[KeyClaim],
    node: NodeMark,
) -> Result<Vec<KnownClaim>, sqlx::Error> {
    let mut columns = ClaimColumns::default();
    claims.iter().for_each(|claim| columns.push(claim));
    // The claim of the caller comes before one of an unknown caller. With `IN`, the index would be used for the user only.
    let query = sqlx::query_as!(
        KnownClaim,
        r#"SELECT asked.place AS "place!", k.caller, k.digest, k.begun_at, k.ended_at IS NOT NULL AS "is_ended!",
               k.node = $4 OR EXISTS (SELECT 1 FROM ledger_nodes n WHERE n.id = k.node
                   AND n.seen_at > clock_timestamp() - make_interval(secs => $5)) AS "is_running!",
               k.outcome
           FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BYTEA[]) WITH ORDINALITY AS asked (user_id, caller, key, place)
           JOIN call_keys k ON k.user_id = asked.user_id AND k.caller = ANY(ARRAY[asked.caller, $6]) AND k.key = asked.key
           ORDER BY asked.place, k.caller DESC"#,
        &columns.users,
        &columns.callers,
        &columns.keys,
        node.id,
        node.timeout.as_secs_f64(),
        ANY_CALLER
    );
    query.fetch_all(tx).await
}

/// Claims keys, in order: of two claims of one key in a batch, the first wins.
pub(super) async fn claim_keys(
    tx: &mut PgConnection,
    claims: &[KeyClaim],
    node: NodeMark,
) -> Result<Vec<ClaimOutcome>, sqlx::Error> {
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let mut outcomes: Vec<Option<ClaimOutcome>> = vec![None; claims.len()];
    let mut has_expired = HashSet::new();
    for known in find_claims(tx, claims, node).await? {
        let place = usize::try_from(known.place - 1).unwrap_or(0);
        if known.begun_at < claims[place].expired_before.as_millisecond() {
            has_expired.insert(place);
        } else if outcomes[place].is_none() {
            outcomes[place] = Some(known.into_outcome(&claims[place]));
        }
    }
    remove_expired(tx, claims, &outcomes, &has_expired).await?;
    let mut quota = KeyCounts::read(tx, claims).await?;
    let mut fresh: HashMap<(&str, String, &str), usize> = HashMap::new();
    for (place, claim) in claims.iter().enumerate() {
        if outcomes[place].is_some() {
            continue;
        }
        let key = (claim.owner.user.as_str(), claim.owner.caller.to_string(), &*claim.key);
        let outcome = match fresh.get(&key) {
            Some(first) if claims[*first].digest == claim.digest => ClaimOutcome::Running,
            Some(_) => ClaimOutcome::Conflict,
            None if !quota.take(tx, claim).await? => ClaimOutcome::QuotaReached,
            None => {
                fresh.insert(key, place);
                ClaimOutcome::Fresh
            }
        };
        outcomes[place] = Some(outcome);
    }
    let mut places: Vec<usize> = fresh.into_values().collect();
    places.sort_unstable();
    insert_claims(tx, places.iter().map(|place| &claims[*place]), node).await?;
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(ClaimOutcome::Open)).collect())
}

/// Removes expired claims of keys that are claimed now.
async fn remove_expired(
    tx: &mut PgConnection,
    claims: &[KeyClaim],
    outcomes: &[Option<ClaimOutcome>],
    has_expired: &HashSet<usize>,
) -> Result<(), sqlx::Error> {
    let mut columns = ClaimColumns::default();
    let mut bounds = Vec::new();
    for place in has_expired.iter().filter(|place| outcomes[**place].is_none()) {
        columns.push(&claims[*place]);
        bounds.push(claims[*place].expired_before.as_millisecond());
    }
    if bounds.is_empty() {
        return Ok(());
    }
    let query = sqlx::query!(
        "DELETE FROM call_keys USING UNNEST($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::BIGINT[])
             AS late (user_id, caller, key, bound)
         WHERE call_keys.user_id = late.user_id AND call_keys.caller = ANY(ARRAY[late.caller, $5])
             AND call_keys.key = late.key AND call_keys.begun_at < late.bound",
        &columns.users,
        &columns.callers,
        &columns.keys,
        &bounds,
        ANY_CALLER
    );
    query.execute(tx).await.map(drop)
}

async fn insert_claims<'a>(
    tx: &mut PgConnection,
    claims: impl Iterator<Item = &'a KeyClaim>,
    node: NodeMark,
) -> Result<(), sqlx::Error> {
    let mut columns = ClaimColumns::default();
    let (mut digests, mut begun_at) = (Vec::new(), Vec::new());
    for claim in claims {
        columns.push(claim);
        digests.push(claim.digest.to_vec());
        begun_at.push(claim.at.as_millisecond());
    }
    if digests.is_empty() {
        return Ok(());
    }
    let query = sqlx::query!(
        "INSERT INTO call_keys (user_id, caller, key, digest, call, node, begun_at)
         SELECT user_id, caller, key, digest, call, $7, begun_at
         FROM UNNEST($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::BYTEA[], $5::TEXT[], $6::BIGINT[])
             AS fresh (user_id, caller, key, digest, call, begun_at)",
        &columns.users,
        &columns.callers,
        &columns.keys,
        &digests,
        &columns.calls,
        &begun_at,
        node.id
    );
    query.execute(tx).await.map(drop)
}

/// How many keys users have.
struct KeyCounts(HashMap<String, i64>);

impl KeyCounts {
    async fn read(tx: &mut PgConnection, claims: &[KeyClaim]) -> Result<Self, sqlx::Error> {
        let users: Vec<String> = claims.iter().map(|claim| claim.owner.user.as_str().to_owned()).collect();
        let query = sqlx::query!("SELECT user_id, keys FROM call_key_totals WHERE user_id = ANY($1)", &users);
        let rows = query.fetch_all(tx).await?;
        Ok(Self(rows.into_iter().map(|row| (row.user_id, row.keys)).collect()))
    }

    /// Whether the user may have another key. Expired keys are removed if needed.
    async fn take(&mut self, tx: &mut PgConnection, claim: &KeyClaim) -> Result<bool, sqlx::Error> {
        let most = to_i64(claim.quota.keys as u64);
        let keys = self.0.entry(claim.owner.user.as_str().to_owned()).or_default();
        if *keys >= most {
            let late = sqlx::query!(
                "DELETE FROM call_keys WHERE user_id = $1 AND begun_at < $2",
                claim.owner.user.as_str(),
                claim.expired_before.as_millisecond()
            );
            *keys -= late.execute(tx).await?.rows_affected().cast_signed();
        }
        let has_room = *keys < most;
        *keys += i64::from(has_room);
        Ok(has_room)
    }
}
