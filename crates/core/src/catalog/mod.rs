//! Who sees which tools.
//!
//! [`Catalog::view`] answers from a cache; a view is made anew when one of its apps, the user's installs or settings, or
//! the device changed. How a stale view is noticed without a look at the store:
//! - each user has a slot with a generation, which every change of that user's view raises;
//! - one epoch for all apps, which every change of an app raises; a view of an older epoch looks whether its own apps
//!   changed, and is kept where they did not.
//!
//! Generation and epoch are read before loading, so a change during the load makes the result stale, never unnoticed.

mod app;
mod tool;
mod view;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwapOption;
use dashmap::DashMap;
use tokio::time::{Duration, Instant};
use toolyard_protocol::{PackageName, UserId, device};

pub(crate) use self::tool::size_of;
use self::view::{UserView, ViewBuilder};
pub use self::{
    app::{AppEntry, check_set},
    tool::{AppHead, Gauge, Permit, Tool},
    view::{CatalogView, Listing, Scope},
};
use crate::ports::{Apps, Change, Definitions, Install, Installs, Presence, Settings, Signals, StoreError};

/// A view that nobody asked for in this time is dropped.
const IDLE: Duration = Duration::from_secs(600);

/// What the catalog reads from.
pub struct CatalogPorts {
    /// Apps.
    pub apps: Arc<dyn Apps>,
    /// Their tools.
    pub definitions: Arc<dyn Definitions>,
    /// Who installed what.
    pub installs: Arc<dyn Installs>,
    /// What is switched off.
    pub settings: Arc<dyn Settings>,
    /// Devices.
    pub presence: Arc<dyn Presence>,
}

/// Everything that can be called, and who sees what of it.
pub struct Catalog {
    ports: CatalogPorts,
    apps: DashMap<PackageName, Arc<AppEntry>>,
    slots: DashMap<PackageName, Arc<AppSlot>>,
    users: DashMap<UserId, Arc<UserSlot>>,
    epoch: AtomicU64,
    revision: AtomicU64,
    started: Instant,
}

/// What outlives a revision of an app.
#[derive(Default)]
struct AppSlot {
    gauge: Arc<Gauge>,
    /// One load at a time: after a change everybody asks at once, and a large app is large in every copy.
    loading: tokio::sync::Mutex<()>,
}

struct UserSlot {
    generation: AtomicU64,
    /// One build at a time; whoever waited finds it done.
    building: tokio::sync::Mutex<()>,
    gauge: Arc<Gauge>,
    cached: ArcSwapOption<CachedView>,
}

struct CachedView {
    generation: u64,
    epoch: AtomicU64,
    last_used: AtomicU64,
    view: Arc<UserView>,
}

impl Catalog {
    /// A catalog that hears of changes.
    pub fn new(ports: CatalogPorts, signals: &dyn Signals) -> Arc<Self> {
        let catalog = Arc::new(Self {
            ports,
            apps: DashMap::new(),
            slots: DashMap::new(),
            users: DashMap::new(),
            epoch: AtomicU64::new(0),
            revision: AtomicU64::new(0),
            started: Instant::now(),
        });
        let hears = Arc::downgrade(&catalog);
        signals.listen(Box::new(move |change| {
            if let Some(catalog) = hears.upgrade() {
                catalog.changed(change);
            }
        }));
        catalog
    }

    /// What the user can see, restricted to a scope.
    pub async fn view(&self, user: &UserId, scope: Scope) -> Result<CatalogView, StoreError> {
        let slot = self.slot(user);
        if let Some(view) = self.cached(&slot) {
            return Ok(CatalogView::new(view, scope));
        }
        let _one_at_a_time = slot.building.lock().await;
        if let Some(view) = self.cached(&slot) {
            return Ok(CatalogView::new(view, scope));
        }
        let (generation, epoch) =
            (slot.generation.load(Ordering::Acquire), self.epoch.load(Ordering::Acquire));
        let view = Arc::new(self.build(user, &slot).await?);
        let cached = CachedView {
            generation,
            epoch: AtomicU64::new(epoch),
            last_used: AtomicU64::new(self.now_s()),
            view: view.clone(),
        };
        slot.cached.store(Some(Arc::new(cached)));
        Ok(CatalogView::new(view, scope))
    }

