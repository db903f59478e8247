//! Publishing tool sets: atomic, in versions that can be compared and rolled back.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::AppBehavior;

use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, echo_tool, tokens_only},
};

const TOOLS: &str = "/api/apps/com.example.echo/tools";
const VERSIONS: &str = "/api/apps/com.example.echo/versions";

fn tool(name: &str, description: &str) -> Value {
    let mut tool = echo_tool();
    (tool["name"], tool["description"]) = (name.into(), description.into());
    tool
}

async fn publish(who: &Person<'_>, tools: Value) -> u64 {
    who.post(TOOLS, &json!({ "tools": tools })).await.expect(200).json()["version"].as_u64().unwrap()
}

#[tokio::test]
async fn a_set_is_checked_whole_and_one_bad_tool_changes_nothing() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let mut odd_output = tool("odd", "x");
    odd_output["outputSchema"] = json!({ "type": "no such type" });
    let answer = p
        .nobody()
        .post(
            TOOLS,
            &json!({ "tools": [
        tool("good", "fine"),
        { "description": "no name", "inputSchema": { "type": "object" } },
        tool("with space", "x"),
        tool("good", "twice"),
        { "name": "schema", "inputSchema": { "type": "object", "$ref": "https://evil.example/s.json" } },
        { "name": "array", "inputSchema": { "type": "array" } },
        odd_output,
        5,
    ] }),
        )
        .await;
    let error = answer.expect(400).json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("INVALID_REQUEST"), &json!("the tools were not changed"))
    );
    let problems = error["problems"].as_array().unwrap();
    assert!(problems.iter().all(|problem| !problem["message"].as_str().unwrap().is_empty()), "{problems:?}");
    let places: Vec<_> = problems.iter().map(|problem| problem["path"].as_str().unwrap()).collect();
    for place in ["tools[1].name", "tools[2].name", "tools[3].name", "tools[5].inputSchema", "tools[7]"] {
        assert!(places.iter().any(|found| found.starts_with(place)), "{place} in {places:?}");
    }
    assert_eq!(p.user("ada").tools().await, ["com.example.echo:echo"]);
    let current = p.nobody().get(TOOLS).await.expect(200).json();
    assert_eq!(current, json!({ "version": 1, "tools": [echo_tool()] }));

    let schemas = json!({ "tools": [
        { "name": "schema", "inputSchema": { "type": "object", "$ref": "https://evil.example/s.json" } }, tool("odd", "x")
    ] });
    let error = p.nobody().post(TOOLS, &schemas).await.expect(400).json()["error"].clone();
    assert_eq!(error["problems"][0]["path"], "tools[0].inputSchema.$ref", "{error}");
    for body in [json!({}), json!({ "tools": {} }), json!({ "tools": null }), json!([])] {
        p.nobody().post(TOOLS, &body).await.expect(400);
    }
    p.nobody().post("/api/apps/com.example.none/tools", &json!({ "tools": [] })).await.expect(404);
}

#[tokio::test]
async fn a_tool_set_has_limits() {
    let p = Platform::with(|config| config.server.tool_set_bytes = 200_000).await;
    let (_app, _device) = p.echo().await;
    let many: Vec<_> =
        (0..1_001).map(|i| json!({ "name": format!("t{i}"), "inputSchema": { "type": "object" } })).collect();
    let answer = p.nobody().post(TOOLS, &json!({ "tools": many })).await.expect(400);
    assert_eq!(answer.json()["error"]["problems"][0]["path"], "tools");
    publish(&p.nobody(), json!(many[..1_000])).await;
    let huge =
        p.nobody().post(TOOLS, &json!({ "tools": [tool("t", &"x".repeat(200_000))] })).await.expect(413);
    assert_eq!(huge.code(), "TOO_LARGE");
    assert_eq!(p.user("ada").tools().await.len(), 1_000);
}

