//! Results that are too long for a model: shown in full, truncated for the model, and readable by a tool.

use serde_json::json;
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{ECHO_ALIAS, asks, chunks, one, results, script, with, with_model};
use crate::platform::ECHO;

const READ: &str = "toolyard__read_result";

fn long() -> String {
    (0..200).map(|n| format!("line {n}\n")).collect()
}

/// The handle in a truncated result.
fn handle(cut: &str) -> String {
    let rest = cut.split("\"handle\": \"").nth(1).unwrap_or_else(|| panic!("{cut}"));
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_model_can_read_the_rest_of_a_truncated_result() {
    let (p, model) = with_model(|config| {
        config.chat.result_chars = 100;
        config.builtin.enabled = true;
    })
    .await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!(long())));
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("ok")]);
    let told = chunks(&p.user("ada"), asks("go")).await;
    assert_eq!(one(&told, "tool-output-available")["output"], long(), "the screen has all of it");
    let cut = &results(&model.requests()[1])[0];
    let all = long().chars().count();
    assert!(
        cut.starts_with(&long()[..100])
            && cut.contains(&format!("[cut: 100 of {all} characters. Read on with {READ}")),
        "{cut}"
    );
    let arguments = json!({ "handle": handle(cut), "start": 100 });

    let _of_bob = p.device("bob").await;
    let p = &p;
    let read = |who: &'static str| {
        let arguments = arguments.clone();
        async move { p.user(who).call("toolyard:read_result", arguments).await }
    };
    let rest = read("ada").await.expect(200).json()["content"].as_str().unwrap().to_owned();
    assert!(rest.starts_with(&long()[100..200]) && rest.ends_with("this is the end]"), "{rest}");
    let stranger = read("bob").await;
    assert!(!stranger.status.is_success() && stranger.text.contains("no such result"), "{stranger:?}");
    p.clock.advance(9 * 60);
    read("ada").await.expect(200);
    p.clock.advance(61);
    let late = read("ada").await;
    assert!(!late.status.is_success() && late.text.contains("ten minutes"), "{late:?}");
}

#[tokio::test]
async fn the_model_reads_the_rest_by_a_tool_and_sees_the_end() {
    let (p, model) = with_model(|config| {
        config.chat.result_chars = 100;
        config.builtin.enabled = true;
    })
    .await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!("x".repeat(150) + "END")));
    script(
        &model,
        [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("It is long.")],
    );
    chunks(&p.user("ada"), asks("go")).await;
    let handle = handle(&results(&model.requests()[1])[0]);
    script(
        &model,
        [ScriptedReply::call(READ, json!({ "handle": handle, "start": 100 })), ScriptedReply::text("ok")],
    );
    let told = chunks(&p.user("ada"), asks("read on")).await;
    let shown = one(&told, "tool-output-available")["output"].as_str().unwrap();
    assert!(shown.contains("END\n[characters 100 to 153 of 153; this is the end]"), "{shown}");
}

#[tokio::test]
async fn a_stored_result_is_gone_with_its_tool() {
    let (p, model) = with_model(|config| {
        config.chat.result_chars = 100;
        config.builtin.enabled = true;
    })
    .await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::content(json!(long())));
    script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("ok")]);
    chunks(&p.user("ada"), asks("go")).await;
    let first = handle(&results(&model.requests()[1])[0]);
    // A page that is itself too long continues under the same handle.
    let page = json!({ "handle": first, "start": 100 });
    script(&model, [ScriptedReply::call(READ, page), ScriptedReply::text("ok")]);
    chunks(&p.user("ada"), asks("read on")).await;
    let cut = results(model.requests().last().unwrap())[0].clone();
    assert!(cut.ends_with(&format!("{READ} {{\"handle\": \"{first}\", \"start\": 200}}.]")), "{cut}");

    let read = async || {
        let arguments = json!({ "handle": first, "start": 200 });
        p.user("ada").call("toolyard:read_result", arguments).await
    };
    let rest = read().await.expect(200).json()["content"].as_str().unwrap().to_owned();
    assert!(rest.starts_with(&long()[200..300]), "{rest}");
    let install = format!("/api/installs/{ECHO}");
    let tool = format!("/api/settings/tools/{ECHO}:echo");
    p.user("ada").put(&tool, &json!({ "enabled": false })).await.expect(204);
    let off = read().await;
    assert!(!off.status.is_success() && off.text.contains("no such result"), "{off:?}");
    p.user("ada").put(&tool, &json!({ "enabled": true })).await.expect(204);
    read().await.expect(200);
    p.user("ada").delete(&install).await.expect(204);
    let gone = read().await;
    assert!(!gone.status.is_success() && gone.text.contains("no such result"), "{gone:?}");
    script(
        &model,
        [ScriptedReply::call(READ, json!({ "handle": first, "start": 0 })), ScriptedReply::text("ok")],
    );
    let told = chunks(&p.user("ada"), asks("read on")).await;
    assert!(!told.iter().any(|chunk| chunk.to_string().contains("line 1\\n")), "{told:?}");
    p.user("ada").put(&install, &json!({})).await.expect(204);
    // The tools that a chat selects do not limit what the handle can read.
    script(
        &model,
        [ScriptedReply::call(READ, json!({ "handle": first, "start": 0 })), ScriptedReply::text("ok")],
    );
    let alone = json!({ "exactToolNames": [READ], "ignoreOtherTools": true });
    let told = chunks(&p.user("ada"), with(asks("read on"), alone)).await;
    let shown = one(&told, "tool-output-available")["output"].as_str().unwrap();
    assert!(shown.starts_with(&long()[..100]), "{shown}");
}

#[tokio::test]
async fn without_the_read_tool_the_model_is_told_that_the_rest_is_lost() {
    for (builtin, more) in
        [(false, json!({})), (true, json!({ "exactToolNames": [ECHO_ALIAS], "ignoreOtherTools": true }))]
    {
        let (p, model) = with_model(|config| {
            config.chat.result_chars = 100;
            config.builtin.enabled = builtin;
        })
        .await;
        let (app, _device) = p.echo().await;
        app.set_behavior(AppBehavior::content(json!(long())));
        script(&model, [ScriptedReply::call(ECHO_ALIAS, json!({ "text": "x" })), ScriptedReply::text("ok")]);
        chunks(&p.user("ada"), with(asks("go"), more)).await;
        let cut = &results(&model.requests()[1])[0];
        assert!(cut.ends_with("The rest is not available; ask for less.]"), "{cut}");
    }
}

#[tokio::test]
async fn results_of_client_tools_are_truncated_too() {
    let (p, model) = with_model(|config| config.chat.result_chars = 100).await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let part = json!({ "type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": {}, "output": "é".repeat(300) });
    chunks(
        &p.user("ada"),
        json!({ "messages": [super::says("x"), { "role": "assistant", "parts": [part] }] }),
    )
    .await;
    assert_eq!(results(&model.requests()[0]), [format!("{}\n[cut after 100 characters]", "é".repeat(100))]);
}
