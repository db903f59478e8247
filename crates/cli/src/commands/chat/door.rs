//! Where answers come from: a server somewhere, or the same doors inside this process.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, Method, Request, StatusCode, header};
use serde::de::DeserializeOwned;
use toolyard_net::Lines;
use toolyard_protocol::{UserId, chat::MCP_MODE_HEADER};
use toolyard_server::embedded::{Embedded, Pieces};

use crate::{
    client::{Client, MAX_ANSWER_BYTES, Refused},
    error::CliError,
};

/// Asks for the stream of AI SDK 5 and later.
const CHAT: &str = "api/chat?protocol=ui";
/// Content type of an answer that is told while it is made.
const EVENTS: &str = "text/event-stream";
/// How long it may take until an answer begins; the model itself may take longer.
const HEAD: Duration = Duration::from_secs(60);
/// Longest line of an answer, in bytes: a result of a tool is one line.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// What the server in this process is called in messages.
const HERE: &str = "this process";

/// Where answers come from.
pub(super) enum Door {
    Remote { client: Box<Client>, server: String },
    Local(Local),
}

/// Everything in this process, for one user.
pub(super) struct Local {
    pub(super) platform: Embedded,
    pub(super) user: UserId,
}

impl Door {
    /// Sends a conversation; the answer is read line by line. Dropping the lines ends it.
    pub(super) async fn ask(&self, conversation: Bytes) -> Result<EventLines, CliError> {
        let (status, headers, lines) = match self {
            Self::Remote { client, .. } => {
                let request = client
                    .request(Method::POST, CHAT)?
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(header::ACCEPT, EVENTS)
                    .header(MCP_MODE_HEADER, "true");
                let answer = client.send(client.finish(request, conversation)?, HEAD).await?;
                let (status, headers) = (answer.status, answer.headers.clone());
                if !status.is_success() {
                    return Err(client.refused(status, &client.bytes(answer).await?));
                }
                (status, headers, EventLines::Remote(answer.lines(MAX_LINE_BYTES, MAX_ANSWER_BYTES)))
            }
            Self::Local(local) => {
                let request = local
                    .request(Method::POST, CHAT)
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(MCP_MODE_HEADER, "true");
                let answer = local.ask(request, conversation).await?;
                let (head, pieces) = answer.into_parts();
                if !head.status.is_success() {
                    return Err(Refused::read(head.status, &whole(pieces).await?).into());
                }
                (head.status, head.headers, EventLines::Local(PieceLines::new(pieces)))
            }
        };
        if is_events(&headers) {
            return Ok(lines);
        }
        Err(self.bad_answer(format!("it answered {status} and no {EVENTS}")))
    }

    /// Reads something else.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let local = match self {
            Self::Remote { client, .. } => return client.get(path).await,
            Self::Local(local) => local,
        };
        let answer = local.ask(local.request(Method::GET, path), Bytes::new()).await?;
        let (status, body) = (answer.status(), whole(answer.into_body()).await?);
        if status != StatusCode::OK {
            return Err(Refused::read(status, &body).into());
        }
        serde_json::from_slice(&body).map_err(|error| self.bad_answer(error))
    }

    /// An answer that is not what it should be.
    pub(super) fn bad_answer(&self, why: impl std::fmt::Display) -> CliError {
        match self {
            Self::Remote { client, .. } => client.bad_answer(why),
            Self::Local(_) => CliError::BadAnswer { server: HERE.to_owned(), why: why.to_string() },
        }
    }

    /// Nothing was heard for too long.
    pub(super) fn silent(&self, wait: Duration) -> CliError {
        let server = match self {
            Self::Remote { server, .. } => server.clone(),
            Self::Local(_) => HERE.to_owned(),
        };
        CliError::TooSlow { server, wait }
    }

    /// Leaves nothing behind.
    pub(super) async fn close(self) {
        if let Self::Local(local) = self {
            local.platform.close().await;
        }
    }
}