#[tokio::test]
async fn the_same_set_is_the_same_version_and_versions_stay_as_they_came() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let dev = p.nobody();
    assert_eq!(publish(&dev, json!([echo_tool()])).await, 1);
    p.clock.advance(60);
    // As it came, byte by byte.
    let raw = r#"{"tools":[{"name":"b", "inputSchema":{"type":"object"},"_meta":{"z":1,"a":[1.0,1e2]}}]}"#;
    let answer = dev.send(Method::POST, TOOLS, Some(raw.to_owned())).await.expect(200);
    assert_eq!(answer.json()["version"], 2);
    let tools = raw.strip_prefix(r#"{"tools":"#).unwrap();
    assert_eq!(dev.get(TOOLS).await.expect(200).text, format!(r#"{{"version":2,"tools":{tools}"#));
    assert_eq!(publish(&dev, json!([])).await, 3, "an app may take all its tools back");
    let versions = dev.get(VERSIONS).await.expect(200).json()["versions"].clone();
    let (first, later) = ("2026-01-02T03:04:05.678Z", "2026-01-02T03:05:05.678Z");
    for (i, (version, count, current, time)) in
        [(3, 0, true, later), (2, 1, false, later), (1, 1, false, first)].into_iter().enumerate()
    {
        let mut told = versions[i].clone();
        assert_eq!(told["hash"].as_str().unwrap().len(), 64);
        told.as_object_mut().unwrap().remove("hash");
        let expected = json!({ "version": version, "toolCount": count, "current": current, "createdAt": time, "createdBy": "dev" });
        assert_eq!(told, expected);
    }
    assert_eq!(
        dev.get(&format!("{VERSIONS}/1")).await.expect(200).json(),
        json!({ "version": 1, "tools": [echo_tool()] })
    );
    for bad in ["0", "4", "18446744073709551615"] {
        dev.get(&format!("{VERSIONS}/{bad}")).await.expect(404);
    }
    for bad in ["-1", "one", "99999999999999999999"] {
        assert_eq!(dev.get(&format!("{VERSIONS}/{bad}")).await.expect(400).code(), "INVALID_REQUEST");
    }
}

#[tokio::test]
async fn versions_can_be_compared_and_rolled_back() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let dev = p.nobody();
    let mut echo = echo_tool();
    echo["description"] = "Says it louder".into();
    echo["inputSchema"]["properties"]["loud"] = json!({ "type": "boolean" });
    echo["title"] = "Echo".into();
    assert_eq!(publish(&dev, json!([tool("a", "x"), tool("same", "x")])).await, 2);
    assert_eq!(publish(&dev, json!([echo, tool("same", "x"), tool("b", "x")])).await, 3);
    let diff =
        async |from: u64, to: u64| dev.get(&format!("{VERSIONS}/{from}/diff/{to}")).await.expect(200).json();
    assert_eq!(
        diff(1, 3).await,
        json!({ "added": ["b", "same"], "removed": [],
            "changed": [{ "name": "echo", "fields": ["description", "inputSchema", "title"] }] })
    );
    assert_eq!(diff(3, 2).await, json!({ "added": ["a"], "removed": ["b", "echo"], "changed": [] }));
    assert_eq!(diff(2, 2).await, json!({ "added": [], "removed": [], "changed": [] }));
    dev.get(&format!("{VERSIONS}/1/diff/9")).await.expect(404);

    assert_eq!(p.user("ada").tools().await.len(), 3);
    let back = dev.post(&format!("{VERSIONS}/1/activate"), &json!({})).await.expect(200).json();
    assert_eq!(back, json!({ "version": 1 }));
    assert_eq!(p.user("ada").tools().await, ["com.example.echo:echo"]);
    let loud = json!({ "text": "x", "loud": "very" });
    p.user("ada").call("com.example.echo:echo", loud.clone()).await.expect(200);
    dev.post(&format!("{VERSIONS}/3/activate"), &json!({})).await.expect(200);
    p.user("ada").call("com.example.echo:echo", loud).await.expect(400);
    dev.post(&format!("{VERSIONS}/9/activate"), &json!({})).await.expect(404);
    // After a rollback the next set is a new version, even if it equals an older one.
    dev.post(&format!("{VERSIONS}/1/activate"), &json!({})).await.expect(200);
    assert_eq!(publish(&dev, json!([tool("a", "x"), tool("same", "x")])).await, 4);
    assert_eq!(app.requests("/tool").len(), 1);
}

#[tokio::test]
async fn the_next_list_and_the_next_call_see_what_was_published() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    for round in 0..20 {
        let name = format!("tool{round}");
        publish(&p.nobody(), json!([tool(&name, "x")])).await;
        assert_eq!(p.user("ada").tools().await, [format!("{ECHO}:{name}")]);
        p.user("ada").call(&format!("{ECHO}:{name}"), json!({ "text": "x" })).await.expect(200);
        assert_eq!(p.call_echo().await.expect(404).code(), "TOOL_NOT_FOUND");
        assert_eq!(app.requests("/tool").last().unwrap().body["name"], name.as_str());
    }
}

