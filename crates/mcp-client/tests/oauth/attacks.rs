//! Attacks: in between, at the upstream, or by another user.

use std::io;
use std::sync::{Arc, Mutex};

use http::StatusCode;
use serde_json::json;
use toolyard_mcp_client::oauth::{OAuthCallback, OAuthError, TokenKey, TokenStore};
use toolyard_mcp_client::{
    ClientOptions, Credentials, CredentialsError, HttpTarget, McpClient, McpTransport,
};
use toolyard_net::{Guard, OutsideUrl};
use toolyard_protocol::secret::SecretText;
use toolyard_testkit::authorization::{FakeAuthorization, FakeResource, IssParameter, WebFault, WebRequest};

use crate::world::{METADATA, PRM, World, client, user};

fn codes_redeemed(world: &World) -> usize {
    world.token_requests("authorization_code").len()
}

#[tokio::test]
async fn a_forged_state_is_not_known() {
    let world = World::start().await;
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    for state in [None, Some("forged".to_owned()), Some(String::new())] {
        let forged = OAuthCallback { state, ..callback.clone() };
        assert_eq!(world.complete(forged).await, Err(OAuthError::UnknownState));
    }
    assert_eq!(codes_redeemed(&world), 0);
    assert!(world.complete(callback).await.is_ok());
}

#[tokio::test]
async fn a_state_is_good_once() {
    let world = World::start().await;
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    let (first, second) = tokio::join!(world.complete(callback.clone()), world.complete(callback.clone()));
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|ok| **ok).count(), 1);
    assert_eq!(world.complete(callback).await, Err(OAuthError::UnknownState));
    assert_eq!(codes_redeemed(&world), 1);
}

#[tokio::test]
async fn a_state_is_good_for_a_while() {
    let world = World::start().await;
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    world.clock.advance(600);
    assert_eq!(world.complete(callback).await, Err(OAuthError::Expired));

    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    world.clock.advance(599);
    assert!(world.complete(callback).await.is_ok());
    assert_eq!(codes_redeemed(&world), 1);
}

#[tokio::test]
async fn a_flow_cannot_be_completed_by_another_user() {
    let world = World::start().await;
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    let bobs = world.oauth.complete_flow(&user("bob"), callback).await;
    assert_eq!(bobs, Err(OAuthError::UnknownState));
    assert_eq!((codes_redeemed(&world), world.kept().await), (0, None));
}

#[tokio::test]
async fn another_server_must_not_answer() {
    let world = World::start().await;
    let url = world.authorization.url();
    for (promises_iss, iss) in [
        (true, IssParameter::Wrong("https://evil.example".to_owned())),
        (false, IssParameter::Wrong("https://evil.example".to_owned())),
        (true, IssParameter::Wrong(format!("{url}/"))),
        (true, IssParameter::Missing),
    ] {
        world
            .authorization
            .configure(|server| (server.promises_iss, server.iss) = (promises_iss, iss.clone()));
        assert_eq!(world.authorize().await, Err(OAuthError::WrongIssuer), "{iss:?}");
    }
    assert_eq!(codes_redeemed(&world), 0);
    world
        .authorization
        .configure(|server| (server.promises_iss, server.iss) = (false, IssParameter::Missing));
    world.authorize().await.unwrap();
}

#[tokio::test]
async fn metadata_that_name_another_issuer_are_not_used() {
    let world = World::start().await;
    world.authorization.configure(|server| server.issuer = Some("https://evil.example".to_owned()));
    let refused = world.begin().await.unwrap_err();
    assert!(matches!(refused, OAuthError::BadMetadata(_)), "{refused:?}");
    assert!(world.authorization.requests("/register").is_empty());
}

#[tokio::test]
async fn metadata_of_another_resource_are_not_used() {
    let world = World::start().await;
    world.resource.configure(|resource| resource.resource = Some("https://evil.example/mcp".to_owned()));
    world.call().await.unwrap_err();
    let refused = world.begin().await.unwrap_err();
    assert!(matches!(refused, OAuthError::BadMetadata(_)), "{refused:?}");
    assert!(world.authorization.requests(METADATA).is_empty());
}

#[tokio::test]
async fn an_upstream_that_changes_its_server_midway_does_not_get_the_code() {
    let world = World::start().await;
    let evil = FakeAuthorization::start().await;
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    world.resource.configure(|resource| resource.servers = vec![evil.url()]);
    assert_eq!(world.complete(callback).await, Err(OAuthError::WrongIssuer));
    assert!(evil.requests("/token").is_empty());
}