impl Local {
    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(format!("/{path}"))
    }

    async fn ask(
        &self,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<http::Response<Pieces>, CliError> {
        let request = request.body(body).map_err(|error| {
            CliError::usage(format!("this request cannot be made: {error}"), "check --user")
        })?;
        self.platform.ask(&self.user, request).await.map_err(CliError::Token)
    }
}

fn is_events(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(EVENTS))
}

fn broken(error: impl std::fmt::Display) -> CliError {
    CliError::BadAnswer { server: HERE.to_owned(), why: error.to_string() }
}

async fn whole(mut pieces: Pieces) -> Result<Vec<u8>, CliError> {
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece.map_err(broken)?);
        if whole.len() > MAX_ANSWER_BYTES {
            return Err(broken(format!("it is larger than {MAX_ANSWER_BYTES} bytes")));
        }
    }
    Ok(whole)
}

/// The lines of an answer, while it is made. Empty ones are left out.
pub(super) enum EventLines {
    Remote(Lines),
    Local(PieceLines),
}

impl EventLines {
    /// The next line, none after the last. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self, door: &Door) -> Result<Option<Bytes>, CliError> {
        match (self, door) {
            (Self::Remote(lines), Door::Remote { client, .. }) => {
                lines.next().await.map_err(|error| client.broken(error))
            }
            (Self::Remote(lines), Door::Local(_)) => lines.next().await.map_err(broken),
            (Self::Local(lines), _) => lines.next().await,
        }
    }
}

/// Pieces cut into lines.
pub(super) struct PieceLines {
    pieces: Pieces,
    /// Whole lines that wait, the next one last.
    ready: Vec<Bytes>,
    begun: Vec<u8>,
}

impl PieceLines {
    pub(super) fn new(pieces: Pieces) -> Self {
        Self { pieces, ready: Vec::new(), begun: Vec::new() }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, CliError> {
        loop {
            if let Some(line) = self.ready.pop() {
                return Ok(Some(line));
            }
            let Some(piece) = self.pieces.next().await else {
                let last = std::mem::take(&mut self.begun);
                return Ok((!last.is_empty()).then(|| last.into()));
            };
            self.begun.extend_from_slice(&piece.map_err(broken)?);
            if let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') {
                let rest = self.begun.split_off(end + 1);
                let lines = std::mem::replace(&mut self.begun, rest);
                let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                self.ready = lines.map(Bytes::copy_from_slice).collect();
                self.ready.reverse();
            }
            if self.begun.len() > MAX_LINE_BYTES {
                return Err(broken(format!("a line is longer than {MAX_LINE_BYTES} bytes")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn pieces(texts: Vec<Vec<u8>>) -> Pieces {
        stream::iter(texts.into_iter().map(|text| Ok(Bytes::from(text)))).boxed()
    }

    async fn lines(texts: &[&str]) -> Vec<String> {
        let mut lines = PieceLines::new(pieces(texts.iter().map(|text| text.as_bytes().to_vec()).collect()));
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(String::from_utf8(line.to_vec()).unwrap());
        }
        all
    }

    #[tokio::test]
    async fn pieces_are_cut_at_line_ends_wherever_they_break() {
        assert_eq!(lines(&["a\n\nb", "c\n", "", "\n", "d"]).await, ["a", "bc", "d"]);
        assert_eq!(lines(&["a\nb\nc\n"]).await, ["a", "b", "c"]);
        assert_eq!(lines(&[]).await, [""; 0]);
    }

    #[tokio::test]
    async fn a_line_and_an_answer_have_bounds() {
        let mut long = PieceLines::new(pieces(vec![vec![b'x'; MAX_LINE_BYTES], vec![b'x']]));
        assert!(long.next().await.unwrap_err().to_string().contains("longer than"));
        let many = std::iter::repeat_n(vec![b'x'; MAX_LINE_BYTES], MAX_ANSWER_BYTES / MAX_LINE_BYTES);
        assert!(whole(pieces(many.clone().collect())).await.is_ok());
        assert!(whole(pieces(many.chain([vec![b'x']]).collect())).await.is_err());
    }
}
