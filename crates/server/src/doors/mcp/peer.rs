//! One client over one line: a WebSocket, or stdio. Messages come and go one by one; requests are answered side by side.
//!
//! The era is chosen request by request, as over HTTP; a handshake holds for the whole line.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolyard_protocol::{
    JsonLine,
    mcp::{Incoming, RpcError, message, method},
};

use super::{about, answer::answer, client::Client, listen::Stream, modern, params::Params};
use crate::{auth::ActingFor, state::AppState};

/// Requests of one line that are answered at once.
const MAX_UNDER_WAY: usize = 256;
/// Messages that wait for a slow line.
const QUEUE: usize = 256;

type UnderWay = Arc<Mutex<HashMap<Box<str>, CancellationToken>>>;

/// A client over one line. Dropping it cancels what it asked for.
pub(crate) struct Peer {
    state: AppState,
    who: ActingFor,
    out: mpsc::Sender<JsonLine>,
    handshake: Option<Client>,
    under_way: UnderWay,
    /// The requests, without the streams that never end by themselves.
    work: TaskTracker,
    /// Those streams; a stop of the server ends them.
    streams: TaskTracker,
    over: CancellationToken,
    _ends: DropGuard,
}

impl Peer {
    /// A client, and the messages that go out to it.
    pub(crate) fn new(state: AppState, who: ActingFor) -> (Self, mpsc::Receiver<JsonLine>) {
        let (out, messages) = mpsc::channel(QUEUE);
        let over = CancellationToken::new();
        let ends = over.clone().drop_guard();
        (
            Self {
                state,
                who,
                out,
                handshake: None,
                under_way: Arc::default(),
                work: TaskTracker::new(),
                streams: TaskTracker::new(),
                over,
                _ends: ends,
            },
            messages,
        )
    }

    /// Takes one message.
    pub(crate) async fn receive(&mut self, text: &[u8]) {
        match Incoming::read(text) {
            Ok(Incoming::Request { id, method, params }) => {
                if let Err(error) = self.request(id, &method, params).await {
                    self.say(message::error(Some(id), &error));
                }
            }
            Ok(Incoming::Notification { method, params }) => self.notified(&method, params),
            // Only after a handshake is anybody asked in a way that is answered like this.
            Ok(Incoming::Response { .. }) if self.handshake.is_none() => {
                tracing::debug!("a response of a client without a handshake was dropped");
            }
            Ok(Incoming::Response { id, outcome }) => {
                if let Some(id) = id {
                    self.state.mcp.questions.answered(&self.who.owner(), id, outcome);
                }
            }
            Err(refused) => self.say(message::error(refused.id.as_deref(), &refused.error)),
        }
    }

    async fn request(
        &mut self,
        id: &RawValue,
        asked: &str,
        params: Option<&RawValue>,
    ) -> Result<(), RpcError> {
        let params = Params::read(params)?;
        let client = if modern::looks_modern(&params, None) {
            modern::client(self.who.clone(), &params, None)?
        } else if asked == method::INITIALIZE {
            return self.initialize(id, &params).await;
        } else {
            let none =
                || RpcError::new(RpcError::INVALID_REQUEST, "begin with `initialize` or `server/discover`");
            self.handshake.clone().ok_or_else(none)?
        };
        let cancel = self.begin(id)?;
        if asked == method::LISTEN && client.is_modern() {
            self.listen_to(client, id.to_owned(), params, cancel);
        } else {
            self.work(client, id.to_owned(), asked.to_owned(), params, cancel);
        }
        Ok(())
    }

    async fn initialize(&mut self, id: &RawValue, params: &Params) -> Result<(), RpcError> {
        if self.handshake.is_some() {
            return Err(RpcError::new(RpcError::INVALID_REQUEST, "this line had its handshake already"));
        }
        let (mut client, result) = about::initialize(self.who.clone(), params)?;
        let mut nonce = [0; 12];
        self.state.ids.fill(&mut nonce);
        client.session = Some(hex::encode(nonce).into());
        let stream = Stream::of_session(&self.state, &client).await?;
        self.handshake = Some(client);
        self.say(message::result(id, &result));
        let (out, over, stopping) = (self.out.clone(), self.over.child_token(), self.stopping());
        self.state.lifecycle.spawn(self.streams.track_future(tell(stream, out, over, stopping)));
        Ok(())
    }

