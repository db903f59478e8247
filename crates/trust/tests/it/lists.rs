//! Key lists, revocation lists and root handovers.

use serde_json::{Value, json};
use toolyard_trust::{
    KeyEntry, KeyList, ListError, MAX_HANDOVERS, MAX_KEYS, MAX_LIST_BYTES, MAX_REVOCATIONS, RevocationList,
    RevokedKey, RevokedPlugin, RootPin, SecretKey, SignError, hand_over, sign_manifest,
};

use crate::fixture::{at, key, now, plugin, read};

const ROOT: u8 = 100;

fn keys(number: u64) -> KeyList {
    let mut list = KeyList::from_local_keys([KeyEntry::new(key(1).public_key(), "Ada")]);
    (list.number, list.issued_at) = (number, now());
    list
}

fn revocations(number: u64) -> RevocationList {
    let plugins =
        vec![RevokedPlugin { id: "a".parse().unwrap(), content_hash: None, reason: "r".to_owned() }];
    let keys = vec![RevokedKey { key_id: key(1).public_key().id(), reason: String::new() }];
    RevocationList { number, issued_at: now(), expires_at: None, plugins, keys }
}

fn pin() -> RootPin {
    RootPin::new(key(ROOT).public_key())
}

#[test]
fn lists_of_the_pinned_root_are_accepted() {
    let (list, pin) = pin().accept_keys(&keys(7).sign(&key(ROOT)).unwrap(), now()).unwrap();
    assert_eq!((list, pin.keys_seen), (keys(7), 7));
    let (list, pin) = pin.accept_revocations(&revocations(3).sign(&key(ROOT)).unwrap(), now()).unwrap();
    assert_eq!((list, pin.keys_seen, pin.revocations_seen), (revocations(3), 7, 3));
    let kept: RootPin = serde_json::from_value(serde_json::to_value(&pin).unwrap()).unwrap();
    assert_eq!(kept, pin);
}

#[test]
fn lists_of_others_and_changed_ones_are_not() {
    let signed = keys(7).sign(&key(ROOT)).unwrap();
    let other = pin().accept_keys(&keys(7).sign(&key(1)).unwrap(), now()).unwrap_err();
    assert_eq!(other, ListError::OtherRoot(key(1).public_key().id().to_string()));
    let changed = |from: &str, to: &str| pin().accept_keys(&signed.replacen(from, to, 1), now()).unwrap_err();
    assert_eq!(changed("\"Ada\"", "\"Eve\""), ListError::Modified);
    assert_eq!(changed("\"number\":7", "\"number\":8"), ListError::Modified);
    assert_eq!(changed("\"signature\":\"", "\"signature\":\"AA"), ListError::Modified);
    for (from, to) in
        [("Ed25519", "none"), ("toolyard/keys", "toolyard/x"), ("\"keyId\":", "\"k\":"), ("{", "[")]
    {
        assert!(matches!(changed(from, to), ListError::Malformed { .. }), "{from}");
    }
    let large = " ".repeat(MAX_LIST_BYTES + 1);
    assert_eq!(pin().accept_keys(&large, now()).unwrap_err(), ListError::TooLarge(MAX_LIST_BYTES + 1));
}

#[test]
fn a_signature_over_one_kind_does_not_hold_for_another() {
    let root = key(ROOT);
    let revocations = revocations(1).sign(&root).unwrap();
    assert!(matches!(pin().accept_keys(&revocations, now()), Err(ListError::Malformed { .. })));
    assert!(matches!(
        pin().accept_revocations(&keys(1).sign(&root).unwrap(), now()),
        Err(ListError::Malformed { .. })
    ));
    let mut disguised = plugin();
    disguised["keys"] = serde_json::from_str::<Value>(&keys(1).sign(&root).unwrap()).unwrap()["keys"].clone();
    (disguised["number"], disguised["issuedAt"]) = (json!(9), json!("2026-01-01T00:00:00Z"));
    let signed = sign_manifest(&read(&disguised), &root).unwrap();
    assert!(
        matches!(pin().accept_keys(&signed, now()), Err(ListError::Malformed { .. })),
        "a manifest is no list"
    );
    disguised["type"] = json!("toolyard/keys");
    assert!(
        toolyard_protocol::plugin::Manifest::parse(disguised.to_string().as_bytes()).is_err(),
        "and one that says so is no manifest"
    );
}

#[test]
fn an_old_list_does_not_come_back() {
    let root = key(ROOT);
    let (_, pin) = pin().accept_keys(&keys(7).sign(&root).unwrap(), now()).unwrap();
    assert!(pin.accept_keys(&keys(7).sign(&root).unwrap(), now()).is_ok(), "the same one may be read again");
    let replayed = pin.accept_keys(&keys(6).sign(&root).unwrap(), now()).unwrap_err();
    assert_eq!(replayed, ListError::Replayed { number: 6, seen: 7 });
    let (_, pin) = pin.accept_revocations(&revocations(3).sign(&root).unwrap(), now()).unwrap();
    let replayed = pin.accept_revocations(&revocations(2).sign(&root).unwrap(), now()).unwrap_err();
    assert_eq!(replayed, ListError::Replayed { number: 2, seen: 3 });
}

#[test]
fn an_expired_list_is_rejected() {
    let root = key(ROOT);
    let (mut list, mut revoked) = (keys(1), revocations(1));
    list.expires_at = Some(at("2026-06-02"));
    revoked.expires_at = Some(at("2026-06-02"));
    let (list, revoked) = (list.sign(&root).unwrap(), revoked.sign(&root).unwrap());
    assert!(pin().accept_keys(&list, now()).is_ok() && pin().accept_revocations(&revoked, now()).is_ok());
    let late = at("2026-06-02");
    assert_eq!(pin().accept_keys(&list, late).unwrap_err(), ListError::Expired(late));
    assert_eq!(pin().accept_revocations(&revoked, late).unwrap_err(), ListError::Expired(late));
}

