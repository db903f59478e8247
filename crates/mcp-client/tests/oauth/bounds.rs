//! Limits of OAuth: allowed URLs, sizes and times.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use toolyard_mcp_client::CredentialsError;
use toolyard_mcp_client::oauth::{OAuth, OAuthError, OAuthParts};
use toolyard_net::{ClientSettings, GuardPolicy, NetError, ReferralClients};
use toolyard_testkit::authorization::WebFault;

use crate::world::{METADATA, PRM, World, user};

const TOO_LARGE: OAuthError = OAuthError::Net(NetError::TooLarge { limit: 256 * 1024 });

#[tokio::test]
async fn the_guard_checks_every_oauth_url_first() {
    let world = World::start().await;
    let http = ReferralClients::new(&GuardPolicy::default(), ClientSettings::default());
    let oauth = OAuth::new(OAuthParts { http, ..world.parts.clone() });
    let strict = oauth.authorizer(world.upstream(&world.resource.url()), user("ada"));
    assert!(matches!(strict.begin_flow().await, Err(OAuthError::Refused(_))));
    assert!(world.resource.requests("/mcp").is_empty());
}

#[tokio::test]
async fn an_authorization_server_on_a_private_address_is_refused() {
    let world = World::start().await;
    for server in ["http://10.0.0.1", "http://169.254.169.254", "http://[fd00:ec2::254]"] {
        world.resource.configure(|resource| resource.servers = vec![server.to_owned()]);
        let refused = world.begin().await.unwrap_err();
        assert!(matches!(refused, OAuthError::Refused(_)), "{server}: {refused:?}");

        let usable = world.authorization.url();
        world.resource.configure(|resource| resource.servers = vec![server.to_owned(), usable]);
        world.begin().await.unwrap();
    }
}

