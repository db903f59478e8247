//! Who sees which tools.
//!
//! [`Catalog::view`] returns a cached view. A view is rebuilt when one of its apps, the user's installs or settings, or
//! the device changed. Stale views are detected without a store access:
//! - each user has a slot with a generation, which every change of that user's view raises;
//! - one epoch covers all apps, and every app change raises it; a view of an older epoch checks whether its own apps
//!   changed, and stays valid if they did not;
//! - a plugin belongs to one user, so it depends on that user's generation only;
//! - one generation counts schemas that proved unusable; tools with such schemas are hidden;
//! - one generation counts changes of the tools that all users share.
//!
//! Generation and epoch are read before loading, so a change during the load always makes the result stale.

mod app;
mod builtin;
mod filter;
mod follow;
mod item;
mod pages;
mod pinned;
mod scope;
mod template;
mod tool;
mod view;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::time::{Duration, Instant};
use toolyard_protocol::{
    PackageName, ToolName, UserId,
    api::HiddenKind,
    device,
    upstream::{UpstreamAuth, upstream_id},
};

pub(crate) use self::tool::result_size;
pub use self::{
    app::{AppEntry, alias_clashes, validate_tool_set, validate_tool_set_on_pool},
    builtin::BuiltinPackage,
    item::{CatalogItem, McpListKind},
    pages::{BadCursor, LIST_TTL_MS},
    scope::{ClientScope, ToolAccess, ViewScope},
    tool::{AppHead, CallGauge, CallPermit, Tool},
    view::{CatalogView, ToolListing, ViewLimits},
};
use self::{
    app::{EntryKey, precheck_schemas, unusable_reason},
    view::{UserView, ViewBuilder},
};
use crate::{
    pinning::PinPolicy,
    ports::{
        AppRecord, ChangeSubscriber, InstalledApp, PluginProvider, SourceKind, StoreError, Stores,
        UserPlugin, UserPresence,
    },
    schema::{
        pool::{SET_TIMEOUT, WorkOwner, WorkPool},
        shared,
    },
};

/// Largest definitions, in bytes, that are parsed inline: a few milliseconds of work.
pub(crate) const MAX_INLINE_LOAD_BYTES: usize = 256 * 1024;
/// Views that are unused for this long are evicted.
const VIEW_IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// The ports that the catalog reads from.
pub struct CatalogPorts {
    /// Apps, tools, installs, switched-off tools and upstream offers.
    pub stores: Stores,
    /// Devices.
    pub presence: Arc<dyn UserPresence>,
    /// Users' plugins, if the operator allows them.
    pub plugins: Option<Arc<dyn PluginProvider>>,
    /// Tools that all users have without installing them.
    pub builtin: Option<BuiltinPackage>,
    /// How definitions are pinned.
    pub pinning: PinPolicy,
}

/// Everything that can be called, and who sees what of it.
pub struct Catalog {
    ports: CatalogPorts,
    limits: ViewLimits,
    apps: DashMap<EntryKey, Arc<AppEntry>>,
    slots: DashMap<PackageName, Arc<AppSlot>>,
    users: DashMap<UserId, Arc<UserSlot>>,
    epoch: AtomicU64,
    shared_generation: AtomicU64,
    revision: AtomicU64,
    started: Instant,
}

/// The state of an app that outlives its revisions.
#[derive(Default)]
struct AppSlot {
    gauge: Arc<CallGauge>,
    /// One load at a time: after a change many requests arrive at once, and each copy of a large app is large.
    loading: tokio::sync::Mutex<()>,
}

struct UserSlot {
    generation: AtomicU64,
    /// One build at a time; requests that waited use its result.
    building: tokio::sync::Mutex<()>,
    gauge: Arc<CallGauge>,
    /// Calls in flight to each of the user's plugins. Outlives the view, which is rebuilt often.
    plugin_gauges: parking_lot::Mutex<HashMap<PackageName, Arc<CallGauge>>>,
    cached: ArcSwapOption<CachedView>,
}

