//! Changed settings, on their way to running apps.

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
    /// Sends the settings to the app if it runs; otherwise it receives them when it starts.
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
            // SDK 2 also takes this list for the platform settings and loses those, so they are sent again.
            outbox.send_control(platform_update(platform));
        }
    }

    /// Sends changed platform settings to all of the user's apps.
    pub(crate) fn send_platform_settings(&self, user: &UserId, settings: &PlatformSettings) {
        let Some(live) = self.find_user(user) else { return };
        let update = platform_update(settings);
        for outbox in live.lock().apps.values().filter_map(AppRun::outbox) {
            outbox.send_control(update.clone());
        }
    }

    /// The user of an app session, if it belongs to this app.
    pub fn user_of(&self, session: &AppSessionId, app: &PackageName) -> Option<UserId> {
        let entry = self.0.by_session.get(session)?;
        let (user, package) = entry.value();
        (package == app).then(|| user.clone())
    }
}

fn platform_update(settings: &PlatformSettings) -> String {
    ToApp::SystemSettingsUpdate(SystemSettingsUpdate { settings: settings.to_map() }).to_text()
}
