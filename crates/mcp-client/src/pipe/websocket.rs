//! A server behind a WebSocket: subprotocol `mcp`, one message per text frame.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _, stream::SplitSink, stream::SplitStream};
use http::{HeaderValue, header as names};
use tokio::{
    sync::mpsc,
    time::{Instant, interval_at, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Error, Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};
use toolyard_net::DialedStream;

use super::OutgoingMessage;
use crate::{
    credentials::AuthChallenge, error::McpClientError, events::CloseReason, limits::truncate_text,
    transport::WebSocketTarget, wire::McpConnection,
};

/// Time limit for opening a socket, credentials excluded.
const DIAL_WAIT: Duration = Duration::from_secs(10);

type McpSocket = WebSocketStream<DialedStream>;

/// Opens the socket; retries once after a challenge.
pub(crate) async fn dial_websocket(
    target: &WebSocketTarget,
    limit: usize,
) -> Result<McpSocket, McpClientError> {
    let mut met = false;
    loop {
        let headers = target.credentials.headers().await?;
        let opened = timeout(DIAL_WAIT, open_websocket(target, headers, limit)).await;
        let late = || McpClientError::NotSent(format!("the socket did not open within {DIAL_WAIT:?}"));
        match opened.map_err(|_| late())? {
            Err(McpClientError::AuthorizationNeeded { challenge: Some(challenge) }) if !met => {
                met = true;
                if !target.credentials.handle_challenge(&challenge).await? {
                    return Err(McpClientError::AuthorizationNeeded { challenge: Some(challenge) });
                }
            }
            other => return other,
        }
    }
}

async fn open_websocket(
    target: &WebSocketTarget,
    headers: http::HeaderMap,
    limit: usize,
) -> Result<McpSocket, McpClientError> {
    let not_sent = |error: Error| McpClientError::NotSent(error.to_string());
    let url = target.url.uri().to_string().replacen("http", "ws", 1);
    let mut request = url.into_client_request().map_err(not_sent)?;
    request.headers_mut().extend(headers);
    request.headers_mut().insert(names::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    let stream = target.dialer.dial(target.url.uri()).await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit))
        .write_buffer_size(0);
    match client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(answer)) => Err(refusal_error(&answer)),
        Err(error) => Err(not_sent(error)),
    }
}

fn refusal_error(answer: &http::Response<Option<Vec<u8>>>) -> McpClientError {
    let status = answer.status();
    match AuthChallenge::from_response(status, answer.headers()) {
        Some(challenge) => McpClientError::AuthorizationNeeded { challenge: Some(challenge) },
        None => {
            let text = truncate_text(answer.body().as_deref().unwrap_or_default());
            McpClientError::Status { status, text }
        }
    }
}

/// Runs the socket until the stop, or until it closes.
pub(crate) fn run_websocket(
    wire: McpConnection,
    socket: McpSocket,
    queue: mpsc::Receiver<OutgoingMessage>,
    ping: Duration,
) {
    let tasks = wire.hub().tasks.clone();
    tasks.spawn(async move {
        let stop = wire.hub().tasks.stop_token().clone();
        let (mut sink, stream) = socket.split();
        let reason = tokio::select! {
            biased;
            () = stop.cancelled() => CloseReason::Requested,
            why = read_messages(&wire, stream, ping * 2) => CloseReason::Lost(why),
            why = write_messages(&mut sink, queue, ping) => CloseReason::Lost(why),
        };
        wire.hub().close(reason);
        let _ = timeout(wire.courtesy(), sink.close()).await;
    });
}

async fn read_messages(
    wire: &McpConnection,
    mut stream: SplitStream<McpSocket>,
    silence: Duration,
) -> String {
    loop {
        let message = match timeout(silence, stream.next()).await {
            Err(_) => return "the socket timed out".to_owned(),
            Ok(None) => return "the server closed the socket".to_owned(),
            Ok(Some(Err(error))) => return format!("the socket failed: {error}"),
            Ok(Some(Ok(message))) => message,
        };
        match message {
            Message::Text(text) => {
                if let Some(pipe) = wire.pipe() {
                    pipe.handle_message(wire, text.as_bytes());
                }
            }
            Message::Close(Some(frame)) => {
                return format!("the server closed the socket: {} {}", u16::from(frame.code), frame.reason);
            }
            Message::Close(None) => return "the server closed the socket".to_owned(),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

async fn write_messages(
    sink: &mut SplitSink<McpSocket, Message>,
    mut queue: mpsc::Receiver<OutgoingMessage>,
    every: Duration,
) -> String {
    let mut ping = interval_at(Instant::now() + every, every);
    loop {
        let message = tokio::select! {
            message = queue.recv() => match message {
                Some(message) => {
                    message.mark_written();
                    Message::text(message.text)
                }
                None => return "the outgoing queue is closed".to_owned(),
            },
            _ = ping.tick() => Message::Ping(bytes::Bytes::new()),
        };
        if let Err(error) = sink.send(message).await {
            return format!("the socket failed: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Response, StatusCode};

    use super::*;
    use crate::limits::MAX_CHALLENGES;

    fn refused(status: StatusCode, challenges: usize) -> McpClientError {
        let mut response = Response::builder().status(status);
        for number in 0..challenges {
            response = response.header(names::WWW_AUTHENTICATE, format!("Bearer realm=\"{number}\""));
        }
        refusal_error(&response.body(Some(b"come back later".to_vec())).unwrap())
    }

    #[test]
    fn a_refused_socket_has_a_bounded_number_of_challenges() {
        for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
            for (sent, kept) in [(0, 0), (1, 1), (MAX_CHALLENGES, MAX_CHALLENGES), (100, MAX_CHALLENGES)] {
                let McpClientError::AuthorizationNeeded { challenge: Some(challenge) } =
                    refused(status, sent)
                else {
                    panic!("{status} is a challenge");
                };
                assert_eq!((challenge.status, challenge.www_authenticate.len()), (status, kept), "{sent}");
                let last = challenge.www_authenticate.last().map(String::as_str);
                assert_eq!(last, kept.checked_sub(1).map(|n| format!("Bearer realm=\"{n}\"")).as_deref());
            }
        }
    }

    #[test]
    fn another_status_is_no_challenge() {
        let error = refused(StatusCode::SERVICE_UNAVAILABLE, 1);
        assert!(
            matches!(&error, McpClientError::Status { status, text } if status.as_u16() == 503 && text.contains("later")),
            "{error:?}"
        );
    }
}
