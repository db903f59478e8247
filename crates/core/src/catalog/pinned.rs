//! Applies pins when a package is loaded. A cached package needs no store access.

use std::collections::HashSet;

use toolyard_protocol::UserId;

use super::{
    Catalog,
    app::{AppEntry, EntryKey},
};
use crate::{
    pinning::{HeldTool, PinMode, PinnedPages, list_pinned},
    ports::{PackagePins, StoreError, StoredOffer, StoredToolSet},
};

/// What pinning adds to an entry.
#[derive(Default)]
pub(super) struct PinnedParts {
    held: Vec<HeldTool>,
    separate_users: HashSet<UserId>,
}

impl PinnedParts {
    pub(super) fn add_to(self, entry: &mut AppEntry) {
        entry.hold_back(self.held);
        entry.separate_users = self.separate_users;
    }
}

impl Catalog {
    /// Replaces the tools of an upstream's offer by the accepted ones.
    pub(super) async fn pin_offer(
        &self,
        key: &EntryKey,
        stored: Option<&mut StoredOffer>,
    ) -> Result<(PinnedParts, PinnedPages), StoreError> {
        let policy = self.ports.pinning;
        if policy.upstreams != PinMode::Quarantine {
            return Ok(Default::default());
        }
        let pins = self.ports.stores.pins.find_pins(&key.package, key.user.as_ref()).await?;
        let mut parts =
            PinnedParts { separate_users: self.users_with_pins(key).await?, ..Default::default() };
        if let Some(stored) = stored {
            let listing = list_pinned(&stored.offer.tools, &pins, policy.first_use);
            stored.offer.tools = listing.tools;
            parts.held = listing.held;
        }
        // A package that was never reviewed has no pages to enforce yet.
        let pages =
            if pins.first_seen.is_some() { PinnedPages::from_pins(&pins) } else { Default::default() };
        Ok((parts, pages))
    }

    /// Replaces the tools of an app by the accepted ones. Its owner gets the newest.
    pub(super) async fn pin_tool_set(
        &self,
        key: &EntryKey,
        owner: &str,
        set: Option<&mut StoredToolSet>,
    ) -> Result<PinnedParts, StoreError> {
        let is_owner = key.user.as_ref().is_some_and(|user| user.as_str() == owner);
        let Some(set) = set.filter(|_| self.ports.pinning.apps == PinMode::Quarantine && !is_owner) else {
            return Ok(PinnedParts::default());
        };
        let pins: PackagePins = self.ports.stores.pins.find_pins(&key.package, key.user.as_ref()).await?;
        let mut separate_users = self.users_with_pins(key).await?;
        let listing = list_pinned(&set.tools, &pins, Default::default());
        if listing.differs && key.user.is_none() {
            separate_users.extend(owner.parse::<UserId>().ok());
        }
        set.tools = listing.tools;
        Ok(PinnedParts { held: listing.held, separate_users })
    }

    /// Users who accepted changes for themselves. Only the shared entry needs to know them.
    async fn users_with_pins(&self, key: &EntryKey) -> Result<HashSet<UserId>, StoreError> {
        if key.user.is_some() {
            return Ok(HashSet::new());
        }
        Ok(self.ports.stores.pins.users_with_pins(&key.package).await?.into_iter().collect())
    }
}
