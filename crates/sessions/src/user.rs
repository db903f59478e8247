//! One live user.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;
use toolyard_core::ports::Ready;
use toolyard_protocol::{
    PackageName, UserId,
    api::{RunningApp, SessionSummary},
    call::Activation,
    device::Capabilities,
    session::{DeviceState, ToDevice},
};

use crate::{
    listen::Ear,
    outbox::Outbox,
    run::{Opened, Phase, Run},
    screen::Screen,
};

/// Most sounds and locations that apps of one user wait for.
const MAX_PENDING: usize = 256;

/// One live user. The lock is held for the length of a state change.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) id: UserId,
    live: Mutex<Live>,
}

/// The open socket of a device.
#[derive(Debug)]
pub(crate) struct DeviceLink {
    pub(crate) number: u64,
    pub(crate) outbox: Arc<Outbox>,
    /// It recognises speech itself, and says so by doing it: then its sound is not transcribed once more.
    pub(crate) transcribes: bool,
}

/// What is live.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) device: Option<DeviceLink>,
    /// Since when there is no device.
    pub(crate) device_left: Option<Instant>,
    pub(crate) capabilities: Option<Arc<Capabilities>>,
    pub(crate) state: DeviceState,
    pub(crate) apps: HashMap<PackageName, Run>,
    pub(crate) screen: Screen,
    pub(crate) last_used: Instant,
    /// Whether the device was told to listen.
    pub(crate) microphone: bool,
    /// What is heard of the user.
    pub(crate) ear: Ear,
    /// When the timer of the screen is set to ring.
    pub(crate) screen_timer: Option<Instant>,
    /// Who asked for a sound or a place, by the id of the request. Old ones give way.
    pub(crate) pending: VecDeque<(String, PackageName)>,
}

impl User {
    pub(crate) fn new(id: UserId) -> Self {
        let live = Live {
            device: None,
            device_left: None,
            capabilities: None,
            state: DeviceState::default(),
            apps: HashMap::new(),
            screen: Screen::default(),
            last_used: Instant::now(),
            microphone: false,
            ear: Ear::default(),
            screen_timer: None,
            pending: VecDeque::new(),
        };
        Self { id, live: Mutex::new(live) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn summary(&self) -> SessionSummary {
        let live = self.lock();
        let mut apps: Vec<_> = live
            .apps
            .iter()
            .map(|(package, run)| RunningApp {
                package_name: package.clone(),
                state: run.phase().state(),
                woken: run.opened == Opened::ForCall,
                foreground: live.screen.front() == Some(package),
                subscriptions: run.subscriptions.iter().map(|s| s.as_str().to_owned()).collect(),
            })
            .collect();
        apps.sort_by(|a, b| a.package_name.cmp(&b.package_name));
        SessionSummary {
            user_id: self.id.clone(),
            device_connected: live.device.is_some(),
            capabilities: live.capabilities.as_deref().cloned(),
            apps,
        }
    }
}

impl Live {
    /// Marks an app as used, if it runs and knows it.
    pub(crate) fn use_running(&mut self, package: &PackageName) -> Option<Ready> {
        let now = Instant::now();
        let run = self
            .apps
            .get_mut(package)
            .filter(|run| run.link.is_some() && matches!(run.phase(), Phase::Running))?;
        run.last_used = now;
        self.last_used = now;
        Some(Ready { activation: Activation::WasReady })
    }

    /// A message that the device must get, if there is one.
    pub(crate) fn tell_device(&self, message: &ToDevice) {
        if let Some(device) = &self.device {
            device.outbox.control(message.to_text());
        }
    }

    /// Remembers who waits for an answer of the device.
    pub(crate) fn expect_answer(&mut self, id: &str, package: &PackageName) {
        if self.pending.len() >= MAX_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back((id.to_owned(), package.clone()));
    }

    /// Who waited for it.
    pub(crate) fn take_waiting(&mut self, id: &str) -> Option<PackageName> {
        let place = self.pending.iter().position(|(waiting, _)| waiting == id)?;
        self.pending.remove(place).map(|(_, package)| package)
    }

    pub(crate) fn close_sockets(&self, code: u16, reason: &'static str) {
        let apps = self.apps.values().filter_map(|run| run.link.as_ref()).map(|link| &link.outbox);
        apps.chain(self.device.as_ref().map(|device| &device.outbox))
            .for_each(|outbox| outbox.close(code, reason));
    }
}
