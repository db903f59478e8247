//! The developer changed an app's permissions: running apps are bound by them at once.

use std::sync::Arc;

use toolyard_core::ports::AppRecord;
use toolyard_protocol::stream::Permission;

use crate::{app_socket::streams_refused, sessions::Sessions};

impl Sessions {
    /// Applies a changed record to all runs of the app. Streams that it may no longer receive or send end, and it is
    /// notified.
    pub(crate) fn app_changed(&self, record: &AppRecord) {
        let record = Arc::new(record.clone());
        let live: Vec<_> = self.0.users.iter().map(|live| live.value().clone()).collect();
        for live in live {
            let mut state = live.lock();
            let Some(run) = state.apps.get_mut(&record.package) else { continue };
            let dropped = run.change_record(record.clone());
            let films = run.permissions().has_permission(Permission::Camera);
            if !dropped.is_empty() {
                state.send_to_app(&record.package, &streams_refused(&dropped));
            }
            if !films {
                self.end_stream(&mut state, &record.package);
            }
            self.update_microphone(&mut state);
        }
    }
}
