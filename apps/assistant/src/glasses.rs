//! Where answers go: the port to a user's glasses, and what is known of them.

use std::time::Duration;

use async_trait::async_trait;
use toolyard_app_sdk::{Capabilities, Session};

use crate::{choices::SpeechMode, page::ScreenSize};

/// How long nothing is shown, before whatever is beneath comes back: the app in front keeps its picture.
const BLINK: Duration = Duration::from_millis(1);

/// A user's glasses. What cannot be shown or spoken is written to the log and is no error: the user has walked away.
#[async_trait]
pub trait Glasses: Send + Sync {
    /// What they are now. Glasses can change while somebody is asked.
    fn device(&self) -> GlassesProfile;
    /// Shows a text for that time.
    async fn show_text(&self, text: &str, lasting: Duration);
    /// Takes away what was shown.
    async fn clear_display(&self);
    /// Speaks a text, and returns when it was spoken.
    async fn speak_text(&self, text: &str);
    /// Stops speaking.
    async fn stop_speech(&self);
}

/// What is known of some glasses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlassesProfile {
    /// Their name, where the platform knows it.
    pub model: Option<String>,
    /// Whether something can be shown. Where nothing is known, it is tried.
    pub has_display: bool,
    /// Whether something can be spoken.
    pub has_speaker: bool,
    /// How much text fits.
    pub screen: ScreenSize,
    /// What else they have, in words for a model.
    pub parts: Vec<&'static str>,
}

impl GlassesProfile {
    /// Reads what the platform says.
    pub fn from_capabilities(glasses: Option<&Capabilities>) -> Self {
        let Some(known) = glasses else {
            return Self {
                model: None,
                has_display: true,
                has_speaker: false,
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
            tracing::debug!(session = %self.id(), %error, "not shown");
        }
    }

    async fn clear_display(&self) {
        if let Err(error) = self.clear_view().for_duration(BLINK).await {
            tracing::debug!(session = %self.id(), %error, "not cleared");
        }
    }

    async fn speak_text(&self, text: &str) {
        if let Err(error) = Self::speak(self, text).await {
            tracing::debug!(session = %self.id(), %error, "not spoken");
        }
    }

    async fn stop_speech(&self) {
        if let Err(error) = self.stop_speaking().await {
            tracing::debug!(session = %self.id(), %error, "not stopped");
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
