//! How the catalog follows changes: stale packages and views are dropped, and built again when they are asked for.

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
    /// Drops packages that are stale. The epoch is raised before, so that what was loaded before the change is not kept; and
    /// after, so that a view which was checked in between, and found current, is checked again.
    fn drop_entries(&self, is_stale: impl Fn(&EntryKey) -> bool) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.apps.retain(|key, _| !is_stale(key));
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    fn drop_view(&self, user: &UserId) {
        if let Some(slot) = self.users.get(user) {
            slot.generation.fetch_add(1, Ordering::AcqRel);
            // Nobody may use it any more, and it is large: the user may just have left for good.
            slot.cached.store(None);
        }
    }
}
