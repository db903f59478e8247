//! Keys under which a call is made once.

use toolyard_core::ports::{Claim, KeyClaim, KeyEnd};

use super::{Store, at, ledger::call};

fn claim(user: &str, digest: u8, call_id: u8, seconds: i64) -> KeyClaim {
    KeyClaim {
        user: user.parse().unwrap(),
        key: "k".into(),
        digest: [digest; 32],
        call: call(call_id, user, "com.a:x", None).id.clone(),
        at: at(seconds),
        expired_before: at(seconds - 100),
    }
}

/// Fresh, open, conflict, done, released; each user's keys are their own.
pub async fn keys_bind_one_call(store: &impl Store) {
    let first = claim("ada", 1, 1, 0);
    assert_eq!(store.begin(&first).await.unwrap(), Claim::Fresh);
    assert_eq!(store.begin(&claim("ada", 1, 2, 1)).await.unwrap(), Claim::Open);
    assert_eq!(store.begin(&claim("ada", 2, 2, 1)).await.unwrap(), Claim::Conflict);
    assert_eq!(store.begin(&claim("bob", 2, 2, 1)).await.unwrap(), Claim::Fresh);

    let record = call(1, "ada", "com.a:x", None);
    store.end(&first, KeyEnd::Keep(Some("outcome".to_owned())), record.clone()).await.unwrap();
    assert_eq!(store.begin(&claim("ada", 1, 3, 1)).await.unwrap(), Claim::Done(Some("outcome".to_owned())));
    assert_eq!(store.begin(&claim("ada", 2, 3, 1)).await.unwrap(), Claim::Conflict);
    assert!(store.call(&record.id).await.unwrap().is_some());

    let bob = claim("bob", 2, 2, 1);
    store.end(&bob, KeyEnd::Release, call(2, "bob", "com.a:x", None)).await.unwrap();
    assert_eq!(store.begin(&claim("bob", 7, 4, 2)).await.unwrap(), Claim::Fresh);
    let other = claim("bob", 7, 9, 2);
    store.end(&other, KeyEnd::Release, call(9, "bob", "com.a:x", None)).await.unwrap();
    assert_eq!(store.begin(&claim("bob", 7, 5, 2)).await.unwrap(), Claim::Open);
    store.end(&claim("bob", 7, 4, 2), KeyEnd::Keep(None), call(4, "bob", "com.a:x", None)).await.unwrap();
    assert_eq!(store.begin(&claim("bob", 7, 6, 2)).await.unwrap(), Claim::Done(None));
}

/// A key is free again when its time is over.
pub async fn keys_expire(store: &impl Store) {
    assert_eq!(store.begin(&claim("ada", 1, 1, 0)).await.unwrap(), Claim::Fresh);
    assert_eq!(store.begin(&claim("ada", 1, 2, 100)).await.unwrap(), Claim::Open);
    assert_eq!(store.begin(&claim("ada", 2, 3, 101)).await.unwrap(), Claim::Fresh);
}
