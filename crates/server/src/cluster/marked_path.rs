//! Paths that are marked with their user: `/u/{mark}/app-ws`. An app cannot send a header before it has said who it is, but it
//! connects to the URL that it was given.

use http::{Uri, uri::PathAndQuery};
use toolyard_core::ports::HomeMarks;
use toolyard_protocol::UserId;
use toolyard_sessions::MARKED_PATH;

/// The user of a marked path, as an extension of the request.
#[derive(Debug, Clone)]
pub(super) struct MarkedUser(pub(super) UserId);

/// Removes marks from paths. Without a cluster there are none.
#[derive(Debug, Clone, Default)]
pub(crate) struct MarkedPaths(HomeMarks);

impl MarkedPaths {
    pub(crate) fn new(marks: HomeMarks) -> Self {
        Self(marks)
    }

    /// Restores the usual path. A mark that cannot be read stays where it is, and leads nowhere.
    pub(crate) fn unmark<B>(&self, request: &mut http::Request<B>) {
        if !self.0.is_enabled() || !request.uri().path().starts_with(MARKED_PATH) {
            return;
        }
        let Some((user, uri)) = self.read(request.uri()) else { return };
        *request.uri_mut() = uri;
        request.extensions_mut().insert(MarkedUser(user));
    }

    fn read(&self, uri: &Uri) -> Option<(UserId, Uri)> {
        let marked = uri.path_and_query()?.as_str().strip_prefix(MARKED_PATH)?;
        let (mark, _) = marked.split_once('/')?;
        let user = self.0.read(mark)?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::try_from(&marked[mark.len()..]).ok()?);
        Some((user, Uri::from_parts(parts).ok()?))
    }
}
