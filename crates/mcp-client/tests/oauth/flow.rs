//! From nothing to a token, in each way that servers require.

use http::StatusCode;
use serde_json::json;
use toolyard_mcp_client::oauth::{OAuthError, RegisteredClient};
use toolyard_mcp_client::{Credentials, CredentialsError};
use toolyard_protocol::secret::SecretText;

use crate::world::{METADATA, PRM, REDIRECT, World, user};

#[tokio::test]
async fn a_client_registers_and_gets_a_token() {
    let world = World::start().await;
    world.resource.configure(|resource| resource.challenge_scope = Some("read".to_owned()));
    assert_eq!(world.call().await, Err(CredentialsError::Needed));

    let started = world.begin().await.unwrap();
    let callback = world.say_yes(&started).await;
    assert_eq!(callback.state.as_deref(), Some(&*started.state));
    let key = world.complete(callback).await.unwrap();
    assert_eq!((&*key.upstream, key.user), ("mcp.test", user("ada")));
    assert_eq!(world.call().await, Ok(StatusCode::OK));

    assert_eq!(
        world.authorization.requests("/register")[0].json,
        json!({
            "client_name": "Yard",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
            "response_types": ["code"],
            "scope": "read",
            "application_type": "web",
        })
    );
    let asked = &world.authorization.requests("/authorize")[0].query;
    assert_eq!((&*asked["resource"], &*asked["scope"]), (&*world.resource.url(), "read"));
    assert_eq!(world.token_requests("authorization_code")[0]["resource"], world.resource.url());
}

#[tokio::test]
async fn a_client_that_registered_with_a_secret_proves_itself_with_it() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let world = World::start().await;
        world.authorization.configure(|server| {
            server.gives_secret = true;
            server.auth_methods = vec![method.to_owned()];
        });
        world.authorize().await.unwrap();
        world.clock.advance(3600);
        assert_eq!(world.call().await, Ok(StatusCode::OK), "{method}");
        assert_eq!(world.token_requests("refresh_token").len(), 1);
    }
}

#[tokio::test]
async fn a_client_registered_by_hand_goes_first() {
    let mut world = World::start().await;
    world.authorization.configure(|server| {
        server.clients = vec![("by-hand".to_owned(), Some("sesame".to_owned()))];
        server.auth_methods = vec!["client_secret_basic".to_owned()];
        server.cimd = true;
    });
    world.settings.client_metadata_url = Some("https://yard.example/client.json".to_owned());
    let issuer = Some(world.authorization.url());
    world.settings.client =
        Some(RegisteredClient { id: "by-hand".to_owned(), secret: Some(SecretText::new("sesame")), issuer });
    world.authorize().await.unwrap();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert_eq!(world.authorization.requests("/authorize")[0].query["client_id"], "by-hand");
    assert!(world.authorization.requests("/register").is_empty());
}

#[tokio::test]
async fn a_secret_is_only_for_the_server_that_gave_it() {
    let mut world = World::start().await;
    let issuer = Some("https://elsewhere.example".to_owned());
    world.settings.client =
        Some(RegisteredClient { id: "by-hand".to_owned(), secret: Some(SecretText::new("sesame")), issuer });
    assert_eq!(world.begin().await, Err(OAuthError::OtherServer));
}

#[tokio::test]
async fn our_metadata_document_is_our_id_where_the_server_can() {
    let mut world = World::start().await;
    world.settings.client_metadata_url = Some("https://yard.example/client.json".to_owned());
    world.authorization.configure(|server| server.cimd = true);
    world.authorize().await.unwrap();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert_eq!(
        world.authorization.requests("/authorize")[0].query["client_id"],
        "https://yard.example/client.json"
    );
    assert!(world.authorization.requests("/register").is_empty());

    world.authorization.configure(|server| server.cimd = false);
    world.authorizer().forget_tokens().await.unwrap();
    world.authorize().await.unwrap();
    assert_eq!(world.authorization.requests("/register").len(), 1);

    world.authorization.configure(|server| server.cimd = true);
    world.settings.client_metadata_url = Some("http://localhost/client.json".to_owned());
    world.authorizer().forget_tokens().await.unwrap();
    world.authorize().await.unwrap();
    assert_eq!(world.authorization.requests("/register").len(), 2, "nobody else could read it there");
}

#[tokio::test]
async fn a_server_without_registration_is_reported() {
    let world = World::start().await;
    world.authorization.configure(|server| server.registers = false);
    let refused = world.begin().await.unwrap_err();
    assert_eq!(refused, OAuthError::NotRegistered("it has no registration endpoint".to_owned()));
}