    fn stopping(&self) -> CancellationToken {
        self.state.lifecycle.stopping.clone()
    }

    /// A place among the requests under way, and the handle that cancels it.
    fn begin(&self, id: &RawValue) -> Result<CancellationToken, RpcError> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.len() >= MAX_UNDER_WAY {
            let text = format!("{MAX_UNDER_WAY} requests are under way on this line; wait for one of them");
            return Err(RpcError::new(RpcError::INTERNAL, text));
        }
        if under_way.contains_key(id.get()) {
            return Err(RpcError::new(RpcError::INVALID_REQUEST, "a request with this id is under way"));
        }
        let cancel = self.over.child_token();
        under_way.insert(id.get().into(), cancel.clone());
        Ok(cancel)
    }

    fn work(
        &self,
        client: Client,
        id: Box<RawValue>,
        asked: String,
        params: Params,
        cancel: CancellationToken,
    ) {
        let (state, out, under_way) = (self.state.clone(), self.out.clone(), self.under_way.clone());
        let mut client = client;
        if let Some(session) = &client.session {
            // The level that was set meanwhile.
            client.log_level = state.mcp.sessions.level(session);
        }
        let answering = self.work.track_future(async move {
            let answered = tokio::select! {
                answered = answer(&state, &client, &asked, &params, &out) => Some(answered),
                () = cancel.cancelled() => None,
            };
            under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(id.get());
            // Whoever cancelled wants no answer.
            let message = match answered {
                Some(Ok(answer)) => {
                    String::from_utf8_lossy(&super::sse::envelope(&id, answer.bytes())).into_owned()
                }
                Some(Err(error)) => message::error(Some(&id), &error),
                None => return,
            };
            let _ = out.send(JsonLine::from_json(message)).await;
        });
        self.state.lifecycle.tasks.spawn(answering);
    }

    /// `subscriptions/listen`: until the client cancels it, or the line ends.
    fn listen_to(&self, client: Client, id: Box<RawValue>, params: Params, cancel: CancellationToken) {
        let (state, out, under_way) = (self.state.clone(), self.out.clone(), self.under_way.clone());
        let stopping = self.stopping();
        let listening = self.streams.track_future(async move {
            match Stream::listen(&state, &client, &id, &params, &out).await {
                Ok(stream) => tell(stream, out, cancel, stopping).await,
                Err(error) => drop(out.send(JsonLine::from_json(message::error(Some(&id), &error))).await),
            }
            under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(id.get());
        });
        self.state.lifecycle.spawn(listening);
    }

    fn notified(&self, told: &str, params: Option<&RawValue>) {
        if told == method::CANCELLED
            && let Ok(params) = Params::read(params)
            && let Some(id) = params.raw("requestId")
            && let Some(cancel) =
                self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(id.get())
        {
            cancel.cancel();
        }
    }

    /// Says something without waiting: whoever reads so slowly that nothing fits any more is gone.
    fn say(&self, message: String) {
        if self.out.try_send(JsonLine::from_json(message)).is_err() {
            self.over.cancel();
        }
    }

    /// A message that was too long to be read.
    pub(crate) fn refuse_long(&self, limit: usize) {
        let text = format!("a message has at most {limit} bytes");
        self.say(message::error(None, &RpcError::new(RpcError::INVALID_REQUEST, text)));
    }

    /// Waits until the server stops, and everything on this line has said its last word.
    pub(crate) async fn finished(&self) {
        self.stopping().cancelled().await;
        self.idle().await;
        self.streams.close();
        self.streams.wait().await;
    }

    /// Waits until nothing is under way any more.
    pub(crate) async fn idle(&self) {
        self.work.close();
        self.work.wait().await;
    }

    /// Fires when the line has to end.
    pub(crate) fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

async fn tell(
    mut stream: Stream,
    out: mpsc::Sender<JsonLine>,
    cancel: CancellationToken,
    stopping: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            biased;
            () = stopping.cancelled() => {
                if let Some(last) = stream.last() {
                    let _ = out.try_send(JsonLine::from_json(last));
                }
                return;
            }
            () = cancel.cancelled() => return,
            message = stream.next() => message,
        };
        if out.send(JsonLine::from_json(message)).await.is_err() {
            return;
        }
    }
}