struct CachedView {
    generation: u64,
    shared_generation: u64,
    /// The fault generation of the view: tools with schemas that proved unusable are hidden.
    faults: u64,
    epoch: AtomicU64,
    last_used: AtomicU64,
    view: Arc<UserView>,
}

impl Catalog {
    /// Creates a catalog that subscribes to the changes of these stores.
    pub fn new(ports: CatalogPorts, limits: ViewLimits) -> Arc<Self> {
        let catalog = Arc::new(Self {
            ports,
            limits,
            apps: DashMap::new(),
            slots: DashMap::new(),
            users: DashMap::new(),
            epoch: AtomicU64::new(0),
            shared_generation: AtomicU64::new(0),
            revision: AtomicU64::new(0),
            started: Instant::now(),
        });
        let subscriber: Weak<dyn ChangeSubscriber> = Arc::downgrade(&(catalog.clone() as _));
        catalog.ports.stores.announcements.subscribe(subscriber);
        catalog
    }

    /// The tools that the user can see, restricted to a scope.
    pub async fn view(&self, user: &UserId, scope: ViewScope) -> Result<CatalogView, StoreError> {
        let slot = self.user_slot(user);
        if let Some(view) = self.cached_view(&slot) {
            return Ok(CatalogView::new(view, scope));
        }
        let _one_at_a_time = slot.building.lock().await;
        if let Some(view) = self.cached_view(&slot) {
            return Ok(CatalogView::new(view, scope));
        }
        let (generation, epoch) =
            (slot.generation.load(Ordering::Acquire), self.epoch.load(Ordering::Acquire));
        let shared_generation = self.shared_generation.load(Ordering::Acquire);
        let faults = shared::fault_generation();
        let view = Arc::new(self.build_view(user, &slot).await?);
        let cached = CachedView {
            generation,
            shared_generation,
            faults,
            epoch: AtomicU64::new(epoch),
            last_used: AtomicU64::new(self.now_s()),
            view: view.clone(),
        };
        slot.cached.store(Some(Arc::new(cached)));
        Ok(CatalogView::new(view, scope))
    }

    /// One package, from the cache or the store, as all users share it.
    pub async fn find_app(&self, package: &PackageName) -> Result<Option<Arc<AppEntry>>, StoreError> {
        self.find_entry(EntryKey { package: package.clone(), user: None }).await
    }

    /// One package for this user: an upstream may have a separate offer for each user.
    pub async fn find_app_for(
        &self,
        package: &PackageName,
        user: &UserId,
    ) -> Result<Option<Arc<AppEntry>>, StoreError> {
        let shared = self.find_app(package).await?;
        let knows_users = |entry: &Arc<AppEntry>| {
            entry.separate_users.contains(user)
                || entry.head.record.upstream().is_some_and(|up| up.details.auth == UpstreamAuth::OAuth)
        };
        match shared {
            Some(entry) if knows_users(&entry) => {
                self.find_entry(EntryKey { package: package.clone(), user: Some(user.clone()) }).await
            }
            shared => Ok(shared),
        }
    }

