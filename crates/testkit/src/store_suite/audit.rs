//! The audit log: entries are numbered, linked, found and pruned.

use toolyard_core::{
    audit::{AuditHead, AuditKeys, ChainVerifier},
    ports::{
        AuditActor, AuditCursor, AuditEvent, AuditFilter, AuditRecord, SealError, SecretSealer, Stores,
        UnsealError,
    },
};
use toolyard_protocol::audit::{AuditAction, AuditActorKind};

use super::at_second;

/// Root keys that derive known keys and seal nothing.
struct TestRootKeys(Vec<u8>);

impl SecretSealer for TestRootKeys {
    fn seal(&self, _plain: &str) -> Result<Vec<u8>, SealError> {
        Err(SealError)
    }

    fn unseal(&self, _sealed: &[u8]) -> Result<String, UnsealError> {
        Err(UnsealError)
    }

    fn derive_keys(&self, _purpose: &str) -> Vec<[u8; 32]> {
        self.0.iter().map(|byte| [*byte; 32]).collect()
    }
}

/// The audit keys of these root keys, the current one first.
pub fn audit_keys(roots: &[u8]) -> AuditKeys {
    AuditKeys::derive(&TestRootKeys(roots.to_vec()))
}

/// Something that ada or bob did in this second.
pub fn audit_event(second: i64) -> AuditEvent {
    let is_even = second % 2 == 0;
    let name = if is_even { "ada" } else { "bob" };
    AuditEvent {
        at: at_second(second),
        actor: AuditActor {
            kind: AuditActorKind::Person,
            name: name.to_owned(),
            credential: "token 0123".to_owned(),
        },
        action: if is_even { AuditAction::TokenIssued } else { AuditAction::AppRegistered },
        target: format!("target {second}"),
        user: is_even.then(|| name.parse().unwrap()),
        detail: r#"{"second":"é"}"#.to_owned(),
    }
}

async fn list(stores: &Stores, change: impl FnOnce(&mut AuditFilter)) -> Vec<u64> {
    let mut filter = AuditFilter::from(AuditCursor::OldestAfter(0));
    change(&mut filter);
    let found = stores.audit.list_audit(&filter).await.unwrap();
    found.into_iter().map(|record| record.number).collect()
}

async fn all_entries(stores: &Stores) -> Vec<AuditRecord> {
    stores.audit.list_audit(&AuditCursor::OldestAfter(0).into()).await.unwrap()
}

async fn verified_head(stores: &Stores, keys: &AuditKeys) -> AuditHead {
    let anchor = stores.audit.audit_anchor().await.unwrap();
    let mut verifier = ChainVerifier::new(keys, anchor, None).unwrap();
    for record in all_entries(stores).await {
        verifier.check(&record).unwrap();
    }
    verifier.finish().unwrap().head
}

