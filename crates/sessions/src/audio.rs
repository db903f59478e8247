//! Sound that apps want played, on its way to the device.
//!
//! SDK apps put the platform's own `/api/tts?text=…` into the request, always as https. A device gets an address it can
//! reach, and the words themselves, so that one that can speak needs no address at all.

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

use crate::{sessions::Sessions, user::User};

impl Sessions {
    pub(crate) fn play(&self, live: &Arc<User>, package: &PackageName, mut request: AudioPlayRequest) {
        let mut state = live.lock();
        let id = request.request_id.clone();
        let Some(device) = &state.device else {
            let answer = AudioPlayResponse {
                request_id: id,
                success: false,
                error: Some("no device is connected".to_owned()),
                duration: None,
            };
            if let Some(outbox) = state.apps.get(package).and_then(crate::run::Run::outbox) {
                outbox.control(ToApp::AudioPlayResponse(answer).to_text());
            }
            return;
        };
        let text = repair(&mut request.audio_url, &self.parts().settings.app_socket_url);
        let message = DeviceAudioPlayRequest { request, package_name: package.clone(), text };
        device.outbox.control(ToDevice::AudioPlayRequest(message).to_text());
        state.expect_answer(&id, package);
    }

    pub(crate) fn be_quiet(&self, live: &Arc<User>, package: &PackageName, request: AudioStopRequest) {
        let message = DeviceAudioStopRequest { package_name: package.clone(), track_id: request.track_id };
        live.lock().tell_device(&ToDevice::AudioStopRequest(message));
    }

    pub(crate) fn played(&self, live: &Arc<User>, answer: AudioPlayResponse) {
        let mut state = live.lock();
        let Some(package) = state.take_waiting(&answer.request_id) else { return };
        if let Some(outbox) = state.apps.get(&package).and_then(crate::run::Run::outbox) {
            outbox.control(ToApp::AudioPlayResponse(answer).to_text());
        }
    }
}

/// Where the address is our own `/api/tts`: puts our real scheme in, and gives the words back.
fn repair(address: &mut String, own: &str) -> Option<String> {
    let (mut url, own) = (Url::parse(address).ok()?, Url::parse(own).ok()?);
    let same = url.host() == own.host()
        && (url.port() == own.port() || url.port_or_known_default() == own.port_or_known_default());
    if !same || url.path() != "/api/tts" {
        return None;
    }
    let scheme = if own.scheme() == "wss" { "https" } else { "http" };
    if url.set_scheme(scheme).is_ok() {
        *address = url.to_string();
    }
    url.query_pairs().find(|(name, _)| name == "text").map(|(_, text)| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_address_is_repaired_and_gives_the_words() {
        let mut address = "https://127.0.0.1:8021/api/tts?text=1.+buy+milk%0A2.+call+Bob".to_owned();
        let words = repair(&mut address, "ws://127.0.0.1:8021/app-ws");
        assert_eq!(words.as_deref(), Some("1. buy milk\n2. call Bob"));
        assert_eq!(address, "http://127.0.0.1:8021/api/tts?text=1.+buy+milk%0A2.+call+Bob");
    }

    #[test]
    fn foreign_addresses_stay() {
        for foreign in ["https://example.com/a.mp3", "https://127.0.0.1:9/api/tts?text=a", "not a url"] {
            let mut address = foreign.to_owned();
            assert_eq!(repair(&mut address, "ws://127.0.0.1:8021/app-ws"), None);
            assert_eq!(address, foreign);
        }
    }
}
