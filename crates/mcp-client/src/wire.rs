//! One connection to a server, whatever carries it: requests go out and are answered, several at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use toolyard_protocol::mcp::{Revision, message};
use toolyard_protocol::raw::to_raw;

use crate::{
    ask::Declared,
    error::ClientError,
    http::Http,
    hub::Hub,
    options::Options,
    pipe::{Pipe, stdio, websocket},
    request::{Call, Hello, RequestOptions},
    session::ExchangeError,
    tasks::Tasks,
    transport::Transport,
};

/// A connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Parts>);

struct Parts {
    way: Way,
    hub: Arc<Hub>,
    hello: Hello,
    ids: AtomicU64,
    courtesy: Duration,
}

enum Way {
    Http(Box<Http>),
    Pipe(Pipe),
}

impl Wire {
    /// Starts the process or opens the socket; over HTTP there is nothing to open.
    pub(crate) async fn open(transport: &Transport, options: &Options) -> Result<Self, ClientError> {
        let declared = Declared::of(&options.capabilities)
            .ok_or_else(|| ClientError::Invalid("`capabilities` has to be an object".to_owned()))?;
        let tasks = Tasks::new(options.tasks.clone(), options.stop.child_token());
        let hub = Hub::new(tasks, options.asks.clone(), declared, options.logs.clone());
        let hello = Hello { info: to_raw(&options.info), capabilities: options.capabilities.clone() };
        let bytes = options.limits.message_bytes;
        let courtesy = options.limits.courtesy;
        let made = |way| {
            let ids = AtomicU64::new(1);
            Self(Arc::new(Parts { way, hub: hub.clone(), hello, ids, courtesy }))
        };
        match transport {
            Transport::Http(target) => {
                let http = Http::new(target.clone(), &options.info, &options.limits);
                Ok(made(Way::Http(Box::new(http))))
            }
            Transport::Stdio(command) => {
                let child = stdio::start(command)?;
                let (pipe, queue) = Pipe::new();
                let wire = made(Way::Pipe(pipe));
                stdio::run(wire.clone(), child, queue, &options.limits);
                Ok(wire)
            }
            Transport::WebSocket(target) => {
                let socket = websocket::dial(target, bytes).await?;
                let (pipe, queue) = Pipe::new();
                let wire = made(Way::Pipe(pipe));
                websocket::run(wire.clone(), socket, queue, options.limits.ping);
                Ok(wire)
            }
        }
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.0.hub
    }

    /// How long something may take that is only polite.
    pub(crate) fn courtesy(&self) -> Duration {
        self.0.courtesy
    }

    pub(crate) fn hello(&self) -> &Hello {
        &self.0.hello
    }

    pub(crate) fn http(&self) -> Option<&Http> {
        match &self.0.way {
            Way::Http(http) => Some(http),
            Way::Pipe(_) => None,
        }
    }

    pub(crate) fn pipe(&self) -> Option<&Pipe> {
        match &self.0.way {
            Way::Http(_) => None,
            Way::Pipe(pipe) => Some(pipe),
        }
    }

    /// A request with an id of its own.
    pub(crate) fn make(
        &self,
        revision: Option<Revision>,
        method: &str,
        params: Option<&RawValue>,
        options: RequestOptions,
    ) -> Result<Call, ClientError> {
        let id = self.0.ids.fetch_add(1, Ordering::Relaxed);
        Call::new(id, revision, method, params, options, &self.0.hello)
    }

    /// Sends a request and waits for its result. Dropping the future cancels the request.
    pub(crate) async fn exchange(&self, call: Call) -> Result<Box<RawValue>, ExchangeError> {
        match &self.0.way {
            Way::Http(http) => http.exchange(self, call).await,
            Way::Pipe(pipe) => pipe.exchange(self, call).await.map_err(ExchangeError::from),
        }
    }

    /// Tells the server something.
    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), ClientError> {
        let text = message::notification(method, params);
        match &self.0.way {
            Way::Http(http) => http.tell(text).await,
            Way::Pipe(pipe) => pipe.tell(text).await,
        }
    }

    /// Answers a request of the server.
    pub(crate) async fn answer(&self, text: String) {
        let sent = match &self.0.way {
            Way::Http(http) => http.tell(text).await,
            Way::Pipe(pipe) => pipe.tell(text).await,
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "an answer did not reach the server");
        }
    }

    /// Tells the server that a request is given up, from a task: whoever gave up does not wait.
    pub(crate) fn cancel(&self, id: u64) {
        let wire = self.clone();
        self.hub().tasks.spawn(async move {
            let params =
                to_raw(&serde_json::json!({ "requestId": id, "reason": "nobody waits for it any more" }));
            let told = wire.notify(toolyard_protocol::mcp::method::CANCELLED, Some(&params));
            if let Ok(Err(error)) = tokio::time::timeout(wire.courtesy(), told).await {
                tracing::debug!(id, %error, "the server was not told that a request is given up");
            }
        });
    }
}
