//! A turn from the request to the last word.

use serde_json::json;
use toolyard_testkit::{Act, model::Answer};

use super::{chunks, kinds, says, script, with_model};
use crate::platform::ECHO;

#[tokio::test]
async fn words_and_a_tool_of_the_server() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo_like(json!({ "iconUrl": "https://example.com/echo.png" })).await;
    app.acts(Act::Json(200, json!({ "success": true, "content": "hello" })));
    script(
        &model,
        [Answer::call("com_example_echo__echo", json!({ "text": "hi" })), Answer::text("It said hello.")],
    );
    let told = chunks(&p.user("ada"), json!({ "messages": [says("echo hi")] })).await;
    assert_eq!(
        kinds(&told),
        [
            "start",
            "start-step",
            "tool-input-start",
            "tool-input-delta",
            "tool-input-delta",
            "tool-input-available",
            "data-tool",
            "tool-output-available",
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish"
        ],
        "{told:#?}"
    );
    let output = told.iter().find(|chunk| chunk["type"] == "tool-output-available").unwrap();
    assert_eq!((&output["output"], &output["providerExecuted"]), (&json!("hello"), &json!(true)));
    let about = told.iter().find(|chunk| chunk["type"] == "data-tool").unwrap();
    assert_eq!(
        (&about["data"]["app"], &about["data"]["name"], &about["data"]["icon"]),
        (&json!("Echo"), &json!(format!("{ECHO}:echo")), &json!("https://example.com/echo.png"))
    );
    assert_eq!(told.last().unwrap()["finishReason"], "stop");
}
