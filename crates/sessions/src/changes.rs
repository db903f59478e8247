//! How sessions react to changes: a removed app is stopped, and running apps receive new permissions and settings.

use async_trait::async_trait;
use toolyard_core::ports::{Announcement, Change, ChangeSubscriber, StoreError};
use toolyard_protocol::{PackageName, UserId, session::webhook::StopReason};

use crate::sessions::{Sessions, SessionsInner};

#[async_trait]
impl ChangeSubscriber for SessionsInner {
    async fn follow(&self, announcement: &Announcement) {
        let Some(sessions) = Sessions::from_inner(self) else { return };
        if let Err(error) = sessions.follow_change(&announcement.change).await {
            let Announcement { version, change } = announcement;
            tracing::error!(%error, version, ?change, "sessions failed to apply a change");
        }
    }
}

impl Sessions {
    async fn follow_change(&self, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::AppChanged(package) => self.follow_app(package).await?,
            Change::AppRemoved(package) | Change::UpstreamRemoved(package) => {
                self.stop_everywhere(package).await
            }
            Change::AppUninstalled { user, package } => {
                let _ = self.stop_app(user, package, StopReason::UserDisabled).await;
            }
            Change::AppSettingsChanged { user, package } => self.follow_app_settings(user, package).await?,
            Change::PlatformSettingsChanged(user) => {
                let settings = self.parts().stores.preferences.platform_settings(user).await?;
                self.send_platform_settings(user, &settings);
            }
            Change::UserDisabled(user) => drop(self.end_session(user).await),
            Change::Everything => {
                for package in self.running_packages() {
                    self.follow_app(&package).await?;
                }
            }
            Change::UpstreamChanged(_)
            | Change::UpstreamOfferChanged(_)
            | Change::DefinitionsChanged(_)
            | Change::AuthorizationChanged { .. }
            | Change::UpstreamStatusChanged
            | Change::ResourceUpdated { .. }
            | Change::ViewChanged(_)
            | Change::SharedToolsChanged
            | Change::TokenIssued { .. }
            | Change::TokenRevoked { .. }
            | Change::UserEnabled(_)
            | Change::PluginCatalogueChanged
            | Change::PluginListsChanged
            | Change::ApprovalRequested { .. }
            | Change::ApprovalAnswered { .. }
            | Change::ApprovalEnded { .. }
            | Change::ApprovalRulesChanged(_)
            | Change::ApprovalPolicyChanged => {}
        }
        Ok(())
    }

    /// Gives running apps their new record, or stops them if the app was removed.
    async fn follow_app(&self, package: &PackageName) -> Result<(), StoreError> {
        if !self.is_running(package) {
            return Ok(());
        }
        match self.parts().stores.apps.find_app(package).await? {
            Some(record) => self.app_changed(&record),
            None => self.stop_everywhere(package).await,
        }
        Ok(())
    }

    async fn follow_app_settings(&self, user: &UserId, package: &PackageName) -> Result<(), StoreError> {
        let runs = self.find_user(user).is_some_and(|live| live.lock().apps.contains_key(package));
        if !runs {
            return Ok(());
        }
        let stores = &self.parts().stores;
        if let Some(record) = stores.apps.find_app(package).await? {
            let settings = self.settings_of(user, &record).await?;
            let platform = stores.preferences.platform_settings(user).await?;
            self.send_app_settings(user, &record, &settings, &platform);
        }
        Ok(())
    }

    fn is_running(&self, package: &PackageName) -> bool {
        self.0.users.iter().any(|live| live.lock().apps.contains_key(package))
    }

    fn running_packages(&self) -> std::collections::BTreeSet<PackageName> {
        let packages = |live: &crate::user::LiveUser| live.lock().apps.keys().cloned().collect::<Vec<_>>();
        self.0.users.iter().flat_map(|live| packages(&live)).collect()
    }
}
