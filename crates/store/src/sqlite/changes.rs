//! The change log. Triggers write it; see `migrations/0016_changes.sql`.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::SqlitePool;
use toolyard_core::ports::{Announcement, Change, StoreError};

use super::{rows::to_u64, store_error};
use crate::announcements::ChangeLog;

/// Changes that are kept. A node that missed more drops all of its caches.
pub(super) const KEPT_CHANGES: i64 = 10_000;

/// The version of the last change. Correct even if every row was pruned, because the numbers continue.
pub(super) async fn latest_version(pool: &SqlitePool) -> Result<u64, StoreError> {
    let sql = "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)";
    let latest: i64 = sqlx::query_scalar(sql).fetch_one(pool).await.map_err(store_error)?;
    Ok(to_u64(latest))
}

/// Reads the log.
pub(crate) struct SqliteChangeLog(pub(super) SqlitePool);

#[async_trait]
impl ChangeLog for SqliteChangeLog {
    async fn latest_version(&self) -> Result<u64, StoreError> {
        latest_version(&self.0).await
    }

    async fn changes_since(&self, version: u64, limit: u32) -> Result<Option<Vec<Announcement>>, StoreError> {
        let after = i64::try_from(version).unwrap_or(i64::MAX);
        let sql =
            "SELECT version, kind, subject, detail FROM changes WHERE version > ? ORDER BY version LIMIT ?";
        let rows = sqlx::query_as::<_, (i64, String, String, String)>(sql).bind(after).bind(limit);
        let rows = rows.fetch_all(&self.0).await.map_err(store_error)?;
        let is_complete = match rows.first() {
            Some((first, ..)) => *first == after + 1,
            None => self.latest_version().await? <= version,
        };
        if !is_complete {
            return Ok(None);
        }
        let announcements = rows.into_iter().map(|(version, kind, subject, detail)| Announcement {
            version: to_u64(version),
            // A newer node may write kinds that this one does not know.
            change: read_change(&kind, &subject, &detail).unwrap_or(Change::Everything),
        });
        Ok(Some(announcements.collect()))
    }
}

fn read_change(kind: &str, subject: &str, detail: &str) -> Option<Change> {
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
