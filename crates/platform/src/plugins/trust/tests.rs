//! A verdict is cached as long as it is valid, and no longer.

use std::{collections::HashMap, sync::Mutex};

use async_trait::async_trait;
use toolyard_trust::{KeyEntry, RevokedPlugin, TrustStatus, sign_manifest};

use super::*;

#[derive(Default)]
struct Memory(Mutex<HashMap<String, String>>);

#[async_trait]
impl PluginListStore for Memory {
    async fn plugin_list(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    async fn save_plugin_list(&self, name: &str, text: &str) -> Result<(), StoreError> {
        self.0.lock().unwrap().insert(name.to_owned(), text.to_owned());
        Ok(())
    }
}

fn key(number: u8) -> SecretKey {
    SecretKey::from_seed(&[number; 32]).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn plugin(more: &str) -> String {
    let text = format!(
        r#"{{"schemaVersion":1,"id":"x","name":"X","version":"1.0.0","publisher":"X"{more},
            "tools":[{{"name":"go","description":"Goes","parameters":{{"type":"object"}},"executorCode":"return 1;"}}]}}"#
    );
    sign_manifest(&Manifest::parse(text.as_bytes()).unwrap(), &key(1)).unwrap()
}

async fn curator() -> PluginTrust {
    let setup = TrustSetup { curator: Some(key(1)), owner: "Ada".to_owned(), ..TrustSetup::default() };
    PluginTrust::open(setup, Arc::<Memory>::default(), at(0)).await.unwrap()
}

#[tokio::test]
async fn the_same_question_is_answered_from_memory() {
    let (trust, text) = (curator().await, plugin(""));
    let first = trust.judge_text(&text, None, at(1)).unwrap();
    assert!(matches!(first.verdict.status, TrustStatus::Signed { .. }), "{:?}", first.verdict);
    let again = trust.judge_text(&text, None, at(2)).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    // The lists did not change, so the verdict is reused.
    assert!(!trust.refresh(at(3)).await.unwrap());
    assert!(Arc::ptr_eq(&first, &trust.judge_text(&text, None, at(3)).unwrap()));
    let hash = &first.verdict.content_hash;
    let pinned = trust.judge_text(&text, Some(hash), at(3)).unwrap();
    assert!(!Arc::ptr_eq(&first, &pinned) && pinned.verdict.runs);
    let other = trust.judge_text(&text, Some(&ContentHash::from_digest(&[0; 32])), at(3)).unwrap();
    assert_eq!(other.verdict.status, TrustStatus::Modified);
    let changed = trust.judge_text(&text.replace("return 1", "return 2"), Some(hash), at(3)).unwrap();
    assert_eq!(changed.verdict.status, TrustStatus::Modified);
    assert!(trust.judge_text("{}", None, at(3)).is_err());
}

#[tokio::test]
async fn a_new_revocation_list_judges_anew() {
    let (trust, text) = (curator().await, plugin(""));
    assert!(trust.judge_text(&text, None, at(1)).unwrap().verdict.runs);
    let called_back =
        RevokedPlugin { id: "x".parse().unwrap(), content_hash: None, reason: "a hole".to_owned() };
    assert!(trust.revoke(called_back, at(1)).await.unwrap());
    let judged = trust.judge_text(&text, None, at(1)).unwrap();
    assert_eq!((judged.verdict.runs, &judged.verdict.status), (false, &TrustStatus::Revoked));
}

#[tokio::test]
async fn a_new_key_list_judges_anew_even_under_its_old_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let write = |keys: Vec<KeyEntry>| {
        let list = KeyList { number: 1, ..KeyList::from_local_keys(keys) };
        std::fs::write(&file, list.sign(&key(9)).unwrap()).unwrap();
    };
    write(vec![KeyEntry::new(key(1).public_key(), "Ada")]);
    let setup = TrustSetup {
        root: Some(key(9).public_key()),
        keys_file: Some(file.clone()),
        ..TrustSetup::default()
    };
    let trust = PluginTrust::open(setup, Arc::<Memory>::default(), at(0)).await.unwrap();
    let text = plugin("");
    assert!(trust.judge_text(&text, None, at(1)).unwrap().verdict.runs);
    write(vec![KeyEntry::new(key(2).public_key(), "Bob")]);
    assert!(trust.judge_text(&text, None, at(1)).unwrap().verdict.runs, "not read yet");
    assert!(trust.refresh(at(1)).await.unwrap());
    assert_eq!(trust.judge_text(&text, None, at(1)).unwrap().verdict.status, TrustStatus::UnknownKey);
}

#[tokio::test]
async fn a_plugin_that_runs_out_is_judged_anew() {
    let (trust, text) = (curator().await, plugin(r#","expiresAt":"1970-01-01T00:01:00Z""#));
    let first = trust.judge_text(&text, None, at(1)).unwrap();
    assert!(Arc::ptr_eq(&first, &trust.judge_text(&text, None, at(59)).unwrap()));
    assert_eq!(trust.judge_text(&text, None, at(60)).unwrap().verdict.status, TrustStatus::Expired);
    assert!(trust.judge_text(&text, None, at(59)).unwrap().verdict.runs, "a clock that is set back");
}

#[tokio::test]
async fn a_revocation_is_remembered_with_the_number_of_its_list() {
    let lists = Arc::<Memory>::default();
    let setup = || TrustSetup { curator: Some(key(1)), owner: "Ada".to_owned(), ..TrustSetup::default() };
    let trust = PluginTrust::open(setup(), lists.clone(), at(0)).await.unwrap();
    let old = lists.plugin_list(REVOCATIONS).await.unwrap().unwrap();
    let called_back = RevokedPlugin { id: "x".parse().unwrap(), content_hash: None, reason: String::new() };
    trust.revoke(called_back, at(1)).await.unwrap();
    // The old list is put back while the server is down.
    lists.save_plugin_list(REVOCATIONS, &old).await.unwrap();
    let opened = PluginTrust::open(setup(), lists, at(2)).await;
    let refused = opened.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("revocation list"), "{refused}");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    std::fs::write(&file, " ".repeat(toolyard_trust::MAX_LIST_BYTES + 1)).unwrap();
    let setup =
        TrustSetup { root: Some(key(9).public_key()), keys_file: Some(file), ..TrustSetup::default() };
    let refused = PluginTrust::open(setup, Arc::<Memory>::default(), at(0)).await.err().unwrap();
    assert!(matches!(refused, TrustError::List { error: ListError::TooLarge(_), .. }), "{refused}");
}
