//! What a session hears.

use std::{marker::PhantomData, pin::Pin};

use serde::{Deserialize, de::DeserializeOwned};
use tokio::sync::broadcast::{self, error::RecvError};
use toolyard_protocol::{session::speech::Transcription, stream::StreamKind};

use super::{Session, SessionError, streams::RawEvent};

/// Events of one stream, in order. Only so many wait for a slow reader; the oldest are lost then, and
/// [`missed`](Self::missed) counts them. Drop it to stop listening.
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

    /// The next event; `None` when the session is over. Survives a lost connection that comes back. Nothing is lost when
    /// the future is dropped.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            match self.reader.recv().await {
                Ok(raw) => match serde_json::from_str(raw.get()) {
                    Ok(event) => return Some(event),
                    Err(error) => {
                        tracing::warn!(%error, "an event has another form than expected; it is left out")
                    }
                },
                Err(RecvError::Lagged(count)) => self.missed += count,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// How many events were lost because they were read too slowly.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The events as a stream, for whoever works with those.
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
    /// Which one.
    #[serde(default = "unknown_button")]
    pub button_id: String,
    /// How.
    #[serde(default)]
    pub press_type: PressType,
}

/// How a button was pressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PressType {
    /// For long.
    Long,
    /// Shortly; also where the device does not say it.
    #[default]
    #[serde(other)]
    Short,
}

fn unknown_button() -> String {
    "unknown".to_owned()
}

impl Session {
    /// What the user says in a language (`en-US`), or in any (`auto`). The app must declare the microphone permission.
    pub fn on_transcription(&self, language: &str) -> Result<SessionEvents<Transcription>, SessionError> {
        self.subscribe(&format!("{}:{language}", StreamKind::Transcription.as_str()))
    }

    /// Buttons of the glasses.
    pub fn on_button_press(&self) -> Result<SessionEvents<ButtonPress>, SessionError> {
        self.subscribe(StreamKind::ButtonPress.as_str())
    }

    /// Any stream by its name (`head_position`), as any type that its data has; `serde_json::Value` fits all. Raw sound
    /// (`audio_chunk`) is not offered.
    ///
    /// The first reader of a stream makes the session listen to it: the platform is told the full set.
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
    async fn a_slow_reader_loses_the_oldest_and_knows_it() {
        let (session, _waiting) = stuck();
        let mut presses = session.on_button_press().unwrap();
        for n in 0..EVENT_QUEUE + 3 {
            tell(&session, "button_press", &json!({ "buttonId": n.to_string() }));
        }
        assert_eq!(presses.next().await.unwrap().button_id, "3");
        assert_eq!(presses.missed(), 3);
    }

    #[tokio::test]
    async fn an_event_of_another_form_is_left_out_and_the_end_is_told() {
        let (session, _waiting) = stuck();
        let mut heard = session.on_transcription("en-US").unwrap();
        tell(&session, "transcription:en-US", &json!({ "text": 7 }));
        tell(&session, "transcription:de-DE", &json!({ "text": "nein" }));
        tell(&session, "transcription:en-US", &json!({ "text": "yes" }));
        session.mark_ended();
        assert_eq!(heard.next().await.unwrap().text, "yes");
        assert!(heard.next().await.is_none());
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
