//! Rows of the change log.

use jiff::Timestamp;
use toolyard_core::ports::{Announcement, Change};

use super::to_u64;

/// Changes that are kept. A node that missed more drops all of its caches.
pub(crate) const KEPT_CHANGES: i64 = 10_000;

/// The announcement of a row.
pub(crate) fn read_change(version: i64, kind: &str, subject: &str, detail: &str) -> Announcement {
    // A newer node may write kinds that this one does not know.
    let change = parse_change(kind, subject, detail).unwrap_or(Change::Everything);
    Announcement { version: to_u64(version), change }
}

fn parse_change(kind: &str, subject: &str, detail: &str) -> Option<Change> {
    let package = || subject.parse().ok();
    let user = || subject.parse().ok();
    Some(match kind {
        "app_changed" => Change::AppChanged(package()?),
        "app_removed" => Change::AppRemoved(package()?),
        "app_uninstalled" => Change::AppUninstalled { user: user()?, package: detail.parse().ok()? },
        "app_settings_changed" => Change::AppSettingsChanged { user: user()?, package: detail.parse().ok()? },
        "upstream_changed" => Change::UpstreamChanged(package()?),
        "upstream_removed" => Change::UpstreamRemoved(package()?),
        "upstream_offer_changed" => Change::UpstreamOfferChanged(package()?),
        "authorization_changed" => {
            Change::AuthorizationChanged { user: user()?, package: detail.parse().ok()? }
        }
        "view_changed" => Change::ViewChanged(user()?),
        "shared_tools_changed" => Change::SharedToolsChanged,
        "platform_settings_changed" => Change::PlatformSettingsChanged(user()?),
        "token_issued" => Change::TokenIssued { subject: subject.into() },
        "token_revoked" => {
            let (expires_at, token_subject) = detail.split_once(' ')?;
            let expires_at = Timestamp::from_millisecond(expires_at.parse().ok()?).ok()?;
            Change::TokenRevoked { id: subject.parse().ok()?, subject: token_subject.into(), expires_at }
        }
        "user_disabled" => Change::UserDisabled(user()?),
        "user_enabled" => Change::UserEnabled(user()?),
        "plugin_catalogue_changed" => Change::PluginCatalogueChanged,
        "plugin_lists_changed" => Change::PluginListsChanged,
        "approval_requested" => Change::ApprovalRequested { user: user()?, id: detail.parse().ok()? },
        "approval_answered" => Change::ApprovalAnswered { user: user()?, id: detail.parse().ok()? },
        "approval_rules_changed" => Change::ApprovalRulesChanged(user()?),
        "definitions_changed" => Change::DefinitionsChanged(package()?),
        "approval_policy_changed" => Change::ApprovalPolicyChanged,
        _ => return None,
    })
}
