//! Keys under which a call is made once.

use toolyard_core::{
    CallOwner, Caller,
    ports::{Claim, KeyClaim, KeyEnd, KeyRoom},
};

use super::{Store, at, ledger::call};

fn claim(user: &str, digest: u8, call_id: u8, seconds: i64) -> KeyClaim {
    KeyClaim {
        owner: CallOwner { user: user.parse().unwrap(), caller: Caller::User },
        key: "k".into(),
        digest: [digest; 32],
        call: call(call_id, user, "com.a:x", None).id.clone(),
        at: at(seconds),
        expired_before: at(seconds - 100),
        room: KeyRoom { keys: 100, bytes: 10_000 },
    }
}

fn by_app(claim: KeyClaim) -> KeyClaim {
    let caller = Caller::App("com.other".parse().unwrap());
    KeyClaim { owner: CallOwner { caller, ..claim.owner }, ..claim }
}

fn named(claim: KeyClaim, key: &str) -> KeyClaim {
    KeyClaim { key: key.into(), ..claim }
}

/// Fresh, running, conflict, done, released; each user's keys are their own.
pub async fn keys_bind_one_call(store: &impl Store) {
    let first = claim("ada", 1, 1, 0);
    assert_eq!(store.begin(&first).await.unwrap(), Claim::Fresh);
    assert_eq!(store.begin(&claim("ada", 1, 2, 1)).await.unwrap(), Claim::Running);
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
    assert_eq!(store.begin(&claim("bob", 7, 5, 2)).await.unwrap(), Claim::Running);
    store.end(&claim("bob", 7, 4, 2), KeyEnd::Keep(None), call(4, "bob", "com.a:x", None)).await.unwrap();
    assert_eq!(store.begin(&claim("bob", 7, 6, 2)).await.unwrap(), Claim::Done(None));
}

/// A key is free again when its time is over.
pub async fn keys_expire(store: &impl Store) {
    assert_eq!(store.begin(&claim("ada", 1, 1, 0)).await.unwrap(), Claim::Fresh);
    assert_eq!(store.begin(&claim("ada", 1, 2, 100)).await.unwrap(), Claim::Running);
    assert_eq!(store.begin(&claim("ada", 2, 3, 101)).await.unwrap(), Claim::Fresh);
}

/// What one caller did for a user is no other caller's, even where they choose the same key.
pub async fn keys_belong_to_callers(store: &impl Store) {
    let first = claim("ada", 1, 1, 0);
    assert_eq!(store.begin(&first).await.unwrap(), Claim::Fresh);
    let kept = KeyEnd::Keep(Some("the user's".to_owned()));
    store.end(&first, kept, call(1, "ada", "com.a:x", None)).await.unwrap();
    let app = by_app(claim("ada", 1, 2, 0));
    assert_eq!(store.begin(&app).await.unwrap(), Claim::Fresh);
    store.end(&app, KeyEnd::Release, call(2, "ada", "com.a:x", None)).await.unwrap();
    assert_eq!(store.begin(&first).await.unwrap(), Claim::Done(Some("the user's".to_owned())));
}

/// So many keys of a user, so many bytes of outcomes; no key is given up before its time.
pub async fn keys_have_bounds(store: &impl Store) {
    let small = |key: &str, call_id, seconds| KeyClaim {
        room: KeyRoom { keys: 3, bytes: 10 },
        ..named(claim("ada", 1, call_id, seconds), key)
    };
    for (number, key) in ["a", "b", "c"].into_iter().enumerate() {
        let claim = small(key, number as u8, number as i64);
        assert_eq!(store.begin(&claim).await.unwrap(), Claim::Fresh);
        let record = call(number as u8, "ada", "com.a:x", None);
        store.end(&claim, KeyEnd::Keep(Some("12345".to_owned())), record).await.unwrap();
    }
    assert_eq!(store.begin(&small("a", 9, 3)).await.unwrap(), Claim::Done(None), "the oldest made room");
    assert_eq!(store.begin(&small("c", 9, 3)).await.unwrap(), Claim::Done(Some("12345".to_owned())));
    assert_eq!(store.begin(&small("d", 9, 3)).await.unwrap(), Claim::NoRoom);
    assert_eq!(
        store.begin(&by_app(small("d", 9, 3))).await.unwrap(),
        Claim::NoRoom,
        "callers share the room"
    );
    assert_eq!(store.begin(&named(claim("bob", 1, 9, 3), "d")).await.unwrap(), Claim::Fresh);
    // The first two are over.
    let later = small("d", 10, 102);
    assert_eq!(store.begin(&later).await.unwrap(), Claim::Fresh);
    let long = KeyEnd::Keep(Some("longer than all the room".to_owned()));
    store.end(&later, long, call(10, "ada", "com.a:x", None)).await.unwrap();
    assert_eq!(store.begin(&small("d", 11, 102)).await.unwrap(), Claim::Done(None));
}

/// Begins the same call under the same key, for tests that open a store twice.
pub async fn begin_one_call(store: &impl Store, call_id: u8) -> Claim {
    store.begin(&claim("ada", 1, call_id, 0)).await.unwrap()
}