/// A list with every handover from the first root to the last, signed by the last.
fn rotated(number: u64, roots: &[u8]) -> String {
    let mut list = keys(number);
    list.handovers = roots
        .windows(2)
        .map(|pair| hand_over(&key(pair[0]), &key(pair[1]).public_key(), now()).unwrap())
        .collect();
    list.sign(&key(*roots.last().unwrap())).unwrap()
}

#[test]
fn a_root_hands_over_to_the_next() {
    let (_, moved) = pin().accept_keys(&rotated(2, &[ROOT, 101]), now()).unwrap();
    assert_eq!(moved.root, key(101).public_key());
    assert!(moved.accept_revocations(&revocations(1).sign(&key(101)).unwrap(), now()).is_ok());
    let (_, far) = pin().accept_keys(&rotated(5, &[ROOT, 101, 102, 103]), now()).unwrap();
    assert_eq!(far.root, key(103).public_key(), "also for those who were away for long");
    let (_, far) = moved.accept_keys(&rotated(5, &[ROOT, 101, 102, 103]), now()).unwrap();
    assert_eq!(far.root, key(103).public_key(), "and for those who saw a part of it");
}

#[test]
fn a_handover_may_be_listed_before_it_is_used() {
    let mut list = keys(2);
    list.handovers = vec![hand_over(&key(ROOT), &key(101).public_key(), now()).unwrap()];
    let (_, same) = pin().accept_keys(&list.sign(&key(ROOT)).unwrap(), now()).unwrap();
    assert_eq!(same.root, key(ROOT).public_key());
    assert!(same.accept_keys(&rotated(3, &[ROOT, 101]), now()).is_ok());
}

#[test]
fn a_root_that_handed_over_is_not_trusted_again() {
    let (_, moved) = pin().accept_keys(&rotated(2, &[ROOT, 101]), now()).unwrap();
    let old = keys(9).sign(&key(ROOT)).unwrap();
    assert!(matches!(moved.accept_keys(&old, now()), Err(ListError::OtherRoot(_))));
    let old = rotated(9, &[ROOT, 66]);
    assert!(
        matches!(moved.accept_keys(&old, now()), Err(ListError::OtherRoot(_))),
        "nor can it hand over twice"
    );
    let old = revocations(9).sign(&key(ROOT)).unwrap();
    assert!(matches!(moved.accept_revocations(&old, now()), Err(ListError::OtherRoot(_))));
}

#[test]
fn only_the_root_can_hand_over() {
    let mut list = keys(2);
    list.handovers = vec![hand_over(&key(66), &key(67).public_key(), now()).unwrap()];
    let stranger = list.sign(&key(67)).unwrap();
    assert!(matches!(pin().accept_keys(&stranger, now()), Err(ListError::OtherRoot(_))));
    let mut forged = hand_over(&key(ROOT), &key(101).public_key(), now()).unwrap();
    forged["root"] = serde_json::to_value(key(67).public_key()).unwrap();
    list.handovers = vec![forged];
    let forged = list.sign(&key(67)).unwrap();
    assert!(matches!(pin().accept_keys(&forged, now()), Err(ListError::OtherRoot(_))));
}

#[test]
fn every_bound_is_kept() {
    let root = key(ROOT);
    let told = |list: &KeyList| match list.sign(&root) {
        Err(SignError::Document(problem)) => problem.to_string(),
        other => panic!("{other:?}"),
    };
    let entry = |number: usize| {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        KeyEntry::new(SecretKey::from_seed(&seed).unwrap().public_key(), "x")
    };
    let mut list = keys(1);
    list.keys = (0..=MAX_KEYS).map(entry).collect();
    assert_eq!(told(&list), "keys: 1001 keys; at most 1000");
    list.keys.pop();
    assert!(
        pin().accept_keys(&list.sign(&root).unwrap(), now()).is_ok(),
        "as many as may be fit into the file"
    );
    list.keys = vec![entry(1), entry(1)];
    assert_eq!(told(&list), "keys[1].keyId: the key is listed twice");
    list.keys[1].key_id = entry(2).key_id;
    assert_eq!(told(&list), "keys[1].keyId: is not the id of that key");
    for owner in ["", "a\nb", &"x".repeat(101)] {
        list.keys = vec![KeyEntry::new(key(1).public_key(), owner)];
        assert!(told(&list).starts_with("keys[0].owner: expected one line"));
    }
    let mut list = keys(1);
    list.handovers = vec![hand_over(&root, &key(1).public_key(), now()).unwrap(); MAX_HANDOVERS + 1];
    assert_eq!(told(&list), "handovers: 33 handovers; at most 32");
    let mut revoked = revocations(1);
    revoked.keys = vec![revoked.keys[0].clone(); MAX_REVOCATIONS + 1];
    assert!(revoked.sign(&root).unwrap_err().to_string().contains("keys: 10001 entries; at most 10000"));
    let mut revoked = revocations(1);
    revoked.plugins[0].reason = "x".repeat(500);
    revoked.plugins = vec![revoked.plugins[0].clone(); MAX_REVOCATIONS];
    assert!(revoked.sign(&root).unwrap_err().to_string().contains("a list has at most 4194304"));
    let mut revoked = revocations(1);
    revoked.plugins[0].reason = "x".repeat(501);
    assert!(revoked.sign(&root).unwrap_err().to_string().contains("longer than 500"));
    assert!(hand_over(&root, &crate::fixture::rsa(), now()).is_err(), "a root is an Ed25519 key");
}
