//! NATS is down for a while, and settings that make no cluster.

use serde_json::json;
use toolyard_server::{Server, ServerDependencies, config::Config};

use super::{
    call_echo,
    nodes::{Nodes, until},
    register_echo,
};
use crate::platform::tokens_only;

#[tokio::test]
async fn without_nats_requests_are_answered_and_changes_are_found_in_the_store() {
    let nodes = Nodes::start(2).await;
    let _app = register_echo(&nodes, json!({})).await;
    call_echo(&nodes.user(1, "ada"), "before").await.expect(200);
    nodes.nats.halt();
    for node in [0, 1] {
        call_echo(&nodes.user(node, "ada"), "known home").await.expect(200);
        nodes.user(node, &format!("new-{node}")).get("/api/session").await.expect(200);
    }
    // The home of a new user is found in the store.
    nodes.user(1, "new-0").get("/api/session").await.expect(200);
    assert_eq!(nodes.homes("new-0"), [0]);
    nodes.user(1, "ada").delete(&format!("/api/installs/{}", crate::platform::ECHO)).await.expect(204);
    until("the other node finds the change", async || nodes.user(1, "ada").tools().await.is_empty()).await;
    nodes.nats.start();
    until("homes are found again", async || {
        nodes.user(0, "later").get("/api/session").await.status == 200 && nodes.homes("later") == [0]
    })
    .await;
    nodes.user(1, "later").get("/api/session").await.expect(200);
    assert_eq!(nodes.homes("later"), [0]);
}

#[tokio::test]
async fn settings_that_make_no_cluster_are_refused() {
    async fn refusal(change: impl FnOnce(&mut Config)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("t.db");
        config.cluster.nats_url = Some("nats://127.0.0.1:1".to_owned());
        tokens_only(&mut config);
        change(&mut config);
        let error =
            Server::start(config, ServerDependencies::default()).await.err().expect("it must not start");
        error.to_string()
    }
    assert!(refusal(|_| {}).await.contains("a cluster needs PostgreSQL"));
    let database = toolyard_testkit::postgres::TestDatabase::create();
    let on_postgres = |config: &mut Config| config.store.url = Some(database.url.clone());
    for (url, expected) in [
        ("https://node:8787", "expected `http://host:port`"),
        ("http://node/path", "without a path"),
        ("node", "expected `http://host:port`"),
    ] {
        let wrong = refusal(|config| {
            on_postgres(config);
            config.cluster.advertise_url = Some(url.to_owned());
        });
        assert!(wrong.await.contains(expected), "{url}");
    }
    let everywhere = refusal(|config| {
        on_postgres(config);
        config.server.listen = ([0, 0, 0, 0], 0).into();
    });
    assert!(everywhere.await.contains("cluster.advertise_url: missing"));
    let no_url = refusal(|config| {
        on_postgres(config);
        config.cluster.nats_url = Some("not a url".to_owned());
    });
    assert!(no_url.await.contains("cluster.nats_url"));
}
