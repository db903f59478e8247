//! The port to a user's glasses, and their capabilities.

use std::time::Duration;

use async_trait::async_trait;
use toolyard_app_sdk::{Capabilities, Session};

use crate::{choices::SpeechMode, page::ScreenSize};

/// How long an empty view is shown to clear the display. The view of the app in front comes back after it.
const BLINK: Duration = Duration::from_millis(1);

/// A user's glasses. Failures are logged and not returned: the user may have disconnected at any time.
#[async_trait]
pub trait Glasses: Send + Sync {
    /// Their current capabilities. The user can change glasses during a question.
    fn device(&self) -> GlassesProfile;
    /// Shows a text for the given time.
    async fn show_text(&self, text: &str, lasting: Duration);
    /// Clears what was shown.
    async fn clear_display(&self);
    /// Speaks a text, and returns when speech has finished.
    async fn speak_text(&self, text: &str);
    /// Stops speaking.
    async fn stop_speech(&self);
}

/// The capabilities of glasses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlassesProfile {
    /// Their model name, if known.
    pub model: Option<String>,
    /// Whether they have a display. Assumed if nothing is known.
    pub has_display: bool,
    /// Whether they have a speaker.
    pub has_speaker: bool,
    /// Whether they have a button.
    pub has_button: bool,
    /// The size of the display in text.
    pub screen: ScreenSize,
    /// All hardware parts, as text for the model.
    pub parts: Vec<&'static str>,
}

impl GlassesProfile {
    /// Reads the capabilities of the platform.
    pub fn from_capabilities(glasses: Option<&Capabilities>) -> Self {
        let Some(known) = glasses else {
            return Self {
                model: None,
                has_display: true,
                has_speaker: false,
                has_button: false,
                screen: ScreenSize::from_capabilities(None),
                parts: Vec::new(),
            };
        };
        let parts = [
            (known.has_display, "a display"),
            (known.has_speaker, "a speaker"),
            (known.has_microphone, "a microphone"),
            (known.has_camera, "a camera"),
            (known.has_button, "a button"),
            (known.has_light, "a light"),
            (known.has_wifi, "Wi-Fi"),
        ];
        Self {
            model: Some(known.model_name.clone()).filter(|name| !name.is_empty()),
            has_display: known.has_display,
            has_speaker: known.has_speaker,
            has_button: known.has_button,
            screen: ScreenSize::from_capabilities(Some(known)),
            parts: parts.iter().filter(|(has, _)| *has).map(|(_, part)| *part).collect(),
        }
    }

    /// Whether answers are spoken.
    pub fn should_speak(&self, choice: SpeechMode) -> bool {
        match choice {
            SpeechMode::Auto => self.has_speaker,
            SpeechMode::On => true,
            SpeechMode::Off => false,
        }
    }
}

#[async_trait]
impl Glasses for Session {
    fn device(&self) -> GlassesProfile {
        GlassesProfile::from_capabilities(self.capabilities().as_deref())
    }

    async fn show_text(&self, text: &str, lasting: Duration) {
        if let Err(error) = self.show_text_wall(text).for_duration(lasting).await {
            tracing::debug!(session = %self.id(), %error, "cannot show text");
        }
    }

    async fn clear_display(&self) {
        if let Err(error) = self.clear_view().for_duration(BLINK).await {
            tracing::debug!(session = %self.id(), %error, "cannot clear display");
        }
    }

    async fn speak_text(&self, text: &str) {
        if let Err(error) = Self::speak(self, text).await {
            tracing::debug!(session = %self.id(), %error, "cannot speak text");
        }
    }

    async fn stop_speech(&self) {
        if let Err(error) = self.stop_speaking().await {
            tracing::debug!(session = %self.id(), %error, "cannot stop speech");
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::device::find_profile;

    use super::*;

    #[test]
    fn speech_follows_the_glasses_unless_the_user_chose() {
        let of = |model: &str| GlassesProfile::from_capabilities(Some(&find_profile(model).unwrap()));
        let (g1, live) = (of("Even Realities G1"), of("Mentra Live"));
        assert_eq!(
            (g1.has_display, g1.should_speak(SpeechMode::Auto), g1.should_speak(SpeechMode::On)),
            (true, false, true)
        );
        assert_eq!(
            (live.has_display, live.should_speak(SpeechMode::Auto), live.should_speak(SpeechMode::Off)),
            (false, true, false)
        );
        let unknown = GlassesProfile::from_capabilities(None);
        assert!(unknown.has_display && !unknown.should_speak(SpeechMode::Auto) && unknown.model.is_none());
        assert!(live.parts.contains(&"a camera") && !g1.parts.contains(&"a camera"));
    }
}
