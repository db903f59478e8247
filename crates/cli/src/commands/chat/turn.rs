//! One question and its answer, told as it comes. Ctrl-C ends the answer, and what was told of it stays in the conversation.

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::Instant;
use toolyard_client_sdk::{CallResult, ChatStream, Event};
use toolyard_protocol::JsonLine;

use super::{door::Door, screen::Screen, talk::Talk};
use crate::{
    error::CliError,
    signals::{Signal, Signals},
};

/// How an answer ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself.
    Through,
    /// It waits for tools that only another client could run.
    Waiting(Vec<String>),
    /// Somebody did not want to hear the rest.
    Stopped(Signal),
}

/// How answers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Words,
    /// Each event as a line of JSON.
    Json,
}

/// Asks, and tells the answer. Whatever was told is kept in the conversation.
pub(super) async fn run(
    door: &Door,
    talk: &mut Talk,
    screen: &mut Screen,
    form: Form,
    signals: &mut Signals,
) -> Result<Ended, CliError> {
    let mut question = talk.question();
    match form {
        Form::Words => screen.begin()?,
        Form::Json => question = question.with_chunks(),
    }
    let mut stream = door.chat.chat(question);
    let told = tokio::select! {
        told = tell(door, &mut stream, screen, form) => told.map(|()| None),
        signal = signals.which() => Ok(Some(signal)),
    };
    let cleared = screen.end();
    let heard = stream.so_far();
    drop(stream);
    let waits: Vec<String> =
        heard.open_calls().filter(|call| !call.of_server).map(|call| call.tool.clone()).collect();
    talk.answered(heard.history);
    let stopped = told?;
    cleared?;
    Ok(match stopped {
        Some(signal) => Ended::Stopped(signal),
        None if waits.is_empty() => Ended::Through,
        None => Ended::Waiting(waits),
    })
}

async fn tell(door: &Door, stream: &mut ChatStream, screen: &mut Screen, form: Form) -> Result<(), CliError> {
    while let Some(event) = stream.next().await {
        match (form, event) {
            (_, Event::Error(error)) => return Err(door.failed(error)),
            (Form::Words, event) => screen.show(&event, Instant::now())?,
            (Form::Json, Event::Chunk { json }) => screen.json(JsonLine::from_json(json))?,
            // The server says nothing of what ran here.
            (Form::Json, Event::ToolResult(CallResult { call_id, output, of_server: false, .. })) => {
                let chunk =
                    json!({ "type": "tool-output-available", "toolCallId": call_id, "output": output });
                screen.json(JsonLine::new(&chunk))?;
            }
            (Form::Json, _) => {}
        }
    }
    Ok(())
}
