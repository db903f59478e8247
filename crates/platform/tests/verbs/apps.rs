use serde_json::{Map, json};
use toolyard_core::ports::Change;
use toolyard_platform::{Actor, PlatformError, apps};
use toolyard_protocol::{PackageName, api::Role, app::NewApp};

use crate::fixture::{Fixture, person, refusal};

fn new_app(name: &str) -> NewApp {
    let tool = json!({ "name": "echo", "description": "Echoes", "inputSchema": { "type": "object" } });
    serde_json::from_value(json!({ "packageName": name, "name": "A", "tools": [tool] })).unwrap()
}

fn package(name: &str) -> PackageName {
    name.parse().unwrap()
}

#[tokio::test]
async fn a_registered_app_belongs_to_its_developer_and_is_announced() {
    let f = Fixture::start().await;
    let (dora, eve) = (person("dora", Role::Developer), person("eve", Role::Developer));
    let registered = apps::register(&f.platform, &dora, new_app("com.a")).await.unwrap();
    assert_eq!((registered.app.owner.as_str(), registered.app.tool_count), ("dora", 1));
    assert!(registered.api_key.len() == 64 && registered.api_key != registered.signing_secret);
    let announced = [Change::DefinitionsChanged(package("com.a")), Change::AppChanged(package("com.a"))];
    assert_eq!(f.announced(), announced, "its tools are pinned");
    assert!(apps::find_owned(&f.platform, &person("op", Role::Operator), &package("com.a")).await.is_ok());
    let hidden = refusal(apps::find_owned(&f.platform, &eve, &package("com.a")).await);
    assert!(matches!(hidden, PlatformError::NotFound(_)), "what eve does not own does not exist: {hidden}");
    let taken = refusal(apps::register(&f.platform, &eve, new_app("com.a")).await);
    assert!(matches!(taken, PlatformError::Conflict(_)), "{taken}");
    assert!(f.announced().is_empty(), "what was refused is not announced");
}

#[tokio::test]
async fn all_problems_are_reported_at_once_and_nothing_is_stored() {
    let f = Fixture::start().await;
    let dora = person("dora", Role::Developer);
    let mut new = new_app("mcp.reserved");
    new.details.public_url = Some("http://127.0.0.1/".to_owned());
    new.details.call_timeout_ms = Some(0);
    new.api_key_hash = Some("no hash".to_owned());
    let PlatformError::Invalid { problems, .. } = refusal(apps::register(&f.platform, &dora, new).await)
    else {
        panic!("expected problems")
    };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["packageName", "publicUrl", "callTimeoutMs", "apiKeyHash"]);
    assert!(apps::list_owned(&f.platform, &dora).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_app_key_reads_its_app_and_publishes_tools_and_nothing_else() {
    let f = Fixture::start().await;
    let dora = person("dora", Role::Developer);
    apps::register(&f.platform, &dora, new_app("com.a")).await.unwrap();
    let app = Actor::App(f.platform.catalog.find_app(&package("com.a")).await.unwrap().unwrap());
    let (name, platform) = (package("com.a"), &f.platform);
    assert!(apps::find_owned(platform, &app, &name).await.is_ok());
    let set = serde_json::from_value(json!({ "tools": [] })).unwrap();
    assert_eq!(apps::publish_tools(platform, &app, &name, set).await.unwrap(), 2);
    let refused = [
        refusal(apps::register(platform, &app, new_app("com.b")).await),
        refusal(apps::change(platform, &app, &name, apps::AppUpdate::default()).await),
        refusal(apps::rotate_key(platform, &app, &name).await),
        refusal(apps::rotate_secret(platform, &app, &name).await),
        refusal(apps::remove(platform, &app, &name).await),
    ];
    assert!(refused.iter().all(|error| matches!(error, PlatformError::Forbidden(_))), "{refused:?}");
}

#[tokio::test]
async fn a_change_is_whole_and_the_assistant_grant_is_the_operators() {
    let f = Fixture::start().await;
    let (dora, boss, name) =
        (person("dora", Role::Developer), person("boss", Role::Operator), package("com.a"));
    apps::register(&f.platform, &dora, new_app("com.a")).await.unwrap();
    let patch = |member: &str, value: serde_json::Value| apps::AppUpdate {
        details: Map::from_iter([(member.to_owned(), value)]),
        assistant: None,
    };
    let changed = apps::change(&f.platform, &dora, &name, patch("name", json!("B"))).await.unwrap();
    assert_eq!(changed.details.name, "B");
    refusal(apps::change(&f.platform, &dora, &name, patch("callTimeoutMs", json!(0))).await);
    let grant = || apps::AppUpdate { assistant: Some(true), ..apps::AppUpdate::default() };
    refusal(apps::change(&f.platform, &dora, &name, grant()).await);
    assert!(apps::change(&f.platform, &boss, &name, grant()).await.unwrap().assistant);
    f.announced();
    apps::remove(&f.platform, &dora, &name).await.unwrap();
    assert_eq!(f.announced(), [Change::AppRemoved(name.clone())]);
    assert!(matches!(refusal(apps::remove(&f.platform, &dora, &name).await), PlatformError::NotFound(_)));
}
