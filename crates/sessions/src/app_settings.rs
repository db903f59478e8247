//! The user changed an app's settings, or an app asks for them.

use serde_json::Value;
use toolyard_core::ports::AppRecord;
use toolyard_protocol::{
    AppSessionId, PackageName, UserId,
    session::{ToApp, app_messages::SettingsUpdate},
};

use crate::{run::Run, sessions::Sessions};

impl Sessions {
    /// Tells the app, if it runs; otherwise it learns of them when it starts.
    pub fn tell_settings(&self, user: &UserId, app: &AppRecord, settings: &[Value]) {
        let Some(live) = self.find(user) else { return };
        let state = live.lock();
        if let Some(outbox) = state.apps.get(&app.package).and_then(Run::outbox) {
            let update = SettingsUpdate { package_name: app.package.clone(), settings: settings.to_vec() };
            outbox.control(ToApp::SettingsUpdate(update).to_text());
        }
    }

    /// Whose session of that app it is.
    pub fn user_of(&self, session: &AppSessionId, app: &PackageName) -> Option<UserId> {
        let entry = self.0.by_session.get(session)?;
        let (user, package) = entry.value();
        (package == app).then(|| user.clone())
    }
}
