//! A server behind a WebSocket: subprotocol `mcp`, one message per text frame.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _, stream::SplitSink, stream::SplitStream};
use http::{HeaderValue, StatusCode, header as names};
use tokio::{
    sync::mpsc,
    time::{Instant, interval_at, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Error, Message, client::IntoClientRequest as _, protocol::WebSocketConfig},
};
use toolyard_net::Stream;

use super::Outgoing;
use crate::{
    credentials::Challenge, error::ClientError, events::CloseReason, limits::shown,
    transport::WebSocketTarget, wire::Wire,
};

/// For the opening of a socket, without the time for credentials.
const DIAL_WAIT: Duration = Duration::from_secs(10);

type Socket = WebSocketStream<Stream>;

/// Opens the socket; meets a challenge once.
pub(crate) async fn dial(target: &WebSocketTarget, limit: usize) -> Result<Socket, ClientError> {
    let mut met = false;
    loop {
        let headers = target.credentials.headers().await?;
        let opened = timeout(DIAL_WAIT, open(target, headers, limit)).await;
        let late = || ClientError::NotSent(format!("the socket did not open within {DIAL_WAIT:?}"));
        match opened.map_err(|_| late())? {
            Err(ClientError::AuthorizationNeeded { challenge: Some(challenge) }) if !met => {
                met = true;
                if !target.credentials.challenged(&challenge).await? {
                    return Err(ClientError::AuthorizationNeeded { challenge: Some(challenge) });
                }
            }
            other => return other,
        }
    }
}

async fn open(
    target: &WebSocketTarget,
    headers: http::HeaderMap,
    limit: usize,
) -> Result<Socket, ClientError> {
    let not_sent = |error: Error| ClientError::NotSent(error.to_string());
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
        Err(Error::Http(answer)) => Err(refused(&answer)),
        Err(error) => Err(not_sent(error)),
    }
}

fn refused(answer: &http::Response<Option<Vec<u8>>>) -> ClientError {
    let status = answer.status();
    if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
        let values = answer.headers().get_all(names::WWW_AUTHENTICATE).iter();
        let www_authenticate = values.filter_map(|value| Some(value.to_str().ok()?.to_owned())).collect();
        return ClientError::AuthorizationNeeded { challenge: Some(Challenge { status, www_authenticate }) };
    }
    ClientError::Status { status, text: shown(answer.body().as_deref().unwrap_or_default()) }
}

/// Runs the socket until the stop, or until it closes.
pub(crate) fn run(wire: Wire, socket: Socket, queue: mpsc::Receiver<Outgoing>, ping: Duration) {
    let tasks = wire.hub().tasks.clone();
    tasks.spawn(async move {
        let stop = wire.hub().tasks.stop().clone();
        let (mut sink, stream) = socket.split();
        let reason = tokio::select! {
            biased;
            () = stop.cancelled() => CloseReason::Asked,
            why = read(&wire, stream, ping * 2) => CloseReason::Lost(why),
            why = write(&mut sink, queue, ping) => CloseReason::Lost(why),
        };
        wire.hub().end(reason);
        let _ = timeout(wire.courtesy(), sink.close()).await;
    });
}

async fn read(wire: &Wire, mut stream: SplitStream<Socket>, silence: Duration) -> String {
    loop {
        let message = match timeout(silence, stream.next()).await {
            Err(_) => return "the socket is silent".to_owned(),
            Ok(None) => return "the server closed the socket".to_owned(),
            Ok(Some(Err(error))) => return format!("the socket broke: {error}"),
            Ok(Some(Ok(message))) => message,
        };
        match message {
            Message::Text(text) => {
                if let Some(pipe) = wire.pipe() {
                    pipe.receive(wire, text.as_bytes());
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

async fn write(
    sink: &mut SplitSink<Socket, Message>,
    mut queue: mpsc::Receiver<Outgoing>,
    every: Duration,
) -> String {
    let mut ping = interval_at(Instant::now() + every, every);
    loop {
        let message = tokio::select! {
            message = queue.recv() => match message {
                Some(message) => {
                    message.begin();
                    Message::text(message.text)
                }
                None => return "nobody writes any more".to_owned(),
            },
            _ = ping.tick() => Message::Ping(bytes::Bytes::new()),
        };
        if let Err(error) = sink.send(message).await {
            return format!("the socket broke: {error}");
        }
    }
}
