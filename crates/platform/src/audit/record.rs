//! Writing an entry.

use std::{
    fmt::Display,
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use toolyard_core::{
    audit::AuditKeys,
    ports::{AuditActor, AuditEvent, SecretSealer},
};
use toolyard_protocol::{
    TokenId, UserId,
    accounts::SignInMethod,
    audit::{AuditAction, AuditActorKind},
};

use super::failed_sign_ins::FailedSignIns;
use crate::{Actor, Platform};

/// Longest name of an actor, a credential or a target, in characters. Ids and package names are shorter.
const MAX_NAME_CHARS: usize = 300;
/// Largest detail, in bytes of JSON.
const MAX_DETAIL_BYTES: usize = 2 * 1024;

/// What an action was done to.
#[derive(Debug, Clone)]
pub struct AuditSubject {
    target: String,
    user: Option<UserId>,
}

impl AuditSubject {
    /// A user.
    pub fn user(user: &UserId) -> Self {
        Self::of_user(user, user)
    }

    /// Something that belongs to a user.
    pub fn of_user(target: impl Display, user: &UserId) -> Self {
        Self { target: target.to_string(), user: Some(user.clone()) }
    }

    /// Something that belongs to no user. The entry is about the person who acted.
    pub fn named(target: impl Display) -> Self {
        Self { target: target.to_string(), user: None }
    }
}

/// What is needed to write entries.
pub struct AuditWriter {
    keys: AuditKeys,
    failures: AtomicU64,
    failed_sign_ins: FailedSignIns,
}

impl AuditWriter {
    /// A writer that proves its entries with keys derived from the root key.
    pub fn new(secrets: &dyn SecretSealer) -> Self {
        Self {
            keys: AuditKeys::derive(secrets),
            failures: AtomicU64::new(0),
            failed_sign_ins: FailedSignIns::default(),
        }
    }

    /// The keys of the proofs.
    pub fn keys(&self) -> &AuditKeys {
        &self.keys
    }

    /// How many entries could not be written since the start.
    pub fn failure_count(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Platform {
    /// Records what an actor did. It was done before: nothing that happens here can undo it.
    pub async fn audit(&self, actor: &Actor, action: AuditAction, subject: AuditSubject, detail: Value) {
        self.write_entry(actor.audit_actor(), action, subject, detail).await;
    }

    /// Records what a user did of whom no credential is at hand, for example with a code that another device has.
    pub(crate) async fn audit_user(
        &self,
        user: &UserId,
        action: AuditAction,
        subject: AuditSubject,
        detail: Value,
    ) {
        let actor = AuditActor {
            kind: AuditActorKind::Person,
            name: user.as_str().to_owned(),
            credential: String::new(),
        };
        self.write_entry(actor, action, subject, detail).await;
    }

    /// Records that a client did something with its own credential.
    pub(crate) async fn audit_client(
        &self,
        client_id: &str,
        action: AuditAction,
        subject: AuditSubject,
        detail: Value,
    ) {
        let actor = AuditActor {
            kind: AuditActorKind::Client,
            name: subject.user.as_ref().map_or_else(String::new, |user| user.as_str().to_owned()),
            credential: format!("client {client_id}"),
        };
        self.write_entry(actor, action, subject, detail).await;
    }

    /// Records that a user signed in.
    pub(crate) async fn audit_sign_in(&self, user: &UserId, session: &TokenId, method: SignInMethod) {
        let actor = AuditActor {
            kind: AuditActorKind::Person,
            name: user.as_str().to_owned(),
            credential: format!("session {session}"),
        };
        let detail = json!({ "method": method.as_str() });
        self.write_entry(actor, AuditAction::AccountSignedIn, AuditSubject::user(user), detail).await;
    }

    /// Records that a sign-in failed, unless there were too many of them. What was typed is not recorded: it may be a password in
    /// the wrong field.
    pub(crate) async fn audit_failed_sign_in(&self, user: Option<&UserId>, method: SignInMethod) {
        let Some(left_out) = self.audit_log.failed_sign_ins.admit(self.clock.now()) else { return };
        let actor =
            AuditActor { kind: AuditActorKind::Anonymous, name: String::new(), credential: String::new() };
        let mut detail = json!({ "method": method.as_str() });
        if left_out > 0 {
            detail["leftOutBefore"] = left_out.into();
        }
        let subject = user.map_or_else(|| AuditSubject::named(""), AuditSubject::user);
        self.write_entry(actor, AuditAction::AccountSignInFailed, subject, detail).await;
    }

    async fn write_entry(
        &self,
        actor: AuditActor,
        action: AuditAction,
        subject: AuditSubject,
        detail: Value,
    ) {
        let user = subject.user.or_else(|| match actor.kind {
            AuditActorKind::Person | AuditActorKind::Client => actor.name.parse().ok(),
            AuditActorKind::App | AuditActorKind::Command | AuditActorKind::Anonymous => None,
        });
        let event = AuditEvent {
            at: self.clock.now(),
            actor: AuditActor {
                kind: actor.kind,
                name: bounded_name(&actor.name),
                credential: bounded_name(&actor.credential),
            },
            action,
            target: bounded_name(&subject.target),
            user,
            detail: bounded_detail(&detail),
        };
        let (actor, target) = (&event.actor, &event.target);
        match self.stores.audit.append_audit(&event, &self.audit_log.keys).await {
            // With the hash: a log that is collected elsewhere proves that the entry existed.
            Ok(record) => tracing::info!(
                target: "toolyard::audit",
                number = record.number,
                action = record.action,
                kind = record.actor_kind,
                actor = record.actor,
                target,
                hash = hex::encode(record.hash),
                "audit entry"
            ),
            Err(error) => {
                self.audit_log.failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    target: "toolyard::audit",
                    %error,
                    action = action.as_str(),
                    kind = actor.kind.as_str(),
                    actor = actor.name,
                    credential = actor.credential,
                    target,
                    detail = event.detail,
                    "audit entry not written"
                );
            }
        }
    }
}

/// Control characters are left out: one of them is refused by PostgreSQL, and none belongs in a name.
fn bounded_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect()
}

fn bounded_detail(detail: &Value) -> String {
    let text = detail.to_string();
    if text.len() <= MAX_DETAIL_BYTES {
        return text;
    }
    json!({ "omittedBytes": text.len() }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_details_have_a_bound() {
        assert_eq!(bounded_name("a\0b\nc"), "abc");
        assert_eq!(bounded_name(&"é".repeat(301)).chars().count(), MAX_NAME_CHARS);
        let fits = json!("x".repeat(MAX_DETAIL_BYTES - 2));
        assert_eq!(bounded_detail(&fits), fits.to_string());
        let too_large = json!("x".repeat(MAX_DETAIL_BYTES - 1));
        assert_eq!(bounded_detail(&too_large), r#"{"omittedBytes":2049}"#);
    }
}
