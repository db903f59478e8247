//! Uploads of tool definitions.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use toolyard_app_sdk::{
    NoArguments, RegisterError, ToolContext, create_prompt, create_resource, create_resource_template,
    create_tool,
};

use crate::{fixture::builder, platform::Platform};

#[tokio::test]
async fn the_definitions_are_uploaded_with_the_key() {
    let mut platform = Platform::start().await;
    *platform.answer.lock().await = (StatusCode::OK, json!({ "version": 3, "hash": "x" }).to_string());
    let tool =
        create_tool("ok", "Says fine.", |_: NoArguments, _| async { Ok::<_, &str>("fine") }).build().unwrap();
    let app = builder().server(platform.url()).register_tool(tool).build().unwrap();
    assert_eq!(app.register().await, Ok(3));
    let (headers, body) = platform.uploads.recv().await.unwrap();
    assert_eq!(headers["authorization"], "Bearer com.example.todo:the-key");
    assert_eq!(headers["content-type"], "application/json");
    let schema = json!({ "type": "object", "description": "No arguments." });
    assert_eq!(
        body,
        json!({ "tools": [{ "name": "ok", "description": "Says fine.", "inputSchema": schema }] })
    );
}

#[tokio::test]
async fn prompts_and_resources_are_uploaded_with_the_tools() {
    let mut platform = Platform::start().await;
    *platform.answer.lock().await = (StatusCode::OK, json!({ "version": 1 }).to_string());
    let plan = create_prompt("plan", "Plans.", |_: NoArguments, _| async { Ok::<_, &str>("go") });
    let list = create_resource("todo://list", "List", |_| async { Ok::<_, &str>("none") });
    let one = |_: Map<String, Value>, _: ToolContext| async { Ok::<_, &str>("one") };
    let one = create_resource_template("todo://{id}", "One", one);
    let app = builder().server(platform.url()).prompt(plan.build().unwrap());
    let app = app.resource(one.build().unwrap()).resource(list.build().unwrap()).build().unwrap();
    assert_eq!(app.register().await, Ok(1));
    let (_, body) = platform.uploads.recv().await.unwrap();
    assert_eq!(
        body,
        json!({
            "tools": [],
            "prompts": [{ "name": "plan", "description": "Plans." }],
            "resources": [{ "uri": "todo://list", "name": "List" }],
            "resourceTemplates": [{ "uriTemplate": "todo://{id}", "name": "One" }],
        })
    );
}

#[tokio::test]
async fn a_refusal_names_every_problem() {
    let platform = Platform::start().await;
    let problems = json!([
        { "path": "tools[0].name", "message": "taken" },
        { "path": "tools[1].inputSchema", "message": "too deep" },
    ]);
    let error =
        json!({ "code": "INVALID_REQUEST", "message": "the tools cannot be used", "problems": problems });
    *platform.answer.lock().await = (StatusCode::BAD_REQUEST, json!({ "error": error }).to_string());
    let app = builder().server(platform.url()).build().unwrap();
    assert_eq!(
        app.register().await.unwrap_err().to_string(),
        "the server refused the tools with status 400 Bad Request: the tools cannot be used\n  \
         tools[0].name: taken\n  tools[1].inputSchema: too deep"
    );
}

#[tokio::test]
async fn other_failures_are_reported() {
    let platform = Platform::start().await;
    let app = builder().server(platform.url()).build().unwrap();
    for (answer, told) in [
        ((StatusCode::BAD_GATEWAY, "<html>"), "status 502 Bad Gateway: <html>"),
        ((StatusCode::OK, "<html>"), "returned no version"),
    ] {
        *platform.answer.lock().await = (answer.0, answer.1.to_owned());
        let error = app.register().await.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    drop(platform);
    assert!(matches!(app.register().await, Err(RegisterError::NotReached(_))));
    assert_eq!(builder().build().unwrap().register().await, Err(RegisterError::NoServer));
    let keyless = toolyard_app_sdk::AppServer::builder("com.example.todo").server("http://127.0.0.1:9");
    assert_eq!(keyless.build().unwrap().register().await, Err(RegisterError::NoKey));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_times_out() {
    // Takes connections into its backlog and never looks at them.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    assert_eq!(builder().server(server).build().unwrap().register().await, Err(RegisterError::TooLate));
}
