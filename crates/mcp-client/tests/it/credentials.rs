//! Who vouches for requests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use toolyard_mcp_client::{
    Challenge, Client, ClientError, Credentials, CredentialsError, Era, HttpTarget, StaticHeaders, Transport,
};
use toolyard_testkit::upstream::{Behave, On, Options as Upstream};

use crate::world::{World, call, echo};

/// A token that is good from the second one on.
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

    async fn challenged(&self, challenge: &Challenge) -> Result<bool, CredentialsError> {
        assert!(matches!(challenge.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN));
        self.challenges.fetch_add(1, Ordering::Relaxed);
        self.answer.clone().map_or(Ok(true), Err)
    }
}

async fn guarded() -> World {
    World::with(Upstream { bearer: Some("sesame".to_owned()), ..Upstream::default() }).await
}

fn with(world: &World, credentials: Arc<dyn Credentials>) -> Transport {
    let Transport::Http(target) = world.http() else { unreachable!() };
    Transport::Http(HttpTarget { credentials, ..target })
}

#[tokio::test]
async fn a_challenge_is_met_and_the_request_made_again() {
    for era in [Era::Modern, Era::Handshake, Era::Either] {
        let world = guarded().await;
        let credentials = Arc::new(Renewing::default());
        let client = Client::connect(with(&world, credentials.clone()), world.options(era)).await.unwrap();
        assert_eq!(echo(&client, "in").await, "in");
        assert_eq!(credentials.challenges.load(Ordering::Relaxed), 1, "{era:?}");
        client.close().await;
        assert_eq!(world.upstream.sessions(), 0);
    }
}

#[tokio::test]
async fn nobody_who_can_authorize_is_told_and_no_other_era_is_tried() {
    let world = guarded().await;
    let refused = Client::connect(world.http(), world.options(Era::Either)).await.unwrap_err();
    let ClientError::AuthorizationNeeded { challenge: Some(challenge) } = refused else {
        panic!("{refused}")
    };
    assert_eq!(challenge.status, StatusCode::UNAUTHORIZED);
    assert!(world.upstream.seen("initialize").is_empty());

    let needed = Arc::new(Renewing { answer: Some(CredentialsError::Needed), ..Renewing::default() });
    let refused = Client::connect(with(&world, needed), world.options(Era::Either)).await.unwrap_err();
    assert!(matches!(refused, ClientError::AuthorizationNeeded { challenge: None }), "{refused}");
    let failed = CredentialsError::Failed("no key".to_owned());
    let failed = Arc::new(Renewing { answer: Some(failed), ..Renewing::default() });
    let refused = Client::connect(with(&world, failed), world.options(Era::Either)).await.unwrap_err();
    assert!(matches!(refused, ClientError::Credentials(why) if why == "no key"));
}

#[tokio::test]
async fn a_server_cannot_keep_us_going_in_circles() {
    let world = World::new().await;
    let credentials = Arc::new(Renewing::default());
    let client =
        Client::connect(with(&world, credentials.clone()), world.options(Era::Modern)).await.unwrap();
    world.upstream.when(On::tool("echo"), Behave::status(401));
    let refused = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(refused, ClientError::AuthorizationNeeded { .. }), "{refused}");
    assert_eq!(credentials.challenges.load(Ordering::Relaxed), 1);
    // A refusal that says nothing of authorization is what it is.
    world.upstream.when(On::tool("echo"), Behave::status(403));
    let refused = call(&client, "echo", json!({})).await.unwrap_err();
    assert!(matches!(refused, ClientError::Status { status, .. } if status == 403), "{refused}");
    assert_eq!(credentials.challenges.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn fixed_headers_go_out_with_every_request() {
    let world = guarded().await;
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer sesame".parse().unwrap());
    headers.insert("x-mine", "1".parse().unwrap());
    let transport = with(&world, Arc::new(StaticHeaders::new(headers)));
    let client = Client::connect(transport, world.options(Era::Handshake)).await.unwrap();
    echo(&client, "a").await;
    world.upstream.wait_listening(1).await;
    client.close().await;
    for method in ["initialize", "notifications/initialized", "tools/call", "GET", "DELETE"] {
        assert_eq!(world.upstream.seen(method)[0].header("x-mine"), Some("1"), "{method}");
    }
}
