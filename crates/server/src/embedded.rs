//! A server inside another program, for one user, over stdio or by direct requests: it listens on no port. Upstreams and
//! tools-only apps work. Session apps do not, because they have to connect to the server.

use std::{io, time::Duration};

use axum::{Router, body::Body};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use http::{HeaderValue, Request, Response, header};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use toolyard_net::{LineReadError, LineReader};
use toolyard_protocol::{JsonLine, UserId};

use crate::{
    assembly::{assemble, drain},
    auth::{self, Actor, Credential, Role, USER_HEADER},
    config::Config,
    doors::mcp::peer::McpPeer,
    routes,
    serve::{ServerDependencies, ServerStartError},
    state::{ServerExposure, ServerState},
};

/// How long it may take to write the last messages.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The body of a response as a stream.
pub type ResponseBodyStream = BoxStream<'static, io::Result<Bytes>>;

/// A server that only the program around it can reach.
pub struct EmbeddedServer {
    /// The state of the server.
    pub state: ServerState,
    router: Router,
}

impl EmbeddedServer {
    /// Builds the server without listening.
    pub async fn start(config: Config, deps: ServerDependencies) -> Result<Self, ServerStartError> {
        let state = Box::pin(assemble(config, deps, ServerExposure::Embedded)).await?;
        let router = routes::build_router(&state).with_state(state.clone());
        Ok(Self { state, router })
    }

    /// Handles a request of this user as a listening server would. Dropping the body cancels the rest of it.
    pub async fn send_request(
        &self,
        user: &UserId,
        mut request: Request<Bytes>,
    ) -> Response<ResponseBodyStream> {
        request.headers_mut().remove(header::AUTHORIZATION);
        if let Ok(user) = HeaderValue::try_from(user.as_str()) {
            request.headers_mut().insert(USER_HEADER, user);
        }
        let answered = tower_service::Service::call(&mut self.router.clone(), request.map(Body::from)).await;
        let answer = answered.unwrap_or_else(|never| match never {});
        answer.map(|body| body.into_data_stream().map_err(io::Error::other).boxed())
    }

    /// Drains the server: calls in progress end, and records are written.
    pub async fn close(self) {
        drain(&self.state).await;
    }

    /// Waits until every upstream has sent its lists, so that the first list a client gets is not empty. Upstreams whose lists
    /// are already stored are skipped.
    pub async fn wait_for_upstream_lists(&self, patience: Duration) {
        let state = &self.state;
        let upstreams = match state.stores.upstreams.list_upstreams().await {
            Ok(upstreams) => upstreams,
            Err(error) => {
                return tracing::error!(%error, "failed to read upstreams; not waiting for their lists");
            }
        };
        let asking = upstreams.into_iter().filter(|(_, _, record)| !record.disabled).map(
            async |(package, _, record)| {
                let known = state.catalog.find_app(&package).await;
                if !known.is_ok_and(|known| known.is_some_and(|known| known.listed_at.is_some())) {
                    state.upstreams.refresh(&package, &record).await;
                }
            },
        );
        if tokio::time::timeout(patience, futures_util::future::join_all(asking)).await.is_err() {
            tracing::warn!("upstream lists are not complete yet; missing tools will be added later");
        }
    }

    /// Serves MCP for one user until the input ends or `stop` fires, then drains. One message per line.
    pub async fn serve_mcp(
        self,
        user: UserId,
        input: impl AsyncRead + Unpin + Send,
        output: impl AsyncWrite + Unpin + Send,
        stop: CancellationToken,
    ) {
        let state = self.state;
        let (name, credential) = (user.as_str().to_owned(), Credential::Embedded);
        let actor = Actor::Person { name, role: Role::User, credential };
        let who = match auth::caller_context(&state, actor, None).await {
            Ok(who) => who,
            Err(error) => {
                tracing::error!(?error, %user, "session not opened");
                return drain(&state).await;
            }
        };
        let (peer, messages) = McpPeer::new(state.clone(), who);
        let limit = state.config.load().server.body_bytes;
        let writing = write_messages(messages, output);
        tokio::pin!(writing);
        let ended = tokio::select! {
            () = read_messages(peer, input, limit, &state) => true,
            () = &mut writing => false,
            () = stop.cancelled() => true,
        };
        // Nothing can queue more messages now; write those that are left.
        if ended && tokio::time::timeout(FLUSH_TIMEOUT, writing).await.is_err() {
            tracing::warn!("client did not read the last messages in time");
        }
        drain(&state).await;
    }
}

/// Reads messages until the input ends. A line that is too long is refused and skipped.
async fn read_messages(mut peer: McpPeer, input: impl AsyncRead + Unpin, limit: usize, state: &ServerState) {
    let mut lines = LineReader::new(input, limit);
    loop {
        match lines.next().await {
            Ok(Some(line)) if line.trim_ascii().is_empty() => {}
            Ok(Some(line)) => peer.receive_message(line.trim_ascii()).await,
            Err(LineReadError::TooLong(_)) => peer.refuse_long(limit),
            Ok(None) | Err(LineReadError::Io(_)) => break,
        }
    }
    // Requests that came before the end of the input still get their responses.
    let patience = Duration::from_millis(state.config.load().server.drain_ms);
    let _ = tokio::time::timeout(patience, peer.wait_until_idle()).await;
}

async fn write_messages(
    mut messages: tokio::sync::mpsc::Receiver<JsonLine>,
    mut output: impl AsyncWrite + Unpin,
) {
    while let Some(message) = messages.recv().await {
        let message = message.into_terminated();
        if output.write_all(message.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}
