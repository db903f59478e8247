//! Tokens expire; the user should not notice.

use futures_util::future::join_all;
use http::StatusCode;
use toolyard_mcp_client::oauth::{OAuth, OAuthParts, RegisteredClient};
use toolyard_mcp_client::{Credentials, CredentialsError};
use toolyard_net::NetError;
use toolyard_protocol::secret::SecretText;
use toolyard_testkit::authorization::{FakeAuthorization, WebFault};

use crate::world::{METADATA, World, user};

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_rotates() {
    let world = World::start().await;
    world.resource.configure(|resource| resource.challenge_scope = Some("read".to_owned()));
    world.call().await.unwrap_err();
    world.authorize().await.unwrap();
    for round in 1..=3 {
        world.clock.advance(3600 - 20);
        assert_eq!(world.call().await, Ok(StatusCode::OK));
        let requests = world.token_requests("refresh_token");
        assert_eq!(requests.len(), round);
        // Naming scopes would request some that were never granted.
        assert_eq!(requests[round - 1].get("scope"), None);
    }
    let used: std::collections::BTreeSet<_> =
        world.token_requests("refresh_token").iter().map(|form| form["refresh_token"].clone()).collect();
    assert_eq!(used.len(), 3);
}

#[tokio::test]
async fn a_token_that_is_turned_away_is_renewed() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.authorization.end_tokens();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert_eq!(world.token_requests("refresh_token").len(), 1);
}

#[tokio::test]
async fn however_many_ask_it_is_renewed_once() {
    let world = World::start().await;
    world.authorize().await.unwrap();

    world.clock.advance(3600);
    let calls = join_all((0..20).map(|_| world.call())).await;
    assert!(calls.iter().all(|called| *called == Ok(StatusCode::OK)), "{calls:?}");
    assert_eq!(world.token_requests("refresh_token").len(), 1);

    world.clock.advance(60);
    world.authorization.end_tokens();
    let credentials = world.credentials();
    let calls = join_all((0..20).map(|_| world.call_as(&credentials))).await;
    assert!(calls.iter().all(|called| *called == Ok(StatusCode::OK)), "{calls:?}");
    assert_eq!(world.token_requests("refresh_token").len(), 2);
}

#[tokio::test]
async fn a_late_rejection_of_the_old_token_does_not_renew_the_new_one() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.authorization.end_tokens();
    let credentials = world.credentials();
    let (_, challenge) = world.request(credentials.headers().await.unwrap()).await;
    let challenge = challenge.unwrap();
    assert_eq!(credentials.handle_challenge(&challenge).await, Ok(true));
    credentials.headers().await.unwrap();
    assert_eq!(credentials.handle_challenge(&challenge).await, Ok(true));
    assert_eq!(world.token_requests("refresh_token").len(), 1);

    world.clock.advance(60);
    assert_eq!(credentials.handle_challenge(&challenge).await, Ok(true));
    assert_eq!(world.token_requests("refresh_token").len(), 2);
}

