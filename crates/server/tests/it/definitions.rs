//! Malicious definitions: they must not be costly, hide text, or take the alias of another tool.

use serde_json::{Map, Value, json};
use sqlx::Connection as _;
use toolyard_testkit::{
    FakeApp,
    upstream::{OfferListKind, UpstreamEra},
};

use crate::{
    platform::{ECHO, Person, Platform, echo_tool},
    upstreams::world::{add, hidden, live, plain, tool},
};

/// A schema of some kilobytes with 2^40 paths.
fn bomb(keyword: &str) -> Value {
    let mut definitions = Map::new();
    for at in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
        definitions.insert(format!("d{at}"), json!({ keyword: [next, next] }));
    }
    definitions.insert("d40".to_owned(), json!({ "type": "object" }));
    json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": definitions })
}

fn with_schema(name: &str, schema: Value) -> Value {
    json!({ "name": name, "inputSchema": schema })
}

async fn publish(p: &Platform, tools: Value) -> crate::platform::Answer {
    p.nobody().post(&format!("/api/apps/{ECHO}/tools"), &json!({ "tools": tools })).await
}

#[tokio::test]
async fn a_schema_with_exponentially_many_paths_is_refused() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let refused = publish(&p, json!([with_schema("bomb", bomb(keyword))])).await.expect(400);
        assert!(refused.text.contains("tools[0].inputSchema"), "{}", refused.text);
        let output =
            json!({ "name": "b", "inputSchema": { "type": "object" }, "outputSchema": bomb(keyword) });
        let refused = publish(&p, json!([output])).await.expect(400);
        assert!(refused.text.contains("tools[0].outputSchema"), "{}", refused.text);
    }
    // A tool of an upstream is hidden instead, and the others stay.
    let upstream = plain(UpstreamEra::Modern).await;
    upstream.set_list(OfferListKind::Tools, vec![with_schema("bomb", bomb("allOf")), tool("good")]);
    add(&p, "up", &upstream.url()).await;
    let ada = p.user("ada");
    assert_eq!(ada.call("mcp.up:bomb", json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    assert!(hidden(&ada, "mcp.up:bomb").await.contains("cannot be called"));
    ada.call("mcp.up:good", json!({})).await.expect(200);
    p.nobody().get("/healthz").await.expect(200);
}

#[tokio::test]
async fn arguments_that_are_too_costly_to_validate_are_refused() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    // Each level of the value doubles the paths.
    let twice =
        json!({ "type": "object", "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
    let unique = json!({ "type": "object", "properties": { "a": { "type": "array", "uniqueItems": true } } });
    publish(&p, json!([with_schema("twice", twice), with_schema("unique", unique)])).await.expect(200);
    let ada = p.user("ada");
    let deep = (0..100).fold(json!({}), |value, _| json!({ "a": value }));
    let refused = ada.call(&format!("{ECHO}:twice"), deep).await.expect(400);
    assert_eq!(refused.code(), "INVALID_ARGUMENTS");
    assert!(refused.text.contains("deeply nested"), "{}", refused.text);
    let many: Vec<Value> = (0..40_000).map(|at| json!({ "k": at })).collect();
    let refused = ada.call(&format!("{ECHO}:unique"), json!({ "a": many })).await.expect(400);
    assert_eq!(refused.code(), "INVALID_ARGUMENTS");
    ada.call(&format!("{ECHO}:twice"), json!({ "a": { "a": {} } })).await.expect(200);
}

/// What a listing shows, all of it as one text.
async fn shown(person: &Person<'_>) -> String {
    let rest = person.get("/api/tools").await.expect(200).text;
    let mcp = person.modern("tools/list", json!({})).await.result().to_string();
    let prompts = person.modern("prompts/list", json!({})).await.result().to_string();
    [rest, mcp, prompts].concat()
}

#[tokio::test]
async fn invisible_characters_are_removed_and_reported_to_the_developer() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let mut hiding = echo_tool();
    hiding["description"] = json!("Says it\u{e0049}\u{e0067}\u{200b} again 👩\u{200d}💻");
    hiding["title"] = json!("Echo\u{202e}");
    hiding["inputSchema"]["properties"]["text"]["description"] = json!("\u{2066}the text\u{2069}");
    let set = json!({ "tools": [hiding], "prompts": [{ "name": "p", "description": "a\u{feff}b" }] });
    let path = format!("/api/apps/{ECHO}/tools");
    let checked = p.nobody().post(&format!("{path}/check"), &set).await.expect(200).json();
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(checked["problems"][0]["message"].as_str().unwrap().contains("invisible"), "{checked}");
    assert_eq!(checked["tools"][0]["model"]["description"], "Says it again 👩\u{200d}💻");
    p.nobody().post(&path, &set).await.expect(200);

    let upstream = plain(UpstreamEra::Modern).await;
    let mut other = tool("other");
    other["description"] = json!("x\u{200b}y");
    upstream.set_list(OfferListKind::Tools, vec![other]);
    let status = add(&p, "up", &upstream.url()).await;
    assert_eq!(status["warnings"][0]["name"], "other", "{status}");

    let seen = shown(&p.user("ada")).await;
    assert!(
        seen.contains("Says it again 👩\u{200d}💻") && seen.contains("the text") && seen.contains("xy"),
        "{seen}"
    );
    for char in ['\u{e0049}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{feff}'] {
        assert!(!seen.contains(char) && !seen.contains(&format!("\\u{:04x}", u32::from(char))), "{char:?}");
    }
    // Names of members cannot be changed: two could become one.
    let mut twins = echo_tool();
    twins["inputSchema"]["properties"]["te\u{200b}xt"] = json!({});
    assert!(publish(&p, json!([twins])).await.expect(400).text.contains("invisible"));
}

#[tokio::test]
async fn names_with_a_common_short_hash_have_distinct_aliases() {
    let p = Platform::start().await;
    let app = FakeApp::start("com.ex-bank").await;
    // Found by trying: their SHA-256 begin with the same 32 bits.
    let names = ["transfer_money_to_account_68f1", "transfer_money_to_account_14963"];
    let tools = names.map(|name| with_schema(name, json!({ "type": "object" })));
    p.register(
        &app,
        json!({ "packageName": "com.ex-bank", "name": "Bank", "kind": "tools-only", "tools": tools }),
    )
    .await;
    let ada = live(&p, "ada").await;
    ada.put("/api/installs/com.ex-bank", &json!({})).await.expect(204);
    let listed = ada.modern("tools/list", json!({})).await.result();
    let aliases: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(aliases.len(), 2);
    assert_ne!(aliases[0], aliases[1]);
    for (alias, name) in aliases.iter().zip(names) {
        assert!(
            alias.starts_with("ex_bank__transfer_money_") || alias.contains("_bank__transfer"),
            "{alias}"
        );
        ada.call(alias, json!({})).await.expect(200);
        assert_eq!(app.requests("/tool").last().unwrap().body["toolId"], name);
    }
}

#[tokio::test]
async fn a_view_has_limits_of_tools_and_bytes() {
    let p = Platform::with(|config| config.views.max_tools = 3).await;
    let (_app, _device) = p.echo().await;
    let tools: Vec<Value> = (0..5).map(|at| tool(&format!("t{at}"))).collect();
    publish(&p, json!(tools)).await.expect(200);
    let ada = p.user("ada");
    assert_eq!(ada.tools().await, ["t0", "t1", "t2"].map(|name| format!("{ECHO}:{name}")));
    assert!(hidden(&ada, &format!("{ECHO}:t3")).await.contains("more than 3 tools"));
    ada.call(&format!("{ECHO}:t4"), json!({})).await.expect(404);

    let p = Platform::with(|config| config.views.max_bytes = 1_000).await;
    let (_app, _device) = p.echo().await;
    let mut large = tool("large");
    large["description"] = "x".repeat(900).into();
    publish(&p, json!([tool("small"), large, tool("last")])).await.expect(200);
    let ada = p.user("ada");
    assert_eq!(ada.tools().await, ["small", "last"].map(|name| format!("{ECHO}:{name}")));
    assert!(hidden(&ada, &format!("{ECHO}:large")).await.contains("1000 bytes"));
}

/// No two names with the same 68 bits of SHA-256 are known, so the alias is assigned directly in the database.
#[tokio::test]
async fn a_tool_whose_alias_another_one_had_first_is_not_published() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    let (first, taken) = (FakeApp::start("com.first").await, "names-with-a-dash-have-hashed-aliases");
    let body = json!({ "packageName": "com.first", "kind": "tools-only", "tools": [echo_tool()] });
    p.register(&first, body).await;
    let name: toolyard_protocol::ToolName = format!("{ECHO}:{taken}").parse().unwrap();
    let path = p.state.config.load().store.path.clone();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut database = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let sql = "INSERT INTO tool_aliases (alias, tool, package) VALUES (?, 'com.first:victim', 'com.first')";
    sqlx::query(sql).bind(name.alias().as_str()).execute(&mut database).await.unwrap();

    let wanted = json!([echo_tool(), with_schema(taken, json!({ "type": "object" }))]);
    let refused = publish(&p, wanted.clone()).await.expect(400);
    let problem = refused.json()["error"]["problems"][0].clone();
    assert_eq!(problem["path"], "tools[1].name", "{}", refused.text);
    let why = problem["message"].as_str().unwrap();
    assert!(why.contains("belongs to com.first:victim") && why.contains("choose another name"), "{why}");
    assert_eq!(p.user("ada").tools().await, [format!("{ECHO}:echo")], "nothing changed");
    // The same where an app is registered with its tools.
    let again = FakeApp::start(ECHO).await;
    p.nobody().delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    let body =
        json!({ "packageName": ECHO, "kind": "tools-only", "publicUrl": again.url(), "tools": wanted });
    let refused = p.nobody().post("/api/apps", &body).await.expect(400);
    assert!(refused.text.contains("belongs to com.first:victim"), "{}", refused.text);
    // Once the other one is gone, so is its claim.
    p.nobody().delete("/api/apps/com.first").await.expect(204);
    p.nobody().post("/api/apps", &body).await.expect(201);
}
