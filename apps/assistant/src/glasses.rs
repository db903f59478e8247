//! Where answers go: the port to a user's glasses, and what is known of them.

use std::time::Duration;

use async_trait::async_trait;
use toolyard_app_sdk::{Capabilities, Session};

use crate::{choices::Speak, page::Screen};

/// How long nothing is shown, before whatever is beneath comes back: the app in front keeps its picture.
const BLINK: Duration = Duration::from_millis(1);

/// A user's glasses. What cannot be shown or spoken is written to the log and is no error: the user has walked away.
#[async_trait]
pub trait Glasses: Send + Sync {
    /// What they are now. Glasses can change while somebody is asked.
    fn device(&self) -> Device;
    /// Shows a text for that time.
    async fn show(&self, text: &str, lasting: Duration);
    /// Takes away what was shown.
    async fn clear(&self);
    /// Speaks a text, and returns when it was spoken.
    async fn speak(&self, text: &str);
    /// Stops speaking.
    async fn hush(&self);
}

/// What is known of some glasses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Their name, where the platform knows it.
    pub model: Option<String>,
    /// Whether something can be shown. Where nothing is known, it is tried.
    pub has_display: bool,
    /// Whether something can be spoken.
    pub has_speaker: bool,
    /// How much text fits.
    pub screen: Screen,
    /// What else they have, in words for a model.
    pub parts: Vec<&'static str>,
}

impl Device {
    /// Reads what the platform says.
    pub fn of(glasses: Option<&Capabilities>) -> Self {
        let Some(known) = glasses else {
            return Self {
                model: None,
                has_display: true,
                has_speaker: false,
                screen: Screen::of(None),
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
            screen: Screen::of(Some(known)),
            parts: parts.iter().filter(|(has, _)| *has).map(|(_, part)| *part).collect(),
        }
    }

    /// Whether answers are spoken.
    pub fn speaks(&self, choice: Speak) -> bool {
        match choice {
            Speak::Auto => self.has_speaker,
            Speak::On => true,
            Speak::Off => false,
        }
    }
}

#[async_trait]
impl Glasses for Session {
    fn device(&self) -> Device {
        Device::of(self.capabilities().as_deref())
    }

    async fn show(&self, text: &str, lasting: Duration) {
        if let Err(error) = self.show_text_wall(text).lasting(lasting).await {
            tracing::debug!(session = %self.id(), %error, "not shown");
        }
    }

    async fn clear(&self) {
        if let Err(error) = self.clear_view().lasting(BLINK).await {
            tracing::debug!(session = %self.id(), %error, "not cleared");
        }
    }

    async fn speak(&self, text: &str) {
        if let Err(error) = Self::speak(self, text).await {
            tracing::debug!(session = %self.id(), %error, "not spoken");
        }
    }

    async fn hush(&self) {
        if let Err(error) = self.stop_speaking().await {
            tracing::debug!(session = %self.id(), %error, "not stopped");
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::device::profile;

    use super::*;

    #[test]
    fn speech_follows_the_glasses_unless_the_user_chose() {
        let of = |model: &str| Device::of(Some(&profile(model).unwrap()));
        let (g1, live) = (of("Even Realities G1"), of("Mentra Live"));
        assert_eq!((g1.has_display, g1.speaks(Speak::Auto), g1.speaks(Speak::On)), (true, false, true));
        assert_eq!(
            (live.has_display, live.speaks(Speak::Auto), live.speaks(Speak::Off)),
            (false, true, false)
        );
        let unknown = Device::of(None);
        assert!(unknown.has_display && !unknown.speaks(Speak::Auto) && unknown.model.is_none());
        assert!(live.parts.contains(&"a camera") && !g1.parts.contains(&"a camera"));
    }
}
