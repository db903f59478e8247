//! Idempotency keys.

use toolyard_core::{
    CallOwner, Caller,
    ports::{ClaimOutcome, KeyClaim, KeyEnd, KeyQuota},
};

use super::{FullStore, at_second, ledger::call_record};

pub(super) fn key_claim(user: &str, digest: u8, call_id: u8, seconds: i64) -> KeyClaim {
    KeyClaim {
        owner: CallOwner { user: user.parse().unwrap(), caller: Caller::User },
        key: "k".into(),
        digest: [digest; 32],
        call: call_record(call_id, user, "com.a:x", None).id.clone(),
        at: at_second(seconds),
        expired_before: at_second(seconds - 100),
        quota: KeyQuota { keys: 100, bytes: 10_000 },
    }
}

fn with_app_caller(claim: KeyClaim) -> KeyClaim {
    let caller = Caller::App("com.other".parse().unwrap());
    KeyClaim { owner: CallOwner { caller, ..claim.owner }, ..claim }
}

pub(super) fn with_key(claim: KeyClaim, key: &str) -> KeyClaim {
    KeyClaim { key: key.into(), ..claim }
}

/// Fresh, running, conflict, done, released; each user has separate keys.
pub async fn keys_bind_one_call(store: &impl FullStore) {
    let first = key_claim("ada", 1, 1, 0);
    assert_eq!(store.claim_key(&first).await.unwrap(), ClaimOutcome::Fresh);
    assert_eq!(store.claim_key(&key_claim("ada", 1, 2, 1)).await.unwrap(), ClaimOutcome::Running);
    assert_eq!(store.claim_key(&key_claim("ada", 2, 2, 1)).await.unwrap(), ClaimOutcome::Conflict);
    assert_eq!(store.claim_key(&key_claim("bob", 2, 2, 1)).await.unwrap(), ClaimOutcome::Fresh);

    let record = call_record(1, "ada", "com.a:x", None);
    store.end_key(&first, KeyEnd::Keep(Some("outcome".to_owned())), record.clone()).await.unwrap();
    assert_eq!(
        store.claim_key(&key_claim("ada", 1, 3, 1)).await.unwrap(),
        ClaimOutcome::Done(Some("outcome".to_owned()))
    );
    assert_eq!(store.claim_key(&key_claim("ada", 2, 3, 1)).await.unwrap(), ClaimOutcome::Conflict);
    assert!(store.find_call(&record.id).await.unwrap().is_some());

    let bob = key_claim("bob", 2, 2, 1);
    store.end_key(&bob, KeyEnd::Release, call_record(2, "bob", "com.a:x", None)).await.unwrap();
    assert_eq!(store.claim_key(&key_claim("bob", 7, 4, 2)).await.unwrap(), ClaimOutcome::Fresh);
    let other = key_claim("bob", 7, 9, 2);
    store.end_key(&other, KeyEnd::Release, call_record(9, "bob", "com.a:x", None)).await.unwrap();
    assert_eq!(store.claim_key(&key_claim("bob", 7, 5, 2)).await.unwrap(), ClaimOutcome::Running);
    store
        .end_key(&key_claim("bob", 7, 4, 2), KeyEnd::Keep(None), call_record(4, "bob", "com.a:x", None))
        .await
        .unwrap();
    assert_eq!(store.claim_key(&key_claim("bob", 7, 6, 2)).await.unwrap(), ClaimOutcome::Done(None));
}

/// An expired key can be used again.
pub async fn keys_expire(store: &impl FullStore) {
    assert_eq!(store.claim_key(&key_claim("ada", 1, 1, 0)).await.unwrap(), ClaimOutcome::Fresh);
    assert_eq!(store.claim_key(&key_claim("ada", 1, 2, 100)).await.unwrap(), ClaimOutcome::Running);
    assert_eq!(store.claim_key(&key_claim("ada", 2, 3, 101)).await.unwrap(), ClaimOutcome::Fresh);
}

/// Outcomes are separate for each caller, even with the same key.
pub async fn keys_belong_to_callers(store: &impl FullStore) {
    let first = key_claim("ada", 1, 1, 0);
    assert_eq!(store.claim_key(&first).await.unwrap(), ClaimOutcome::Fresh);
    let kept = KeyEnd::Keep(Some("the user's".to_owned()));
    store.end_key(&first, kept, call_record(1, "ada", "com.a:x", None)).await.unwrap();
    let app = with_app_caller(key_claim("ada", 1, 2, 0));
    assert_eq!(store.claim_key(&app).await.unwrap(), ClaimOutcome::Fresh);
    store.end_key(&app, KeyEnd::Release, call_record(2, "ada", "com.a:x", None)).await.unwrap();
    assert_eq!(store.claim_key(&first).await.unwrap(), ClaimOutcome::Done(Some("the user's".to_owned())));
}

/// Limits on the number of keys and the bytes of outcomes of a user; no key is dropped before it expires.
pub async fn keys_have_bounds(store: &impl FullStore) {
    let small = |key: &str, call_id, seconds| KeyClaim {
        quota: KeyQuota { keys: 3, bytes: 10 },
        ..with_key(key_claim("ada", 1, call_id, seconds), key)
    };
    for (number, key) in ["a", "b", "c"].into_iter().enumerate() {
        let claim = small(key, number as u8, number as i64);
        assert_eq!(store.claim_key(&claim).await.unwrap(), ClaimOutcome::Fresh);
        let record = call_record(number as u8, "ada", "com.a:x", None);
        store.end_key(&claim, KeyEnd::Keep(Some("12345".to_owned())), record).await.unwrap();
    }
    assert_eq!(
        store.claim_key(&small("a", 9, 3)).await.unwrap(),
        ClaimOutcome::Done(None),
        "the oldest made room"
    );
    assert_eq!(
        store.claim_key(&small("c", 9, 3)).await.unwrap(),
        ClaimOutcome::Done(Some("12345".to_owned()))
    );
    assert_eq!(store.claim_key(&small("d", 9, 3)).await.unwrap(), ClaimOutcome::QuotaReached);
    assert_eq!(
        store.claim_key(&with_app_caller(small("d", 9, 3))).await.unwrap(),
        ClaimOutcome::QuotaReached,
        "callers share the room"
    );
    assert_eq!(
        store.claim_key(&with_key(key_claim("bob", 1, 9, 3), "d")).await.unwrap(),
        ClaimOutcome::Fresh
    );
    // The first two have expired.
    let later = small("d", 10, 102);
    assert_eq!(store.claim_key(&later).await.unwrap(), ClaimOutcome::Fresh);
    let long = KeyEnd::Keep(Some("longer than all the room".to_owned()));
    store.end_key(&later, long, call_record(10, "ada", "com.a:x", None)).await.unwrap();
    assert_eq!(store.claim_key(&small("d", 11, 102)).await.unwrap(), ClaimOutcome::Done(None));
}

/// Begins the same call under the same key, for tests that open a store twice.
pub async fn begin_one_call(store: &impl FullStore, call_id: u8) -> ClaimOutcome {
    store.claim_key(&key_claim("ada", 1, call_id, 0)).await.unwrap()
}

/// The claim of [`begin_one_call`].
pub fn claim_to_make(call_id: u8) -> KeyClaim {
    key_claim("ada", 1, call_id, 0)
}
