//! Where answers come from: a server somewhere, or the same doors inside this process.

use std::{fmt::Display, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request, StatusCode, header};
use serde::de::DeserializeOwned;
use toolyard_client_sdk::{
    ChatError, ClientBuilder, ClientError,
    wire::{CHAT_PATH, MODEL_HEADER, Wire, WireAnswer, WireError, WireRequest},
};
use toolyard_net::NetError;
use toolyard_protocol::{UserId, chat::MCP_MODE_HEADER};
use toolyard_server::embedded::{Embedded, Pieces};

use crate::{
    cli::Context,
    client::{Client, MAX_ANSWER_BYTES, Refused},
    error::CliError,
};

/// What the server in this process is called in messages.
const HERE: &str = "this process";
/// Without tools of its own the terminal can run nothing between two requests: there is one.
pub(super) const ROUNDS_WITHOUT_TOOLS: u32 = 1;
/// With tools, the most requests of one answer. The server counts, too.
pub(super) const ROUNDS_WITH_TOOLS: u32 = 20;
/// For one call of such a tool. Somebody sits there and can end it; plugins in the sandbox have a shorter limit of their own.
const TOOL_TIME: Duration = Duration::from_secs(300);

/// Where answers come from.
pub(super) struct Door {
    /// Talks over it.
    pub(super) chat: toolyard_client_sdk::Client,
    way: Way,
}

enum Way {
    Remote { client: Box<Client>, server: String },
    Local(Arc<Local>),
}

/// Everything in this process, for one user.
struct Local {
    platform: Embedded,
    user: UserId,
}

impl Door {
    /// To the server that was named.
    pub(super) fn remote(cx: &Context, rounds: u32) -> Result<Self, CliError> {
        let server = cx.server().to_owned();
        let mut chat = toolyard_client_sdk::Client::builder(&server);
        if let Some(token) = cx.token() {
            chat = chat.token(token.expose());
        }
        if let Some(user) = cx.user() {
            chat = chat.user(user.as_str());
        }
        let way = Way::Remote { client: Box::new(cx.client()?), server };
        Ok(Self { chat: built(chat, rounds)?, way })
    }

    /// To everything in this process.
    pub(super) fn local(platform: Embedded, user: UserId, rounds: u32) -> Result<Self, CliError> {
        let local = Arc::new(Local { platform, user });
        let chat = toolyard_client_sdk::Client::over(local.clone());
        Ok(Self { chat: built(chat, rounds)?, way: Way::Local(local) })
    }

    /// Reads something else.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let local = match &self.way {
            Way::Remote { client, .. } => return client.get(path).await,
            Way::Local(local) => local,
        };
        let answer =
            local.ask(Method::GET, path, Bytes::new()).await.map_err(|error| self.bad_answer(error))?;
        let (status, body) = (answer.status(), whole(answer.into_body()).await?);
        if status != StatusCode::OK {
            return Err(Refused::read(status, &body).into());
        }
        serde_json::from_slice(&body).map_err(|error| self.bad_answer(error))
    }

    /// Why a chat failed, in the words of this program.
    pub(super) fn failed(&self, error: ChatError) -> CliError {
        let server = self.server().to_owned();
        match error {
            ChatError::Wire(WireError::Net(error @ NetError::NotSent(_))) => {
                CliError::Unreachable { server, error }
            }
            ChatError::Wire(WireError::Net(error)) => CliError::NoAnswer { server, error },
            ChatError::Wire(WireError::TooSlow { wait }) | ChatError::Silent { wait } => {
                CliError::TooSlow { server, wait }
            }
            ChatError::Refused(refusal) => {
                let status =
                    StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Refused::read(status, &refusal.body).into()
            }
            ChatError::Failed(text) => CliError::Answer(text),
            ChatError::Cut => self.bad_answer("it ended in the middle"),
            ChatError::NoStream { status } => {
                self.bad_answer(format!("it answered {status} and no text/event-stream"))
            }
            ChatError::Stream(error) => self.bad_answer(error),
            error @ ChatError::TooLarge { .. } => {
                CliError::usage(error.to_string(), "begin a new one with /new, or send less")
            }
            other => self.bad_answer(other),
        }
    }

    /// Leaves nothing behind.
    pub(super) async fn close(self) {
        let Self { chat, way } = self;
        for failed in chat.close().await {
            tracing::warn!(%failed, "a plugin did not end well");
        }
        // It holds the way as well.
        drop(chat);
        if let Way::Local(local) = way
            && let Some(local) = Arc::into_inner(local)
        {
            local.platform.close().await;
        }
    }

    fn server(&self) -> &str {
        match &self.way {
            Way::Remote { server, .. } => server,
            Way::Local(_) => HERE,
        }
    }

    fn bad_answer(&self, why: impl Display) -> CliError {
        CliError::BadAnswer { server: self.server().to_owned(), why: why.to_string() }
    }
}

fn built(chat: ClientBuilder, rounds: u32) -> Result<toolyard_client_sdk::Client, CliError> {
    chat.max_tool_rounds(rounds).tool_timeout(TOOL_TIME).build().map_err(|error| match error {
        ClientError::Server { server, error } => CliError::BadServer { server, error },
        error @ ClientError::Header { .. } => CliError::usage(error.to_string(), "check --token and --user"),
    })
}

impl Local {
    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<http::Response<Pieces>, WireError> {
        let mut request =
            Request::builder().method(&method).uri(format!("/{path}")).header(MCP_MODE_HEADER, "true");
        if method == Method::POST {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let other = |error: &dyn Display| WireError::Other(error.to_string());
        let request = request.body(body).map_err(|error| other(&error))?;
        Ok(self.platform.ask(&self.user, request).await)
    }
}

#[async_trait]
impl Wire for Local {
    async fn send(&self, request: WireRequest) -> Result<WireAnswer, WireError> {
        let answer = match request {
            WireRequest::Chat(body) => self.ask(Method::POST, CHAT_PATH, body).await?,
            // Nothing is resumable here: whoever could come back would be another process.
            WireRequest::Again { .. } => {
                return Err(WireError::Other("an answer here cannot be resumed".to_owned()));
            }
        };
        let (head, pieces) = answer.into_parts();
        let text = |name: &str| head.headers.get(name)?.to_str().ok().map(str::to_owned);
        Ok(WireAnswer {
            status: head.status.as_u16(),
            content_type: text(header::CONTENT_TYPE.as_str()),
            model: text(MODEL_HEADER),
            pieces: pieces.map_err(|error| WireError::Other(error.to_string())).boxed(),
        })
    }
}

fn broken(error: impl Display) -> CliError {
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

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn an_answer_has_a_bound() {
        const PIECE: usize = 16 * 1024 * 1024;
        let pieces = |more: usize| {
            let many = std::iter::repeat_n(PIECE, MAX_ANSWER_BYTES / PIECE).chain([more]);
            stream::iter(many.map(|length| Ok(Bytes::from(vec![b'x'; length]))).collect::<Vec<_>>()).boxed()
        };
        assert!(whole(pieces(0)).await.is_ok());
        assert!(whole(pieces(1)).await.unwrap_err().to_string().contains("larger than"));
    }
}
