//! Real clients connect with nothing but the URL: they find the authorization server, register or are known by their metadata
//! document, send their user to the consent page, and come back with a token. The Rust SDK is in [`crate::oauth_rust`].

use serde_json::{Value, json};
use toolyard_net::{ClientSettings, Guard, HttpClient, StandIn};
use toolyard_testkit::TlsServer;

use crate::{
    program::Program,
    stage::{Access, Stage},
};

/// The host of a client's metadata document.
const HOST: &str = "client.example.com";
const DOCUMENT: &str = "https://client.example.com/oauth/client.json";

fn plan(stage: &Stage) -> Value {
    let mut plan = stage.plan();
    plan["user"] = plan["headers"].take();
    plan["document"] = DOCUMENT.into();
    plan
}

/// A client lists the tools and calls one, after its user was asked once.
async fn connect(stage: &Stage, file: &str) -> Program {
    let mut program = Program::start(file, &plan(stage));
    let called = program.says("called").await;
    assert_eq!((&called["answer"], &called["links"]), (&json!("hello back"), &json!(1)), "{called}");
    assert!(called["tools"].as_u64().unwrap() > 0, "{called}");
    assert!(called["scope"].as_str().unwrap().contains("tools:write"), "{called}");
    program
}

/// The same, and renews its token without its user when the server refuses the old one.
async fn connect_and_renew(stage: Stage, file: &str) {
    let mut program = connect(&stage, file).await;
    let renewed = program.says("renewed").await;
    assert_eq!((&renewed["links"], &renewed["rotated"]), (&json!(1), &json!(true)), "{file}: {renewed}");
    program.ends().await;
    stage.end().await;
}

#[tokio::test]
async fn the_typescript_sdk_version_1() {
    connect_and_renew(Stage::start(Access::Token).await, "oauth-v1.mjs").await;
}

#[tokio::test]
async fn the_typescript_sdk_version_2() {
    connect_and_renew(Stage::start(Access::Token).await, "oauth-v2.mjs").await;
}

#[tokio::test]
async fn the_python_sdk() {
    let stage = Stage::start(Access::Token).await;
    connect(&stage, "oauth.py").await.ends().await;
    stage.end().await;
}

#[tokio::test]
async fn the_ai_sdk() {
    connect_and_renew(Stage::start(Access::Token).await, "oauth-ai-sdk.mjs").await;
}

#[tokio::test]
async fn the_inspector() {
    connect_and_renew(Stage::start(Access::Token).await, "oauth-inspector.mjs").await;
}

#[tokio::test]
async fn mcp_remote() {
    connect_and_renew(Stage::start(Access::Token).await, "oauth-mcp-remote.mjs").await;
}

/// It never registers.
#[tokio::test]
async fn mastra_with_its_metadata_document() {
    let document = json!({ "client_id": DOCUMENT, "client_name": "Mastra",
        "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"] });
    let host = TlsServer::start(HOST, &document.to_string()).await;
    let stand_in = StandIn { host: HOST.to_owned(), address: host.address, root: host.root.clone() };
    let http = HttpClient::with_stand_in(Guard::dev(), ClientSettings::default(), stand_in).unwrap();
    connect_and_renew(Stage::start_with(Access::Token, Some(http)).await, "oauth-mastra.mjs").await;
    assert_eq!(host.request_heads().len(), 1, "the document was fetched, and once");
}

/// Both scenarios that the conformance suite has for authorization servers. Warnings count as failures.
#[tokio::test]
async fn the_conformance_suite() {
    let stage = Stage::start(Access::Token).await;
    let mut program = Program::start("../conformance/authorization.mjs", &plan(&stage));
    for step in ["without-resource", "with-resource"] {
        let said = program.says(step).await;
        let checks = json!([
            "authorization-code-grant SUCCESS",
            "authorization-server-metadata SUCCESS",
            "authorization-server-metadata-cimd SUCCESS",
        ]);
        assert_eq!((&said["code"], &said["checks"]), (&json!(0), &checks), "{said}");
    }
    program.ends().await;
    stage.end().await;
}
