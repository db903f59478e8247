//! Relays messages between an MCP client and the server, and reconnects when the connection is lost.

use std::{collections::VecDeque, future::Future, time::Duration};

use futures_util::{StreamExt as _, stream::SplitStream};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};
use toolyard_protocol::{
    JsonLine,
    mcp::{RpcError, message},
};

use super::{
    reconnect::ReconnectPolicy,
    resumable_session::{ClientMessageAction, ResumableSession},
    wire::{ServerConnector, StdioConnectError, close_reason, send_queued},
};
use crate::{
    error::CliError,
    lines::{BoundedLine, BoundedLines},
    output::CliOutput,
    text,
};

/// Most messages that wait for the socket.
const QUEUE: usize = 64;
/// How often a ping is sent.
const PING: Duration = Duration::from_secs(10);
/// Without a message for this long the connection counts as lost.
const SILENCE: Duration = Duration::from_secs(35);
/// Timeout for closing the socket.
const GOODBYE: Duration = Duration::from_secs(2);
/// How long to wait for responses after the client has closed its input.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

/// The bridge between a client on stdio and the server.
pub(super) struct StdioBridge<R> {
    lines: BoundedLines<R>,
    limit: usize,
    out: mpsc::Sender<JsonLine>,
    output: CliOutput,
    session: ResumableSession,
    /// Messages of the client that arrived while there was no connection.
    waiting: VecDeque<String>,
    /// When the client closed its input.
    ended: Option<Instant>,
}

/// How a connection ended.
enum BridgeEnd {
    /// The client is done and has all its responses.
    Finished,
    /// It was lost.
    Lost(String),
}

impl<R: AsyncRead + Unpin> StdioBridge<R> {
    /// A client that sends one message per line, of at most `limit` bytes. Messages to it go to `out`.
    pub(super) fn new(from: R, limit: usize, out: mpsc::Sender<JsonLine>, output: CliOutput) -> Self {
        Self {
            lines: BoundedLines::new(from, limit),
            limit,
            out,
            output,
            session: ResumableSession::default(),
            waiting: VecDeque::new(),
            ended: None,
        }
    }

    /// Runs until the client has closed its input and has all responses, or until reconnecting is given up.
    pub(super) async fn run<C: ServerConnector>(mut self, server: &C) -> Result<(), CliError> {
        let mut socket = match server.dial().await {
            Ok(socket) => socket,
            // If the first attempt fails, the server or the user is wrong: a retry does not help.
            Err(StdioConnectError::Temporary(error) | StdioConnectError::Permanent(error)) => {
                return Err(error);
            }
        };
        let mut patience = ReconnectPolicy::default();
        loop {
            let since = Instant::now();
            let why = match self.run_connection(socket).await {
                BridgeEnd::Finished => return Ok(()),
                BridgeEnd::Lost(why) => text::sanitize_line(&why),
            };
            patience.connection_lasted(since.elapsed());
            if patience.is_exhausted() {
                self.give_up().await;
                return Err(CliError::ConnectionLost(why));
            }
            self.output.print_note(&format!("connection lost ({why}); reconnecting"));
            for message in self.session.on_connection_lost() {
                self.send_to_client(message).await;
            }
            match self.reconnect(server, &mut patience).await? {
                Some(again) => socket = again,
                None => return Ok(()),
            }
            self.output.print_note("reconnected");
            for message in self.session.missed_notifications() {
                self.send_to_client(message).await;
            }
        }
    }

