//! What a session listens to. The set that the platform is told is made from the streams that somebody reads.

use std::sync::{Arc, Mutex};

use serde_json::{Value, value::RawValue};
use tokio::sync::{broadcast, watch};
use toolyard_protocol::stream::{MAX_SUBSCRIPTIONS, Subscription};

use super::SessionError;
use crate::{limits::EVENT_QUEUE, lock::lock};

/// One event, shared by everybody who reads its stream.
pub(super) type Raw = Arc<RawValue>;

/// Every stream that is read, in the order of first use.
#[derive(Debug)]
pub(super) struct Streams {
    /// `None` when the session is over.
    open: Mutex<Option<Vec<Stream>>>,
    wanted: watch::Sender<Vec<Value>>,
}

#[derive(Debug)]
struct Stream {
    subscription: Subscription,
    readers: broadcast::Sender<Raw>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { open: Mutex::new(Some(Vec::new())), wanted: watch::Sender::default() }
    }
}

impl Streams {
    /// The full set for the platform, and every change of it.
    pub(super) fn wanted(&self) -> watch::Receiver<Vec<Value>> {
        self.wanted.subscribe()
    }

    /// A reader of a stream; the first one makes the session listen to it.
    pub(super) fn read(&self, name: &str) -> Result<broadcast::Receiver<Raw>, SessionError> {
        let subscription = Subscription::read(&Value::from(name))?;
        let mut open = lock(&self.open);
        let streams = open.as_mut().ok_or(SessionError::NotConnected)?;
        if let Some(stream) = streams.iter().find(|stream| stream.subscription == subscription) {
            return Ok(stream.readers.subscribe());
        }
        // Streams whose readers have gone do not count; the platform hears of them with this change.
        streams.retain(|stream| stream.readers.receiver_count() > 0);
        if streams.len() >= MAX_SUBSCRIPTIONS {
            return Err(SessionError::TooManyStreams);
        }
        let (readers, reader) = broadcast::channel(EVENT_QUEUE);
        streams.push(Stream { subscription, readers });
        self.publish(streams);
        Ok(reader)
    }

    /// Hands an event to its readers. A stream that nobody reads any more is given up.
    pub(super) fn deliver(&self, stream_type: &str, data: Box<RawValue>) {
        let mut open = lock(&self.open);
        let Some(streams) = open.as_mut() else { return };
        let of_type = |stream: &Stream| stream.subscription.stream_type() == stream_type;
        let Some(at) = streams.iter().position(of_type) else { return };
        if streams[at].readers.send(data.into()).is_err() {
            streams.remove(at);
            self.publish(streams);
        }
    }

    /// Ends every reader.
    pub(super) fn close(&self) {
        lock(&self.open).take();
    }

    fn publish(&self, streams: &[Stream]) {
        let names = streams.iter().map(|stream| Value::from(stream.subscription.as_str())).collect();
        self.wanted.send_replace(names);
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
        let streams = Streams::default();
        let wanted = streams.wanted();
        let _readers: Vec<_> = ["transcription:en-US", "button_press", "transcription:en-US"]
            .into_iter()
            .map(|name| streams.read(name).unwrap())
            .collect();
        assert_eq!(*wanted.borrow(), ["transcription:en-US", "button_press"]);
    }

    #[test]
    fn a_stream_without_readers_is_given_up() {
        let streams = Streams::default();
        let mut wanted = streams.wanted();
        let kept = streams.read("button_press").unwrap();
        drop(streams.read("head_position").unwrap());
        wanted.borrow_and_update();
        streams.deliver("button_press", event());
        assert!(!wanted.has_changed().unwrap());
        streams.deliver("head_position", event());
        assert_eq!(*wanted.borrow(), ["button_press"]);
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn bounds_and_nonsense() {
        let streams = Streams::default();
        assert!(matches!(streams.read("transcription:english"), Err(SessionError::NotAStream(_))));
        let name = |n: usize| format!("custom_{n}");
        let readers: Vec<_> = (0..MAX_SUBSCRIPTIONS).map(|n| streams.read(&name(n)).unwrap()).collect();
        assert_eq!(streams.read("one_more").unwrap_err(), SessionError::TooManyStreams);
        drop(readers);
        assert!(streams.read("one_more").is_ok());
        streams.close();
        assert_eq!(streams.read("one_more").unwrap_err(), SessionError::NotConnected);
    }
}
