//! The token is valid, but lacks scopes.

use http::StatusCode;
use toolyard_mcp_client::oauth::OAuthError;
use toolyard_mcp_client::{AuthChallenge, Credentials, CredentialsError};

use crate::world::World;

async fn world_with_read() -> World {
    let world = World::start().await;
    world.resource.configure(|resource| resource.challenge_scope = Some("read".to_owned()));
    world.call().await.unwrap_err();
    world.authorization.configure(|server| server.gives_scope = Some("read also".to_owned()));
    world.authorize().await.unwrap();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    world.authorization.configure(|server| server.gives_scope = None);
    world.resource.configure(|resource| resource.needs = Some("write".to_owned()));
    world
}

#[tokio::test]
async fn step_up_requests_granted_and_missing_scopes() {
    let world = world_with_read().await;
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    // What the token allows still works.
    assert!(!world.credentials().headers().await.unwrap().is_empty());

    world.authorize().await.unwrap();
    assert_eq!(world.authorization.requests("/authorize")[1].query["scope"], "read also write");
    assert_eq!(world.authorization.requests("/register").len(), 1, "the same client asks for more");
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn a_scope_that_was_not_granted_is_requested_once() {
    let world = world_with_read().await;
    world.authorization.configure(|server| server.gives_scope = Some("read also".to_owned()));
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    world.authorize().await.unwrap();
    for _ in 0..2 {
        let failed = world.call().await.unwrap_err();
        assert!(matches!(failed, CredentialsError::Failed(_)), "{failed:?}");
    }
    let started = world.begin().await.unwrap();
    assert!(started.link.contains("scope=read+also&"), "{}", started.link);
    world.authorizer().forget_tokens().await.unwrap();
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
}

#[tokio::test]
async fn an_unknown_scope_is_not_requested_again() {
    let world = world_with_read().await;
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    world.authorization.configure(|server| server.denies = Some("invalid_scope".to_owned()));
    assert_eq!(world.authorize().await, Err(OAuthError::Denied("invalid_scope".to_owned())));
    world.authorization.configure(|server| server.denies = None);
    world.authorize().await.unwrap();
    assert_eq!(world.authorization.requests("/authorize")[2].query["scope"], "read also");
}

#[tokio::test]
async fn any_other_403_is_a_refusal() {
    let world = world_with_read().await;
    let challenge =
        |status, header: &str| AuthChallenge { status, www_authenticate: vec![header.to_owned()] };
    for header in ["", "Bearer", "Bearer error=\"invalid_token\", scope=\"write\""] {
        let no = challenge(StatusCode::FORBIDDEN, header);
        assert_eq!(world.credentials().handle_challenge(&no).await, Ok(false), "{header}");
    }
    let odd = challenge(StatusCode::IM_A_TEAPOT, "Bearer error=\"insufficient_scope\", scope=\"write\"");
    assert_eq!(world.credentials().handle_challenge(&odd).await, Ok(false));
}
