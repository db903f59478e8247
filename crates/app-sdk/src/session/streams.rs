//! The subscriptions of a session: all streams that have a reader.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};
use tokio::sync::{broadcast, watch};
use toolyard_protocol::stream::{MAX_SUBSCRIPTIONS, StreamSubscription};

use super::SessionError;
use crate::limits::EVENT_QUEUE;

/// One event, shared by all readers of its stream.
pub(super) type RawEvent = Arc<RawValue>;

/// All subscribed streams, in the order of first use.
#[derive(Debug)]
pub(super) struct SubscribedStreams {
    /// `None` when the session has ended.
    open: Mutex<Option<Vec<SubscribedStream>>>,
    subscriptions: watch::Sender<Vec<Value>>,
}

#[derive(Debug)]
struct SubscribedStream {
    subscription: StreamSubscription,
    readers: broadcast::Sender<RawEvent>,
}

impl Default for SubscribedStreams {
    fn default() -> Self {
        Self { open: Mutex::new(Some(Vec::new())), subscriptions: watch::Sender::default() }
    }
}

impl SubscribedStreams {
    /// Watches the full set of subscriptions.
    pub(super) fn watch_subscriptions(&self) -> watch::Receiver<Vec<Value>> {
        self.subscriptions.subscribe()
    }

    /// A reader of a stream. The first one subscribes the session to it.
    pub(super) fn subscribe(&self, name: &str) -> Result<broadcast::Receiver<RawEvent>, SessionError> {
        let subscription = StreamSubscription::parse(&Value::from(name))?;
        let mut open = self.open.lock();
        let streams = open.as_mut().ok_or(SessionError::NotConnected)?;
        if let Some(stream) = streams.iter().find(|stream| stream.subscription == subscription) {
            return Ok(stream.readers.subscribe());
        }
        // Streams without readers do not count. The platform gets their removal with this change.
        streams.retain(|stream| stream.readers.receiver_count() > 0);
        if streams.len() >= MAX_SUBSCRIPTIONS {
            return Err(SessionError::TooManyStreams);
        }
        let (readers, reader) = broadcast::channel(EVENT_QUEUE);
        streams.push(SubscribedStream { subscription, readers });
        self.publish_subscriptions(streams);
        Ok(reader)
    }

    /// Sends an event to its readers. Unsubscribes from a stream without readers.
    pub(super) fn deliver_event(&self, stream_type: &str, data: Box<RawValue>) {
        let mut open = self.open.lock();
        let Some(streams) = open.as_mut() else { return };
        let of_type = |stream: &SubscribedStream| stream.subscription.stream_type() == stream_type;
        let Some(at) = streams.iter().position(of_type) else { return };
        if streams[at].readers.send(data.into()).is_err() {
            streams.remove(at);
            self.publish_subscriptions(streams);
        }
    }

    /// Ends every reader.
    pub(super) fn close(&self) {
        self.open.lock().take();
    }

    fn publish_subscriptions(&self, streams: &[SubscribedStream]) {
        let names = streams.iter().map(|stream| Value::from(stream.subscription.as_str())).collect();
        self.subscriptions.send_replace(names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Box<RawValue> {
        RawValue::from_string("{}".to_owned()).unwrap()
    }

    #[test]
    fn the_full_set_grows_in_order_and_once_a_stream() {
        let streams = SubscribedStreams::default();
        let subscriptions = streams.watch_subscriptions();
        let _readers: Vec<_> = ["transcription:en-US", "button_press", "transcription:en-US"]
            .into_iter()
            .map(|name| streams.subscribe(name).unwrap())
            .collect();
        assert_eq!(*subscriptions.borrow(), ["transcription:en-US", "button_press"]);
    }

    #[test]
    fn a_stream_without_readers_is_unsubscribed() {
        let streams = SubscribedStreams::default();
        let mut subscriptions = streams.watch_subscriptions();
        let kept = streams.subscribe("button_press").unwrap();
        drop(streams.subscribe("head_position").unwrap());
        subscriptions.borrow_and_update();
        streams.deliver_event("button_press", event());
        assert!(!subscriptions.has_changed().unwrap());
        streams.deliver_event("head_position", event());
        assert_eq!(*subscriptions.borrow(), ["button_press"]);
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn limits_and_invalid_names() {
        let streams = SubscribedStreams::default();
        assert!(matches!(streams.subscribe("transcription:english"), Err(SessionError::NotAStream(_))));
        let name = |n: usize| format!("custom_{n}");
        let readers: Vec<_> = (0..MAX_SUBSCRIPTIONS).map(|n| streams.subscribe(&name(n)).unwrap()).collect();
        assert_eq!(streams.subscribe("one_more").unwrap_err(), SessionError::TooManyStreams);
        drop(readers);
        assert!(streams.subscribe("one_more").is_ok());
        streams.close();
        assert_eq!(streams.subscribe("one_more").unwrap_err(), SessionError::NotConnected);
    }
}