    /// Runs one connection to its end.
    async fn run_connection<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        socket: WebSocketStream<S>,
    ) -> BridgeEnd {
        let (sink, stream) = socket.split();
        let (to_server, queue) = mpsc::channel(QUEUE);
        let writing = send_queued(sink, queue);
        tokio::pin!(writing);
        // Concurrently, so that a slow write does not block reading.
        let end = tokio::select! {
            end = self.exchange_messages(stream, to_server) => end,
            why = &mut writing => return BridgeEnd::Lost(why),
        };
        if let BridgeEnd::Finished = end {
            let _ = timeout(GOODBYE, writing).await;
        }
        end
    }

    async fn exchange_messages<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        mut stream: SplitStream<WebSocketStream<S>>,
        to_server: mpsc::Sender<Message>,
    ) -> BridgeEnd {
        for line in self.session.replay_messages() {
            let _ = to_server.send(Message::text(line)).await;
        }
        while let Some(line) = self.waiting.pop_front() {
            if let Some(line) = self.handle_client_message(line).await {
                let _ = to_server.send(Message::text(line)).await;
            }
        }
        let (out, mut pings, mut last_word) = (self.out.clone(), interval(PING), Instant::now());
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.ended.is_some() && self.session.is_idle() {
                return BridgeEnd::Finished;
            }
            let late = self.ended.map(|ended| ended + LAST_ANSWERS);
            // Backpressure: nothing is read unless the other side has room. Each direction has its own queue.
            tokio::select! {
                (room, line) = with_room(&to_server, self.lines.next()), if self.ended.is_none() => {
                    if let Some(line) = self.handle_client_line(line).await && let Some(room) = room {
                        room.send(Message::text(line));
                    }
                }
                (room, message) = with_room(&out, stream.next()) => {
                    last_word = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => {
                            if self.session.on_server_message(&text) && let Some(room) = room {
                                room.send(JsonLine::from_json(text.as_str()));
                            }
                        }
                        message => if let Some(why) = close_reason(message) {
                            return BridgeEnd::Lost(why);
                        },
                    }
                }
                _ = pings.tick() => {
                    // While the client's queue is full we do not read, so silence says nothing about the server.
                    if out.capacity() == 0 {
                        last_word = Instant::now();
                    }
                    if last_word.elapsed() > SILENCE {
                        return BridgeEnd::Lost(format!("no message from the server for {SILENCE:?}"));
                    }
                    // If the queue is full, other messages keep the connection alive.
                    let _ = to_server.try_send(Message::Ping(bytes::Bytes::new()));
                }
                () = wait_until(late) => {
                    self.give_up().await;
                    return BridgeEnd::Finished;
                }
            }
        }
    }

    /// Handles a line of the client, or its end. Returns the message to forward, if any.
    async fn handle_client_line(&mut self, line: std::io::Result<Option<BoundedLine>>) -> Option<String> {
        match line {
            Ok(Some(BoundedLine::Text(text))) => self.handle_client_message(text).await,
            Ok(Some(BoundedLine::TooLong)) => {
                let text = format!("a message can have at most {} bytes", self.limit);
                self.send_to_client(message::write_error(
                    None,
                    &RpcError::new(RpcError::INVALID_REQUEST, text),
                ))
                .await;
                None
            }
            Ok(None) | Err(_) => {
                self.ended = Some(Instant::now());
                None
            }
        }
    }

    async fn handle_client_message(&mut self, line: String) -> Option<String> {
        if line.trim().is_empty() {
            return None;
        }
        match self.session.on_client_message(&line) {
            ClientMessageAction::Forward => Some(line),
            ClientMessageAction::Drop => None,
            ClientMessageAction::Respond(answer) => {
                self.send_to_client(answer).await;
                None
            }
        }
    }

    async fn send_to_client(&self, message: String) {
        // A client that stopped reading ends the bridge elsewhere.
        let _ = self.out.send(JsonLine::from_json(message)).await;
    }

    /// Responds to all pending requests with an error.
    async fn give_up(&mut self) {
        for message in self.session.abandon_pending() {
            self.send_to_client(message).await;
        }
    }

    /// Reconnects. Returns `None` if the client left meanwhile.
    async fn reconnect<C: ServerConnector>(
        &mut self,
        server: &C,
        patience: &mut ReconnectPolicy,
    ) -> Result<Option<WebSocketStream<C::Stream>>, CliError> {
        loop {
            let pause = patience.next_pause();
            let attempt = async {
                sleep(pause).await;
                server.dial().await
            };
            tokio::pin!(attempt);
            let dialed = loop {
                if self.ended.is_some() && self.waiting.is_empty() && self.session.is_idle() {
                    return Ok(None);
                }
                let room = self.waiting.iter().map(String::len).sum::<usize>() < self.limit;
                tokio::select! {
                    dialed = &mut attempt => break dialed,
                    line = self.lines.next(), if self.ended.is_none() && room => match line {
                        Ok(Some(BoundedLine::Text(text))) => self.waiting.push_back(text),
                        line => drop(self.handle_client_line(line).await),
                    },
                }
            };
            let error = match dialed {
                Ok(socket) => return Ok(Some(socket)),
                Err(StdioConnectError::Permanent(error)) => error,
                Err(StdioConnectError::Temporary(error)) if patience.is_exhausted() => error,
                Err(StdioConnectError::Temporary(_)) => continue,
            };
            // Register the queued requests, so that they get an error response like the others.
            while let Some(line) = self.waiting.pop_front() {
                self.handle_client_message(line).await;
            }
            self.give_up().await;
            return Err(error);
        }
    }
}