    async fn find_entry(&self, key: EntryKey) -> Result<Option<Arc<AppEntry>>, StoreError> {
        if let Some(entry) = self.apps.get(&key).map(|entry| entry.clone()) {
            return Ok(Some(entry));
        }
        let slot = self.slots.entry(key.package.clone()).or_default().clone();
        let _one_at_a_time = slot.loading.lock().await;
        if let Some(entry) = self.apps.get(&key).map(|entry| entry.clone()) {
            return Ok(Some(entry));
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        let builtin = self.ports.builtin.as_ref().filter(|builtin| builtin.record.package == key.package);
        let found = match builtin {
            Some(builtin) => Some(builtin.record.clone()),
            None => self.ports.stores.apps.find_app(&key.package).await?,
        };
        let Some(record) = found else {
            // Unknown names must leave nothing behind.
            self.slots.remove(&key.package);
            return Ok(None);
        };
        let entry = Arc::new(self.load_entry(&key, record, slot.gauge.clone()).await?);
        // Some app changed during the load: use the entry for this request but do not cache it. The epoch is compared
        // under the lock of the entry, so a change is either seen here or removes the inserted entry.
        let place = self.apps.entry(key);
        if self.epoch.load(Ordering::Acquire) == epoch {
            place.insert(entry.clone());
        }
        Ok(Some(entry))
    }

    async fn load_entry(
        &self,
        key: &EntryKey,
        record: AppRecord,
        gauge: Arc<CallGauge>,
    ) -> Result<AppEntry, StoreError> {
        let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        match record.source() {
            SourceKind::App => {
                let mut set =
                    self.ports.stores.definitions.find_tool_set(&key.package, record.tools_version).await?;
                let pinned = self.pin_tool_set(key, &record.owner, set.as_mut()).await?;
                let bytes = set.as_ref().map_or(0, |set| total_size(&set.tools) + set.items.byte_size());
                let user = key.user.clone();
                run_off_worker(&key.package, bytes, move || {
                    let mut entry = AppEntry::from_app(record, revision, gauge, set.as_ref());
                    entry.key.user = user;
                    pinned.add_to(&mut entry);
                    entry
                })
                .await
            }
            SourceKind::Builtin => {
                let set = self.ports.builtin.as_ref().map(|builtin| &builtin.set);
                Ok(AppEntry::from_app(record, revision, gauge, set))
            }
            SourceKind::Upstream => {
                let mut stored = self.ports.stores.offers.last_offer(&key.package, key.user.as_ref()).await?;
                if stored.is_none() && key.user.is_some() {
                    // The user has not authorized the upstream yet: use its public offer.
                    stored = self.ports.stores.offers.last_offer(&key.package, None).await?;
                }
                let bytes = stored.as_ref().map_or(0, |stored| {
                    let offer = &stored.offer;
                    [&offer.tools, &offer.prompts, &offer.resources, &offer.templates]
                        .into_iter()
                        .map(|list| total_size(list))
                        .sum()
                });
                let (pinned, pages) = self.pin_offer(key, stored.as_mut()).await?;
                if let Some(stored) = &stored {
                    precheck_schemas(&key.package, &stored.offer.tools).await;
                }
                let user = key.user.clone();
                run_off_worker(&key.package, bytes, move || {
                    let mut entry = AppEntry::from_upstream(record, revision, gauge, user, stored, pages);
                    pinned.add_to(&mut entry);
                    entry
                })
                .await
            }
            // Plugins are not stored as packages; they are added to the view of their user.
            SourceKind::Plugin => Ok(AppEntry::from_app(record, revision, gauge, None)),
        }
    }

    /// Evicts idle views. Called periodically, so that memory stays bounded.
    pub fn evict_idle(&self) {
        let idle_before = self.now_s().saturating_sub(VIEW_IDLE_TIMEOUT.as_secs());
        self.users.retain(|_, slot| {
            let used = slot
                .cached
                .load()
                .as_ref()
                .is_some_and(|c| c.last_used.load(Ordering::Relaxed) >= idle_before);
            used || slot.gauge.in_flight() > 0
        });
        // Packages that no view and no call uses are reloaded on demand. Without this, every user of an upstream with
        // per-user offers would leave a copy behind.
        self.apps.retain(|_, entry| Arc::strong_count(entry) > 1);
        self.slots.retain(|_, slot| Arc::strong_count(slot) > 1 || Arc::strong_count(&slot.gauge) > 1);
        self.apps.shrink_to_fit();
        self.users.shrink_to_fit();
    }

    /// The number of cached packages, including those of single users.
    pub fn cached_apps(&self) -> usize {
        self.apps.len()
    }

    /// The number of cached views.
    pub fn cached_views(&self) -> usize {
        self.users.len()
    }

    /// Seconds since the start, to measure idle time.
    fn now_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    fn user_slot(&self, user: &UserId) -> Arc<UserSlot> {
        if let Some(slot) = self.users.get(user) {
            return slot.clone();
        }
        let new = || UserSlot {
            generation: AtomicU64::new(0),
            building: tokio::sync::Mutex::new(()),
            gauge: Arc::default(),
            plugin_gauges: parking_lot::Mutex::default(),
            cached: ArcSwapOption::empty(),
        };
        self.users.entry(user.clone()).or_insert_with(|| Arc::new(new())).clone()
    }

    fn cached_view(&self, slot: &UserSlot) -> Option<Arc<UserView>> {
        let cached = slot.cached.load();
        let cached = cached.as_ref()?;
        if cached.generation != slot.generation.load(Ordering::Acquire)
            || cached.shared_generation != self.shared_generation.load(Ordering::Acquire)
            || cached.faults != shared::fault_generation()
        {
            return None;
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        if cached.epoch.load(Ordering::Acquire) != epoch {
            let current = |app: &Arc<AppEntry>| {
                app.head.record.plugin().is_some()
                    || self.apps.get(&app.key).is_some_and(|now| Arc::ptr_eq(&now, app))
            };
            if !cached.view.apps.iter().all(current) {
                return None;
            }
            cached.epoch.store(epoch, Ordering::Release);
        }
        cached.last_used.store(self.now_s(), Ordering::Relaxed);
        Some(cached.view.clone())
    }

    async fn build_view(&self, user: &UserId, slot: &UserSlot) -> Result<UserView, StoreError> {
        let session = self.ports.presence.session_view(user).await;
        let capabilities = session.and_then(|session| session.capabilities);
        let off: HashSet<ToolName> =
            self.ports.stores.settings.list_switched_off(user).await?.into_iter().collect();
        let mut view = ViewBuilder::new(user.clone(), slot.gauge.clone(), self.limits);
        let installed = self
            .ports
            .stores
            .installs
            .list_installs(user)
            .await?
            .into_iter()
            .map(|InstalledApp { package, .. }| package);
        let mut packages: Vec<PackageName> = installed.collect();
        let known: HashSet<PackageName> = packages.iter().cloned().collect();
        packages.extend(
            self.ports
                .stores
                .upstreams
                .list_shared_upstreams()
                .await?
                .into_iter()
                .filter(|p| !known.contains(p)),
        );
        packages.extend(self.ports.builtin.as_ref().map(|builtin| builtin.record.package.clone()));
        for package in packages {
            let Some(app) = self.find_app_for(&package, user).await? else { continue };
            let requirements = &app.head.record.details.hardware_requirements;
            let missing = device::check_hardware(requirements, capabilities.as_deref());
            let device_name = capabilities.as_ref().map_or("the device", |c| c.model_name.as_str());
            let misfit = missing.reason(device_name).map(|reason| (HiddenKind::Hardware, reason));
            let misfit = misfit.or_else(|| Some((HiddenKind::PackageDisabled, disabled_reason(&app)?)));
            view.depends_on(&app, misfit.is_none());
            prepare_faults(&app).await;
            for tool in &app.tools {
                show_or_hide(&mut view, tool, misfit.as_ref(), &off);
            }
            show_issues(&mut view, &app);
            if misfit.is_none() {
                view.show_items(&app);
            }
        }
        // Plugins come last, so that they never take an alias from another tool.
        if let Some(plugins) = &self.ports.plugins {
            let plugins = plugins.list_plugins(user).await?;
            for plugin in &plugins {
                precheck_schemas(&plugin.package, &plugin.tools).await;
            }
            self.add_plugins(plugins, slot, &off, &mut view);
        }
        Ok(view.build())
    }

    fn add_plugins(
        &self,
        plugins: Vec<UserPlugin>,
        slot: &UserSlot,
        off: &HashSet<ToolName>,
        view: &mut ViewBuilder,
    ) {
        let mut gauges = slot.plugin_gauges.lock();
        gauges.retain(|package, gauge| {
            gauge.in_flight() > 0 || plugins.iter().any(|plugin| plugin.package == *package)
        });
        for plugin in plugins {
            let gauge = gauges.entry(plugin.package.clone()).or_default().clone();
            let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
            let hidden = plugin.hidden.clone().map(|reason| (HiddenKind::PackageDisabled, reason));
            let app = Arc::new(AppEntry::from_plugin(plugin, revision, gauge, view.user().clone()));
            view.depends_on(&app, hidden.is_none());
            for tool in &app.tools {
                show_or_hide(view, tool, hidden.as_ref(), off);
            }
            show_issues(view, &app);
        }
    }
}

/// Reports definitions that are not listed.
fn show_issues(view: &mut ViewBuilder, app: &AppEntry) {
    let invalid = app.set_aside.iter().map(|issue| (issue, HiddenKind::InvalidDefinition));
    for (issue, kind) in invalid.chain(app.held.iter().map(|issue| (issue, HiddenKind::NotAccepted))) {
        if let Ok(name) = format!("{}:{}", app.head.package(), issue.name).parse() {
            view.set_aside(&name, kind, issue.reason.clone());
        }
    }
}

/// Finding faults parses the definitions once. Large ones are parsed on the pool.
async fn prepare_faults(app: &Arc<AppEntry>) {
    if shared::fault_generation() == 0 || app.tools.iter().all(|tool| tool.is_identified()) {
        return;
    }
    if app.tools.iter().map(|tool| tool.listed.len()).sum::<usize>() <= MAX_INLINE_LOAD_BYTES {
        return;
    }
    let (owner, app) = (WorkOwner::for_package(app.head.package()), app.clone());
    let read = move || app.tools.iter().for_each(|tool| drop(tool.known_fault()));
    let _ = WorkPool::global().run_within(&owner, SET_TIMEOUT, read).await;
}

/// Shows a tool, unless its package is hidden, the user switched it off, or it cannot be called.
fn show_or_hide(
    view: &mut ViewBuilder,
    tool: &Arc<Tool>,
    package_hidden: Option<&(HiddenKind, String)>,
    off: &HashSet<ToolName>,
) {
    if let Some((kind, reason)) = package_hidden {
        view.hide_tool(tool, *kind, reason);
    } else if off.contains(&tool.name) {
        view.hide_tool(tool, HiddenKind::SwitchedOff, "switched off by the user");
    } else if let Some(problem) = tool.fault() {
        view.hide_tool(tool, HiddenKind::InvalidDefinition, unusable_reason(&problem));
    } else {
        view.show_tool(tool);
    }
}

fn total_size(definitions: &[Box<RawValue>]) -> usize {
    definitions.iter().map(|raw| raw.get().len()).sum()
}

/// Parses definitions of this size, on the pool if that takes long.
async fn run_off_worker(
    package: &PackageName,
    bytes: usize,
    read: impl FnOnce() -> AppEntry + Send + 'static,
) -> Result<AppEntry, StoreError> {
    if bytes <= MAX_INLINE_LOAD_BYTES {
        return Ok(read());
    }
    let owner = WorkOwner::for_package(package);
    let read = WorkPool::global().run_within(&owner, SET_TIMEOUT, read).await;
    read.map_err(|error| StoreError::Failed(format!("definitions of {bytes} bytes cannot be read: {error}")))
}

/// Why the whole package is hidden, independent of the device.
fn disabled_reason(app: &AppEntry) -> Option<String> {
    let upstream = app.head.record.upstream().filter(|upstream| upstream.disabled)?;
    let name = match upstream.details.name.as_str() {
        "" => upstream_id(app.head.package()),
        name => name,
    };
    Some(format!("the upstream {name} is no longer in the server's configuration"))
}
