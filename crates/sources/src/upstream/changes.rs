//! How connections follow changes of the stores.

use async_trait::async_trait;
use toolyard_core::ports::{Announcement, Change, ChangeSubscriber};

use super::UpstreamSource;

#[async_trait]
impl ChangeSubscriber for UpstreamSource {
    async fn follow(&self, announcement: &Announcement) {
        let Some(source) = self.me.upgrade() else { return };
        match &announcement.change {
            Change::UpstreamChanged(package) => source.follow_record(package).await,
            Change::UpstreamRemoved(package) => source.remove_upstream(package),
            Change::AppUninstalled { user, package } | Change::AuthorizationChanged { user, package } => {
                source.follow_authorization(package, user);
            }
            Change::Everything => {
                let known: Vec<_> = source.connected.iter().map(|one| one.key().clone()).collect();
                for package in known {
                    source.follow_record(&package).await;
                }
                if let Err(error) = source.start().await {
                    tracing::error!(%error, "upstreams could not be read from the store");
                }
            }
            Change::AppChanged(_)
            | Change::AppRemoved(_)
            | Change::AppSettingsChanged { .. }
            | Change::UpstreamOfferChanged(_)
            | Change::DefinitionsChanged(_)
            | Change::UpstreamStatusChanged
            | Change::ResourceUpdated { .. }
            | Change::ViewChanged(_)
            | Change::SharedToolsChanged
            | Change::PlatformSettingsChanged(_)
            | Change::TokenIssued { .. }
            | Change::TokenRevoked { .. }
            | Change::UserDisabled(_)
            | Change::UserEnabled(_)
            | Change::PluginCatalogueChanged
            | Change::PluginListsChanged
            | Change::ApprovalRequested { .. }
            | Change::ApprovalAnswered { .. }
            | Change::ApprovalEnded { .. }
            | Change::ApprovalRulesChanged(_)
            | Change::ApprovalPolicyChanged => {}
        }
    }
}
