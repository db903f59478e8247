//! One question and its answer, told as it comes. Ctrl-C ends the answer, and what was told of it stays in the conversation.

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::Instant;
use toolyard_client_sdk::{CallResult, ChatEvent, ChatStream};
use toolyard_protocol::JsonLine;

use super::{backend::ChatBackend, conversation::ChatConversation, screen::ChatScreen};
use crate::{
    error::CliError,
    signals::{ProcessSignal, SignalListener},
};

/// How an answer ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// By itself.
    Completed,
    /// It waits for tools that only another client could run.
    Waiting(Vec<String>),
    /// Somebody did not want to hear the rest.
    Stopped(ProcessSignal),
}

/// How answers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    /// For people.
    Text,
    /// Each event as a line of JSON.
    Json,
}

/// Asks, and tells the answer. Whatever was told is kept in the conversation.
pub(super) async fn run_turn(
    door: &ChatBackend,
    talk: &mut ChatConversation,
    screen: &mut ChatScreen,
    form: AnswerFormat,
    signals: &mut SignalListener,
) -> Result<AnswerEnd, CliError> {
    let mut question = talk.build_request();
    match form {
        AnswerFormat::Text => screen.begin_answer()?,
        AnswerFormat::Json => question = question.with_chunks(),
    }
    let mut stream = door.chat.chat(question);
    let told = tokio::select! {
        told = stream_answer(door, &mut stream, screen, form) => told.map(|()| None),
        signal = signals.next_signal() => Ok(Some(signal)),
    };
    let cleared = screen.end_answer();
    let heard = stream.so_far();
    drop(stream);
    let waits: Vec<String> =
        heard.open_calls().filter(|call| !call.of_server).map(|call| call.tool.clone()).collect();
    talk.record_answer(heard.history);
    let stopped = told?;
    cleared?;
    Ok(match stopped {
        Some(signal) => AnswerEnd::Stopped(signal),
        None if waits.is_empty() => AnswerEnd::Completed,
        None => AnswerEnd::Waiting(waits),
    })
}

async fn stream_answer(
    door: &ChatBackend,
    stream: &mut ChatStream,
    screen: &mut ChatScreen,
    form: AnswerFormat,
) -> Result<(), CliError> {
    while let Some(event) = stream.next().await {
        match (form, event) {
            (_, ChatEvent::Error(error)) => return Err(door.chat_error(error)),
            (AnswerFormat::Text, event) => screen.show_event(&event, Instant::now())?,
            (AnswerFormat::Json, ChatEvent::Chunk { json }) => {
                screen.print_json(JsonLine::from_json(json))?
            }
            // The server says nothing of what ran here.
            (
                AnswerFormat::Json,
                ChatEvent::ToolResult(CallResult { call_id, output, of_server: false, .. }),
            ) => {
                let chunk =
                    json!({ "type": "tool-output-available", "toolCallId": call_id, "output": output });
                screen.print_json(JsonLine::new(&chunk))?;
            }
            (AnswerFormat::Json, _) => {}
        }
    }
    Ok(())
}
