//! Audio that apps play on the device.
//!
//! SDK apps put the platform's own `/api/tts?text=…` into the request, always as https. The device gets a signed URL
//! that it can fetch (`speech_link`), and the text itself, so that a device with its own speech output needs no URL.

use std::sync::Arc;

use toolyard_protocol::{
    PackageName,
    session::{
        ToApp, ToDevice,
        audio::{
            AudioPlayRequest, AudioPlayResponse, AudioStopRequest, DeviceAudioPlayRequest,
            DeviceAudioStopRequest,
        },
    },
};
use url::Url;

use crate::{
    pending::RequestKind,
    sessions::{APP_SOCKET_PATH, MARKED_PATH, Sessions},
    user::LiveUser,
};

const SPEECH_PATH: &str = "/api/tts";

impl Sessions {
    pub(crate) fn play_audio(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        mut request: AudioPlayRequest,
    ) {
        let settings = &self.parts().settings;
        let own = own_speech(&request.audio_url, &settings.app_socket_url);
        let text = own.as_ref().and_then(speech_text);
        if let Some(mut url) = own {
            let now = self.parts().clock.now().as_second();
            let lifetime = i64::try_from(settings.speech_link.as_secs()).unwrap_or(i64::MAX);
            self.0.speech_links.sign_url(&mut url, &live.id, now.saturating_add(lifetime));
            request.audio_url = url.into();
        }
        let id = request.request_id.clone();
        let message = DeviceAudioPlayRequest {
            request,
            package_name: package.clone(),
            app_id: Some(package.clone()),
            text,
        };
        let mut state = live.lock();
        let sent = state.pending.add(RequestKind::Audio, &id, package).map_err(|error| error.to_string());
        let sent = sent.and_then(|()| {
            state.request_device(package, &ToDevice::AudioPlayRequest(message)).map_err(|error| {
                state.pending.take(RequestKind::Audio, &id);
                error.to_string()
            })
        });
        if let Err(why) = sent {
            let answer =
                AudioPlayResponse { request_id: id, success: false, error: Some(why), duration: None };
            state.send_to_app(package, &ToApp::AudioPlayResponse(answer));
        }
    }

    /// Stops the audio of this app only.
    pub(crate) fn stop_audio(&self, live: &Arc<LiveUser>, package: &PackageName, request: AudioStopRequest) {
        let message = DeviceAudioStopRequest {
            package_name: package.clone(),
            app_id: Some(package.clone()),
            track_id: request.track_id,
        };
        if let Err(why) = live.lock().request_device(package, &ToDevice::AudioStopRequest(message)) {
            tracing::debug!(%package, user = %live.id, reason = %why, "audio stop not sent");
        }
    }

    pub(crate) fn audio_finished(&self, live: &Arc<LiveUser>, answer: AudioPlayResponse) {
        let mut state = live.lock();
        if let Some(package) = state.pending.take(RequestKind::Audio, &answer.request_id) {
            state.send_to_app(&package, &ToApp::AudioPlayResponse(answer));
        }
    }
}

/// The URL with the right scheme, if it is this server's own `/api/tts`.
fn own_speech(address: &str, own: &str) -> Option<Url> {
    let (mut url, own) = (Url::parse(address).ok()?, Url::parse(own).ok()?);
    let same = url.host() == own.host()
        && (url.port() == own.port() || url.port_or_known_default() == own.port_or_known_default());
    let below = own.path().strip_suffix(APP_SOCKET_PATH).unwrap_or_default();
    if !same || without_mark(url.path().strip_prefix(below)?) != SPEECH_PATH {
        return None;
    }
    url.set_path(&format!("{below}{SPEECH_PATH}"));
    let scheme = if own.scheme() == "wss" { "https" } else { "http" };
    url.set_scheme(scheme).ok()?;
    Some(url)
}

/// The path without the mark of its user.
fn without_mark(path: &str) -> &str {
    let marked = path.strip_prefix(MARKED_PATH).and_then(|marked| marked.find('/').map(|end| &marked[end..]));
    marked.unwrap_or(path)
}

fn speech_text(url: &Url) -> Option<String> {
    url.query_pairs().find(|(name, _)| name == "text").map(|(_, text)| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_speech_urls_are_repaired_and_give_the_text() {
        let address = "https://127.0.0.1:8021/api/tts?text=1.+buy+milk%0A2.+call+Bob";
        let url = own_speech(address, "ws://127.0.0.1:8021/app-ws").unwrap();
        assert_eq!(speech_text(&url).as_deref(), Some("1. buy milk\n2. call Bob"));
        assert_eq!(url.as_str(), "http://127.0.0.1:8021/api/tts?text=1.+buy+milk%0A2.+call+Bob");
        let below =
            own_speech("https://tools.example/yard/api/tts", "wss://tools.example/yard/app-ws").unwrap();
        assert_eq!((below.as_str(), speech_text(&below)), ("https://tools.example/yard/api/tts", None));
    }

    #[test]
    fn foreign_urls_are_not_changed() {
        for foreign in [
            "https://example.com/a.mp3",
            "https://127.0.0.1:9/api/tts?text=a",
            "https://127.0.0.1:8021/api/ttse?text=a",
            "https://127.0.0.1:8021/x/api/tts?text=a",
            "not a url",
        ] {
            assert_eq!(own_speech(foreign, "ws://127.0.0.1:8021/app-ws"), None, "{foreign}");
        }
    }
}
