//! How the verbs of the platform change live sessions. Each method is the one of [`Sessions`] with the same name.

use async_trait::async_trait;
use jiff::Timestamp;
use toolyard_core::{
    ToolError,
    ports::{AppRecord, SessionControl, StopError},
};
use toolyard_protocol::{PackageName, UserId, call::AppActivation, session::webhook::StopReason};

use crate::sessions::Sessions;

#[async_trait]
impl SessionControl for Sessions {
    fn keep_alive(&self, user: &UserId) -> bool {
        Sessions::keep_alive(self, user)
    }

    fn is_live(&self, user: &UserId) -> bool {
        Sessions::is_live(self, user)
    }

    fn take_button_press(&self, user: &UserId, since: Timestamp) -> bool {
        Sessions::take_button_press(self, user, since)
    }

    async fn end_session(&self, user: &UserId) -> bool {
        Sessions::end_session(self, user).await
    }

    async fn open_app(&self, user: &UserId, app: AppRecord) -> Result<AppActivation, ToolError> {
        Sessions::open_app(self, user, app).await
    }

    async fn close_app(&self, user: &UserId, package: &PackageName) -> Result<(), StopError> {
        self.stop_app(user, package, StopReason::UserDisabled).await
    }
}
