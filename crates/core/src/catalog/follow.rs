//! How the catalog reacts to changes: stale packages and views are dropped and rebuilt on the next request.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use toolyard_protocol::UserId;

use super::{Catalog, app::EntryKey};
use crate::ports::{AffectedViews, Change, ChangeSubscriber};

#[async_trait]
impl ChangeSubscriber for Catalog {
    fn invalidate(&self, change: &Change) {
        match change.affected_views() {
            AffectedViews::None => {}
            AffectedViews::Package(package) => self.drop_entries(|key| key.package == *package),
            AffectedViews::User(user) => self.drop_view(user),
            AffectedViews::UserPackage(user, package) => {
                self.drop_entries(|key| key.package == *package && key.user.as_ref() == Some(user));
                self.drop_view(user);
            }
            AffectedViews::All => {
                if *change == Change::Everything {
                    self.drop_entries(|_| true);
                }
                self.shared_generation.fetch_add(1, Ordering::AcqRel);
            }
        }
    }
}

impl Catalog {
    /// Drops stale packages. The epoch is raised before the removal, so that an entry loaded before the change is not
    /// cached, and again after it, so that a view which was checked in between is checked once more.
    fn drop_entries(&self, is_stale: impl Fn(&EntryKey) -> bool) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.apps.retain(|key, _| !is_stale(key));
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    fn drop_view(&self, user: &UserId) {
        if let Some(slot) = self.users.get(user) {
            slot.generation.fetch_add(1, Ordering::AcqRel);
            // The view is large and can never be used again; free it now because the user may not come back.
            slot.cached.store(None);
        }
    }
}
