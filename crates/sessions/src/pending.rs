//! Requests of apps that the device has not answered yet: a response goes only to the app that sent the request.

use std::collections::VecDeque;

use toolyard_protocol::PackageName;

/// Most pending requests of one app; the oldest is dropped.
const MAX_PENDING_PER_APP: usize = 64;
/// Longest request id, in bytes.
pub(crate) const MAX_REQUEST_ID_BYTES: usize = 256;

/// What was requested. A response of one kind never answers another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Play a sound.
    Audio,
    /// Take a picture.
    Photo,
    /// Switch a lamp.
    Led,
    /// Get the location.
    Location,
}

#[derive(Debug)]
struct PendingRequest {
    kind: RequestKind,
    id: String,
    package: PackageName,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PendingError {
    /// Another app has a pending request with that id, so the response would be ambiguous.
    #[error("this request id is in use; send the request again under another one")]
    IdInUse,
    /// Over [`MAX_REQUEST_ID_BYTES`], or empty.
    #[error("a request id has 1 to {MAX_REQUEST_ID_BYTES} bytes")]
    BadId,
}

/// All pending requests.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests(VecDeque<PendingRequest>);

impl PendingRequests {
    /// Adds a request.
    pub(crate) fn add(
        &mut self,
        kind: RequestKind,
        id: &str,
        package: &PackageName,
    ) -> Result<(), PendingError> {
        if id.is_empty() || id.len() > MAX_REQUEST_ID_BYTES {
            return Err(PendingError::BadId);
        }
        if let Some(known) = self.0.iter().find(|one| one.kind == kind && one.id == id) {
            return if known.package == *package { Ok(()) } else { Err(PendingError::IdInUse) };
        }
        if self.0.iter().filter(|one| one.package == *package).count() >= MAX_PENDING_PER_APP
            && let Some(oldest) = self.0.iter().position(|one| one.package == *package)
        {
            self.0.remove(oldest);
        }
        self.0.push_back(PendingRequest { kind, id: id.to_owned(), package: package.clone() });
        Ok(())
    }

    /// Removes a request and returns its app.
    pub(crate) fn take(&mut self, kind: RequestKind, id: &str) -> Option<PackageName> {
        let place = self.0.iter().position(|one| one.kind == kind && one.id == id)?;
        self.0.remove(place).map(|one| one.package)
    }

    /// Removes the requests of a stopped app.
    pub(crate) fn remove_app(&mut self, package: &PackageName) {
        self.0.retain(|one| one.package != *package);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> PackageName {
        text.parse().unwrap()
    }

    #[test]
    fn a_response_goes_to_the_requesting_app_and_an_id_cannot_be_taken_over() {
        let mut pending = PendingRequests::default();
        pending.add(RequestKind::Audio, "r1", &name("a")).unwrap();
        assert_eq!(pending.add(RequestKind::Audio, "r1", &name("b")), Err(PendingError::IdInUse));
        assert_eq!(pending.add(RequestKind::Audio, "r1", &name("a")), Ok(()), "the same request again");
        pending.add(RequestKind::Photo, "r1", &name("b")).unwrap();
        assert_eq!(pending.take(RequestKind::Led, "r1"), None);
        assert_eq!(pending.take(RequestKind::Audio, "r1"), Some(name("a")));
        assert_eq!(pending.take(RequestKind::Audio, "r1"), None);
        assert_eq!(pending.take(RequestKind::Photo, "r1"), Some(name("b")));
    }

    #[test]
    fn an_app_evicts_only_its_own_requests() {
        let mut pending = PendingRequests::default();
        pending.add(RequestKind::Photo, "mine", &name("a")).unwrap();
        for n in 0..=MAX_PENDING_PER_APP {
            pending.add(RequestKind::Audio, &n.to_string(), &name("b")).unwrap();
        }
        assert_eq!(pending.take(RequestKind::Audio, "0"), None, "the oldest of the many");
        assert_eq!(pending.take(RequestKind::Audio, "1"), Some(name("b")));
        assert_eq!(pending.take(RequestKind::Photo, "mine"), Some(name("a")));
        pending.remove_app(&name("b"));
        assert_eq!(pending.take(RequestKind::Audio, "2"), None);
    }

    #[test]
    fn request_ids_have_a_maximum_length() {
        let mut pending = PendingRequests::default();
        let add = |pending: &mut PendingRequests, id: String| pending.add(RequestKind::Led, &id, &name("a"));
        assert_eq!(add(&mut pending, String::new()), Err(PendingError::BadId));
        assert_eq!(add(&mut pending, "x".repeat(MAX_REQUEST_ID_BYTES + 1)), Err(PendingError::BadId));
        assert_eq!(add(&mut pending, "x".repeat(MAX_REQUEST_ID_BYTES)), Ok(()));
    }
}
