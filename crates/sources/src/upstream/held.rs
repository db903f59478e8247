//! Requests that are held open while a modern caller obtains the input that the upstream asked for. They live on one
//! node, and end if the caller does not return in time.

use std::{collections::HashMap, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use toolyard_core::{Caller, ports::IdGenerator};
use toolyard_mcp_client::ServerRequest;
use toolyard_protocol::{PackageName, UserId};

use super::exchange::OngoingRequest;

/// A request and the question it waits for.
pub(super) struct HeldRequest {
    pub(super) user: UserId,
    /// The caller that made it for the user, and may resume it.
    pub(super) caller: Caller,
    pub(super) package: PackageName,
    pub(super) ongoing: OngoingRequest,
    pub(super) ask: ServerRequest,
}

type HeldTable = HashMap<String, (HeldRequest, Instant)>;

/// All held requests.
pub(super) struct HeldRequests {
    held: Mutex<HeldTable>,
    lifetime: Duration,
    most: usize,
}

impl HeldRequests {
    pub(super) fn new(lifetime: Duration, most: usize) -> Self {
        Self { held: Mutex::default(), lifetime, most }
    }

    /// Holds a request and returns its handle. If there are too many, the oldest ends.
    pub(super) fn hold(&self, held: HeldRequest, ids: &dyn IdGenerator) -> String {
        let (handle, mut table) = (ids.new_secret(), self.lock_table());
        if table.len() >= self.most
            && let Some(oldest) =
                table.iter().min_by_key(|(_, (_, until))| *until).map(|(handle, _)| handle.clone())
        {
            table.remove(&oldest);
        }
        table.insert(handle.clone(), (held, Instant::now() + self.lifetime));
        handle
    }

    /// The request with that handle, if it is this user's and this caller's.
    pub(super) fn take(
        &self,
        handle: &str,
        (user, caller): (&UserId, &Caller),
        package: &PackageName,
    ) -> Option<HeldRequest> {
        let mut table = self.lock_table();
        let (held, until) = table.get(handle)?;
        let theirs = held.user == *user && held.caller == *caller;
        let fits = theirs && held.package == *package && *until > Instant::now();
        fits.then(|| table.remove(handle)).flatten().map(|(held, _)| held)
    }

    /// Ends requests whose caller did not return in time.
    pub(super) fn end_expired(&self) {
        let now = Instant::now();
        self.lock_table().retain(|_, (_, until)| *until > now);
    }

    fn lock_table(&self) -> MutexGuard<'_, HeldTable> {
        self.held.lock()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio_util::sync::CancellationToken;
    use toolyard_core::ports::SystemIds;

    use super::*;

    const LIFETIME: Duration = Duration::from_secs(60);

    fn held(user: &str) -> HeldRequest {
        let ask = ServerRequest {
            method: "elicitation/create".to_owned(),
            params: None,
            answer: oneshot::channel().0,
            cancelled: CancellationToken::new(),
        };
        let package = "mcp.x".parse().unwrap();
        HeldRequest {
            user: user.parse().unwrap(),
            caller: Caller::User,
            package,
            ongoing: OngoingRequest::never_ending(),
            ask,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_held_for_its_user_and_not_for_ever() {
        let requests = HeldRequests::new(LIFETIME, 10);
        let (ada, bob, package) = ("ada".parse().unwrap(), "bob".parse().unwrap(), "mcp.x".parse().unwrap());
        let handles: Vec<_> = (0..3).map(|_| requests.hold(held("ada"), &SystemIds)).collect();
        assert!(requests.take(&handles[0], (&bob, &Caller::User), &package).is_none());
        assert!(requests.take(&handles[0], (&ada, &Caller::User), &"mcp.y".parse().unwrap()).is_none());
        let app = Caller::App("com.other".parse().unwrap());
        assert!(requests.take(&handles[0], (&ada, &app), &package).is_none());
        assert!(requests.take(&handles[0], (&ada, &Caller::User), &package).is_some());
        assert!(requests.take(&handles[0], (&ada, &Caller::User), &package).is_none(), "once");
        tokio::time::advance(LIFETIME - Duration::from_millis(1)).await;
        assert!(requests.take(&handles[1], (&ada, &Caller::User), &package).is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(requests.take(&handles[2], (&ada, &Caller::User), &package).is_none(), "too late");
        requests.end_expired();
        assert!(requests.lock_table().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_makes_room() {
        let requests = HeldRequests::new(LIFETIME, 2);
        let (ada, package) = ("ada".parse().unwrap(), "mcp.x".parse().unwrap());
        let mut handles = Vec::new();
        for _ in 0..3 {
            handles.push(requests.hold(held("ada"), &SystemIds));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let found: Vec<_> = handles
            .iter()
            .map(|handle| requests.take(handle, (&ada, &Caller::User), &package).is_some())
            .collect();
        assert_eq!(found, [false, true, true]);
    }
}