    /// One app, from the cache or the store.
    pub async fn app(&self, package: &PackageName) -> Result<Option<Arc<AppEntry>>, StoreError> {
        if let Some(entry) = self.apps.get(package).map(|entry| entry.clone()) {
            return Ok(Some(entry));
        }
        let slot = self.slots.entry(package.clone()).or_default().clone();
        let _one_at_a_time = slot.loading.lock().await;
        if let Some(entry) = self.apps.get(package).map(|entry| entry.clone()) {
            return Ok(Some(entry));
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        let Some(record) = self.ports.apps.find(package).await? else {
            // Names that somebody only tried leave nothing behind.
            self.slots.remove(package);
            return Ok(None);
        };
        let set = self.ports.definitions.version(package, record.tools_version).await?;
        let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        let entry = Arc::new(AppEntry::new(record, revision, slot.gauge.clone(), set.as_ref()));
        // Loaded while some app changed: good for this answer, too doubtful to keep. Looked at under the lock of the entry,
        // so that a change either is seen here or removes what is put here.
        let place = self.apps.entry(package.clone());
        if self.epoch.load(Ordering::Acquire) == epoch {
            place.insert(entry.clone());
        }
        Ok(Some(entry))
    }

    /// Drops views that nobody asked for lately. Called now and then, so that memory stays bounded.
    pub fn forget_idle(&self) {
        let idle_before = self.now_s().saturating_sub(IDLE.as_secs());
        self.users.retain(|_, slot| {
            let used = slot
                .cached
                .load()
                .as_ref()
                .is_some_and(|c| c.last_used.load(Ordering::Relaxed) >= idle_before);
            used || slot.gauge.now() > 0
        });
    }

    /// How many views are cached.
    pub fn cached_views(&self) -> usize {
        self.users.len()
    }

    /// Seconds since the start: what idleness is measured in.
    fn now_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    fn changed(&self, change: &Change) {
        match change {
            Change::App(package) => {
                // Raised before, so that nobody keeps what they loaded before the change; and after, so that a view which
                // was looked at in between, and found good, is looked at again.
                self.epoch.fetch_add(1, Ordering::AcqRel);
                self.apps.remove(package);
                self.epoch.fetch_add(1, Ordering::AcqRel);
            }
            Change::View(user) => {
                if let Some(slot) = self.users.get(user) {
                    slot.generation.fetch_add(1, Ordering::AcqRel);
                }
            }
        }
    }

    fn slot(&self, user: &UserId) -> Arc<UserSlot> {
        if let Some(slot) = self.users.get(user) {
            return slot.clone();
        }
        let new = || UserSlot {
            generation: AtomicU64::new(0),
            building: tokio::sync::Mutex::new(()),
            gauge: Arc::default(),
            cached: ArcSwapOption::empty(),
        };
        self.users.entry(user.clone()).or_insert_with(|| Arc::new(new())).clone()
    }

    fn cached(&self, slot: &UserSlot) -> Option<Arc<UserView>> {
        let cached = slot.cached.load();
        let cached = cached.as_ref()?;
        if cached.generation != slot.generation.load(Ordering::Acquire) {
            return None;
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        if cached.epoch.load(Ordering::Acquire) != epoch {
            let current = |app: &Arc<AppEntry>| {
                self.apps.get(app.head.package()).is_some_and(|now| Arc::ptr_eq(&now, app))
            };
            if !cached.view.apps.iter().all(current) {
                return None;
            }
            cached.epoch.store(epoch, Ordering::Release);
        }
        cached.last_used.store(self.now_s(), Ordering::Relaxed);
        Some(cached.view.clone())
    }

    async fn build(&self, user: &UserId, slot: &UserSlot) -> Result<UserView, StoreError> {
        let capabilities = self.ports.presence.session(user).and_then(|session| session.capabilities);
        let off = self.ports.settings.tools_off(user).await?;
        let mut view = ViewBuilder::new(user.clone(), slot.gauge.clone());
        for Install { package, .. } in self.ports.installs.of(user).await? {
            let Some(app) = self.app(&package).await? else { continue };
            view.depends_on(&app);
            let requirements = &app.head.record.details.hardware_requirements;
            let missing = device::check(requirements, capabilities.as_deref());
            let misfit =
                missing.reason(capabilities.as_ref().map_or("the device", |c| c.model_name.as_str()));
            for tool in &app.tools {
                match &misfit {
                    Some(reason) => view.hide(tool, reason),
                    None if off.contains(&tool.name) => view.hide(tool, "switched off by the user"),
                    None => view.show(tool),
                }
            }
        }
        Ok(view.build())
    }
}
