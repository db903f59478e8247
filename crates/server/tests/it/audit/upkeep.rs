//! The log stays verifiable: after retention, after the root key was rotated, and by a command without the server.

use serde_json::json;
use toolyard_core::ports::AuditCursor;
use toolyard_server::{
    audit::{AuditFault, AuditHead, verify_offline},
    auth::{Role, TokenDetails, issue_offline},
    config::Config,
};

use super::{audit_entries, last_audit};
use crate::platform::{Platform, tokens_only};

async fn issue_tokens(p: &Platform, count: u32) {
    let root = p.bearer(&p.token("root", Role::Operator));
    for _ in 0..count {
        root.post("/api/tokens", &json!({ "name": "x", "user": "ada" })).await.expect(201);
    }
}

#[tokio::test]
async fn a_rotation_of_the_root_key_keeps_hashes_and_proofs() {
    let (old, new) = ("11".repeat(32), "22".repeat(32));
    let p = Platform::with(|config| {
        tokens_only(config);
        config.auth.root_key = Some(old.clone());
    })
    .await;
    issue_tokens(&p, 3).await;
    let keys = p.state.platform.audit_log.keys();
    let anchored = p.state.stores.audit.prune_audit(jiff::Timestamp::MAX, keys, 1).await.unwrap();
    assert_eq!(anchored, 1);
    let head = last_audit(&p, "token.issued").await.head();
    let p = p
        .restart_with(|config| {
            (config.auth.root_key, config.auth.old_root_key) = (Some(new.clone()), Some(old.clone()));
        })
        .await;
    issue_tokens(&p, 1).await;
    let p = p.restart_with(|config| config.auth.old_root_key = None).await;
    issue_tokens(&p, 1).await;
    let (config, _folder, _) = p.stop().await;
    let summary = verify_offline(&config, Some(head)).await.unwrap().unwrap();
    assert_eq!((summary.entries, summary.removed_up_to, summary.is_head_found), (4, 1, true));
    let with_old_key = Config {
        auth: toolyard_server::config::AuthConfig { root_key: Some(old), ..config.auth.clone() },
        ..config
    };
    let refused = verify_offline(&with_old_key, None).await.unwrap_err().to_string();
    assert!(refused.contains("is not the root key"), "{refused}");
}

#[tokio::test]
async fn a_command_verifies_the_log_of_a_running_server_and_adds_to_it() {
    let p = Platform::with(|config| {
        tokens_only(config);
        config.auth.root_key = Some("11".repeat(32));
    })
    .await;
    issue_tokens(&p, 2).await;
    let config = p.config();
    let verified = verify_offline(config, None).await.unwrap().unwrap();
    assert_eq!((verified.entries, verified.head), (2, last_audit(&p, "token.issued").await.head()));
    let details = TokenDetails {
        name: "for a test",
        subject: "ada",
        role: Role::Operator,
        seconds: 60,
        by: "toolyard token",
        made_with: None,
    };
    let made = issue_offline(config, details).await.unwrap();
    assert_eq!(made.audit_problem, None);
    let entry = last_audit(&p, "token.issued").await;
    assert_eq!((entry.number, &*entry.actor_kind, &*entry.actor), (3, "command", "toolyard token"));
    assert!(entry.detail.contains("operator") && !entry.detail.contains(&made.token), "{entry:?}");
    issue_tokens(&p, 1).await;
    assert_eq!(verify_offline(config, None).await.unwrap().unwrap().entries, 4);
    let later = AuditHead { number: 9, hash: [0; 32] };
    let truncated = verify_offline(config, Some(later)).await.unwrap();
    assert_eq!(truncated, Err(AuditFault::Truncated { first: 5, last: 9 }));
}

#[tokio::test]
async fn a_store_that_no_server_used_is_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::default();
    config.store.path = folder.path().join("none.db");
    let refused = verify_offline(&config, None).await.unwrap_err().to_string();
    assert!(refused.contains("no server has used this store"), "{refused}");
    assert!(!config.store.path.exists());
}

#[tokio::test]
async fn old_entries_are_removed_from_the_start() {
    let p = Platform::with(|config| config.audit.keep_days = 2).await;
    let issue = async |p: &Platform| {
        p.nobody().post("/api/tokens", &json!({ "name": "x", "user": "ada", "days": 300 })).await.expect(201);
    };
    issue(&p).await;
    issue(&p).await;
    p.clock.advance(3 * 24 * 60 * 60);
    issue(&p).await;
    // A server prunes when it starts, and every hour.
    let p = p.restart().await;
    let anchor = loop {
        match p.state.stores.audit.audit_anchor().await.unwrap() {
            Some(anchor) => break anchor,
            None => tokio::task::yield_now().await,
        }
    };
    assert_eq!(anchor.head.number, 2);
    assert_eq!(audit_entries(&p).await.iter().map(|entry| entry.number).collect::<Vec<_>>(), [3]);
    assert_eq!(verify_offline(p.config(), None).await.unwrap().unwrap().removed_up_to, 2);
    let all = p.state.stores.audit.list_audit(&AuditCursor::NewestBefore(None).into()).await.unwrap();
    assert_eq!(all[0].previous, anchor.head.hash);
}
