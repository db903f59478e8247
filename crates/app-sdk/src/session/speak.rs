//! Speaks a text: a request to play the platform's speech URL, and the response that it was played.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use serde_json::Number;
use tokio::{sync::oneshot, time::timeout};
use toolyard_protocol::session::{
    FromApp,
    audio::{AudioPlayRequest, AudioPlayResponse, AudioStopRequest},
};
use url::form_urlencoded;

use super::{Session, SessionError};
use crate::limits::{MAX_SPEAKING, MAX_SPEECH_BYTES};

/// The audio track for speech. 0 is the speaker, 1 the sound of apps.
const SPEECH_TRACK: u64 = 2;

/// Speech requests that wait for their response.
#[derive(Debug, Default)]
pub(super) struct PendingSpeech {
    waiting: Mutex<HashMap<String, oneshot::Sender<AudioPlayResponse>>>,
    made: AtomicU64,
}

impl PendingSpeech {
    /// Passes a response to the request that waits for it. Unknown responses are ignored.
    pub(super) fn resolve_request(&self, response: AudioPlayResponse) {
        if let Some(waiting) = self.waiting.lock().remove(&response.request_id) {
            let _ = waiting.send(response);
        }
    }

    /// Fails all waiting requests.
    pub(super) fn close(&self) {
        self.waiting.lock().clear();
    }

    fn begin_request(&self, now_ms: i64) -> Result<SpeakRequest<'_>, SessionError> {
        // The counter makes ids unique in this session, the time across sessions.
        let id = format!("audio_{now_ms}_{}", self.made.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MAX_SPEAKING {
            return Err(SessionError::TooMuchSpeech);
        }
        waiting.insert(id.clone(), answer);
        Ok(SpeakRequest { pending: self, id, answered })
    }
}

/// One request. Dropping it removes it from the waiting ones.
struct SpeakRequest<'a> {
    pending: &'a PendingSpeech,
    id: String,
    answered: oneshot::Receiver<AudioPlayResponse>,
}

impl Drop for SpeakRequest<'_> {
    fn drop(&mut self) {
        self.pending.waiting.lock().remove(&self.id);
    }
}

impl Session {
    /// Speaks a text and waits until it was spoken. If you drop the future after the request was sent, the text is still spoken.
    pub async fn speak(&self, text: impl AsRef<str>) -> Result<(), SessionError> {
        let text = text.as_ref();
        if text.len() > MAX_SPEECH_BYTES {
            return Err(SessionError::SpeechTooLong(text.len()));
        }
        let mut request = self.0.speaking.begin_request(self.0.clock.now().as_millisecond())?;
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("text", text).finish();
        let play = AudioPlayRequest {
            request_id: request.id.clone(),
            audio_url: format!("{}/api/tts?{query}", self.0.platform),
            volume: Some(Number::from(1)),
            stop_other_audio: Some(true),
            track_id: Some(Number::from(SPEECH_TRACK)),
        };
        self.send(FromApp::AudioPlayRequest(play)).await?;
        let wait = self.0.limits.speech_wait;
        match timeout(wait, &mut request.answered).await {
            Ok(Ok(AudioPlayResponse { success: true, .. })) => Ok(()),
            Ok(Ok(response)) => {
                Err(SessionError::NotSpoken(response.error.unwrap_or_else(|| "no reason given".to_owned())))
            }
            Ok(Err(_)) => Err(SessionError::NotConnected),
            Err(_) => Err(SessionError::NoAnswer(wait)),
        }
    }

    /// Stops all speech. Returns when the request was sent.
    pub async fn stop_speaking(&self) -> Result<(), SessionError> {
        let stop = AudioStopRequest { track_id: Some(Number::from(SPEECH_TRACK)) };
        self.send(FromApp::AudioStopRequest(stop)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::stuck;

    #[tokio::test]
    async fn bounds() {
        let (session, _waiting) = stuck();
        let long = "x".repeat(MAX_SPEECH_BYTES + 1);
        assert_eq!(session.speak(&long).await.unwrap_err(), SessionError::SpeechTooLong(long.len()));
        let requests: Vec<_> =
            (0..MAX_SPEAKING).map(|_| session.0.speaking.begin_request(0).unwrap()).collect();
        assert_eq!(session.speak("x").await.unwrap_err(), SessionError::TooMuchSpeech);
        drop(requests);
        assert!(session.0.speaking.begin_request(0).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_response_times_out() {
        let (session, mut waiting) = stuck();
        let wait = session.0.limits.speech_wait;
        assert_eq!(session.speak("x").await.unwrap_err(), SessionError::NoAnswer(wait));
        assert!(matches!(waiting.recv().await, Some(FromApp::AudioPlayRequest(_))));
        assert!(session.0.speaking.waiting.lock().is_empty());
    }

    #[tokio::test]
    async fn speech_can_be_stopped() {
        let (session, mut waiting) = stuck();
        session.stop_speaking().await.unwrap();
        let Some(FromApp::AudioStopRequest(stop)) = waiting.recv().await else {
            panic!("something else was sent")
        };
        assert_eq!(stop.track_id, Some(SPEECH_TRACK.into()));
    }

    #[tokio::test]
    async fn the_end_of_the_session_ends_the_wait() {
        let (session, mut waiting) = stuck();
        let end = async {
            waiting.recv().await;
            session.mark_ended();
        };
        let (spoken, ()) = tokio::join!(session.speak("x"), end);
        assert_eq!(spoken.unwrap_err(), SessionError::NotConnected);
    }
}
