//! Runs a request here, or forwards it to the home of its user.

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, request::Parts};
use serde::Deserialize;
use toolyard_cluster::Home;
use toolyard_protocol::{UserId, api::ApiErrorCode};

use super::{
    ClusterNode, RouteHome,
    forward::{ForwardError, is_socket, may_repeat},
    request_user::request_user,
    stamp::FORWARDED,
};
use crate::{auth::routed_user, error::RequestError, state::ServerState};

/// How often a request is forwarded because the home moved meanwhile.
const MAX_ATTEMPTS: usize = 4;

/// Runs a request on the home of its user.
pub(crate) async fn run_at_home(
    State((state, home)): State<(ServerState, RouteHome)>,
    request: Request,
    next: Next,
) -> Response {
    let Some(cluster) = &state.cluster else { return next.run(request).await };
    if let Some(stamp) = cluster.stamps.read(request.headers()) {
        return match cluster.homes.confirm_home(&stamp.user, stamp.epoch).await {
            Ok(true) => next.run(request).await,
            Ok(false) => moved_response(),
            Err(error) => RequestError::from(error).into_response(),
        };
    }
    let (request, user) = match home {
        RouteHome::BodyUser => match body_user(&state, request).await {
            Ok(read) => read,
            Err(error) => return error.into_response(),
        },
        _ => {
            // Of the request only its head is shared: its body can be read by one task alone.
            let (parts, body) = request.into_parts();
            let user = request_user(&state, cluster, home, &parts).await;
            (Request::from_parts(parts, body), user)
        }
    };
    match user {
        Some(user) => run_for(&state, cluster, &user, request, next).await.unwrap_or_else(Response::from),
        None => next.run(request).await,
    }
}

async fn run_for(
    state: &ServerState,
    cluster: &ClusterNode,
    user: &UserId,
    request: Request,
    next: Next,
) -> Result<Response, RequestError> {
    let mut home = cluster.homes.find_home(user).await?;
    if matches!(home, Home::Here) {
        return Ok(next.run(request).await);
    }
    // Read whole, so that it can be sent again. All routes have the same limit or a lower one.
    let (mut parts, body) = request.into_parts();
    let body = read_body(state, &parts, body).await?;
    for _ in 0..MAX_ATTEMPTS {
        let there = match home {
            Home::Here => return Ok(next.run(Request::from_parts(parts, Body::from(body))).await),
            Home::At(there) => there,
        };
        let stamp = cluster.stamps.write(user, there.epoch);
        let stamp = stamp
            .ok_or_else(|| RequestError::new(ApiErrorCode::Internal, "the request could not be forwarded"))?;
        home = match cluster.forwarder.send(&there.peer, &mut parts, &body, stamp, state).await {
            Ok(response) if is_moved(&response) => match cluster.homes.find_home_again(user).await? {
                // Nobody has it: a node that was started again under the same address knows nothing of its users.
                Home::At(same) if same.epoch == there.epoch => {
                    cluster.homes.find_home_after(user, &there).await?
                }
                home => home,
            },
            Ok(response) => return Ok(response),
            Err(ForwardError::NotSent(error)) => {
                tracing::info!(node = %there.peer.node, error, "node not reached; taking its user over");
                cluster.homes.find_home_after(user, &there).await?
            }
            Err(ForwardError::Interrupted) if may_repeat(&parts) => {
                cluster.homes.find_home_after(user, &there).await?
            }
            Err(ForwardError::Interrupted) => {
                return Err(RequestError::new(
                    ApiErrorCode::Unavailable,
                    "the server that ran this request stopped; it may have run. Send an Idempotency-Key with a call, and a \
                     repetition never runs it twice",
                ));
            }
        };
    }
    Err(RequestError::new(ApiErrorCode::Unavailable, "the user's session moves between servers; try again"))
}

async fn read_body(state: &ServerState, parts: &Parts, body: Body) -> Result<Bytes, RequestError> {
    if is_socket(parts) {
        return Ok(Bytes::new());
    }
    crate::body::read_bytes(body, state).await
}

/// The user that the body of an old call names, and the request as it was.
async fn body_user(state: &ServerState, request: Request) -> Result<(Request, Option<UserId>), RequestError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct NamesUser {
        user_id: String,
    }
    let (parts, body) = request.into_parts();
    let body = crate::body::read_bytes(body, state).await?;
    let named = serde_json::from_slice::<NamesUser>(&body).ok().and_then(|named| named.user_id.parse().ok());
    let user = routed_user(state, &parts.headers, named).await;
    Ok((Request::from_parts(parts, Body::from(body)), user))
}

/// Tells the node that forwarded a request that this one is not the user's home.
fn moved_response() -> Response {
    (StatusCode::MISDIRECTED_REQUEST, [(FORWARDED, HeaderValue::from_static("moved"))]).into_response()
}

fn is_moved(response: &Response) -> bool {
    response.status() == StatusCode::MISDIRECTED_REQUEST && response.headers().contains_key(FORWARDED)
}
