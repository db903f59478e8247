//! Tool calls and their answers.

use serde_json::json;

use crate::stage::{ADA, story, story_like};

/// Enough that a race of which one in three is lost shows.
const STARTS: usize = 50;

#[tokio::test]
async fn a_call_starts_the_sleeping_app_and_is_answered() {
    story(async |mut stage| {
        let answer = stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        assert_eq!(answer.json(), json!({ "success": true, "content": "Added: buy milk" }));

        let session = stage.app.hears("session").await;
        assert_eq!(
            (&session["userId"], &session["modelName"], &session["loud"]),
            (&json!(ADA), &json!("Even Realities G1"), &json!(false)),
            "what the acknowledgement says is there before the app begins"
        );
        let tool = stage.app.hears("tool").await;
        assert_eq!((&tool["userId"], &tool["inSession"]), (&json!(ADA), &json!(true)));
        stage.device_shows("ready").await;
        let running = stage.running().await;
        assert_eq!((&running[0]["state"], &running[0]["woken"]), (&json!("RUNNING"), &json!(true)));

        stage.call("add_todo", json!({ "item": "call Bob" })).await.expect(200);
        assert_eq!((stage.app.count("session"), stage.app.count("error")), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn the_control_string_keeps_the_assistant_silent_and_the_list_is_on_the_glasses() {
    story(async |mut stage| {
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        let answer = stage.call("get_todos", json!({})).await.expect(200);
        let silent = json!({ "success": true, "mentraExtensions": { "suppressVoiceResponse": true } });
        assert_eq!(answer.json(), silent);
        stage.device_shows("1. buy milk").await;
    })
    .await;
}

/// On many threads, as in earnest: the call and the acknowledgement go over two connections and race.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_first_call_to_a_sleeping_app_finds_its_session() {
    story(async |mut stage| {
        for start in 1..=STARTS {
            let answer = stage.call("get_todos", json!({})).await.expect(200).json();
            assert_eq!(answer["mentraExtensions"]["suppressVoiceResponse"], true, "start {start}: {answer}");
            assert_eq!(stage.app.hears("tool").await["inSession"], true);
            stage.stop_app().await;
        }
        assert_eq!(stage.app.count("session"), STARTS);
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_throws_fails_with_its_words_and_an_unknown_one_is_not_handled() {
    story(async |stage| {
        let failed = stage.call("fail", json!({})).await.expect(500);
        assert_eq!(failed.code(), "EXECUTION_ERROR");
        assert_eq!(failed.json()["error"]["message"], "the list is on fire");
        assert_eq!(stage.call("forgotten", json!({})).await.expect(502).code(), "TOOL_NOT_HANDLED");
    })
    .await;
}

#[tokio::test]
async fn a_tools_only_app_answers_without_a_session() {
    story_like(json!({ "kind": "tools-only" }), async |mut stage| {
        stage.run_app().await;
        stage.call("add_todo", json!({ "item": "buy milk" })).await.expect(200);
        let answer = stage.call("get_todos", json!({})).await.expect(200);
        assert_eq!(answer.json()["content"], "1. buy milk");
        assert_eq!(stage.app.hears("tool").await["inSession"], false);
        assert_eq!(stage.app.count("session"), 0);
    })
    .await;
}
