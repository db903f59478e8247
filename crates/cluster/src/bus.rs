//! The connection to NATS, its subjects and its messages.
//!
//! A message may be lost, and NATS may be down: nothing here waits for it longer than a moment. Messages name nodes and users;
//! addresses come from the store, so that a message cannot redirect a request.

use std::time::Duration;

use async_nats::{
    Client, ConnectOptions, Event, RequestErrorKind, ServerAddr, Subscriber, connection::State,
};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};
use toolyard_core::ports::NodeId;
use toolyard_protocol::UserId;

/// How soon a dead connection is noticed.
const PING_EVERY: Duration = Duration::from_secs(5);
/// How long a publication may wait for the connection.
const PUBLISH_TIMEOUT: Duration = Duration::from_millis(200);
/// The longest pause between two attempts to connect.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Messages that wait for a slow subscriber, before they are dropped.
const SUBSCRIPTION_CAPACITY: usize = 4_096;

/// How to reach NATS.
#[derive(Debug, Clone)]
pub struct BusSettings {
    /// `nats://user:password@host:4222`, or several with commas.
    pub url: String,
    /// The first part of every subject, so that clusters can share a NATS server.
    pub prefix: String,
}

/// NATS cannot be used as configured.
#[derive(Debug, thiserror::Error)]
#[error("cluster.nats_url: {0}")]
pub struct BusError(String);

/// The connection to NATS. Cheap to clone.
#[derive(Clone)]
pub struct Bus {
    client: Client,
    prefix: String,
}

/// A sign of life of a node.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Heartbeat {
    pub(crate) node: i64,
    /// It stops, and is nobody's home any more.
    pub(crate) leaves: bool,
}

/// The answer to the question where a user's home is, and the news that it moved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HomeNotice {
    pub(crate) user: UserId,
    pub(crate) node: i64,
    pub(crate) epoch: i64,
}

/// Where a user's home is.
#[derive(Debug)]
pub(crate) enum Located {
    /// On this node.
    At(NodeId, i64),
    /// Nobody answers. The store knows whether that is so.
    Unknown,
}

impl Bus {
    /// Connects, in the background: NATS may be started later.
    pub async fn connect(settings: &BusSettings) -> Result<Self, BusError> {
        let servers: Result<Vec<ServerAddr>, _> = settings.url.split(',').map(str::parse).collect();
        let servers = servers.map_err(|error| BusError(error.to_string()))?;
        let options = ConnectOptions::new()
            .name("toolyard")
            .retry_on_initial_connect()
            .ping_interval(PING_EVERY)
            .subscription_capacity(SUBSCRIPTION_CAPACITY)
            .reconnect_delay_callback(|attempts| {
                MAX_PAUSE.min(Duration::from_millis(20) * u32::try_from(attempts).unwrap_or(u32::MAX))
            })
            .event_callback(log_event);
        let client = options.connect(servers).await.map_err(|error| BusError(error.to_string()))?;
        Ok(Self { client, prefix: settings.prefix.clone() })
    }

    /// Whether NATS can be reached.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    pub(crate) async fn publish<T: Serialize>(&self, subject: &str, message: &T) {
        if !self.is_connected() {
            return;
        }
        let payload = serde_json::to_vec(message).unwrap_or_default();
        let published = self.client.publish(format!("{}.{subject}", self.prefix), payload.into());
        if tokio::time::timeout(PUBLISH_TIMEOUT, published).await.is_err() {
            tracing::warn!(subject, "message to other nodes not sent in time");
        }
    }

    /// Every message on a subject. Malformed ones are skipped.
    pub(crate) async fn subscribe<T: DeserializeOwned>(
        &self,
        subject: &str,
    ) -> Result<impl futures_util::Stream<Item = T> + use<T>, BusError> {
        let subscriber = self.client.subscribe(format!("{}.{subject}", self.prefix)).await;
        let subscriber = subscriber.map_err(|error| BusError(error.to_string()))?;
        Ok(subscriber.filter_map(|message| std::future::ready(serde_json::from_slice(&message.payload).ok())))
    }

    /// Asks where the home of a user is.
    pub(crate) async fn locate(&self, user: &UserId, timeout: Duration) -> Located {
        if !self.is_connected() {
            return Located::Unknown;
        }
        let subject = format!("{}.{}", self.prefix, home_subject(user));
        let request = async_nats::Request::new().timeout(Some(timeout));
        match self.client.send_request(subject, request).await {
            Ok(reply) => match serde_json::from_slice::<HomeNotice>(&reply.payload) {
                Ok(home) if home.user == *user => Located::At(NodeId(home.node), home.epoch),
                _ => Located::Unknown,
            },
            Err(error) if error.kind() == RequestErrorKind::NoResponders => Located::Unknown,
            Err(error) => {
                tracing::debug!(%error, "home of a user not located");
                Located::Unknown
            }
        }
    }

    /// Answers the question where the home of a user is, for as long as the result lives.
    pub(crate) async fn answer(&self, home: &HomeNotice) -> Result<Subscriber, BusError> {
        let subscribed = self.client.subscribe(format!("{}.{}", self.prefix, home_subject(&home.user))).await;
        subscribed.map_err(|error| BusError(error.to_string()))
    }

    /// Replies to questions until the subscription ends.
    pub(crate) async fn reply_to(self, mut questions: Subscriber, home: HomeNotice) {
        let payload: bytes::Bytes = serde_json::to_vec(&home).unwrap_or_default().into();
        while let Some(question) = questions.next().await {
            if let Some(reply) = question.reply {
                let _ = self.client.publish(reply, payload.clone()).await;
            }
        }
    }
}

/// The subject of a user. A user id may have characters that a subject cannot have.
fn home_subject(user: &UserId) -> String {
    format!("home.{}", hex::encode(&Sha256::digest(user.as_str())[..16]))
}

async fn log_event(event: Event) {
    match event {
        Event::Connected => tracing::info!("connected to NATS"),
        Event::Disconnected => tracing::warn!("connection to NATS lost"),
        event => tracing::warn!(%event, "NATS"),
    }
}
