//! Quotas and request rate limits of one person.

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolyard_server::{auth::Role, config::Config};

use crate::{
    platform::{Answer, Platform, echo_tool, tokens_only},
    plugins::{curating, plugin},
};

async fn with_quotas(change: impl FnOnce(&mut Config)) -> Platform {
    Platform::with(|config| {
        tokens_only(config);
        change(config);
    })
    .await
}

/// How many requests succeeded; the others must name the setting and what to do.
fn count_good(answers: Vec<Answer>, status: u16, setting: &str) -> usize {
    let mut good = 0;
    for answer in answers {
        if answer.status == status {
            good += 1;
        } else {
            let answer = answer.expect(409);
            assert_eq!(answer.code(), "QUOTA_REACHED");
            assert!(answer.text.contains(setting) && answer.text.contains("operator"), "{}", answer.text);
        }
    }
    good
}

#[tokio::test]
async fn apps_and_upstreams_per_developer_are_limited_even_concurrently() {
    let p = with_quotas(|config| {
        config.quotas.apps_per_developer = 3;
        config.quotas.upstreams_per_developer = 2;
    })
    .await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let apps = (0..8).map(|number| {
        let (dora, app) = (dora.clone(), json!({ "packageName": format!("com.example.a{number}") }));
        async move { dora.post("/api/apps", &app).await }
    });
    assert_eq!(count_good(join_all(apps).await, 201, "quotas.apps_per_developer"), 3);
    let upstreams = (0..6).map(|number| {
        let body = json!({ "id": format!("u{number}"), "url": "http://127.0.0.1:9/mcp" });
        let dora = dora.clone();
        async move { dora.post("/api/upstreams", &body).await }
    });
    assert_eq!(count_good(join_all(upstreams).await, 201, "quotas.upstreams_per_developer"), 2);
    // Existing ones can be changed, and another developer has their own quota.
    let list = dora.get("/api/upstreams").await.expect(200).json();
    let id = list["upstreams"][0]["id"].as_str().unwrap();
    dora.patch(&format!("/api/upstreams/{id}"), &json!({ "name": "Renamed" })).await.expect(200);
    let mal = p.bearer(&p.token("mal", Role::Developer));
    mal.post("/api/apps", &json!({ "packageName": "com.example.m" })).await.expect(201);
    // Removing one frees the quota.
    let first = dora.get("/api/apps").await.expect(200).json()["apps"][0]["packageName"].clone();
    dora.delete(&format!("/api/apps/{}", first.as_str().unwrap())).await.expect(204);
    dora.post("/api/apps", &json!({ "packageName": "com.example.z" })).await.expect(201);
}

