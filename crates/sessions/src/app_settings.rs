//! The user changed settings of an app or of the platform, or an app asks for them.

use serde_json::Value;
use toolyard_core::ports::AppRecord;
use toolyard_protocol::{
    AppSessionId, PackageName, PlatformSettings, UserId,
    session::{
        ToApp,
        app_messages::{SettingsUpdate, SystemSettingsUpdate},
    },
};

use crate::{run::AppRun, sessions::Sessions};

impl Sessions {
    /// Tells the app, if it runs; otherwise it learns of them when it starts.
    pub(crate) fn send_app_settings(
        &self,
        user: &UserId,
        app: &AppRecord,
        settings: &[Value],
        platform: &PlatformSettings,
    ) {
        let Some(live) = self.find_user(user) else { return };
        let state = live.lock();
        if let Some(outbox) = state.apps.get(&app.package).and_then(AppRun::outbox) {
            let update = SettingsUpdate { package_name: app.package.clone(), settings: settings.to_vec() };
            outbox.send_control(ToApp::SettingsUpdate(update).to_text());
            // SDK 2 takes the list for the settings of the platform as well and loses those, so they follow.
            outbox.send_control(platform_update(platform));
        }
    }

    /// Tells every app of the user that settings of the platform are others.
    pub(crate) fn send_platform_settings(&self, user: &UserId, settings: &PlatformSettings) {
        let Some(live) = self.find_user(user) else { return };
        let update = platform_update(settings);
        for outbox in live.lock().apps.values().filter_map(AppRun::outbox) {
            outbox.send_control(update.clone());
        }
    }

    /// Whose session of that app it is.
    pub fn user_of(&self, session: &AppSessionId, app: &PackageName) -> Option<UserId> {
        let entry = self.0.by_session.get(session)?;
        let (user, package) = entry.value();
        (package == app).then(|| user.clone())
    }
}

fn platform_update(settings: &PlatformSettings) -> String {
    ToApp::SystemSettingsUpdate(SystemSettingsUpdate { settings: settings.to_map() }).to_text()
}