#[tokio::test]
async fn a_call_in_progress_is_not_affected_by_a_new_set() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "late" }),
    ]));
    let (answer, ()) = tokio::join!(p.call_echo(), async {
        app.wait_requests("/tool", 1).await;
        publish(&p.nobody(), json!([])).await;
        app.let_line_through();
    });
    assert_eq!(answer.expect(200).json()["content"], "late");
}

/// All tools of a set carry its mark, so a mixture would be visible.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sets_published_at_once_end_in_one_and_no_list_is_a_mixture() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let set =
        |mark: usize| (0..5).map(|i| tool(&format!("t{i}"), &format!("mark {mark}"))).collect::<Value>();
    publish(&p.nobody(), set(0)).await;
    let marks = |list: &Value| {
        let tools = list["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 5, "{list}");
        assert!(tools.iter().all(|tool| tool["description"] == tools[0]["description"]), "{list}");
        tools[0]["description"].as_str().unwrap().to_owned()
    };
    for round in 0..5 {
        let publishes = (1..=20).map(|i| {
            let (p, tools) = (&p, set(round * 20 + i));
            async move { publish(&p.nobody(), tools).await }
        });
        let lists =
            (0..40).map(|_| async { marks(&p.user("ada").get("/api/tools").await.expect(200).json()) });
        let (mut versions, _) = tokio::join!(join_all(publishes), join_all(lists));
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions.len(), 20, "each has a version of its own");
        let current = p.nobody().get(TOOLS).await.expect(200).json();
        assert_eq!(current["version"].as_u64(), versions.last().copied());
        assert_eq!(marks(&p.user("ada").get("/api/tools").await.expect(200).json()), marks(&current));
    }
}

#[tokio::test]
async fn an_app_publishes_its_own_tools_and_no_others() {
    let p = Platform::with(tokens_only).await;
    let ((_a, key), (_b, other)) =
        (app_of(&p, "dora", ECHO).await, app_of(&p, "mal", "com.example.other").await);
    assert_eq!(publish(&p.bearer(&key), json!([tool("own", "x")])).await, 2);
    let set = json!({ "tools": [tool("taken", "x")] });
    p.bearer(&other).post(TOOLS, &set).await.expect(404);
    p.bearer(&p.token("mal", Role::Developer)).post(TOOLS, &set).await.expect(404);
    let dora = p.bearer(&p.token("dora", Role::Developer));
    assert_eq!(dora.get(TOOLS).await.expect(200).json()["tools"][0]["name"], "own");
    let versions = dora.get(VERSIONS).await.expect(200).json();
    assert_eq!(versions["versions"][0]["createdBy"], "app:com.example.echo");
    // Its tools are all that an app's key changes.
    for answer in [
        p.bearer(&key).patch("/api/apps/com.example.echo", &json!({ "name": "n" })).await,
        p.bearer(&key).delete("/api/apps/com.example.echo").await,
        p.bearer(&key).post("/api/apps/com.example.echo/key", &json!({})).await,
        p.bearer(&key).post("/api/apps/com.example.echo/secret", &json!({})).await,
    ] {
        answer.expect(403);
    }
}
