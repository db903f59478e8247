//! Limits that a test through a door would take long to reach.

use jiff::Timestamp;
use serde_json::{json, value::RawValue};
use toolyard_protocol::{call::CallProgress, raw::to_raw};
use toolyard_redaction::{MAX_RESTORED_BYTES, MAX_SECRET_BYTES};

use super::*;
use crate::ports::{CallNotice, SourceQuestion, SystemIds};

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn redaction() -> Arc<SecretRedaction> {
    SecretRedaction::new(RedactionSettings::default(), Arc::new(StoppedClock), Arc::new(SystemIds))
}

fn scope(user: &str, conversation: usize) -> SecretScope {
    let owner = CallOwner { user: user.parse().unwrap(), caller: Caller::User };
    SecretScope { owner, conversation: Some(conversation.to_string().into()) }
}

fn call_of(shared: &Arc<SecretRedaction>) -> Arc<CallRedaction> {
    let origin = SecretOrigin::new("com.example.vault", true);
    let name = "com.example.vault:read".parse().unwrap();
    Arc::new(CallRedaction::new(shared.clone(), scope("ada", 0), origin, name, true))
}

fn github_token() -> String {
    format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345")
}

fn progress(message: String) -> CallNotice {
    CallNotice::Progress(CallProgress { progress: 1.0, total: None, message: Some(message) })
}

#[test]
fn the_conversation_used_longest_ago_makes_room() {
    let shared = redaction();
    shared.secrets_of(&scope("bob", 0));
    for conversation in 0..USER_CONVERSATIONS {
        shared.secrets_of(&scope("ada", conversation));
    }
    assert!(shared.find_secrets(&scope("ada", 0)).is_some(), "this use renews it");
    shared.secrets_of(&scope("ada", USER_CONVERSATIONS));
    let kept = |user, conversation| shared.find_secrets(&scope(user, conversation)).is_some();
    assert!(kept("ada", 0) && !kept("ada", 1) && kept("ada", USER_CONVERSATIONS) && kept("bob", 0));
}

#[test]
fn a_notice_that_is_too_long_to_be_searched_at_once_is_dropped() {
    let shared = redaction();
    let call = call_of(&shared);
    let Some(CallNotice::Progress(sent)) = call.redact_notice(progress(format!("with {}", github_token())))
    else {
        panic!("it is short")
    };
    assert!(sent.message.unwrap().starts_with("with [secret:github-token:1-"));
    let long = "x".repeat(MAX_NOTICE_BYTES + 1);
    assert!(call.redact_notice(progress(long.clone())).is_none());
    assert!(call.redact_notice(CallNotice::Log(to_raw(&long))).is_none());
    assert_eq!(shared.counts().replaced, 1);
}

#[test]
fn only_questions_to_models_are_searched() {
    let call = call_of(&redaction());
    let ask = |method: &str, text: &str| {
        let (answer, _) = tokio::sync::oneshot::channel();
        let params = Some(to_raw(&json!({ "message": text })));
        call.redact_question(SourceQuestion { method: method.to_owned(), params, answer })
    };
    let text = |question: Option<SourceQuestion>| question.unwrap().params.unwrap().get().to_owned();
    assert!(text(ask("sampling/createMessage", &github_token())).contains("[secret:github-token:1-"));
    assert!(text(ask("elicitation/create", &github_token())).contains(&github_token()), "people need it");
    assert!(ask("sampling/createMessage", &"x".repeat(MAX_NOTICE_BYTES)).is_none());
}

#[tokio::test]
async fn a_call_gets_a_bounded_amount_of_secrets() {
    let shared = redaction();
    let call = call_of(&shared);
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}", "aB3+".repeat((MAX_SECRET_BYTES - 100) / 4));
    let placeholder = call.redact_text(key.clone());
    assert!(placeholder.starts_with("[secret:private-key:1-"), "{}", &placeholder[..60]);
    let fits = MAX_RESTORED_BYTES / key.len();
    let arguments = |times: usize| to_raw(&json!({ "keys": vec![&placeholder; times] }));
    let restored = call.restore_arguments(Some(&arguments(fits))).await.unwrap().unwrap();
    assert_eq!(restored.get(), json!({ "keys": vec![&key; fits] }).to_string());
    let error = call.restore_arguments(Some(&arguments(fits + 1))).await.unwrap_err();
    assert!(error.for_model.contains("Use fewer in one call"), "{error}");
    assert_eq!(shared.counts().restored, fits as u64, "a call that does not run restores nothing");
    let none: Option<Box<RawValue>> = call.restore_arguments(None).await.unwrap();
    assert!(none.is_none());
}
