use serde_json::json;
use toolyard_core::{Caller, catalog::ViewScope};
use toolyard_platform::{
    Actor, ActorOfUser, Credential, PlatformError, apps, installs,
    tokens::{self, TokenRequest},
    users::{self, SocketKind},
};
use toolyard_protocol::{PackageName, api::Role};

use crate::fixture::{Fixture, for_user, person, refusal};

/// Registers an app, and returns it as the actor for a user.
async fn app_for(f: &Fixture, package: &str, user: &str) -> (PackageName, ActorOfUser) {
    let app = serde_json::from_value(json!({ "packageName": package, "name": "A" })).unwrap();
    apps::register(&f.platform, &person("dora", Role::Developer), app).await.unwrap();
    let name: PackageName = package.parse().unwrap();
    let actor = Actor::App(f.platform.catalog.find_app(&name).await.unwrap().unwrap());
    (name, ActorOfUser { user: user.parse().unwrap(), actor })
}

#[tokio::test]
async fn a_persons_request_opens_a_session_until_there_are_too_many() {
    let f = Fixture::start().await;
    let own = users::open_session(&f.platform, &for_user("ada")).await.unwrap();
    assert!(matches!((own.caller, own.scope), (Caller::User, ViewScope::Everything)));
    let credential = Credential::Token { expires_at: i64::MAX, id: None };
    let root = Actor::Person { name: "root".to_owned(), role: Role::Operator, credential };
    let for_bob = ActorOfUser { user: "bob".parse().unwrap(), actor: root };
    let acting = users::open_session(&f.platform, &for_bob).await.unwrap();
    assert!(matches!(acting.caller, Caller::Person(name) if &*name == "root"), "not the user themselves");
    let full = refusal(users::open_session(&f.platform, &for_user("cleo")).await);
    assert!(matches!(full, PlatformError::Unavailable(_)), "{full}");
    users::open_session(&f.platform, &for_user("ada")).await.unwrap();
    assert_eq!((f.sessions.running("ada"), f.sessions.running("cleo")), (Some(vec![]), None));
}

#[tokio::test]
async fn an_app_needs_the_users_session_and_sees_only_itself_unless_granted() {
    let f = Fixture::start().await;
    let (package, app) = app_for(&f, "com.a", "ada").await;
    let ada = for_user("ada");
    installs::install(&f.platform, &ada, &package).await.unwrap();
    let absent = refusal(users::open_session(&f.platform, &app).await);
    assert!(matches!(absent, PlatformError::NoSession), "{absent}");
    assert_eq!(f.sessions.running("ada"), None, "an app opens none");
    users::open_session(&f.platform, &ada).await.unwrap();
    let access = users::open_session(&f.platform, &app).await.unwrap();
    assert!(matches!(&access.scope, ViewScope::Package(own) if *own == package), "{access:?}");
    installs::grant_assistant(&f.platform, &ada, &package, true).await.unwrap();
    let access = users::open_session(&f.platform, &app).await.unwrap();
    assert!(matches!(access.scope, ViewScope::Everything), "{access:?}");
    installs::uninstall(&f.platform, &ada, &package).await.unwrap();
    let gone = refusal(users::open_session(&f.platform, &app).await);
    assert!(matches!(gone, PlatformError::NoSession), "the same as without a session: {gone}");
}