#[tokio::test]
async fn a_late_rejection_does_not_end_a_new_grant() {
    let world = World::start().await;
    world.authorization.configure(|server| server.refreshes = false);
    let credentials = world.credentials();
    let (_, challenge) = world.request(credentials.headers().await.unwrap()).await;
    world.authorize().await.unwrap();
    assert_eq!(credentials.handle_challenge(&challenge.unwrap()).await, Ok(true));
    assert_eq!(world.call_as(&credentials).await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn without_a_refresh_token_the_user_must_authorize_again() {
    let world = World::start().await;
    world.authorization.configure(|server| server.refreshes = false);
    world.authorize().await.unwrap();
    world.clock.advance(3600);
    assert_eq!(world.call().await, Err(CredentialsError::Needed));

    world.authorize().await.unwrap();
    world.authorization.end_tokens();
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    assert!(!world.kept().await.unwrap().contains("access-"));
}

#[tokio::test]
async fn a_token_without_an_end_is_used_until_it_is_turned_away() {
    let world = World::start().await;
    world.authorization.configure(|server| server.expires_in = None);
    world.authorize().await.unwrap();
    world.clock.advance(365 * 24 * 3600);
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert!(world.token_requests("refresh_token").is_empty());
}

#[tokio::test]
async fn a_refresh_token_that_is_not_known_any_more_ends_the_grant() {
    for refusal in [None, Some((401, "invalid_client")), Some((400, "unauthorized_client"))] {
        let world = World::start().await;
        world.authorize().await.unwrap();
        world.authorization.end_refresh_tokens();
        let refuses = refusal.map(|(status, error)| (status, error.to_owned()));
        world.authorization.configure(|server| server.refuses = refuses);
        world.clock.advance(3600);
        assert_eq!(world.credentials().headers().await, Err(CredentialsError::Needed), "{refusal:?}");
        assert!(world.credentials().headers().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_server_that_is_down_does_not_end_the_grant() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.clock.advance(3600);
    world
        .authorization
        .configure(|server| server.refuses = Some((503, "temporarily_unavailable".to_owned())));
    let failed = world.call().await.unwrap_err();
    assert!(matches!(failed, CredentialsError::Failed(_)), "{failed:?}");
    world.authorization.configure(|server| server.refuses = None);
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn those_who_waited_for_a_dead_server_do_not_wait_again() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.clock.advance(3600);
    world.authorization.set_fault("/token", WebFault::Huge);
    let calls = join_all((0..5).map(|_| world.call())).await;
    assert!(calls.iter().all(|called| matches!(called, Err(CredentialsError::Failed(_)))), "{calls:?}");
    assert_eq!(world.token_requests("refresh_token").len(), 1);
    let text = calls[4].clone().unwrap_err().to_string();
    assert!(text.contains(&NetError::TooLarge { limit: 256 * 1024 }.to_string()), "{text}");
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_lose_the_new_token() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.clock.advance(3600);
    world.authorization.set_fault("/token", WebFault::Wait);
    let credentials = world.credentials();
    tokio::select! {
        _ = credentials.headers() => panic!("the token endpoint answered"),
        _ = world.authorization.wait_requests("/token", 2) => {}
    }
    world.authorization.let_through();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert_eq!(world.token_requests("refresh_token").len(), 1);
}

#[tokio::test]
async fn a_browser_that_goes_away_does_not_lose_the_token() {
    let world = World::start().await;
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    world.authorization.set_fault("/token", WebFault::Wait);
    tokio::select! {
        _ = world.complete(callback) => panic!("the token endpoint answered"),
        _ = world.authorization.wait_requests("/token", 1) => {}
    }
    world.authorization.let_through();
    world.parts.tasks.close();
    world.parts.tasks.wait().await;
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn a_process_that_comes_second_uses_what_the_first_got() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.clock.advance(3600);
    world.authorization.set_fault("/token", WebFault::Wait);
    // Its own locks: as if it were on another machine.
    let other = OAuth::new(OAuthParts { http: crate::world::clients(), ..world.parts.clone() });
    let other = other.authorizer(world.upstream(&world.resource.url()), user("ada")).credentials();
    let first = async {
        let called = world.call().await;
        world.authorization.let_through();
        called
    };
    let second = async {
        world.authorization.wait_requests("/token", 2).await;
        let let_first_through = async {
            world.authorization.wait_requests("/token", 3).await;
            world.authorization.let_through();
        };
        tokio::join!(other.headers(), let_first_through).0
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first, Ok(StatusCode::OK));
    assert_eq!(world.request(second.unwrap()).await.0, StatusCode::OK);
    assert_eq!(world.token_requests("refresh_token").len(), 2);
}

#[tokio::test]
async fn an_upstream_that_moves_to_another_server_gets_new_tokens_and_a_new_client() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    let second = FakeAuthorization::start().await;
    world.resource.configure(|resource| resource.servers = vec![second.url()]);
    world.authorization.end_tokens();
    assert_eq!(world.call().await, Err(CredentialsError::Needed));

    let started = world.begin().await.unwrap();
    world.complete(world.say_yes(&started).await).await.unwrap();
    assert_eq!(second.requests("/register").len(), 1);
    assert_eq!(second.requests("/token").len(), 1);
    assert_eq!(second.requests("/token")[0].form["grant_type"], "authorization_code");
    // Nothing of the old grant was sent to the old server either.
    assert!(world.token_requests("refresh_token").is_empty());
}

#[tokio::test]
async fn a_new_secret_of_the_operator_is_used_at_once() {
    let mut world = World::start().await;
    let client = |secret: &str| {
        Some(RegisteredClient {
            id: "by-hand".to_owned(),
            secret: Some(SecretText::new(secret)),
            issuer: None,
        })
    };
    let knows = |secret: &str| vec![("by-hand".to_owned(), Some(secret.to_owned()))];
    world.authorization.configure(|server| {
        server.clients = knows("old");
        server.auth_methods = vec!["client_secret_basic".to_owned()];
    });
    world.settings.client = client("old");
    world.authorize().await.unwrap();
    world.authorization.configure(|server| server.clients = knows("new"));
    world.settings.client = client("new");
    world.clock.advance(3600);
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn the_search_goes_through_the_metadata_each_time() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    let before = world.authorization.requests(METADATA).len();
    world.clock.advance(3600);
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert_eq!(world.authorization.requests(METADATA).len(), before + 1);
}
