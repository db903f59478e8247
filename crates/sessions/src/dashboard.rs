//! The dashboard: what the wearer sees when looking up. Each app writes its own lines. The app that the operator
//! configured as the dashboard app writes the system corners and sets the mode. The device receives it as a picture for
//! the view `dashboard`.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use toolyard_protocol::{
    PackageName,
    session::{DisplayView, Layout, MessageFields, ToApp, ToDevice, device_messages::DeviceDisplay},
};

use crate::{
    live_stream::fields_of,
    outbox::StateKey,
    run::AppRun,
    sessions::Sessions,
    user::{LiveUser, UserState},
};

/// Longest text of one app or corner, in characters; glasses show a few lines.
const MAX_CONTENT_CHARS: usize = 500;

/// How much of the dashboard is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum DashboardMode {
    /// The corners, and one line for each app.
    #[default]
    Main,
    /// The longer texts of the apps.
    Expanded,
}

impl DashboardMode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Expanded => "expanded",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Main, Self::Expanded].into_iter().find(|mode| mode.as_str() == name)
    }
}

/// The texts of one app, for each mode.
#[derive(Debug, Default)]
struct AppContent {
    main: Option<String>,
    expanded: Option<String>,
}

/// The dashboard of one user.
#[derive(Debug, Default)]
pub(crate) struct Dashboard {
    mode: DashboardMode,
    head_up: bool,
    /// Top left, top right, bottom left, bottom right.
    corners: [Option<String>; 4],
    content: BTreeMap<PackageName, AppContent>,
    /// Whether the device currently shows a dashboard.
    shown: bool,
}

impl Dashboard {
    /// Called for a new device, which shows nothing yet.
    pub(crate) fn mark_not_shown(&mut self) {
        self.shown = false;
    }

    fn is_empty(&self) -> bool {
        self.content.is_empty() && self.corners.iter().all(Option::is_none)
    }

    fn set_content(&mut self, package: &PackageName, text: &str, modes: &[DashboardMode]) {
        let text: String = text.chars().take(MAX_CONTENT_CHARS).collect();
        let text = Some(text).filter(|text| !text.is_empty());
        let content = self.content.entry(package.clone()).or_default();
        for mode in modes {
            match mode {
                DashboardMode::Main => content.main.clone_from(&text),
                DashboardMode::Expanded => content.expanded.clone_from(&text),
            }
        }
        if content.main.is_none() && content.expanded.is_none() {
            self.content.remove(package);
        }
    }

    fn to_layout(&self, battery: Option<String>) -> Layout {
        if self.is_empty() {
            return Layout::ClearView;
        }
        let apps = |of: fn(&AppContent) -> Option<&String>| self.content.values().filter_map(of).cloned();
        match self.mode {
            DashboardMode::Expanded => {
                let long = apps(|content| content.expanded.as_ref().or(content.main.as_ref()));
                Layout::TextWall { text: long.collect::<Vec<_>>().join("\n") }
            }
            DashboardMode::Main => {
                let [top_left, top_right, bottom_left, bottom_right] = self.corners.clone();
                let left = [top_left, bottom_left].into_iter().flatten().chain(battery);
                let right = [top_right, bottom_right]
                    .into_iter()
                    .flatten()
                    .chain(apps(|content| content.main.as_ref()));
                Layout::DashboardCard {
                    left_text: left.collect::<Vec<_>>().join("\n"),
                    right_text: right.collect::<Vec<_>>().join("\n"),
                }
            }
        }
    }
}

impl Sessions {
    /// Sets the lines of an app.
    pub(crate) fn write_dashboard(
        &self,
        live: &Arc<LiveUser>,
        package: &PackageName,
        fields: &MessageFields,
    ) {
        let modes: Vec<_> = match fields.0.get("modes") {
            Some(Value::Array(modes)) => {
                modes.iter().filter_map(Value::as_str).filter_map(DashboardMode::from_name).collect()
            }
            _ => vec![DashboardMode::Main],
        };
        let mut state = live.lock();
        state.dashboard.set_content(package, fields.str_field("content").unwrap_or_default(), &modes);
        self.redraw_dashboard(&mut state);
    }

    /// Sets a corner. For the dashboard app only.
    pub(crate) fn write_corner(&self, live: &Arc<LiveUser>, fields: &MessageFields) {
        let corners = ["topLeft", "topRight", "bottomLeft", "bottomRight"];
        let place =
            fields.str_field("section").and_then(|named| corners.iter().position(|one| *one == named));
        let text: String =
            fields.str_field("content").unwrap_or_default().chars().take(MAX_CONTENT_CHARS).collect();
        let mut state = live.lock();
        if let Some(corner) = place.and_then(|place| state.dashboard.corners.get_mut(place)) {
            *corner = Some(text).filter(|text| !text.is_empty());
            self.redraw_dashboard(&mut state);
        }
    }

