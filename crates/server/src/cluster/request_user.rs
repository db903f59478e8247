//! Which user a request belongs to, as far as that can be told before its handler runs.

use http::{HeaderMap, Uri, request::Parts};
use toolyard_protocol::UserId;
use url::form_urlencoded;

use super::{ClusterNode, marked_path::MarkedUser};
use crate::{
    auth::{actor_by_credential, app_of_socket, routed_user},
    routes::RouteAccess,
    state::ServerState,
};

/// Where a route runs in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteHome {
    /// On any node: it needs nothing but the store.
    Anywhere,
    /// On the home of the user that the caller acts for.
    Caller,
    /// On the home of the user that the path names.
    PathUser,
    /// On the home of the user that the body names.
    BodyUser,
    /// A socket of a device or an MCP client: its credential may be in the query.
    Socket,
    /// A socket of an app: its path is marked, or it names its user in headers.
    AppSocket,
    /// The browser returns from an authorization server with a marked state.
    Callback,
}

impl RouteHome {
    /// Where routes with this access rule run, unless they say otherwise.
    pub(crate) fn of_access(access: RouteAccess) -> Self {
        match access {
            RouteAccess::Public
            | RouteAccess::Developer
            | RouteAccess::Owner
            | RouteAccess::Curator
            | RouteAccess::Operator
            | RouteAccess::Metrics
            | RouteAccess::App => Self::Anywhere,
            RouteAccess::Authenticated
            | RouteAccess::Person
            | RouteAccess::User
            | RouteAccess::Approver
            | RouteAccess::Caller
            | RouteAccess::Chat
            | RouteAccess::Session
            | RouteAccess::Mcp => Self::Caller,
            RouteAccess::Socket => Self::Socket,
        }
    }
}

/// The user of a request. None if it has none, or its credential is wrong: then any node refuses it.
pub(super) async fn request_user(
    state: &ServerState,
    cluster: &ClusterNode,
    home: RouteHome,
    request: &Parts,
) -> Option<UserId> {
    let (headers, uri) = (&request.headers, &request.uri);
    match home {
        RouteHome::Anywhere => None,
        RouteHome::Caller | RouteHome::BodyUser => routed_user(state, headers, None).await,
        RouteHome::PathUser => routed_user(state, headers, path_user(uri)).await,
        RouteHome::Socket => socket_user(state, cluster, headers, uri).await,
        RouteHome::AppSocket => match request.extensions.get::<MarkedUser>() {
            Some(MarkedUser(user)) => Some(user.clone()),
            None => app_of_socket(state, headers).await,
        },
        RouteHome::Callback => query_value(uri, "state").and_then(|marked| cluster.marks.read_text(&marked)),
    }
}

async fn socket_user(
    state: &ServerState,
    cluster: &ClusterNode,
    headers: &HeaderMap,
    uri: &Uri,
) -> Option<UserId> {
    if let Some(ticket) = query_value(uri, "ticket") {
        return cluster.marks.read_text(&ticket);
    }
    let named = query_value(uri, "user").and_then(|user| user.parse().ok());
    match query_value(uri, "token") {
        Some(token) => {
            let actor = actor_by_credential(state, &token).await.ok()?;
            actor.acting_user(named.or(crate::auth::user_from_header(headers).ok()?)).ok()?.ok()
        }
        None => routed_user(state, headers, named).await,
    }
}

/// `/api/tools/users/{user}/tools`
fn path_user(uri: &Uri) -> Option<UserId> {
    let user = uri.path().split('/').nth(4)?;
    percent_decoded(user)?.parse().ok()
}

fn percent_decoded(text: &str) -> Option<String> {
    // A plus sign is no space in a path.
    let query = format!("a={}", text.replace('+', "%2B"));
    form_urlencoded::parse(query.as_bytes()).next().map(|(_, value)| value.into_owned())
}

fn query_value(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query()?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