#[tokio::test]
async fn metadata_are_found_wherever_they_may_lie() {
    let world = World::start().await;
    let well_known = vec![PRM.to_owned()];
    let elsewhere = "/custom/place.json".to_owned();
    for (paths, challenge, openid) in [
        (well_known.clone(), None, false),
        (well_known, None, true),
        (vec![elsewhere.clone()], Some(elsewhere), true),
    ] {
        let root = world.resource.url().replace("/mcp", "");
        world.resource.configure(|resource| {
            resource.metadata_paths = paths;
            resource.challenge_metadata = challenge.map(|path| format!("{root}{path}"));
        });
        world.authorization.configure(|server| server.openid = openid);
        assert_eq!(world.call().await, Err(CredentialsError::Needed));
        world.authorize().await.unwrap();
        assert_eq!(world.call().await, Ok(StatusCode::OK));
        world.authorizer().forget_tokens().await.unwrap();
    }
}

#[tokio::test]
async fn the_challenge_goes_before_the_well_known_paths_and_nothing_is_read_twice() {
    let world = World::start().await;
    let [with_path, root] = [format!("{PRM}/mcp"), PRM.to_owned()];
    world.begin().await.unwrap();
    assert_eq!([&with_path, &root].map(|path| world.resource.requests(path).len()), [1, 0]);

    // The path in the challenge is empty: the others are tried, and that one is not requested again.
    world.resource.configure(|resource| resource.metadata_paths = vec![root.clone()]);
    world.begin().await.unwrap();
    assert_eq!([&with_path, &root].map(|path| world.resource.requests(path).len()), [2, 1]);
    let revision = &world.resource.requests(&root)[0].headers["mcp-protocol-version"];
    assert_eq!(revision, "2025-11-25");
}

#[tokio::test]
async fn the_resource_is_named_as_it_names_itself() {
    let world = World::start().await;
    // Without a path: a URL parser would add a slash to it.
    let root = world.resource.url().replace("/mcp", "");
    world.resource.configure(|resource| resource.resource = Some(root.clone()));
    world.authorize().await.unwrap();
    world.clock.advance(3600);
    assert_eq!(world.call().await, Ok(StatusCode::OK));
    assert_eq!(world.authorization.requests("/authorize")[0].query["resource"], root);
    for grant in ["authorization_code", "refresh_token"] {
        assert_eq!(world.token_requests(grant)[0]["resource"], root, "{grant}");
    }
}

#[tokio::test]
async fn scopes_come_from_the_operator_or_the_challenge_or_the_metadata_or_not_at_all() {
    let mut world = World::start().await;
    let scopes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    world.begin().await.unwrap();
    world.resource.configure(|resource| resource.scopes = scopes(&["a", "b"]));
    world.begin().await.unwrap();
    world.authorization.configure(|server| server.scopes = Some(scopes(&["a", "z", "offline_access"])));
    world.begin().await.unwrap();
    world.resource.configure(|resource| resource.challenge_scope = Some("c".to_owned()));
    world.call().await.unwrap_err();
    world.begin().await.unwrap();
    world.settings.scopes = scopes(&["d"]);
    world.begin().await.unwrap();
    let asked: Vec<_> =
        world.authorization.requests("/register").iter().map(|seen| seen.json["scope"].clone()).collect();
    let expected = [json!(null), json!("a b"), json!("a b offline_access"), json!("c offline_access")];
    assert_eq!(asked, [&expected[..], &[json!("d offline_access")]].concat());
}

#[tokio::test]
async fn each_user_authorizes_alone() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    let bob = world.oauth.authorizer(world.upstream(&world.resource.url()), user("bob")).credentials();
    assert!(bob.headers().await.unwrap().is_empty());
    assert_eq!(world.call_as(&bob).await, Err(CredentialsError::Needed));
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn what_is_forgotten_is_gone() {
    let world = World::start().await;
    world.authorize().await.unwrap();
    world.authorizer().forget_tokens().await.unwrap();
    assert_eq!(world.kept().await, None);
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
}

#[tokio::test]
async fn a_server_without_oauth_is_recognized() {
    let world = World::start().await;
    world.resource.configure(|resource| resource.metadata_paths.clear());
    assert_eq!(world.begin().await, Err(OAuthError::NoMetadata));
    world.resource.configure(|resource| resource.metadata_paths = vec![PRM.to_owned()]);
    world.authorization.configure(|server| server.openid = true);
    world.begin().await.unwrap();
    assert_eq!(world.authorization.requests(METADATA).len(), 1);
}