#[tokio::test]
async fn installs_and_settings_bytes_per_user_are_limited() {
    let p = with_quotas(|config| {
        config.quotas.installs_per_user = 2;
        config.quotas.settings_bytes_per_user = 100;
    })
    .await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let setting = json!([{ "type": "text", "key": "k", "label": "K" }]);
    for name in ["a", "b", "c", "d"] {
        let app = json!({ "packageName": format!("com.example.{name}"), "settings": setting });
        dora.post("/api/apps", &app).await.expect(201);
    }
    let ada = p.bearer(&p.token("ada", Role::User));
    let installs = ["a", "b", "c", "d"].map(|name| {
        let ada = ada.clone();
        async move { ada.put(&format!("/api/installs/com.example.{name}"), &json!({})).await }
    });
    assert_eq!(count_good(join_all(installs).await, 204, "quotas.installs_per_user"), 2);
    let installed = ada.get("/api/installs").await.expect(200).json();
    let names: Vec<&str> = installed["installs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["packageName"].as_str().unwrap())
        .collect();
    ada.put(&format!("/api/installs/{}", names[0]), &json!({})).await.expect(204);
    let set = async |name: &str, value: &str| {
        ada.put(&format!("/api/settings/apps/{name}"), &json!({ "k": value })).await
    };
    set(names[0], &"x".repeat(60)).await.expect(200);
    let full = set(names[1], &"x".repeat(60)).await.expect(409);
    assert!(full.text.contains("quotas.settings_bytes_per_user"), "{}", full.text);
    set(names[0], "x").await.expect(200);
    set(names[1], &"x".repeat(60)).await.expect(200);
}

#[tokio::test]
async fn tokens_and_disabled_tools_per_user_are_limited() {
    let p = with_quotas(|config| {
        config.quotas.tokens_per_user = 2;
        config.quotas.switched_off_tools_per_user = 1;
    })
    .await;
    let ada = p.bearer(&p.token("ada", Role::User));
    let tokens = (0..5).map(|number| {
        let ada = ada.clone();
        async move { ada.post("/api/tokens", &json!({ "name": format!("t{number}") })).await }
    });
    assert_eq!(count_good(join_all(tokens).await, 201, "quotas.tokens_per_user"), 2);
    let tool = |name: &str| json!({ "name": name, "description": "d", "inputSchema": { "type": "object" } });
    let app = json!({ "packageName": "com.example.a", "tools": [tool("one"), tool("two")] });
    p.bearer(&p.token("dora", Role::Developer)).post("/api/apps", &app).await.expect(201);
    ada.put("/api/installs/com.example.a", &json!({})).await.expect(204);
    let switch = async |tool: &str, on: bool| {
        ada.put(&format!("/api/settings/tools/com.example.a:{tool}"), &json!({ "enabled": on })).await
    };
    switch("one", false).await.expect(204);
    let full = switch("two", false).await.expect(409);
    assert!(full.text.contains("quotas.switched_off_tools_per_user"), "{}", full.text);
    switch("one", true).await.expect(204);
    switch("two", false).await.expect(204);
}

#[tokio::test]
async fn old_tool_versions_are_removed_and_the_current_one_stays() {
    let p = with_quotas(|config| config.quotas.tool_versions_per_app = 3).await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let app = json!({ "packageName": "com.example.a", "tools": [echo_tool()] });
    dora.post("/api/apps", &app).await.expect(201);
    let publish = async |number: usize| {
        let mut tool = echo_tool();
        tool["description"] = json!(format!("Version {number}"));
        dora.post("/api/apps/com.example.a/tools", &json!({ "tools": [tool] })).await.expect(200);
    };
    let versions = async || {
        let list = dora.get("/api/apps/com.example.a/versions").await.expect(200).json();
        list["versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["version"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    for number in 2..=6 {
        publish(number).await;
    }
    assert_eq!(versions().await, [6, 5, 4]);
    // The current version outlives newer ones.
    dora.post("/api/apps/com.example.a/versions/4/activate", &json!({})).await.expect(200);
    publish(4).await;
    assert_eq!(versions().await, [6, 5, 4], "the same set again is no new version");
    dora.get("/api/apps/com.example.a/versions/1").await.expect(404);
    dora.get("/api/apps/com.example.a/tools").await.expect(200);
}

#[tokio::test]
async fn catalogue_versions_per_curator_are_limited() {
    let p = Platform::with(|config| {
        curating(config);
        config.quotas.catalogue_versions_per_curator = 2;
    })
    .await;
    let mut answers = Vec::new();
    for name in ["a", "b", "c"] {
        let manifest = plugin(&format!("com.example.{name}"), "do_it", "return 1;");
        answers.push(p.nobody().post("/api/plugins/sign", &json!({ "manifest": manifest })).await);
    }
    assert_eq!(count_good(answers, 200, "quotas.catalogue_versions_per_curator"), 2);
}

#[tokio::test]
async fn management_and_expensive_requests_are_rate_limited_per_caller() {
    let p = with_quotas(|config| {
        (config.rates.manage_per_s, config.rates.manage_burst) = (1, 30);
        (config.rates.costly_per_s, config.rates.costly_burst) = (1, 2);
    })
    .await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    dora.post("/api/apps", &json!({ "packageName": "com.example.a" })).await.expect(201);
    let check = json!({ "tools": [] });
    let limited = |answers: &[Answer]| {
        let late: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 429).collect();
        for answer in &late {
            assert_eq!(answer.code(), "RATE_LIMITED");
            assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
        }
        !late.is_empty()
    };
    let path = "/api/apps/com.example.a/tools/check";
    let answers: Vec<Answer> = join_all((0..20).map(|_| dora.post(path, &check))).await;
    assert!(limited(&answers) && answers.iter().any(|answer| answer.status == 200), "{answers:?}");
    let eve = p.bearer(&p.token("eve", Role::User));
    let answers: Vec<Answer> = join_all((0..20).map(|_| eve.get("/api/apps/com.example.a/icon"))).await;
    assert!(limited(&answers) && answers.iter().any(|answer| answer.status == 404), "{answers:?}");
    let ada = p.bearer(&p.token("ada", Role::User));
    let answers: Vec<Answer> = join_all((0..60).map(|_| ada.get("/api/installs"))).await;
    assert!(limited(&answers) && answers.iter().any(|answer| answer.status == 200));
    let bob: Value = p.bearer(&p.token("bob", Role::User)).get("/api/installs").await.expect(200).json();
    assert_eq!(bob["installs"], json!([]), "others are not held up");
}
