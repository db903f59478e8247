//! Which built-in tools are available.

use serde_json::json;
use toolyard_server::{
    Server, ServerDependencies,
    config::{Config, RootConfig, SearchConfig, SearchProvider},
};

use super::with_tools;

/// An error text, and the setting that causes it.
type Wrong = (&'static str, fn(&mut Config));

const PLAIN: [&str; 8] = [
    "toolyard:add_to_time",
    "toolyard:calculate",
    "toolyard:convert_time",
    "toolyard:current_time",
    "toolyard:fetch_page",
    "toolyard:read_result",
    "toolyard:search_tools",
    "toolyard:time_difference",
];

fn search(provider: SearchProvider, url: Option<&str>, key_env: Option<&str>) -> SearchConfig {
    SearchConfig { provider, url: url.map(str::to_owned), key_env: key_env.map(str::to_owned) }
}

#[tokio::test]
async fn without_folders_and_a_search_engine_there_are_no_tools_for_them() {
    let (p, _device) = with_tools(|_| {}).await;
    let mut names = p.user("ada").tools().await;
    names.sort();
    assert_eq!(names, PLAIN);
    for (tool, arguments) in [("read_file", json!({ "path": "x" })), ("web_search", json!({ "query": "x" }))]
    {
        let answer = p.user("ada").call(&format!("toolyard:{tool}"), arguments).await.expect(404);
        assert_eq!(answer.code(), "TOOL_NOT_FOUND");
    }
}

#[tokio::test]
async fn with_folders_and_a_search_engine_there_are_tools_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let (p, _device) = with_tools(|config| {
        let root = RootConfig {
            name: "notes".to_owned(),
            folder: folder.path().to_owned(),
            write: false,
            shared: None,
            hidden: false,
        };
        config.builtin.roots = vec![root];
        config.builtin.search = Some(search(SearchProvider::Searxng, Some("http://127.0.0.1:9/"), None));
    })
    .await;
    assert_eq!(p.user("ada").tools().await.len(), 13);
}

#[tokio::test]
async fn the_operator_can_disable_built_in_tools() {
    let (p, _device) = with_tools(|config| config.builtin.off = vec!["fetch_page".to_owned()]).await;
    assert!(!p.user("ada").tools().await.contains(&"toolyard:fetch_page".to_owned()));
    p.user("ada").call("toolyard:fetch_page", json!({ "url": "http://127.0.0.1:9/" })).await.expect(404);
    let (p, _device) = with_tools(|config| config.builtin.enabled = false).await;
    assert!(p.user("ada").tools().await.is_empty());
}

#[tokio::test]
async fn a_user_can_disable_built_in_tools() {
    let (p, _device) = with_tools(|_| {}).await;
    let _of_bob = p.device("bob").await;
    let sum = json!({ "expression": "1+1" });
    let switch = async |enabled: bool| {
        p.user("ada")
            .put("/api/settings/tools/toolyard:calculate", &json!({ "enabled": enabled }))
            .await
            .expect(204);
    };
    switch(false).await;
    p.user("ada").call("toolyard:calculate", sum.clone()).await.expect(404);
    p.user("bob").call("toolyard:calculate", sum.clone()).await.expect(200);
    switch(true).await;
    p.user("ada").call("toolyard:calculate", sum).await.expect(200);
}

#[tokio::test]
async fn no_app_can_have_the_package_of_the_built_in_tools() {
    let (p, _device) = with_tools(|_| {}).await;
    let body = json!({ "packageName": "toolyard", "name": "Mine", "kind": "tools-only", "publicUrl": "http://127.0.0.1:9",
        "tools": [crate::platform::echo_tool()] });
    let answer = p.nobody().post("/api/apps", &body).await;
    assert!(answer.status.is_client_error(), "{answer:?}");
    assert_eq!(p.user("ada").tools().await.len(), PLAIN.len());
}

#[tokio::test]
async fn invalid_settings_are_reported_at_the_start() {
    let wrong: [Wrong; 6] = [
        ("there is no tool `fly`", |config| config.builtin.off = vec!["fly".to_owned()]),
        ("builtin.roots", |config| {
            let root = RootConfig {
                name: "x".to_owned(),
                folder: "/no/such/folder".into(),
                write: false,
                shared: None,
                hidden: false,
            };
            config.builtin.roots = vec![root];
        }),
        ("builtin.search", |config| {
            config.builtin.search = Some(search(SearchProvider::Searxng, Some("x"), None));
        }),
        ("url: missing", |config| config.builtin.search = Some(search(SearchProvider::Searxng, None, None))),
        ("key_env: missing", |config| {
            config.builtin.search = Some(search(SearchProvider::Tavily, None, None))
        }),
        ("NO_SUCH_KEY", |config| {
            config.builtin.search = Some(search(SearchProvider::Brave, None, Some("NO_SUCH_KEY")));
        }),
    ];
    for (why, change) in wrong {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.store.path = folder.path().join("toolyard.db");
        change(&mut config);
        let told =
            Server::start(config, ServerDependencies::with_environment(&[])).await.err().unwrap().to_string();
        assert!(told.contains(why), "{why}: {told}");
    }
}
