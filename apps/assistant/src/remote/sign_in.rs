//! Calls that wait until the user has signed in at the service behind their tool. Nobody signs in with glasses: the user is told
//! to do it on another device, and the call is made again after that.

use toolyard_core::executor::{AwaitedSignIn, CallOutcome};

use super::RemoteTools;
use crate::localization::LocalizedMessage;

impl RemoteTools {
    /// Tells the user to sign in, and waits for it. None if the user has signed in, else the outcome of the call.
    pub(super) async fn settle_sign_in(&self, awaited: &AwaitedSignIn) -> Option<CallOutcome> {
        self.notes.set_waiting(true);
        let signed_in = self.wait_for_sign_in(awaited).await;
        self.notes.set_waiting(false);
        let later = || LocalizedMessage::SignInLater(&awaited.name).to_text(self.language);
        (!signed_in).then(|| self.end_with(later()))
    }

    async fn wait_for_sign_in(&self, awaited: &AwaitedSignIn) -> bool {
        let words = LocalizedMessage::SignInFirst(&awaited.name).to_text(self.language);
        let device = self.glasses.device();
        if device.has_display {
            let shown = format!("{words}\n{}", awaited.url);
            self.glasses.show_text(&shown, self.sign_in_wait).await;
        }
        // A spoken link is of no use.
        if device.should_speak(self.speak) || !device.has_display {
            self.glasses.speak_text(&words).await;
        }
        let waited = self.platform.wait_for_sign_in(&self.user, &awaited.package, self.sign_in_wait).await;
        waited.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot wait for a sign-in");
            false
        })
    }
}
