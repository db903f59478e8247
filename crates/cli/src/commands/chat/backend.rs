//! The backend of a chat: a remote server, or an embedded one in this process.

use std::{fmt::Display, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use toolyard_client_sdk::{
    ChatError, ClientBuildError, ClientBuilder,
    wire::{CHAT_PATH, ChatWire, MODEL_HEADER, WireError, WireRequest, WireResponse},
};
use toolyard_net::NetError;
use toolyard_protocol::{UserId, chat::MCP_MODE_HEADER};
use toolyard_server::embedded::{EmbeddedServer, ResponseBodyStream};

use crate::{
    cli::CommandContext,
    client::{ApiClient, MAX_RESPONSE_BYTES, ServerRefusal},
    error::CliError,
};

/// The name of the embedded server in messages.
const HERE: &str = "this process";
/// Most requests of one answer if nothing can happen here between two requests: there are no tools, and nobody can answer.
pub(super) const SINGLE_ROUND: u32 = 1;
/// Most requests of one answer otherwise. The server has a limit of its own.
pub(super) const MAX_ROUNDS: u32 = 20;
/// Timeout of one call of such a tool. Long, because the user can interrupt it; plugins in the sandbox have a shorter one.
const TOOL_TIME: Duration = Duration::from_secs(300);

/// The backend of a chat.
pub(super) struct ChatBackend {
    /// The client for chat requests.
    pub(super) chat: toolyard_client_sdk::Client,
    kind: BackendKind,
}

enum BackendKind {
    Remote { client: Box<ApiClient>, server: String },
    Local(Arc<LocalBackend>),
}

/// The embedded server, for one user.
struct LocalBackend {
    platform: EmbeddedServer,
    user: UserId,
}

impl ChatBackend {
    /// A remote server.
    pub(super) fn new_remote(cx: &CommandContext, rounds: u32) -> Result<Self, CliError> {
        let server = cx.server_url()?.to_owned();
        let mut chat = toolyard_client_sdk::Client::builder(&server);
        if let Some(token) = cx.token()? {
            chat = chat.token(token.expose());
        }
        if let Some(user) = cx.user() {
            chat = chat.user(user.as_str());
        }
        let kind = BackendKind::Remote { client: Box::new(cx.client()?), server };
        Ok(Self { chat: build_client(chat, rounds)?, kind })
    }

    /// The embedded server.
    pub(super) fn new_local(platform: EmbeddedServer, user: UserId, rounds: u32) -> Result<Self, CliError> {
        let local = Arc::new(LocalBackend { platform, user });
        let chat = toolyard_client_sdk::Client::builder_over(local.clone());
        Ok(Self { chat: build_client(chat, rounds)?, kind: BackendKind::Local(local) })
    }

    /// Whether the server ends with this process, and with it every question that waits.
    pub(super) fn is_local(&self) -> bool {
        matches!(self.kind, BackendKind::Local(_))
    }

    /// Sends a GET request.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let local = match &self.kind {
            BackendKind::Remote { client, .. } => return client.get(path).await,
            BackendKind::Local(local) => local,
        };
        self.read_local(local.send_request(Method::GET, path, Bytes::new()).await).await
    }

    /// Sends a POST request.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        let local = match &self.kind {
            BackendKind::Remote { client, .. } => return client.post(path, body).await,
            BackendKind::Local(local) => local,
        };
        let body = serde_json::to_vec(body).map_err(|error| self.invalid_response(error))?;
        self.read_local(local.send_request(Method::POST, path, body.into()).await).await
    }

    async fn read_local<T: DeserializeOwned>(
        &self,
        response: Result<http::Response<ResponseBodyStream>, WireError>,
    ) -> Result<T, CliError> {
        let response = response.map_err(|error| self.invalid_response(error))?;
        let (status, body) = (response.status(), read_whole_body(response.into_body()).await?);
        if status != StatusCode::OK {
            return Err(ServerRefusal::from_response(status, &body).into());
        }
        serde_json::from_slice(&body).map_err(|error| self.invalid_response(error))
    }

    /// Converts the error of a chat.
    pub(super) fn chat_error(&self, error: ChatError) -> CliError {
        let server = self.server_name().to_owned();
        match error {
            ChatError::Wire(WireError::Net(error @ NetError::NotSent(_))) => {
                CliError::Unreachable { server, error }
            }
            ChatError::Wire(WireError::Net(error)) => CliError::NoResponse { server, error },
            ChatError::Wire(WireError::Timeout { wait }) | ChatError::IdleTimeout { wait } => {
                CliError::TimedOut { server, wait }
            }
            ChatError::Refused(refusal) => {
                let status =
                    StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                ServerRefusal::from_response(status, &refusal.body).into()
            }
            ChatError::Failed(text) => CliError::AnswerFailed(text),
            ChatError::Truncated => self.invalid_response("the stream ended early"),
            ChatError::NoStream { status } => {
                self.invalid_response(format!("status {status} without a text/event-stream"))
            }
            ChatError::Stream(error) => self.invalid_response(error),
            error @ ChatError::TooLarge { .. } => {
                CliError::usage(error.to_string(), "start a new conversation with /new, or send less")
            }
            other => self.invalid_response(other),
        }
    }

    /// Closes the plugins and the embedded server.
    pub(super) async fn close(self) {
        let Self { chat, kind } = self;
        for error in chat.close().await {
            tracing::warn!(%error, "plugin did not shut down cleanly");
        }
        // It holds a reference to the embedded server.
        drop(chat);
        if let BackendKind::Local(local) = kind
            && let Some(local) = Arc::into_inner(local)
        {
            local.platform.close().await;
        }
    }

    fn server_name(&self) -> &str {
        match &self.kind {
            BackendKind::Remote { server, .. } => server,
            BackendKind::Local(_) => HERE,
        }
    }

    fn invalid_response(&self, why: impl Display) -> CliError {
        CliError::InvalidResponse { server: self.server_name().to_owned(), why: why.to_string() }
    }
}

