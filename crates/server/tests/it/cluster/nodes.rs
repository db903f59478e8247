//! Several nodes on one database, with a real NATS server.

use std::{sync::Arc, time::Duration};

use toolyard_server::{auth::Role, config::Config};
use toolyard_testkit::{FixedClock, nats::NatsServer, postgres::TestDatabase};

use crate::platform::{Device, Person, Platform, tokens_only};

/// The nodes of a cluster.
pub(crate) struct Nodes {
    pub(crate) nodes: Vec<Platform>,
    pub(crate) nats: NatsServer,
    /// Dropped last, after the nodes.
    _database: TestDatabase,
}

impl Nodes {
    /// Starts a cluster of this many nodes.
    pub(crate) async fn start(count: usize) -> Self {
        Self::with(count, |_| {}).await
    }

    pub(crate) async fn with(count: usize, change: impl Fn(&mut Config)) -> Self {
        let (database, nats, clock) =
            (TestDatabase::create(), NatsServer::launch(), Arc::<FixedClock>::default());
        let mut nodes: Vec<Platform> = Vec::new();
        for _ in 0..count {
            let folder = tempfile::tempdir().unwrap();
            let mut config = Config::default();
            config.server.listen = ([127, 0, 0, 1], 0).into();
            config.store.path = folder.path().join("unused.db");
            config.store.url = Some(database.url.clone());
            config.store.connections = 4;
            config.cluster.nats_url = Some(nats.url.clone());
            config.auth.root_key = Some("11".repeat(32));
            config.server.drain_ms = 2_000;
            config.ledger.batch_delay_ms = 1;
            config.builtin.enabled = false;
            config.model_search.local_servers = false;
            // Apps and browsers know one address. It leads to the first node, as a load balancer might.
            config.server.public_url = nodes.first().map(|first| first.url.clone());
            tokens_only(&mut config);
            change(&mut config);
            nodes.push(Platform::run(config, Some(folder), clock.clone()).await);
        }
        Self { nodes, nats, _database: database }
    }

    /// A user at a node.
    pub(crate) fn user(&self, node: usize, name: &str) -> Person<'_> {
        self.person(node, name, Role::User)
    }

    pub(crate) fn operator(&self, node: usize) -> Person<'_> {
        self.person(node, "olga", Role::Operator)
    }

    fn person(&self, node: usize, name: &str, role: Role) -> Person<'_> {
        let node = &self.nodes[node];
        node.bearer(&node.token(name, role))
    }

    /// A device of a user that connects to a node.
    pub(crate) async fn device(&self, node: usize, user: &str) -> Device {
        let node = &self.nodes[node];
        let url = format!("{}/glasses-ws", node.url.replace("http", "ws"));
        Device::connect(&url, Some(&node.token(user, Role::User))).await
    }

    /// The nodes on which a user has a session.
    pub(crate) fn homes(&self, user: &str) -> Vec<usize> {
        let user = user.parse().unwrap();
        (0..self.nodes.len()).filter(|node| self.nodes[*node].state.sessions.is_live(&user)).collect()
    }
}

/// Waits until something that another node does is done.
pub(crate) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..2_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 20 s: {what}");
}
