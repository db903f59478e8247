//! Notices for the wearer: a failed start is shown on the device.

use tokio::time::Instant;
use toolyard_protocol::{
    PackageName, UserId,
    session::{DisplayEvent, DisplayView, Layout},
};

use crate::sessions::Sessions;

impl Sessions {
    /// Shows on the device why an app did not start.
    pub fn show_start_failure(&self, user: &UserId, package: &PackageName, why: &str) {
        let Some(live) = self.find_user(user) else { return };
        let layout =
            Layout::ReferenceCard { title: format!("{package} did not start"), text: why.to_owned() };
        let event = DisplayEvent { view: DisplayView::Main, layout, duration_ms: None, force_display: None };
        let mut state = live.lock();
        let shown = state.screen.show_notice(package, event, Instant::now(), self.parts().settings.overlay);
        self.send_picture(&state, Some(shown));
        self.set_screen_timer(&live, &mut state);
    }
}
