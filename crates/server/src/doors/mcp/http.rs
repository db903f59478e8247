//! `/mcp` over HTTP, both eras.

use ::http::{HeaderMap, HeaderValue, StatusCode, header as headers_of};
use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolyard_protocol::mcp::{Incoming, RpcError, header, method};

use super::{
    about,
    answer::answer,
    client::Client,
    legacy,
    listen::Stream,
    metadata, modern,
    params::Params,
    sse::{self, Exchange, OUT_QUEUE, refusal},
};
use crate::{
    auth::{self, ActingFor},
    body,
    state::AppState,
};

/// POST: one message.
pub(super) async fn post(State(state): State<AppState>, request: Request) -> Response {
    private(message(state, request).await)
}

async fn message(state: AppState, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let who = match who(&state, &headers).await {
        Ok(who) => who,
        Err(refused) => return *refused,
    };
    let body = match body::mcp(&headers, body, &state).await {
        Ok(body) => body,
        Err((status, why)) => {
            return refusal(status, None, &RpcError::new(RpcError::INVALID_REQUEST, why));
        }
    };
    match Incoming::read(&body) {
        Ok(Incoming::Request { id, method, params }) => {
            Box::pin(request_of(&state, who, &headers, id, &method, params)).await
        }
        Ok(Incoming::Notification { method, params }) => notified(&state, who, &headers, &method, params),
        Ok(Incoming::Response { id, outcome }) => response_of(&state, who, &headers, id, outcome),
        Err(refused) => refusal(StatusCode::BAD_REQUEST, refused.id.as_deref(), &refused.error),
    }
}

/// A client's answer to a question of ours. Only sessions are asked that way.
fn response_of(
    state: &AppState,
    who: ActingFor,
    headers: &HeaderMap,
    id: Option<&RawValue>,
    outcome: Result<&RawValue, RpcError>,
) -> Response {
    if modern::looks_modern(&Params::default(), Some(headers)) {
        let text = "clients send no responses in this revision; repeat the request with `inputResponses`";
        return refusal(StatusCode::BAD_REQUEST, None, &RpcError::new(RpcError::INVALID_REQUEST, text));
    }
    let owner = who.owner();
    if headers.contains_key(header::SESSION)
        && let Err(refused) = legacy::client(state, who, headers, None)
    {
        return *refused;
    }
    if let Some(id) = id {
        state.mcp.questions.answered(&owner, id, outcome);
    }
    StatusCode::ACCEPTED.into_response()
}

/// GET: the stream of a session. Without a handshake there is none.
pub(super) async fn get(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let client = match session_of(&state, &headers).await {
        Ok(client) => client,
        Err(refused) => return private(*refused),
    };
    private(match Stream::of_session(&state, &client).await {
        Ok(stream) => sse::changes(&state, stream),
        Err(error) => refusal(StatusCode::TOO_MANY_REQUESTS, None, &error),
    })
}