/// Reads the next item only when the queue has room. The permit is `None` if the queue is closed.
async fn with_room<'a, T, F: Future>(
    queue: &'a mpsc::Sender<T>,
    next: F,
) -> (Option<mpsc::Permit<'a, T>>, F::Output) {
    let room = queue.reserve().await.ok();
    (room, next.await)
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures_util::SinkExt as _;
    use serde_json::Value;
    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::{super::wire::WRITE, *};

    const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n";
    const LIMIT: usize = 1_000;

    type Socket = WebSocketStream<DuplexStream>;

    /// Gives these sockets, then none any more.
    struct Scripted(RefCell<VecDeque<Socket>>);

    impl ServerConnector for Scripted {
        type Stream = DuplexStream;

        async fn dial(&self) -> Result<Socket, StdioConnectError> {
            let gone = || CliError::TimedOut { server: "gone".to_owned(), wait: WRITE };
            self.0.borrow_mut().pop_front().ok_or_else(|| StdioConnectError::Temporary(gone()))
        }
    }

    /// Both ends of a socket.
    async fn socket() -> (Socket, Socket) {
        let (near, far) = duplex(64 * 1024);
        let near = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        (near, WebSocketStream::from_raw_socket(far, Role::Server, None).await)
    }

    fn server(sockets: impl IntoIterator<Item = Socket>) -> Scripted {
        Scripted(RefCell::new(sockets.into_iter().collect()))
    }

    fn bridge<R: AsyncRead + Unpin>(from: R, limit: usize) -> (StdioBridge<R>, mpsc::Receiver<JsonLine>) {
        let (out, messages) = mpsc::channel(64);
        (StdioBridge::new(from, limit, out, CliOutput::new(false)), messages)
    }

    /// Everything that the client heard, as ids and codes.
    fn heard(messages: &mut mpsc::Receiver<JsonLine>) -> Vec<(i64, i64)> {
        let read = |line: JsonLine| serde_json::from_str::<Value>(line.as_str()).unwrap();
        std::iter::from_fn(|| messages.try_recv().ok())
            .map(read)
            .map(|message| (message["id"].as_i64().unwrap(), message["error"]["code"].as_i64().unwrap()))
            .collect()
    }

    /// Reads everything, answers nothing but pings.
    async fn deaf(mut socket: Socket) {
        while let Some(Ok(_)) = socket.next().await {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_closed_its_input_is_not_waited_for_forever() {
        let (near, far) = socket().await;
        let (bridge, mut messages) = bridge(CALL.as_bytes(), LIMIT);
        let (server, begun) = (server([near]), Instant::now());
        let (ended, ()) = tokio::join!(bridge.run(&server), deaf(far));
        assert!(ended.is_ok());
        assert_eq!(begun.elapsed().as_secs(), LAST_ANSWERS.as_secs());
        assert_eq!(heard(&mut messages), [(1, RpcError::INTERNAL)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_counts_as_lost() {
        let (near, _silent) = socket().await;
        let (mut typed, input) = duplex(1_024);
        typed.write_all(CALL.as_bytes()).await.unwrap();
        let (bridge, mut messages) = bridge(input, LIMIT);
        let begun = Instant::now();
        let ended = bridge.run(&server([near])).await;
        assert!(matches!(ended, Err(CliError::TimedOut { .. })));
        let took = begun.elapsed();
        assert!(took > SILENCE && took < 4 * SILENCE, "{took:?}");
        assert_eq!(heard(&mut messages), [(1, RpcError::INTERNAL)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_on_many_lines_becomes_one() {
        let (near, mut far) = socket().await;
        let (bridge, mut messages) = bridge(CALL.as_bytes(), LIMIT);
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "result": { "text": "a\r\nb" } });
        let answers = async {
            // Pings come before the call.
            while !far.next().await.unwrap().unwrap().is_text() {}
            far.send(Message::text(format!("{answer:#}").replace('\n', "\r\n"))).await.unwrap();
            deaf(far).await;
        };
        let server = server([near]);
        let (ended, ()) = tokio::join!(bridge.run(&server), answers);
        assert!(ended.is_ok());
        let line = messages.try_recv().unwrap().into_terminated();
        assert_eq!(line, format!("{answer}\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_does_not_look_like_a_silent_server() {
        let (near, mut far) = socket().await;
        let (typed, input) = duplex(1_024);
        let (bridge, mut messages) = bridge(input, LIMIT);
        let more_than_fits = messages.max_capacity() + 8;
        let talkative = async {
            for _ in 0..more_than_fits {
                let note = message::write_notification("notifications/message", None);
                far.send(Message::text(note)).await.unwrap();
            }
            deaf(far).await;
        };
        let slow = async {
            sleep(4 * SILENCE).await;
            for _ in 0..more_than_fits {
                messages.recv().await.unwrap();
            }
            drop(typed);
        };
        let server = server([near]);
        let (ended, (), ()) = tokio::join!(bridge.run(&server), talkative, slow);
        assert!(ended.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn messages_during_a_reconnect_are_queued_within_a_limit() {
        let (mut typed, input) = duplex(1_024);
        for id in 1..=9 {
            let line = CALL.replace(":1,", &format!(":{id},"));
            typed.write_all(line.as_bytes()).await.unwrap();
        }
        // Two lines are over the bound, and then nothing more is read.
        let (mut bridge, mut messages) = bridge(input, CALL.len() + 1);
        assert!(bridge.reconnect(&server([]), &mut ReconnectPolicy::default()).await.is_err());
        assert_eq!(heard(&mut messages).len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn reconnecting_stops_if_every_connection_is_dropped() {
        let mut sockets = Vec::new();
        for _ in 0..1_000 {
            sockets.push(socket().await.0);
        }
        let (_typed, input) = duplex(1_024);
        let (bridge, _messages) = bridge(input, LIMIT);
        let server = server(sockets);
        assert!(matches!(bridge.run(&server).await, Err(CliError::ConnectionLost(_))));
        assert!(server.0.borrow().len() > 900, "it was not asked too often");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_leaves_while_the_server_is_away_ends_it() {
        let (near, far) = socket().await;
        drop(far);
        let (bridge, mut messages) = bridge(&b""[..], LIMIT);
        assert!(bridge.run(&server([near])).await.is_ok());
        assert!(heard(&mut messages).is_empty());
    }
}
