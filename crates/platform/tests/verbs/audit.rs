//! Verbs record what they did, and a failure to record it is counted.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::{
    audit::{AuditAnchor, AuditDigest, AuditKeys},
    ports::{AuditCursor, AuditEvent, AuditFilter, AuditRecord, AuditStore, StoreError},
};
use toolyard_platform::{apps, installs, tokens};
use toolyard_protocol::api::Role;

use crate::fixture::{Fixture, for_user, person, refusal};

fn token_request(name: &str) -> tokens::TokenRequest {
    tokens::TokenRequest { name: name.to_owned(), user: None, role: None, days: None }
}

async fn entries(fixture: &Fixture) -> Vec<AuditRecord> {
    let filter = AuditCursor::OldestAfter(0).into();
    fixture.platform.stores.audit.list_audit(&filter).await.unwrap()
}

#[tokio::test]
async fn a_change_is_recorded_with_actor_target_and_user() {
    let fixture = Fixture::start().await;
    let platform = &fixture.platform;
    let dora = person("dora", Role::Developer);
    let new = serde_json::from_str(r#"{"packageName":"com.example.todo"}"#).unwrap();
    let registered = apps::register(platform, &dora, new).await.unwrap();
    installs::install(platform, &for_user("ada"), &registered.app.package).await.unwrap();
    let root = person("root", Role::Operator);
    apps::remove(platform, &root, &registered.app.package).await.unwrap();
    let told: Vec<_> = entries(&fixture)
        .await
        .into_iter()
        .map(|entry| [entry.action, entry.actor, entry.target, entry.user])
        .collect();
    let package = "com.example.todo";
    assert_eq!(
        told,
        [
            ["app.registered", "dora", package, "dora"],
            ["app.installed", "ada", package, "ada"],
            ["app.removed", "root", package, "root"],
        ]
    );
    let text = format!("{:?}", entries(&fixture).await);
    assert!(!text.contains(&registered.api_key) && !text.contains(&registered.signing_secret));
}

#[tokio::test]
async fn a_token_is_recorded_with_all_that_are_revoked_with_it() {
    let fixture = Fixture::start().await;
    let ada = person("ada", Role::User);
    let issued = tokens::issue(&fixture.platform, &ada, token_request("cli")).await.unwrap();
    let with_it = toolyard_platform::Actor::Person {
        name: "ada".to_owned(),
        role: Role::User,
        credential: toolyard_platform::Credential::Token {
            expires_at: issued.listed.expires_at.as_second(),
            id: Some(issued.listed.id.clone()),
        },
    };
    tokens::issue(&fixture.platform, &with_it, token_request("second")).await.unwrap();
    tokens::revoke(&fixture.platform, &ada, &issued.listed.id).await.unwrap();
    refusal(tokens::issue(&fixture.platform, &ada, token_request("")).await);
    let entries = entries(&fixture).await;
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["token.issued", "token.issued", "token.revoked", "token.revoked"]);
    assert_eq!(entries[0].credential, "dev mode");
    assert_eq!(entries[1].credential, format!("token {}", issued.listed.id));
    assert!(!format!("{entries:?}").contains(&issued.token));
}

/// A log that cannot be written.
struct FailingLog;

fn failed<T>() -> Result<T, StoreError> {
    Err(StoreError::Failed("on purpose".to_owned()))
}

#[async_trait]
impl AuditStore for FailingLog {
    async fn append_audit(&self, _: &AuditEvent, _: &AuditKeys) -> Result<AuditRecord, StoreError> {
        failed()
    }

    async fn list_audit(&self, _: &AuditFilter) -> Result<Vec<AuditRecord>, StoreError> {
        failed()
    }

    async fn prune_audit(&self, _: Timestamp, _: &AuditKeys, _: u32) -> Result<u64, StoreError> {
        failed()
    }

    async fn audit_anchor(&self) -> Result<Option<AuditAnchor>, StoreError> {
        failed()
    }

    async fn replace_audit_macs(&self, _: &[(u64, AuditDigest)]) -> Result<(), StoreError> {
        failed()
    }

    async fn replace_audit_anchor(&self, _: &AuditAnchor) -> Result<(), StoreError> {
        failed()
    }
}

#[tokio::test]
async fn a_change_stays_if_it_cannot_be_recorded_and_the_failure_is_counted() {
    let fixture = Fixture::with(|stores| stores.audit = Arc::new(FailingLog)).await;
    let ada = person("ada", Role::User);
    assert_eq!(fixture.platform.audit_log.failure_count(), 0);
    tokens::issue(&fixture.platform, &ada, token_request("cli")).await.unwrap();
    assert_eq!(tokens::list(&fixture.platform, &ada, None, 10).await.unwrap().len(), 1);
    assert_eq!(fixture.platform.audit_log.failure_count(), 1);
}
