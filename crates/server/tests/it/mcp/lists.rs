//! The list of tools: names that are valid for every client, and unchanged definitions.

use http::Method;
use serde_json::{Value, json};
use toolyard_testkit::FakeApp;

use super::client::LEGACY;
use crate::platform::{ECHO, Platform, echo_tool};

async fn names(p: &Platform, user: &str) -> Vec<String> {
    let list = p.user(user).modern("tools/list", json!({})).await.result();
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Ada with an app with these raw tools.
async fn with_tools(tools: &str) -> Platform {
    let p = Platform::start().await;
    let raw = format!(r#"{{"packageName":"{ECHO}","tools":[{tools}]}}"#);
    p.nobody().send(Method::POST, "/api/apps", Some(raw)).await.expect(201);
    p.user("ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    p
}

#[tokio::test]
async fn a_definition_passes_as_it_came_under_its_alias() {
    let rest = r#""zeta":{"b":1.50,"a":[1e3, 12345678901234567890123,-0.0]},"title":"Échö \u00e9","inputSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number","minimum":0.10}},"$comment":"kept","required":["z"]},"annotations":{"readOnlyHint":true,"vendor":1},"icons":[{"src":"data:,"}],"execution":{"taskSupport":"optional"},"securitySchemes":[{"type":"noauth"}]"#;
    let plain = format!(r#"{{"name":"echo",{rest}}}"#);
    let about = r#"{"ui":{"resourceUri":"ui://mine/x","other":[ 1 ]},"openai/outputTemplate":"ui://mine/y","x":[1, 2]}"#;
    let described = format!(r#"{{"_meta":{about},"name":"described","inputSchema":{{"type":"object"}}}}"#);
    let p = with_tools(&format!("{plain},{described}")).await;
    let listed = [
        format!(r#"{{"_meta":{{"toolyard/name":"com.example.echo:echo"}},"name":"com_example_echo__echo",{rest}}}"#),
        described
            .replace(r#"{"_meta":{"#, r#"{"_meta":{"toolyard/name":"com.example.echo:described","#)
            .replace(r#""described""#, r#""com_example_echo__described""#),
    ]
    .join(",");
    let tail = r#""ttlMs":60000,"cacheScope":"private","resultType":"complete"}}"#;
    let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{listed}],{tail}"#);
    assert_eq!(p.user("ada").modern("tools/list", json!({})).await.text, expected);
    let session = p.user("ada").handshake(LEGACY).await;
    assert_eq!(session.ask("tools/list", json!({})).await.text, expected);
}

#[tokio::test]
async fn aliases_are_valid_for_every_client_and_both_names_can_be_called() {
    let p = Platform::start().await;
    let long = format!("{}-{}", "a".repeat(90), "b".repeat(20));
    let locals = ["echo", "get.weather", "with-dash", "UPPER", "trailing_", "a/b", "a+b", &long];
    let tools: Vec<Value> = locals
        .iter()
        .map(|name| {
            let mut tool = echo_tool();
            tool["name"] = (*name).into();
            tool
        })
        .collect();
    let apps = ["com.example.echo", "com.my-app_2.x", "1st.app"];
    let mut fakes = Vec::new();
    for package in apps {
        let app = FakeApp::start(package).await;
        p.register(&app, json!({ "packageName": package, "kind": "tools-only", "tools": tools })).await;
        p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        fakes.push(app);
    }
    let list = p.user("ada").modern("tools/list", json!({})).await.result();
    let list = list["tools"].as_array().unwrap();
    let mut seen = std::collections::HashSet::new();
    assert_eq!(list.len(), apps.len() * locals.len());
    for tool in list {
        let (alias, canonical) =
            (tool["name"].as_str().unwrap(), tool["_meta"]["toolyard/name"].as_str().unwrap());
        let fits = alias.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        assert!(fits && (1..=64).contains(&alias.len()) && seen.insert(alias.to_owned()), "{alias}");
        let (package, local) = canonical.split_once(':').unwrap();
        assert!(apps.contains(&package) && locals.contains(&local), "{canonical}");
        let app = &fakes[apps.iter().position(|app| *app == package).unwrap()];
        for name in [alias, canonical] {
            let before = app.requests("/tool").len();
            let result = p.user("ada").run(name, json!({ "text": "x" })).await;
            assert_eq!(result["content"][0]["text"], "ok", "{name}");
            assert_eq!(app.requests("/tool")[before].body["name"], local);
        }
    }
}

#[tokio::test]
async fn a_list_is_the_users_own_and_follows_every_change_at_once() {
    let p = Platform::start().await;
    let (_app, mut device) =
        p.echo_like(json!({ "hardwareRequirements": [{ "type": "CAMERA", "level": "REQUIRED" }] })).await;
    let alias = "com_example_echo__echo";
    assert_eq!(names(&p, "ada").await, [alias]);
    assert!(names(&p, "bob").await.is_empty());
    device.wears("Even Realities G1").await;
    assert!(names(&p, "ada").await.is_empty());
    device.wears("Mentra Live").await;
    assert_eq!(names(&p, "ada").await, [alias]);
    let switch = format!("/api/settings/tools/{ECHO}:echo");
    p.user("ada").put(&switch, &json!({ "enabled": false })).await.expect(204);
    assert!(names(&p, "ada").await.is_empty());
    p.user("ada").put(&switch, &json!({ "enabled": true })).await.expect(204);
    p.nobody().delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    assert!(names(&p, "ada").await.is_empty());
}
