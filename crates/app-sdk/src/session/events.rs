//! Events of a session.

use std::{marker::PhantomData, pin::Pin};

use serde::{Deserialize, de::DeserializeOwned};
use tokio::sync::broadcast::{self, error::RecvError};
use toolyard_protocol::{session::speech::Transcription, stream::StreamKind};

use super::{Session, SessionError, streams::RawEvent};

/// Events of one stream, in order. If the reader is slow, the oldest waiting events are dropped, and [`missed`](Self::missed)
/// counts them. Drop this to unsubscribe.
#[derive(Debug)]
pub struct SessionEvents<T> {
    reader: broadcast::Receiver<RawEvent>,
    missed: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> SessionEvents<T> {
    fn new(reader: broadcast::Receiver<RawEvent>) -> Self {
        Self { reader, missed: 0, of: PhantomData }
    }

    /// The next event. `None` when the session has ended. Continues after a reconnect. Cancel safe: dropping the future loses no
    /// event.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            match self.reader.recv().await {
                Ok(raw) => match serde_json::from_str(raw.get()) {
                    Ok(event) => return Some(event),
                    Err(error) => {
                        tracing::warn!(%error, "event dropped: unexpected format")
                    }
                },
                Err(RecvError::Lagged(count)) => self.missed += count,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// How many events were dropped because the reader was too slow.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Converts this into a [`futures_util::Stream`].
    pub fn into_stream(self) -> Pin<Box<dyn futures_util::Stream<Item = T> + Send>>
    where
        T: 'static,
    {
        Box::pin(futures_util::stream::unfold(self, |mut events| async move {
            events.next().await.map(|event| (event, events))
        }))
    }
}

/// A button was pressed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ButtonPress {
    /// The button.
    #[serde(default = "unknown_button")]
    pub button_id: String,
    /// How it was pressed.
    #[serde(default)]
    pub press_type: PressType,
}

/// How a button was pressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PressType {
    /// A long press.
    Long,
    /// A short press. Also if the device does not report the type.
    #[default]
    #[serde(other)]
    Short,
}

fn unknown_button() -> String {
    "unknown".to_owned()
}

impl Session {
    /// Subscribes to transcriptions of the user's speech in a language (`en-US`) or in any (`auto`). The app must declare the
    /// microphone permission.
    pub fn on_transcription(&self, language: &str) -> Result<SessionEvents<Transcription>, SessionError> {
        self.subscribe(&format!("{}:{language}", StreamKind::Transcription.as_str()))
    }

    /// Subscribes to the buttons of the glasses.
    pub fn on_button_press(&self) -> Result<SessionEvents<ButtonPress>, SessionError> {
        self.subscribe(StreamKind::ButtonPress.as_str())
    }

    /// Subscribes to any stream by its name (`head_position`), with the type of its data; `serde_json::Value` accepts all. Raw
    /// audio (`audio_chunk`) is not supported.
    ///
    /// The first reader of a stream subscribes the session to it. The platform always gets the full set of subscriptions.
    pub fn subscribe<T: DeserializeOwned>(&self, stream: &str) -> Result<SessionEvents<T>, SessionError> {
        self.0.streams.subscribe(stream).map(SessionEvents::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::RawValue};

    use super::*;
    use crate::{limits::EVENT_QUEUE, session::tests::stuck};

    fn tell(session: &Session, stream: &str, data: &Value) {
        session.0.streams.deliver_event(stream, RawValue::from_string(data.to_string()).unwrap());
    }

    #[tokio::test]
    async fn a_slow_reader_misses_the_oldest_events_and_counts_them() {
        let (session, _waiting) = stuck();
        let mut presses = session.on_button_press().unwrap();
        for n in 0..EVENT_QUEUE + 3 {
            tell(&session, "button_press", &json!({ "buttonId": n.to_string() }));
        }
        assert_eq!(presses.next().await.unwrap().button_id, "3");
        assert_eq!(presses.missed(), 3);
    }

    #[tokio::test]
    async fn an_event_in_another_format_is_dropped_and_the_stream_ends() {
        let (session, _waiting) = stuck();
        let mut speech = session.on_transcription("en-US").unwrap();
        tell(&session, "transcription:en-US", &json!({ "text": 7 }));
        tell(&session, "transcription:de-DE", &json!({ "text": "nein" }));
        tell(&session, "transcription:en-US", &json!({ "text": "yes" }));
        session.mark_ended();
        assert_eq!(speech.next().await.unwrap().text, "yes");
        assert!(speech.next().await.is_none());
    }

    #[test]
    fn presses_of_every_kind_are_read() {
        for (data, press_type) in [
            (json!({ "type": "button_press", "buttonId": "main", "pressType": "long" }), PressType::Long),
            (json!({ "buttonId": "main", "pressType": "double" }), PressType::Short),
            (json!({ "buttonId": "main" }), PressType::Short),
        ] {
            let press: ButtonPress = serde_json::from_value(data).unwrap();
            assert_eq!(press, ButtonPress { button_id: "main".to_owned(), press_type });
        }
    }
}
