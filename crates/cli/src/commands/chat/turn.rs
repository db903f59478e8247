//! One message and its answer, printed as it streams. Ctrl-C cancels the answer; what was received stays in the
//! conversation.

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::Instant;
use toolyard_client_sdk::{CallResult, ChatEvent, ChatStream};
use toolyard_protocol::JsonLine;

use super::{
    backend::ChatBackend,
    conversation::ChatConversation,
    questions::{self, QuestionEnd, TerminalAsker},
    screen::ChatScreen,
};
use crate::{
    error::CliError,
    signals::{ProcessSignal, SignalListener},
};

/// How an answer ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// It is complete.
    Completed,
    /// It waits for tools that this client did not run.
    Waiting(Vec<String>),
    /// It waits for the user's approval, which nobody could give here.
    AwaitingApproval,
    /// The user cancelled it.
    Stopped(ProcessSignal),
}

/// How answers are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    /// For people.
    Text,
    /// Each event as a line of JSON.
    Json,
}

/// Sends the conversation and prints the answer. Whatever was received is kept in the conversation.
pub(super) async fn run_turn(
    asker: &mut TerminalAsker<'_>,
    conversation: &mut ChatConversation,
    screen: &mut ChatScreen,
    form: AnswerFormat,
    signals: &mut SignalListener,
) -> Result<AnswerEnd, CliError> {
    let backend = asker.backend;
    let (mut request, mut questions) = asker.with_questions(conversation.build_request());
    match form {
        AnswerFormat::Text => screen.begin_answer()?,
        AnswerFormat::Json => request = request.with_chunks(),
    }
    let mut stream = backend.chat.chat(request);
    let streamed = loop {
        let question = tokio::select! {
            // First, so that everything before a question is shown before it.
            biased;
            streamed = stream_answer(backend, &mut stream, screen, form) => break streamed.map(|()| None),
            signal = signals.next_signal() => break Ok(Some(AnswerEnd::Stopped(signal))),
            Some(question) = questions.recv() => question,
        };
        screen.end_answer()?;
        match asker.ask(&question.request, signals).await {
            Ok(QuestionEnd::Answered(decision)) => {
                let _ = question.decision.send(decision);
            }
            Ok(QuestionEnd::Waiting) => break Ok(Some(AnswerEnd::AwaitingApproval)),
            Ok(QuestionEnd::Stopped(signal)) => break Ok(Some(AnswerEnd::Stopped(signal))),
            Err(error) => break Err(error),
        }
    };
    let cleared = screen.end_answer();
    let received = stream.so_far();
    drop(stream);
    let waits: Vec<String> =
        received.open_calls().filter(|call| !call.of_server).map(|call| call.tool.clone()).collect();
    let unanswered = questions::unanswered(&received.history);
    conversation.record_answer(received.history);
    let ended_early = streamed?;
    cleared?;
    if !unanswered.is_empty() && !matches!(ended_early, Some(AnswerEnd::Stopped(_))) {
        asker.print_waiting(&unanswered).await?;
        return Ok(AnswerEnd::AwaitingApproval);
    }
    Ok(match ended_early {
        Some(end) => end,
        None if waits.is_empty() => AnswerEnd::Completed,
        None => AnswerEnd::Waiting(waits),
    })
}

async fn stream_answer(
    backend: &ChatBackend,
    stream: &mut ChatStream,
    screen: &mut ChatScreen,
    form: AnswerFormat,
) -> Result<(), CliError> {
    while let Some(event) = stream.next().await {
        match (form, event) {
            (_, ChatEvent::Error(error)) => return Err(backend.chat_error(error)),
            (AnswerFormat::Text, event) => screen.show_event(&event, Instant::now())?,
            (AnswerFormat::Json, ChatEvent::Chunk { json }) => {
                screen.print_json(JsonLine::from_json(json))?
            }
            // The server sends no event for tools that ran here.
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
