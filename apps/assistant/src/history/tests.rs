//! Conversations of all lengths and retentions.

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use toolyard_agent::model::{
    CallingMode, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, ModelStream, ResponseEnd,
};

use super::*;

/// A model that answers with a fixed text, fails, or never answers.
#[derive(Debug)]
enum Writer {
    Says(&'static str),
    Fails,
    Hangs,
}

#[async_trait]
impl Model for Writer {
    fn info(&self) -> &ModelInfo {
        static INFO: std::sync::LazyLock<ModelInfo> =
            std::sync::LazyLock::new(|| ModelInfo { id: "t/w".to_owned(), calling: CallingMode::Native });
        &INFO
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        assert!(request.max_tokens.is_some() && request.tools.is_empty());
        match self {
            Self::Says(text) => {
                let events =
                    [Ok(ModelEvent::Text((*text).to_owned())), Ok(ModelEvent::End(ResponseEnd::default()))];
                Ok(stream::iter(events).boxed())
            }
            Self::Fails => Err(ModelError {
                kind: ModelErrorKind::Unavailable,
                text: "no".to_owned(),
                cause: None,
                retry_after: None,
            }),
            Self::Hangs => Ok(stream::pending().boxed()),
        }
    }
}

fn ada() -> UserId {
    "ada".parse().unwrap()
}

fn history(limits: HistoryLimits) -> (ConversationHistory, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (ConversationHistory::open(&folder.path().join("a.db"), limits).unwrap(), folder)
}

/// About 36 tokens.
fn exchange(n: usize) -> ConversationExchange {
    ConversationExchange::new(&format!("{n} {}", "question ".repeat(5)), &[], Some(&"answer ".repeat(6)))
}

async fn have(history: &ConversationHistory, keep: HistoryRetention, count: usize) -> bool {
    let mut over = false;
    for n in 0..count {
        let before = history.load_prior(&ada(), history.retention_for(&ada(), keep)).await.unwrap();
        over = history.remember(&ada(), &before, &exchange(n)).await.unwrap();
    }
    over
}

/// A question now, for this session.
async fn asked(history: &ConversationHistory) -> PriorConversation {
    history.load_prior(&ada(), history.retention_for(&ada(), HistoryRetention::Session)).await.unwrap()
}

async fn messages(history: &ConversationHistory, keep: HistoryRetention) -> usize {
    history.load_prior(&ada(), history.retention_for(&ada(), keep)).await.unwrap().messages.len()
}

#[tokio::test]
async fn off_keeps_nothing_and_session_nothing_beyond_itself() {
    let (history, _folder) = history(HistoryLimits::default());
    have(&history, HistoryRetention::Off, 2).await;
    assert_eq!(messages(&history, HistoryRetention::Off).await, 0);
    have(&history, HistoryRetention::Session, 2).await;
    assert_eq!(
        (
            messages(&history, HistoryRetention::Session).await,
            messages(&history, HistoryRetention::Forever).await
        ),
        (4, 0)
    );
    history.end_session(&ada()).await.unwrap();
    assert_eq!(messages(&history, HistoryRetention::Session).await, 0);
}

#[tokio::test]
async fn forever_outlives_a_restart_but_not_another_choice() {
    let (first, folder) = history(HistoryLimits::default());
    have(&first, HistoryRetention::Forever, 2).await;
    first.end_session(&ada()).await.unwrap();
    drop(first);
    let again = ConversationHistory::open(&folder.path().join("a.db"), HistoryLimits::default()).unwrap();
    assert_eq!(messages(&again, HistoryRetention::Forever).await, 4);
    again.apply_retention(&ada(), HistoryRetention::Forever).await.unwrap();
    assert_eq!(messages(&again, HistoryRetention::Forever).await, 4);
    again.apply_retention(&ada(), HistoryRetention::Session).await.unwrap();
    assert_eq!(messages(&again, HistoryRetention::Forever).await, 0);
}

#[tokio::test]
async fn exchanges_over_the_limit_are_replaced_by_a_summary() {
    let limits = HistoryLimits { tokens: 200, ..HistoryLimits::default() };
    let (history, _folder) = history(limits);
    assert!(!have(&history, HistoryRetention::Session, 4).await);
    assert!(have(&history, HistoryRetention::Session, 4).await, "now something has to fall out");
    let read = messages(&history, HistoryRetention::Session).await;
    assert!((8..16).contains(&read), "{read}");
    history
        .trim(&ada(), &asked(&history).await, Some(Arc::new(Writer::Says("They spoke of milk."))))
        .await
        .unwrap();
    let before =
        history.load_prior(&ada(), history.retention_for(&ada(), HistoryRetention::Session)).await.unwrap();
    assert_eq!(before.summary.as_deref(), Some("They spoke of milk."));
    assert!(!before.messages.is_empty() && before.messages.len() < read);
    // There is room again, so the next exchange needs no trimming.
    assert!(!history.remember(&ada(), &before, &exchange(9)).await.unwrap());
    history.trim(&ada(), &asked(&history).await, Some(Arc::new(Writer::Fails))).await.unwrap();
    assert_eq!(
        history
            .load_prior(&ada(), history.retention_for(&ada(), HistoryRetention::Session))
            .await
            .unwrap()
            .summary
            .as_deref(),
        Some("They spoke of milk.")
    );
}

#[tokio::test]
async fn a_summary_model_that_fails_hangs_or_writes_too_much_does_no_harm() {
    let limits = HistoryLimits { tokens: 100, summary_tokens: 10, summary_s: 0, ..HistoryLimits::default() };
    let (history, _folder) = history(limits);
    for writer in [Writer::Fails, Writer::Hangs] {
        assert!(have(&history, HistoryRetention::Session, 4).await);
        history.trim(&ada(), &asked(&history).await, Some(Arc::new(writer))).await.unwrap();
        let before = history
            .load_prior(&ada(), history.retention_for(&ada(), HistoryRetention::Session))
            .await
            .unwrap();
        assert_eq!(before.summary.as_deref(), Some("(An earlier part of the conversation was dropped.)"));
        assert!(before.messages.len() <= 6);
    }
    let long: &'static str = Box::leak("x".repeat(1_000).into_boxed_str());
    let written = summary::write_summary(
        Some(Arc::new(Writer::Says(long))),
        None,
        &[],
        &HistoryLimits { summary_tokens: 10, ..HistoryLimits::default() },
    )
    .await;
    assert_eq!(written.len(), 60);
}

#[tokio::test]
async fn a_deleted_conversation_is_not_restored_by_a_running_question() {
    let (history, _folder) = history(HistoryLimits::default());
    have(&history, HistoryRetention::Forever, 1).await;
    let before =
        history.load_prior(&ada(), history.retention_for(&ada(), HistoryRetention::Forever)).await.unwrap();
    history.forget(&ada()).await.unwrap();
    history.remember(&ada(), &before, &exchange(1)).await.unwrap();
    assert_eq!(messages(&history, HistoryRetention::Forever).await, 0);
    have(&history, HistoryRetention::Forever, 1).await;
    assert_eq!(messages(&history, HistoryRetention::Forever).await, 2);
}

#[tokio::test]
async fn a_running_answer_is_not_stored_after_the_session_or_another_choice() {
    let (history, _folder) = history(HistoryLimits::default());
    // Asked while the session was open, and read only after its end.
    let early = history.retention_for(&ada(), HistoryRetention::Session);
    let late = asked(&history).await;
    history.end_session(&ada()).await.unwrap();
    let early = history.load_prior(&ada(), early).await.unwrap();
    for before in [&early, &late] {
        assert!(!history.remember(&ada(), before, &exchange(1)).await.unwrap());
    }
    assert_eq!(messages(&history, HistoryRetention::Session).await, 0);
    for (keep, chosen) in [
        (HistoryRetention::Session, HistoryRetention::Off),
        (HistoryRetention::Forever, HistoryRetention::Session),
        (HistoryRetention::Forever, HistoryRetention::Off),
    ] {
        let before = history.load_prior(&ada(), history.retention_for(&ada(), keep)).await.unwrap();
        history.apply_retention(&ada(), chosen).await.unwrap();
        history.remember(&ada(), &before, &exchange(1)).await.unwrap();
        assert_eq!(messages(&history, keep).await, 0, "{keep:?} and then {chosen:?}");
    }
    // What is kept forever does not end with a session.
    let before =
        history.load_prior(&ada(), history.retention_for(&ada(), HistoryRetention::Forever)).await.unwrap();
    history.end_session(&ada()).await.unwrap();
    history.remember(&ada(), &before, &exchange(1)).await.unwrap();
    assert_eq!(messages(&history, HistoryRetention::Forever).await, 2);
}
