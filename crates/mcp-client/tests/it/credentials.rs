//! Credentials of requests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use toolyard_mcp_client::{
    AuthChallenge, Credentials, CredentialsError, HttpTarget, McpClient, McpClientError, McpTransport,
    ProtocolEra, StaticHeaders,
};
use toolyard_testkit::upstream::{InjectedFault, RequestMatch, UpstreamOptions as Upstream};

use crate::world::{World, call, echo};

/// A token that is accepted from the second one on.
#[derive(Default)]
struct Renewing {
    challenges: AtomicUsize,
    answer: Option<CredentialsError>,
}

#[async_trait]
impl Credentials for Renewing {
    async fn headers(&self) -> Result<HeaderMap, CredentialsError> {
        let mut headers = HeaderMap::new();
        if self.challenges.load(Ordering::Relaxed) > 0 {
            headers.insert("authorization", "Bearer sesame".parse().unwrap());
        }
        Ok(headers)
    }

    async fn handle_challenge(&self, challenge: &AuthChallenge) -> Result<bool, CredentialsError> {
        assert!(matches!(challenge.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN));
        self.challenges.fetch_add(1, Ordering::Relaxed);
        self.answer.clone().map_or(Ok(true), Err)
    }
}

async fn guarded() -> World {
    World::with(Upstream { bearer: Some("sesame".to_owned()), ..Upstream::default() }).await
}

fn with(world: &World, credentials: Arc<dyn Credentials>) -> McpTransport {
    let McpTransport::Http(target) = world.http() else { unreachable!() };
    McpTransport::Http(HttpTarget { credentials, ..target })
}

#[tokio::test]
async fn a_challenge_is_met_and_the_request_made_again() {
    for era in [ProtocolEra::Modern, ProtocolEra::Handshake, ProtocolEra::Either] {
        let world = guarded().await;
        let credentials = Arc::new(Renewing::default());
        let client = McpClient::connect(with(&world, credentials.clone()), world.options(era)).await.unwrap();
        assert_eq!(echo(&client, "in").await, "in");
        assert_eq!(credentials.challenges.load(Ordering::Relaxed), 1, "{era:?}");
        client.close().await;
        assert_eq!(world.upstream.session_count(), 0);
    }
}

#[tokio::test]
async fn a_missing_authorization_is_reported_and_no_other_era_is_tried() {
    let world = guarded().await;
    let refused = McpClient::connect(world.http(), world.options(ProtocolEra::Either)).await.unwrap_err();
    let McpClientError::AuthorizationNeeded { challenge: Some(challenge) } = refused else {
        panic!("{refused}")
    };
    assert_eq!(challenge.status, StatusCode::UNAUTHORIZED);
    assert!(world.upstream.messages("initialize").is_empty());

    let needed = Arc::new(Renewing { answer: Some(CredentialsError::Needed), ..Renewing::default() });
    let refused =
        McpClient::connect(with(&world, needed), world.options(ProtocolEra::Either)).await.unwrap_err();
    assert!(matches!(refused, McpClientError::AuthorizationNeeded { challenge: None }), "{refused}");
    let failed = CredentialsError::Failed("no key".to_owned());
    let failed = Arc::new(Renewing { answer: Some(failed), ..Renewing::default() });
    let refused =
        McpClient::connect(with(&world, failed), world.options(ProtocolEra::Either)).await.unwrap_err();
    assert!(matches!(refused, McpClientError::Credentials(why) if why == "no key"));
}

#[tokio::test]
async fn a_server_cannot_keep_us_going_in_circles() {
    let world = World::new().await;
    let credentials = Arc::new(Renewing::default());
    let client = McpClient::connect(with(&world, credentials.clone()), world.options(ProtocolEra::Modern))
        .await
        .unwrap();
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::status(401));
    let refused = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(refused, McpClientError::AuthorizationNeeded { .. }), "{refused}");
    assert_eq!(credentials.challenges.load(Ordering::Relaxed), 1);
    // A 403 without a challenge is returned unchanged.
    world.upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::status(403));
    let refused = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(refused, McpClientError::Status { status, .. } if status == 403), "{refused}");
    assert_eq!(credentials.challenges.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn fixed_headers_go_out_with_every_request() {
    let world = guarded().await;
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer sesame".parse().unwrap());
    headers.insert("x-mine", "1".parse().unwrap());
    let transport = with(&world, Arc::new(StaticHeaders::new(headers)));
    let client = McpClient::connect(transport, world.options(ProtocolEra::Handshake)).await.unwrap();
    echo(&client, "a").await;
    world.upstream.wait_listening(1).await;
    client.close().await;
    for method in ["initialize", "notifications/initialized", "tools/call", "GET", "DELETE"] {
        assert_eq!(world.upstream.messages(method)[0].header("x-mine"), Some("1"), "{method}");
    }
}
