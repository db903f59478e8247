use toolyard_platform::{Actor, Credential, PlatformError, apps, devices};
use toolyard_protocol::api::Role;

use crate::fixture::{Fixture, person, refusal};

fn with_token(name: &str, role: Role) -> Actor {
    let credential = Credential::Token { expires_at: i64::MAX, id: None };
    Actor::Person { name: name.to_owned(), role, credential }
}

#[test]
fn a_person_connects_their_own_device_and_an_operator_anyones() {
    let named = Some("bob".parse().unwrap());
    for (actor, named, user) in [
        (with_token("ada", Role::User), None, "ada"),
        (with_token("ada", Role::User), named.clone(), "ada"),
        (with_token("dora", Role::Developer), named.clone(), "dora"),
        (with_token("root", Role::Operator), None, "root"),
        (with_token("root", Role::Operator), named.clone(), "bob"),
        (person("dev", Role::Operator), named, "bob"),
    ] {
        assert_eq!(devices::connect(actor, named).unwrap().user.as_str(), user);
    }
}

#[tokio::test]
async fn without_a_user_there_is_no_device() {
    let unnamed = refusal(devices::connect(person("dev", Role::Operator), None));
    assert!(unnamed.to_string().contains("X-User-Id"), "{unnamed}");
    let job = refusal(devices::connect(with_token("ci job", Role::Developer), None));
    assert!(matches!(job, PlatformError::BadCredential(_)), "{job}");
    let f = Fixture::start().await;
    let app = serde_json::from_value(serde_json::json!({ "packageName": "com.a" })).unwrap();
    apps::register(&f.platform, &person("dora", Role::Developer), app).await.unwrap();
    let key = f.platform.catalog.find_app(&"com.a".parse().unwrap()).await.unwrap().unwrap();
    let app = refusal(devices::connect(Actor::App(key), Some("ada".parse().unwrap())));
    assert!(matches!(app, PlatformError::Forbidden(_)), "{app}");
}
