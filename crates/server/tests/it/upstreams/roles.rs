//! Who may add upstreams, and who sees them.

use serde_json::json;
use toolyard_server::{auth::Role, config::Config};
use toolyard_testkit::upstream::{FakeUpstream, UpstreamEra};

use super::world::plain;
use crate::platform::{Person, Platform, tokens_only};

struct People {
    p: Platform,
}

impl People {
    async fn meet(change: impl FnOnce(&mut Config)) -> Self {
        let p = Platform::with(|config| {
            tokens_only(config);
            change(config);
        });
        Self { p: p.await }
    }

    fn is(&self, name: &str, role: Role) -> Person<'_> {
        self.p.bearer(&self.p.token(name, role))
    }
}

#[tokio::test]
async fn developers_see_and_change_their_own_and_operators_all() {
    let people = People::meet(|_| {}).await;
    let (dora, dan) = (people.is("dora", Role::Developer), people.is("dan", Role::Developer));
    let (olga, ada) = (people.is("olga", Role::Operator), people.is("ada", Role::User));
    let upstream = plain(UpstreamEra::Both).await;
    let body = json!({ "id": "hers", "url": upstream.url(), "headers": { "x-key": "k" } });
    assert_eq!(dora.post("/api/upstreams", &body).await.expect(201).json()["owner"], "dora");
    dan.post("/api/upstreams", &json!({ "id": "his", "url": upstream.url() })).await.expect(201);
    ada.post("/api/upstreams", &json!({ "id": "no", "url": upstream.url() })).await.expect(403);
    people.p.nobody().post("/api/upstreams", &body).await.expect(401);
    let ids = async |who: &Person<'_>| {
        let all = who.get("/api/upstreams").await.expect(200).json();
        let ids =
            all["upstreams"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&dora).await, ["hers"]);
    assert_eq!(ids(&dan).await, ["his"]);
    assert_eq!(ids(&olga).await, ["hers", "his"]);
    for path in ["/api/upstreams/hers", "/api/upstreams/never"] {
        dan.get(path).await.expect(404);
        dan.patch(path, &json!({ "name": "x" })).await.expect(404);
        dan.delete(path).await.expect(404);
        dan.post(&format!("{path}/refresh"), &json!({})).await.expect(404);
        ada.get(path).await.expect(403);
    }
    olga.patch("/api/upstreams/hers", &json!({ "name": "Hers" })).await.expect(200);
    assert_eq!(dora.get("/api/upstreams/hers").await.expect(200).json()["owner"], "dora", "still hers");
    dora.delete("/api/upstreams/hers").await.expect(204);
}

#[tokio::test]
async fn of_two_concurrent_registrations_of_a_name_one_succeeds() {
    let people = People::meet(|_| {}).await;
    let upstream = plain(UpstreamEra::Both).await;
    for round in 0..5 {
        let body = json!({ "id": format!("up{round}"), "url": upstream.url() });
        let add = async |name: &'static str| {
            let answer = people.is(name, Role::Developer).post("/api/upstreams", &body).await;
            (name, answer.status.as_u16())
        };
        let added = tokio::join!(add("dora"), add("dan"), add("eve"));
        let added = [added.0, added.1, added.2];
        let winners: Vec<_> = added.iter().filter(|(_, status)| *status == 201).collect();
        assert_eq!(winners.len(), 1, "{added:?}");
        assert!(added.iter().all(|(_, status)| [201, 409].contains(status)), "{added:?}");
        let path = format!("/api/upstreams/up{round}");
        let found = people.is("olga", Role::Operator).get(&path).await.expect(200).json();
        assert_eq!(found["owner"], winners[0].0);
    }
}