/// Entries are numbered without gaps, and found by page, action, actor, user and time.
pub async fn audit_entries_are_numbered_and_found(stores: &Stores) {
    let keys = audit_keys(&[1]);
    for second in 0..6 {
        let record = stores.audit.append_audit(&audit_event(second), &keys).await.unwrap();
        assert_eq!(record.number, u64::try_from(second).unwrap() + 1);
        assert_eq!(all_entries(stores).await.pop(), Some(record), "it is stored as it was returned");
    }
    assert_eq!(list(stores, |_| {}).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(list(stores, |filter| filter.limit = 2).await, [1, 2]);
    assert_eq!(list(stores, |filter| filter.cursor = AuditCursor::OldestAfter(4)).await, [5, 6]);
    assert_eq!(list(stores, |filter| filter.cursor = AuditCursor::NewestBefore(None)).await[..2], [6, 5]);
    assert_eq!(list(stores, |filter| filter.cursor = AuditCursor::NewestBefore(Some(3))).await, [2, 1]);
    assert_eq!(list(stores, |filter| filter.action = Some(AuditAction::AppRegistered)).await, [2, 4, 6]);
    assert_eq!(list(stores, |filter| filter.actor = Some("ada".to_owned())).await, [1, 3, 5]);
    assert_eq!(list(stores, |filter| filter.user = Some("ada".parse().unwrap())).await, [1, 3, 5]);
    let middle = |filter: &mut AuditFilter| {
        filter.since = Some(at_second(1));
        filter.until = Some(at_second(4));
    };
    assert_eq!(list(stores, middle).await, [2, 3, 4]);
    verified_head(stores, &keys).await;
}

/// The oldest entries are removed, some at a time, and the rest can still be verified; numbers go on even if all were removed.
pub async fn audit_entries_are_pruned_from_the_start(stores: &Stores) {
    let keys = audit_keys(&[1]);
    for second in [0, 1, 2, 9, 3, 4] {
        stores.audit.append_audit(&audit_event(second), &keys).await.unwrap();
    }
    let head = verified_head(stores, &keys).await;
    assert_eq!(stores.audit.prune_audit(at_second(0), &keys, 10).await.unwrap(), 0);
    assert_eq!(stores.audit.audit_anchor().await.unwrap(), None);
    assert_eq!(stores.audit.prune_audit(at_second(5), &keys, 2).await.unwrap(), 2);
    assert_eq!(verified_head(stores, &keys).await, head);
    assert_eq!(stores.audit.prune_audit(at_second(5), &keys, 10).await.unwrap(), 1);
    assert_eq!(list(stores, |_| {}).await, [4, 5, 6], "what is young enough keeps what follows it");
    assert_eq!(stores.audit.prune_audit(at_second(5), &keys, 10).await.unwrap(), 0);
    assert_eq!(stores.audit.prune_audit(at_second(10), &keys, 10).await.unwrap(), 3);
    assert_eq!(stores.audit.audit_anchor().await.unwrap().unwrap().head, head);
    let next = stores.audit.append_audit(&audit_event(20), &keys).await.unwrap();
    assert_eq!((next.number, next.previous), (7, head.hash));
    verified_head(stores, &keys).await;
}

/// Proofs can be replaced after the root key was rotated. Hashes stay.
pub async fn audit_proofs_are_renewed(stores: &Stores) {
    let (old, both, new) = (audit_keys(&[1]), audit_keys(&[2, 1]), audit_keys(&[2]));
    for second in 0..4 {
        stores.audit.append_audit(&audit_event(second), &old).await.unwrap();
    }
    stores.audit.prune_audit(at_second(1), &old, 10).await.unwrap();
    stores.audit.append_audit(&audit_event(4), &both).await.unwrap();
    let head = verified_head(stores, &both).await;
    let entries = all_entries(stores).await;
    let renewed: Vec<_> =
        entries.iter().filter_map(|entry| Some((entry.number, both.renewed_mac(entry)?))).collect();
    assert_eq!(renewed.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [2, 3, 4]);
    stores.audit.replace_audit_macs(&renewed).await.unwrap();
    let anchor = stores.audit.audit_anchor().await.unwrap().unwrap();
    let anchor = both.renewed_anchor(&anchor).unwrap();
    stores.audit.replace_audit_anchor(&anchor).await.unwrap();
    assert_eq!(verified_head(stores, &new).await, head);
    assert_eq!(both.renewed_anchor(&anchor), None);
}

/// Many writers at once, on one or more nodes: no number is used twice, and none is left out.
pub async fn audit_entries_of_many_writers_are_one_chain(stores: &Stores) {
    let keys = audit_keys(&[1]);
    let writing = (0..20).map(|second| {
        let (keys, event) = (&keys, audit_event(second));
        async move { stores.audit.append_audit(&event, keys).await.unwrap().number }
    });
    let mut numbers = futures_util::future::join_all(writing).await;
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    verified_head(stores, &keys).await;
}