#[tokio::test]
async fn a_server_without_pkce_is_refused() {
    let world = World::start().await;
    for methods in [None, Some(vec!["plain".to_owned()])] {
        world.authorization.configure(|server| server.pkce = methods);
        assert_eq!(world.begin().await, Err(OAuthError::NoPkce));
    }
}

#[tokio::test]
async fn a_link_that_is_a_program_is_refused() {
    let world = World::start().await;
    world.authorization.configure(|server| {
        server.metadata = json!({ "authorization_endpoint": "javascript:alert(document.cookie)" });
    });
    assert_eq!(world.begin().await, Err(OAuthError::Insecure("authorization")));
}

#[tokio::test]
async fn a_denial_is_reported_without_control_characters() {
    let world = World::start().await;
    world.authorization.configure(|server| server.denies = Some("access_denied\r\nforged: line".to_owned()));
    let denied = world.authorize().await;
    assert_eq!(denied, Err(OAuthError::Denied("access_denied  forged: line".to_owned())));
    assert_eq!(world.kept().await, None);
}

#[tokio::test]
async fn a_token_stays_at_its_upstream() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    let elsewhere = FakeResource::start(&world.authorization).await;
    let moved = world.oauth.authorizer(world.upstream(&elsewhere.url()), user("ada")).credentials();
    assert!(moved.headers().await.unwrap().is_empty());
    let path =
        world.oauth.authorizer(world.upstream(&format!("{}/other", world.resource.url())), user("ada"));
    assert!(path.credentials().headers().await.unwrap().is_empty());

    world.clock.advance(3600);
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    let with_bearer = |seen: &WebRequest| {
        seen.headers.get("authorization").is_some_and(|value| value.as_bytes().starts_with(b"Bearer"))
    };
    for path in [METADATA, "/register", "/authorize", "/token"] {
        assert!(!world.authorization.requests(path).iter().any(with_bearer), "{path}");
    }
    assert!(!world.resource.requests(&format!("{PRM}/mcp")).iter().any(with_bearer));
    assert!(world.resource.requests("/mcp").iter().any(with_bearer));
}

#[tokio::test]
async fn a_token_does_not_follow_a_redirect() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    let elsewhere = FakeResource::start(&world.authorization).await;
    world.resource.set_fault("/mcp", WebFault::Redirect(307, elsewhere.url()));
    let target = HttpTarget {
        url: OutsideUrl::parse(&world.resource.url(), &Guard::dev()).unwrap(),
        http: client(),
        credentials: Arc::new(world.credentials()),
    };
    let options = ClientOptions::new(Default::default(), Default::default());
    assert!(McpClient::connect(McpTransport::Http(target), options).await.is_err());
    assert!(world.resource.requests("/mcp").iter().any(|seen| seen.headers.contains_key("authorization")));
    assert!(elsewhere.requests("/mcp").is_empty());
}

#[tokio::test]
async fn a_token_for_another_resource_is_rejected_without_a_renewal_loop() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    // As if it had been issued for another audience: the resource accepts none of its tokens.
    world.authorization.configure(|server| server.refreshes = false);
    world.authorization.end_tokens();
    world.authorization.end_refresh_tokens();
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    assert_eq!(world.token_requests("refresh_token").len(), 1);
}

#[tokio::test]
async fn an_unreadable_record_counts_as_none() {
    let world = World::start().await;
    let key = TokenKey { upstream: "mcp.test".to_owned(), user: user("ada") };
    world.tokens.save(&key, SecretText::new("{\"url\":")).await.unwrap();
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    world.authorize().await.unwrap();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_reaches_the_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _default = tracing::subscriber::set_default(subscriber);
    let world = World::start().await;
    let started = world.begin().await.unwrap();
    let callback = world.say_yes(&started).await;
    tracing::info!(?started, ?callback, credentials = ?world.credentials(), "the test logs");
    let code = callback.code.clone().unwrap();
    world.complete(callback).await.unwrap();
    world.clock.advance(3600);
    assert_eq!(world.call().await, Ok(StatusCode::OK));

    let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(written.contains("the test logs"));
    for secret in [&*code, "access-", "refresh-", &*started.state] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    let verifier = &world.token_requests("authorization_code")[0]["code_verifier"];
    assert!(!written.contains(verifier.as_str()));
}