#[tokio::test]
async fn only_operators_may_use_commands_variables_and_for_all() {
    let people = People::meet(|config| config.upstream_settings.allow_commands = Some(true)).await;
    let (dora, olga) = (people.is("dora", Role::Developer), people.is("olga", Role::Operator));
    let url = "http://127.0.0.1:9/mcp";
    for (number, details) in [
        json!({ "command": "true" }),
        json!({ "command": "true", "env": { "KEY": "${KEY}" } }),
        json!({ "url": url, "headers": { "x-key": "Bearer ${KEY}" } }),
        json!({ "url": url, "auth": "oauth", "clientId": "c", "clientSecret": "${KEY}" }),
        json!({ "url": url, "forAll": true }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = details.clone();
        body["id"] = format!("up{number}").into();
        let refused = dora.post("/api/upstreams", &body).await.expect(403);
        assert!(refused.text.contains("only an operator"), "{}", refused.text);
        olga.post("/api/upstreams", &body).await.expect(201);
        // A developer cannot bypass this by an update either.
        let mine = json!({ "id": format!("mine{number}"), "url": url });
        dora.post("/api/upstreams", &mine).await.expect(201);
        let path = format!("/api/upstreams/mine{number}");
        let mut patch = details;
        if patch["command"].is_string() {
            patch["url"] = json!(null);
        }
        dora.patch(&path, &patch).await.expect(403);
        olga.patch(&path, &patch).await.expect(200);
        // A developer cannot change the address of an upstream that an operator configured.
        dora.patch(&path, &json!({ "url": "http://127.0.0.1:10/mcp" })).await.expect(403);
    }
}

#[tokio::test]
async fn commands_over_rest_require_the_setting() {
    let people = People::meet(|_| {}).await;
    let olga = people.is("olga", Role::Operator);
    let body = json!({ "id": "up", "command": "true" });
    let refused = olga.post("/api/upstreams", &body).await.expect(403);
    assert!(refused.text.contains("allow_commands"), "{}", refused.text);
    olga.post("/api/upstreams", &json!({ "id": "up", "url": "http://127.0.0.1:9/mcp" })).await.expect(201);
    let patch = json!({ "url": null, "command": "true" });
    olga.patch("/api/upstreams/up", &patch).await.expect(403);
    let p = Platform::with(|config| config.upstream_settings.allow_commands = Some(false)).await;
    p.nobody().post("/api/upstreams", &body).await.expect(403);
    // In dev mode it is the default.
    Platform::start().await.nobody().post("/api/upstreams", &body).await.expect(201);
}

#[tokio::test]
async fn private_addresses_are_refused_in_token_mode() {
    let people = People::meet(|config| config.net.allow_loopback = None).await;
    let (dora, olga) = (people.is("dora", Role::Developer), people.is("olga", Role::Operator));
    let upstream = FakeUpstream::start().await;
    for url in [
        upstream.url(),
        "http://localhost:9/mcp".into(),
        "http://10.1.2.3/mcp".into(),
        "http://169.254.169.254/latest".into(),
        "http://[::1]/mcp".into(),
        "http://0x7f000001/mcp".into(),
    ] {
        for who in [&dora, &olga] {
            let answer = who.post("/api/upstreams", &json!({ "id": "up", "url": url })).await.expect(400);
            assert!(answer.json()["error"].to_string().contains("\"url\""), "{url}: {}", answer.text);
        }
    }
    dora.post("/api/upstreams", &json!({ "id": "up", "url": "https://mcp.example.com/mcp" }))
        .await
        .expect(201);
    let patch = json!({ "url": upstream.url() });
    dora.patch("/api/upstreams/up", &patch).await.expect(400);
    assert!(upstream.methods().is_empty());
}

#[tokio::test]
async fn users_see_installed_upstreams_and_those_for_all_users() {
    let people = People::meet(|_| {}).await;
    let (olga, dora) = (people.is("olga", Role::Operator), people.is("dora", Role::Developer));
    let (ada, bob) = (people.is("ada", Role::User), people.is("bob", Role::User));
    let upstream = plain(UpstreamEra::Both).await;
    let own = json!({ "id": "own", "url": upstream.url(), "include": ["echo"] });
    dora.post("/api/upstreams", &own).await.expect(201);
    dora.post("/api/upstreams/own/refresh", &json!({})).await.expect(200);
    assert_eq!(ada.tools().await, [""; 0]);
    ada.put("/api/installs/mcp.own", &json!({})).await.expect(204);
    assert_eq!(ada.tools().await, ["mcp.own:echo"]);
    assert_eq!(bob.tools().await, [""; 0]);
    assert_eq!(bob.call("mcp.own:echo", json!({ "text": "x" })).await.expect(404).code(), "TOOL_NOT_FOUND");

    olga.patch("/api/upstreams/own", &json!({ "forAll": true })).await.expect(200);
    assert_eq!(bob.tools().await, ["mcp.own:echo"]);
    assert_eq!(ada.tools().await, ["mcp.own:echo"], "once");
    ada.delete("/api/installs/mcp.own").await.expect(204);
    assert_eq!(ada.tools().await, ["mcp.own:echo"], "it is everybody's");
    olga.patch("/api/upstreams/own", &json!({ "forAll": false })).await.expect(200);
    assert_eq!((ada.tools().await, bob.tools().await), (vec![], vec![]));
    // Every listed tool can be disabled by its user.
    ada.put("/api/installs/mcp.own", &json!({})).await.expect(204);
    ada.put("/api/settings/tools/mcp.own:echo", &json!({ "enabled": false })).await.expect(204);
    assert_eq!(ada.tools().await, [""; 0]);
}
