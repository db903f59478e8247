//! One question and its answer, told as it comes. Ctrl-C ends the answer, and what was told of it stays in the conversation.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{
    answer::Answer,
    chunk::{self, Chunk},
    door::{Door, EventLines},
    screen::Screen,
    talk::{MAX_BYTES, Talk},
};
use crate::{
    error::CliError,
    signals::{Signal, Signals},
};

/// Without a word for this long the connection is gone: a server that works says so every 15 seconds.
const SILENCE: Duration = Duration::from_secs(120);

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
    let mut answer = Answer::default();
    if form == Form::Words {
        screen.begin()?;
    }
    let told = tokio::select! {
        told = tell(door, talk, screen, form, &mut answer) => told.map(|()| None),
        signal = signals.which() => Ok(Some(signal)),
    };
    let cleared = screen.end();
    let waits: Vec<String> = answer.waits_for().into_iter().map(str::to_owned).collect();
    talk.answered(answer);
    let stopped = told?;
    cleared?;
    Ok(match stopped {
        Some(signal) => Ended::Stopped(signal),
        None if waits.is_empty() => Ended::Through,
        None => Ended::Waiting(waits),
    })
}

async fn tell(
    door: &Door,
    talk: &Talk,
    screen: &mut Screen,
    form: Form,
    answer: &mut Answer,
) -> Result<(), CliError> {
    let too_long = || {
        CliError::usage(
            format!("the conversation is larger than {MAX_BYTES} bytes"),
            "begin a new one with /new, or send less",
        )
    };
    let lines = door.ask(talk.body().ok_or_else(too_long)?).await?;
    follow(door, lines, screen, form, answer).await
}

/// Reads an answer to its end.
async fn follow(
    door: &Door,
    mut lines: EventLines,
    screen: &mut Screen,
    form: Form,
    answer: &mut Answer,
) -> Result<(), CliError> {
    let mut finished = false;
    loop {
        let next = timeout(SILENCE, lines.next(door)).await.map_err(|_| door.silent(SILENCE))?;
        let Some(line) = next? else { break };
        let Some(data) = chunk::data(&line) else { continue };
        let chunk = chunk::read(data);
        answer.hear(&chunk);
        match form {
            Form::Json => screen.json(data)?,
            Form::Words => screen.show(&chunk, Instant::now())?,
        }
        match chunk {
            Chunk::Error { error_text } => return Err(CliError::Answer(error_text)),
            Chunk::Finish | Chunk::Abort => finished = true,
            _ => {}
        }
    }
    match finished {
        true => Ok(()),
        false => Err(door.bad_answer("it ended in the middle")),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{StreamExt as _, stream};

    use super::{
        super::{door::PieceLines, style::Style},
        *,
    };
    use crate::client::Client;

    async fn followed(
        pieces: impl futures_util::Stream<Item = &'static str> + Send + 'static,
    ) -> Result<(), CliError> {
        let client = Client::new("http://127.0.0.1:1", None, None).unwrap();
        let door = Door::Remote { client: Box::new(client), server: "there".to_owned() };
        let lines = EventLines::Local(PieceLines::new(pieces.map(|piece| Ok(Bytes::from(piece))).boxed()));
        let mut screen = Screen::new(Style { live: false, colour: false });
        follow(&door, lines, &mut screen, Form::Words, &mut Answer::default()).await
    }

    #[tokio::test]
    async fn an_answer_has_an_end_or_failed() {
        let finish = "data: {\"type\":\"finish\"}\n\ndata: [DONE]\n\n";
        assert!(followed(stream::iter([": hello\n\n", "data: nonsense\n", finish])).await.is_ok());
        let cut = followed(stream::iter(["data: {\"type\":\"start\"}\n\n"])).await;
        assert!(matches!(cut, Err(CliError::BadAnswer { .. })), "{cut:?}");
        let error = "data: {\"type\":\"error\",\"errorText\":\"no credit\"}\n\n";
        let failed = followed(stream::iter([error]).chain(stream::pending())).await;
        assert_eq!(failed.unwrap_err().to_string(), "the answer failed: no credit");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_not_waited_for_for_ever() {
        let begun = Instant::now();
        let silent = followed(stream::iter([": keep-alive\n\n"]).chain(stream::pending())).await;
        assert!(matches!(silent, Err(CliError::TooSlow { wait: SILENCE, .. })), "{silent:?}");
        assert_eq!(begun.elapsed(), SILENCE);
    }
}