/// DELETE: the end of a session.
pub(super) async fn delete(State(state): State<AppState>, headers: HeaderMap) -> Response {
    private(match session_of(&state, &headers).await {
        Ok(client) => {
            if let Some(session) = &client.session {
                state.mcp.sessions.end(session, state.clock.now());
            }
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => *refused,
    })
}

async fn session_of(state: &AppState, headers: &HeaderMap) -> Result<Client, Box<Response>> {
    let who = who(state, headers).await?;
    if modern::looks_modern(&Params::default(), Some(headers)) {
        let text = "this revision has POST only; listen with `subscriptions/listen`";
        let mut refused =
            refusal(StatusCode::METHOD_NOT_ALLOWED, None, &RpcError::new(RpcError::INVALID_REQUEST, text));
        refused.headers_mut().insert(headers_of::ALLOW, HeaderValue::from_static("POST"));
        return Err(Box::new(refused));
    }
    legacy::client(state, who, headers, None)
}

/// Whoever acts. A refusal says where to learn how to get in.
async fn who(state: &AppState, headers: &HeaderMap) -> Result<ActingFor, Box<Response>> {
    auth::acting_over_mcp(state, headers)
        .await
        .map_err(|failure| Box::new(metadata::challenge(state, failure)))
}

async fn request_of(
    state: &AppState,
    who: ActingFor,
    headers: &HeaderMap,
    id: &RawValue,
    asked: &str,
    params: Option<&RawValue>,
) -> Response {
    let bad = |error: &RpcError| refusal(StatusCode::BAD_REQUEST, Some(id), error);
    let params = match Params::read(params) {
        Ok(params) => params,
        Err(error) => return bad(&error),
    };
    // A handshake is one by its method: some clients already send the headers of the revision that they hope for.
    let handshake = asked == method::INITIALIZE && !modern::looks_modern(&params, None);
    if !handshake && modern::looks_modern(&params, Some(headers)) {
        let client = modern::client(who, &params, Some(headers));
        let checked = client.and_then(|client| {
            modern::check_headers(headers, asked, &params)?;
            Ok(client)
        });
        return match checked {
            Ok(client) => modern_request(state, client, headers, id, asked, params).await,
            Err(error) => bad(&error),
        };
    }
    if handshake {
        return match about::initialize(who, &params) {
            Ok((client, result)) => {
                let session = state.mcp.sessions.open(&client, state.clock.now(), &*state.ids);
                let mut response = sse::json(StatusCode::OK, sse::envelope(id, result.get().as_bytes()));
                if let Ok(session) = HeaderValue::try_from(session) {
                    response.headers_mut().insert(header::SESSION, session);
                }
                response
            }
            Err(error) => refusal(StatusCode::OK, Some(id), &error),
        };
    }
    match legacy::client(state, who, headers, Some(id)) {
        Ok(client) => exchange(state, client, id, asked, params).respond().await,
        Err(refused) => *refused,
    }
}

async fn modern_request(
    state: &AppState,
    client: Client,
    headers: &HeaderMap,
    id: &RawValue,
    asked: &str,
    params: Params,
) -> Response {
    if asked == method::LISTEN {
        // Nothing is said here but on the stream itself.
        let (out, _nobody) = mpsc::channel(1);
        return match Stream::listen(state, &client, id, &params, &out).await {
            Ok(stream) => sse::changes(state, stream),
            Err(error) => refusal(StatusCode::OK, Some(id), &error),
        };
    }
    if asked == method::TOOLS_CALL
        && let Err(error) = mirrored(state, &client, headers, &params).await
    {
        return refusal(StatusCode::BAD_REQUEST, Some(id), &error);
    }
    exchange(state, client, id, asked, params).respond().await
}

async fn mirrored(
    state: &AppState,
    client: &Client,
    headers: &HeaderMap,
    params: &Params,
) -> Result<(), RpcError> {
    let Some(name) = params.get::<String>("name").ok().flatten().and_then(|name| name.parse().ok()) else {
        return Ok(());
    };
    let view = about::view(state, &client.who).await?;
    match view.find(&name) {
        Ok(tool) => modern::check_mirrored(headers, tool, params.raw("arguments")),
        Err(_) => Ok(()),
    }
}

/// The work on a request, with its stream.
fn exchange(state: &AppState, client: Client, id: &RawValue, asked: &str, params: Params) -> Exchange {
    let (out, said) = mpsc::channel(OUT_QUEUE);
    let (modern, id) = (client.is_modern(), id.to_owned());
    let under_way = UnderWay::begin(state, &client, &id);
    let (state, asked) = (state.clone(), asked.to_owned());
    let work = async move {
        let answered = answer(&state, &client, &asked, &params, &out);
        tokio::select! {
            answered = answered => answered,
            () = under_way.cancelled() => Err(RpcError::new(RpcError::INVALID_REQUEST, "cancelled by the client")),
        }
    };
    Exchange { id, work: Box::pin(work), said, modern }
}

/// A request of a session, which a notification can cancel.
struct UnderWay(Option<(AppState, std::sync::Arc<str>, Box<RawValue>, CancellationToken)>);

impl UnderWay {
    fn begin(state: &AppState, client: &Client, id: &RawValue) -> Self {
        Self(client.session.as_ref().map(|session| {
            let cancel = state.mcp.sessions.begin(session, id);
            (state.clone(), session.clone(), id.to_owned(), cancel)
        }))
    }

    async fn cancelled(&self) {
        match &self.0 {
            Some((_, _, _, cancel)) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some((state, session, id, _)) = &self.0 {
            state.mcp.sessions.finish(session, id);
        }
    }
}

/// Notifications are taken and mostly need nothing.
fn notified(
    state: &AppState,
    who: ActingFor,
    headers: &HeaderMap,
    told: &str,
    params: Option<&RawValue>,
) -> Response {
    if headers.contains_key(header::SESSION) {
        let client = match legacy::client(state, who, headers, None) {
            Ok(client) => client,
            Err(refused) => return *refused,
        };
        if let (method::CANCELLED, Some(session), Ok(params)) = (told, &client.session, Params::read(params))
            && let Some(id) = params.raw("requestId")
        {
            state.mcp.sessions.cancel(session, id);
        }
    }
    StatusCode::ACCEPTED.into_response()
}

/// What one user gets must not be kept for another.
fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(headers_of::VARY, HeaderValue::from_static("Authorization, X-User-Id"));
    headers.insert(headers_of::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