fn build_client(chat: ClientBuilder, rounds: u32) -> Result<toolyard_client_sdk::Client, CliError> {
    chat.max_tool_rounds(rounds).tool_timeout(TOOL_TIME).build().map_err(|error| match error {
        ClientBuildError::Server { server, error } => CliError::BadServer { server, error },
        error @ ClientBuildError::Header { .. } => {
            CliError::usage(error.to_string(), "check --token and --user")
        }
    })
}

impl LocalBackend {
    async fn send_request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<http::Response<ResponseBodyStream>, WireError> {
        let mut request =
            Request::builder().method(&method).uri(format!("/{path}")).header(MCP_MODE_HEADER, "true");
        if method == Method::POST {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let other = |error: &dyn Display| WireError::Other(error.to_string());
        let request = request.body(body).map_err(|error| other(&error))?;
        Ok(self.platform.send_request(&self.user, request).await)
    }
}

#[async_trait]
impl ChatWire for LocalBackend {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let response = match request {
            WireRequest::Chat(body) => self.send_request(Method::POST, CHAT_PATH, body).await?,
            // Nothing is resumable here: a client that comes back would be another process.
            WireRequest::Resume { .. } => {
                return Err(WireError::Other("answers of an embedded server cannot be resumed".to_owned()));
            }
        };
        let (head, pieces) = response.into_parts();
        let text = |name: &str| head.headers.get(name)?.to_str().ok().map(str::to_owned);
        Ok(WireResponse {
            status: head.status.as_u16(),
            content_type: text(header::CONTENT_TYPE.as_str()),
            model: text(MODEL_HEADER),
            body: pieces.map_err(|error| WireError::Other(error.to_string())).boxed(),
        })
    }
}

fn body_error(error: impl Display) -> CliError {
    CliError::InvalidResponse { server: HERE.to_owned(), why: error.to_string() }
}

async fn read_whole_body(mut pieces: ResponseBodyStream) -> Result<Vec<u8>, CliError> {
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece.map_err(body_error)?);
        if whole.len() > MAX_RESPONSE_BYTES {
            return Err(body_error(format!("larger than {MAX_RESPONSE_BYTES} bytes")));
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_response_body_has_a_limit() {
        const PIECE: usize = 16 * 1024 * 1024;
        let pieces = |more: usize| {
            let many = std::iter::repeat_n(PIECE, MAX_RESPONSE_BYTES / PIECE).chain([more]);
            stream::iter(many.map(|length| Ok(Bytes::from(vec![b'x'; length]))).collect::<Vec<_>>()).boxed()
        };
        assert!(read_whole_body(pieces(0)).await.is_ok());
        assert!(read_whole_body(pieces(1)).await.unwrap_err().to_string().contains("larger than"));
    }
}