#[tokio::test]
async fn a_user_starts_installed_apps_and_stops_running_ones() {
    let f = Fixture::start().await;
    let (package, app) = app_for(&f, "com.a", "ada").await;
    let (broken, _) = app_for(&f, "com.broken", "ada").await;
    let ada = for_user("ada");
    let missing = refusal(users::start_app(&f.platform, &ada, &package).await);
    assert!(matches!(missing, PlatformError::NotFound(_)), "{missing}");
    let absent = refusal(users::stop_app(&f.platform, &ada, &package).await);
    assert!(matches!(absent, PlatformError::NoSession), "{absent}");
    for package in [&package, &broken] {
        installs::install(&f.platform, &ada, package).await.unwrap();
    }
    users::start_app(&f.platform, &ada, &package).await.unwrap();
    assert_eq!(f.sessions.running("ada"), Some(vec!["com.a".to_owned()]));
    let failed = refusal(users::start_app(&f.platform, &ada, &broken).await);
    assert!(matches!(&failed, PlatformError::Unavailable(why) if why == "it does not respond"), "{failed}");
    let idle = refusal(users::stop_app(&f.platform, &ada, &broken).await);
    assert!(matches!(idle, PlatformError::NotFound(_)), "{idle}");
    for refused in [
        refusal(users::start_app(&f.platform, &app, &package).await),
        refusal(users::stop_app(&f.platform, &app, &package).await),
        refusal(users::end_session(&f.platform, &app).await),
    ] {
        assert!(matches!(refused, PlatformError::Forbidden(_)), "{refused}");
    }
    users::stop_app(&f.platform, &ada, &package).await.unwrap();
    assert_eq!(f.sessions.running("ada"), Some(vec![]));
    users::end_session(&f.platform, &ada).await.unwrap();
    users::end_session(&f.platform, &ada).await.unwrap();
    assert_eq!(f.sessions.running("ada"), None);
}

#[tokio::test]
async fn a_ticket_opens_one_socket_of_its_kind_for_its_holder() {
    let f = Fixture::start().await;
    let issue = |opens| users::issue_ticket(&f.platform, for_user("ada"), opens).unwrap();
    let redeem = |ticket: &str, opens| users::redeem_ticket(&f.platform, ticket, opens);
    let issued = issue(SocketKind::Mcp);
    assert_eq!((issued.expires_in_s, issued.ticket.len()), (30, 64));
    assert_eq!(redeem(&issued.ticket, SocketKind::Mcp).unwrap().user.as_str(), "ada");
    let wrong = issue(SocketKind::Glasses).ticket;
    refusal(redeem(&wrong, SocketKind::Mcp));
    for used in [&issued.ticket, &wrong] {
        for opens in [SocketKind::Mcp, SocketKind::Glasses] {
            let refused = refusal(redeem(used, opens));
            assert!(matches!(refused, PlatformError::BadCredential(_)), "{refused}");
        }
    }
    let late = issue(SocketKind::Mcp).ticket;
    f.clock.advance(30);
    refusal(redeem(&late, SocketKind::Mcp));
    let (_, app) = app_for(&f, "com.a", "ada").await;
    let device = refusal(users::issue_ticket(&f.platform, app.clone(), SocketKind::Glasses));
    assert!(matches!(device, PlatformError::Forbidden(_)), "{device}");
    users::issue_ticket(&f.platform, app, SocketKind::Mcp).unwrap();
}

#[tokio::test]
async fn a_ticket_of_a_revoked_token_opens_nothing() {
    let f = Fixture::start().await;
    let ada = person("ada", Role::User);
    let request = TokenRequest { name: "laptop".to_owned(), user: None, role: None, days: None };
    let token = tokens::issue(&f.platform, &ada, request).await.unwrap().listed;
    let credential =
        Credential::Token { expires_at: token.expires_at.as_second(), id: Some(token.id.clone()) };
    let actor = Actor::Person { name: "ada".to_owned(), role: Role::User, credential };
    let holder = ActorOfUser { user: "ada".parse().unwrap(), actor };
    let issue = || users::issue_ticket(&f.platform, holder.clone(), SocketKind::Mcp).unwrap().ticket;
    let (good, revoked) = (issue(), issue());
    users::redeem_ticket(&f.platform, &good, SocketKind::Mcp).unwrap();
    tokens::revoke(&f.platform, &ada, &token.id).await.unwrap();
    refusal(users::redeem_ticket(&f.platform, &revoked, SocketKind::Mcp));
}