#[tokio::test]
async fn a_challenge_that_names_a_private_address_is_as_good_as_none() {
    let world = World::start().await;
    world.resource.configure(|resource| {
        resource.challenge_metadata = Some("http://169.254.169.254/latest/meta-data".to_owned());
    });
    assert_eq!(world.call().await, Err(CredentialsError::Needed));
    world.authorize().await.unwrap();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn only_some_of_many_authorization_servers_are_tried() {
    let world = World::start().await;
    let mut servers: Vec<_> =
        (0..20).map(|number| format!("{}/{number}", world.authorization.url())).collect();
    world.authorization.set_fault(METADATA, WebFault::Status(404));
    servers.push(world.authorization.url());
    world.resource.configure(|resource| resource.servers = servers);
    assert!(matches!(world.begin().await, Err(OAuthError::BadMetadata(_))));
    assert_eq!(world.authorization.requests(&format!("{METADATA}/7")).len(), 1);
    assert!(world.authorization.requests(&format!("{METADATA}/8")).is_empty());
}

#[tokio::test]
async fn metadata_that_fails_for_now_differs_from_none() {
    for (status, none) in [(404, true), (403, true), (429, false), (503, false)] {
        let world = World::start().await;
        world.resource.set_fault(&format!("{PRM}/mcp"), WebFault::Status(status));
        world.resource.configure(|resource| resource.metadata_paths.clear());
        let failed = world.begin().await.unwrap_err();
        assert_eq!(failed == OAuthError::NoMetadata, none, "{status}: {failed:?}");
    }
}

#[tokio::test]
async fn endpoints_on_private_addresses_are_refused() {
    let world = World::start().await;
    let endpoints = |name: &str, url: &str| {
        let metadata = json!({ name: url });
        world.authorization.configure(|server| server.metadata = metadata);
    };
    endpoints("registration_endpoint", "http://169.254.169.254/latest/meta-data");
    assert!(matches!(world.begin().await, Err(OAuthError::Refused(_))));
    endpoints("token_endpoint", "http://10.0.0.1/token");
    assert!(matches!(world.authorize().await, Err(OAuthError::Refused(_))));

    world.authorization.configure(|server| server.metadata = json!({}));
    world.authorize().await.unwrap();
    endpoints("token_endpoint", "http://10.0.0.1/token");
    world.clock.advance(3600);
    let refused = world.call().await.unwrap_err();
    assert!(matches!(&refused, CredentialsError::Failed(text) if text.contains("10.0.0.1")), "{refused:?}");
}

#[tokio::test]
async fn redirects_are_judged_hop_by_hop() {
    let world = World::start().await;
    let metadata = || "http://169.254.169.254/latest/meta-data".to_owned();
    for status in [301, 302, 307, 308] {
        world.authorization.set_fault(METADATA, WebFault::Redirect(status, metadata()));
        let refused = world.begin().await.unwrap_err();
        assert!(matches!(refused, OAuthError::BadMetadata(_)), "{status}: {refused:?}");
    }
    let world = World::start().await;
    world.authorization.set_fault("/register", WebFault::Redirect(307, metadata()));
    assert!(matches!(world.begin().await, Err(OAuthError::Refused(_))));
    // Would turn the registration into a GET.
    world.authorization.set_fault("/register", WebFault::Redirect(302, metadata()));
    assert!(matches!(world.begin().await, Err(OAuthError::NotRegistered(_))));
}

#[tokio::test]
async fn a_registration_follows_a_redirect_and_not_without_end() {
    let world = World::start().await;
    let url = world.authorization.url();
    world
        .authorization
        .configure(|server| server.metadata = json!({ "registration_endpoint": format!("{url}/old") }));
    world.authorization.set_fault("/old", WebFault::Redirect(308, "/register".to_owned()));
    world.authorize().await.unwrap();
    assert_eq!(world.authorization.requests("/register")[0].json["client_name"], "Yard");

    world.authorizer().forget_tokens().await.unwrap();
    world.authorization.set_fault("/old", WebFault::Redirect(308, "/old".to_owned()));
    let refused = world.begin().await.unwrap_err();
    assert!(matches!(refused, OAuthError::BadMetadata(_)), "{refused:?}");
    assert_eq!(world.authorization.requests("/old").len(), 1 + 6);
}

#[tokio::test]
async fn a_code_is_not_sent_after_a_redirect() {
    let world = World::start().await;
    world.authorization.set_fault("/token", WebFault::Redirect(307, "/elsewhere".to_owned()));
    assert!(matches!(world.authorize().await, Err(OAuthError::NoToken(_))));
    assert!(world.authorization.requests("/elsewhere").is_empty());
}

#[tokio::test]
async fn answers_are_read_up_to_a_limit() {
    let world = World::start().await;
    world.authorization.set_fault("/register", WebFault::Huge);
    assert_eq!(world.begin().await, Err(TOO_LARGE));
    world.authorization.set_fault(METADATA, WebFault::Huge);
    assert_eq!(world.begin().await, Err(TOO_LARGE));
    world.resource.set_fault(&format!("{PRM}/mcp"), WebFault::Huge);
    assert_eq!(world.begin().await, Err(TOO_LARGE));

    let world = World::start().await;
    world.authorization.set_fault("/token", WebFault::Huge);
    assert_eq!(world.authorize().await, Err(TOO_LARGE));
}

#[tokio::test]
async fn every_oauth_step_has_a_time_limit() {
    let world = World::start().await;
    let in_time = Err(OAuthError::TimedOut(Duration::from_secs(10)));
    world.authorization.set_fault("/register", WebFault::Hang);
    let (begun, ()) = tokio::join!(world.begin(), async {
        world.authorization.wait_requests("/register", 1).await;
        // From here on only time passes, and it passes at once.
        tokio::time::pause();
    });
    assert_eq!(begun.map(|_| ()), in_time);
    tokio::time::resume();

    let world = World::start().await;
    world.authorization.set_fault("/token", WebFault::Hang);
    let callback = world.say_yes(&world.begin().await.unwrap()).await;
    let (completed, ()) = tokio::join!(world.complete(callback), async {
        world.authorization.wait_requests("/token", 1).await;
        tokio::time::pause();
    });
    assert_eq!(completed.map(|_| ()), in_time);
}

#[tokio::test]
async fn many_slow_answers_are_not_waited_for_either() {
    let world = World::start().await;
    let prm = format!("{PRM}/mcp");
    world.resource.set_fault("/mcp", WebFault::Wait);
    world.resource.set_fault(&prm, WebFault::Wait);
    world.authorization.set_fault(METADATA, WebFault::Wait);
    world.authorization.set_fault("/register", WebFault::Hang);
    let slowly = async {
        let almost = Duration::from_secs(9);
        world.resource.wait_requests("/mcp", 1).await;
        tokio::time::advance(almost).await;
        world.resource.let_through();
        world.resource.wait_requests(&prm, 1).await;
        tokio::time::advance(almost).await;
        world.resource.let_through();
        world.authorization.wait_requests(METADATA, 1).await;
        tokio::time::advance(almost).await;
        world.authorization.let_through();
        world.authorization.wait_requests("/register", 1).await;
        tokio::time::advance(almost).await;
    };
    tokio::time::pause();
    // A task is always busy: time moves only when the test advances it.
    let busy = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    let begun = tokio::select! {
        (begun, ()) = async { tokio::join!(world.begin(), slowly) } => begun,
        () = busy => unreachable!(),
    };
    assert_eq!(begun.map(|_| ()), Err(OAuthError::TimedOut(Duration::from_secs(30))));
}

#[tokio::test]
async fn a_failing_token_endpoint_differs_from_a_refusal() {
    let world = World::start().await;
    world.authorization.set_fault("/token", WebFault::Status(500));
    let failed = world.authorize().await;
    assert_eq!(failed, Err(OAuthError::NoToken("its response is not valid OAuth".to_owned())));
    let world = World::start().await;
    world.authorization.configure(|server| server.refuses = Some((400, "invalid_grant".to_owned())));
    assert_eq!(world.authorize().await, Err(OAuthError::NoToken("invalid_grant".to_owned())));
    world.authorization.configure(|server| server.refuses = None);
    world.authorize().await.unwrap();
    assert_eq!(world.call().await, Ok(StatusCode::OK));
}

#[tokio::test]
async fn an_open_stream_of_events_is_not_read_to_its_end() {
    let world = World::start().await;
    world.resource.set_fault("/mcp", WebFault::Stream);
    world.authorize().await.unwrap();
}
