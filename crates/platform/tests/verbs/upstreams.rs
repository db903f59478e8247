use serde_json::{Map, Value, json};
use toolyard_core::{ports::Change, upstream_secrets::HIDDEN};
use toolyard_platform::{
    PlatformError, installs,
    upstreams::{self, NewUpstreamRequest},
};
use toolyard_protocol::api::Role;

use crate::fixture::{Fixture, for_user, person, refusal};

fn members(details: Value) -> Map<String, Value> {
    match details {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn request(id: &str, details: Value) -> NewUpstreamRequest {
    NewUpstreamRequest { id: id.to_owned(), details: members(details) }
}

#[tokio::test]
async fn secrets_are_sealed_and_do_not_move_to_another_origin() {
    let f = Fixture::start().await;
    let dora = person("dora", Role::Developer);
    let details = json!({ "url": "https://u.example/mcp", "headers": { "authorization": "s3cret" } });
    let added = upstreams::add(&f.platform, &dora, request("one", details)).await.unwrap();
    assert_eq!(added.record.details.headers["authorization"], HIDDEN);
    assert_eq!(f.announced(), [Change::UpstreamChanged("mcp.one".parse().unwrap())]);
    let moved = json!({ "url": "https://evil.example/mcp" });
    let refused = refusal(upstreams::change(&f.platform, &dora, "one", members(moved)).await);
    assert!(refused.to_string().contains("old address"), "{refused}");
    let path = json!({ "url": "https://u.example/v2" });
    let changed = upstreams::change(&f.platform, &dora, "one", members(path)).await.unwrap();
    let opened =
        toolyard_core::upstream_secrets::open_secrets(&changed.record, &*f.platform.secrets).unwrap();
    assert_eq!(opened.headers["authorization"], "s3cret", "the value stayed");
}

#[tokio::test]
async fn an_upstream_belongs_to_who_added_it_and_some_things_to_operators() {
    let f = Fixture::start().await;
    let (dora, eve, boss) =
        (person("dora", Role::Developer), person("eve", Role::Developer), person("boss", Role::Operator));
    let url = || json!({ "url": "https://u.example/mcp" });
    upstreams::add(&f.platform, &dora, request("one", url())).await.unwrap();
    assert!(matches!(
        refusal(upstreams::add(&f.platform, &eve, request("one", url())).await),
        PlatformError::Conflict(_)
    ));
    refusal(upstreams::find_owned(&f.platform, &eve, "one").await);
    refusal(upstreams::remove(&f.platform, &eve, "one").await);
    assert_eq!(upstreams::list_owned(&f.platform, &boss).await.unwrap().len(), 1);
    let shared = json!({ "url": "https://u.example/mcp", "forAll": true });
    refusal(upstreams::add(&f.platform, &eve, request("two", shared.clone())).await);
    f.announced();
    upstreams::add(&f.platform, &boss, request("two", shared)).await.unwrap();
    assert_eq!(
        f.announced(),
        [Change::UpstreamChanged("mcp.two".parse().unwrap()), Change::SharedToolsChanged]
    );
    let command = json!({ "command": "sh" });
    let refused = refusal(upstreams::add(&f.platform, &boss, request("three", command)).await);
    assert!(refused.to_string().contains("allow_commands"), "{refused}");
    upstreams::remove(&f.platform, &boss, "two").await.unwrap();
    assert_eq!(
        f.announced(),
        [Change::UpstreamRemoved("mcp.two".parse().unwrap()), Change::SharedToolsChanged]
    );
}

#[tokio::test]
async fn the_configuration_file_owns_what_is_in_it() {
    let f = Fixture::start().await;
    let boss = person("boss", Role::Operator);
    let details = serde_json::from_value(json!({ "url": "https://u.example/mcp" })).unwrap();
    let file = std::collections::BTreeMap::from([("one".to_owned(), details)]);
    upstreams::sync_from_config(&f.platform, &file).await.unwrap();
    let refused = refusal(upstreams::change(&f.platform, &boss, "one", Map::new()).await);
    assert!(matches!(refused, PlatformError::Conflict(_)), "{refused}");
    refusal(upstreams::remove(&f.platform, &boss, "one").await);
    let ada = for_user("ada");
    installs::install(&f.platform, &ada, &"mcp.one".parse().unwrap()).await.unwrap();
    // Removed from the file: disabled, with its installs, until it returns or is removed.
    upstreams::sync_from_config(&f.platform, &std::collections::BTreeMap::new()).await.unwrap();
    assert!(upstreams::find_owned(&f.platform, &boss, "one").await.unwrap().record.disabled);
    upstreams::sync_from_config(&f.platform, &file).await.unwrap();
    assert!(!upstreams::find_owned(&f.platform, &boss, "one").await.unwrap().record.disabled);
    upstreams::sync_from_config(&f.platform, &std::collections::BTreeMap::new()).await.unwrap();
    upstreams::remove(&f.platform, &boss, "one").await.unwrap();
}