    /// Sets the mode. For the dashboard app only.
    pub(crate) fn change_dashboard_mode(&self, live: &Arc<LiveUser>, fields: &MessageFields) {
        let Some(mode) = fields.str_field("mode").and_then(DashboardMode::from_name) else { return };
        let mut state = live.lock();
        if state.dashboard.mode == mode {
            return;
        }
        state.dashboard.mode = mode;
        let message = fields_of(json!({ "mode": mode.as_str() }));
        state.send_device_state(StateKey::DashboardMode, &ToDevice::DashboardModeChange(message));
        send_dashboard_mode(&state);
        self.redraw_dashboard(&mut state);
    }

    /// Notes whether the wearer looks up, at the dashboard.
    pub(crate) fn set_head_up(&self, live: &Arc<LiveUser>, up: bool) {
        let mut state = live.lock();
        if state.dashboard.head_up != up {
            state.dashboard.head_up = up;
            send_dashboard_mode(&state);
        }
    }

    /// Removes the lines of a stopped app.
    pub(crate) fn remove_from_dashboard(&self, state: &mut UserState, package: &PackageName) {
        if state.dashboard.content.remove(package).is_some() {
            self.redraw_dashboard(state);
        }
    }

    /// Sends the current dashboard to the device, if there is one or it has to be cleared.
    pub(crate) fn redraw_dashboard(&self, state: &mut UserState) {
        if state.device.is_none() || (state.dashboard.is_empty() && !state.dashboard.shown) {
            return;
        }
        let battery = state.state.battery_level.as_ref().map(|level| format!("{level} %"));
        let display = DeviceDisplay {
            package_name: PackageName::platform(),
            view: DisplayView::Dashboard,
            layout: state.dashboard.to_layout(battery),
            duration_ms: None,
            timestamp: Some(self.timestamp()),
        };
        state.dashboard.shown = !state.dashboard.is_empty();
        state.send_device_state(StateKey::Dashboard, &ToDevice::DisplayEvent(display));
    }
}

/// Sends the visible mode to the apps; `none` if the wearer does not look up.
fn send_dashboard_mode(state: &UserState) {
    let Dashboard { mode, head_up, .. } = &state.dashboard;
    let mode = if *head_up { mode.as_str() } else { "none" };
    let message = ToApp::DashboardModeChanged(fields_of(json!({ "mode": mode }))).to_text();
    for outbox in state.apps.values().filter_map(AppRun::outbox) {
        outbox.send_latest(StateKey::DashboardMode, message.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> PackageName {
        text.parse().unwrap()
    }

    #[test]
    fn each_app_has_its_lines_and_the_mode_says_which() {
        let mut dashboard = Dashboard::default();
        assert_eq!(dashboard.to_layout(None), Layout::ClearView);
        dashboard.set_content(&name("todo"), "3 open", &[DashboardMode::Main]);
        dashboard.set_content(&name("todo"), "milk, eggs, bread", &[DashboardMode::Expanded]);
        dashboard.set_content(&name("news"), "rain", &[DashboardMode::Main]);
        dashboard.corners[0] = Some("12:00".to_owned());
        let card = |left: &str, right: &str| Layout::DashboardCard {
            left_text: left.to_owned(),
            right_text: right.to_owned(),
        };
        assert_eq!(dashboard.to_layout(Some("81 %".to_owned())), card("12:00\n81 %", "rain\n3 open"));
        dashboard.mode = DashboardMode::Expanded;
        assert_eq!(
            dashboard.to_layout(None),
            Layout::TextWall { text: "rain\nmilk, eggs, bread".to_owned() }
        );
        dashboard.set_content(&name("news"), "", &[DashboardMode::Main]);
        assert_eq!(dashboard.to_layout(None), Layout::TextWall { text: "milk, eggs, bread".to_owned() });
    }

    #[test]
    fn long_texts_are_truncated() {
        let mut dashboard = Dashboard::default();
        dashboard.set_content(&name("todo"), &"é".repeat(MAX_CONTENT_CHARS + 1), &[DashboardMode::Main]);
        let Layout::DashboardCard { right_text, .. } = dashboard.to_layout(None) else { panic!() };
        assert_eq!(right_text.chars().count(), MAX_CONTENT_CHARS);
    }
}
