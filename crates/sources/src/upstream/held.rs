//! Requests that are held open while a caller without a handshake finds out what the upstream wants to know. One node
//! holds them; they end when the caller does not come back in time.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use toolyard_core::ports::Ids;
use toolyard_mcp_client::Ask;
use toolyard_protocol::{PackageName, UserId};

use super::exchange::Ongoing;

/// A request and the question it waits for.
pub(super) struct Held {
    pub(super) user: UserId,
    pub(super) package: PackageName,
    pub(super) ongoing: Ongoing,
    pub(super) ask: Ask,
}

type Table = HashMap<String, (Held, Instant)>;

/// All of them.
pub(super) struct HeldRequests {
    held: Mutex<Table>,
    lifetime: Duration,
    most: usize,
}

impl HeldRequests {
    pub(super) fn new(lifetime: Duration, most: usize) -> Self {
        Self { held: Mutex::default(), lifetime, most }
    }

    /// Holds a request, and says by which handle it is found. Where there are too many, the oldest ends.
    pub(super) fn park(&self, held: Held, ids: &dyn Ids) -> String {
        let (handle, mut table) = (ids.secret(), self.lock());
        if table.len() >= self.most
            && let Some(oldest) =
                table.iter().min_by_key(|(_, (_, until))| *until).map(|(handle, _)| handle.clone())
        {
            table.remove(&oldest);
        }
        table.insert(handle.clone(), (held, Instant::now() + self.lifetime));
        handle
    }

    /// The request with that handle, if it is this user's.
    pub(super) fn take(&self, handle: &str, user: &UserId, package: &PackageName) -> Option<Held> {
        let mut table = self.lock();
        let (held, until) = table.get(handle)?;
        let fits = held.user == *user && held.package == *package && *until > Instant::now();
        fits.then(|| table.remove(handle)).flatten().map(|(held, _)| held)
    }

    /// Ends those whose caller did not come back.
    pub(super) fn end_late(&self) {
        let now = Instant::now();
        self.lock().retain(|_, (_, until)| *until > now);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
