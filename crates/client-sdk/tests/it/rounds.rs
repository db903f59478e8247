//! Answers with tools of this client and of the server.

use std::sync::{Arc, atomic::Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Barrier;
use toolyard_client_sdk::{
    ChatEvent, ChatFinish, Message, MessagePart, MessageRole, Plugin, message::CallPartState,
};
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{CALCULATE, Stage, counted, endless, events, kinds, soon, time, tool};

#[tokio::test]
async fn an_answer_without_tools() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::pieces(["Hel", "lo."]).and_reasoning("hm")]);
    let told = events(stage.client().chat("hi")).await;
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    assert_eq!((answer.text.as_str(), &answer.finish, answer.rounds), ("Hello.", &ChatFinish::Stop, 1));
    assert_eq!(answer.model.as_deref(), Some("local/scripted"));
    let texts = told.iter().filter_map(|event| match event {
        ChatEvent::Text { delta } => Some(delta.as_str()),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "Hello.");
    assert!(kinds(&told).contains(&"reasoning"));
    assert_eq!((kinds(&told)[0], kinds(&told)[1]), ("round", "step"));
}

#[tokio::test]
async fn a_client_tool_runs_and_the_conversation_continues() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::text("Let me see.").and_call("get_current_time", json!({ "timezone": "Asia/Tokyo" })),
        ScriptedReply::text("It is noon."),
    ]);
    let client = stage.client();
    client.use_plugin(Plugin::new("time", "1.0.0").tool(time())).await.unwrap();
    let told = events(client.chat("What time is it in Tokyo?")).await;
    assert_eq!(
        kinds(&told),
        [
            "round",
            "step",
            "text",
            "text-end",
            "call",
            "round-finish",
            "result",
            "end",
            "round",
            "step",
            "text",
            "text-end",
            "round-finish",
            "finish"
        ]
    );
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    assert_eq!(
        (answer.text.as_str(), &answer.finish, answer.rounds),
        ("Let me see.\nIt is noon.", &ChatFinish::Stop, 2)
    );
    let output = json!({ "time": "2026-01-02T03:04:05Z", "timezone": "Asia/Tokyo" });
    assert_eq!((answer.calls.len(), &answer.results[0].output), (1, &output));
    assert!(!answer.results[0].is_error && !answer.results[0].of_server);
    assert_eq!(stage.results(1), [output.to_string()]);
    assert_eq!(stage.offered(0), ["get_current_time"]);
    // One answer is one message, however many requests it took.
    assert_eq!(answer.history.len(), 2);
    assert_eq!((answer.history[1].role, answer.history[1].id.is_some()), (MessageRole::Assistant, true));
}

#[tokio::test]
async fn tools_run_concurrently() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("meet", json!({ "n": 1 }))
            .and_call("meet", json!({ "n": 2 }))
            .and_call("meet", json!({ "n": 3 })),
        ScriptedReply::text("Met."),
    ]);
    let (client, barrier) = (stage.client(), Arc::new(Barrier::new(3)));
    let meet = tool("meet", move |args, _| {
        let barrier = barrier.clone();
        async move {
            // Nobody gets past this alone.
            barrier.wait().await;
            Ok(args["n"].clone())
        }
    });
    client.register_tool(meet).unwrap();
    let answer = soon(client.ask("meet")).await.unwrap();
    assert_eq!((answer.results.len(), answer.text.as_str()), (3, "Met."));
    assert_eq!(stage.results(1), ["1", "2", "3"], "in the order of the calls");
}

#[tokio::test]
async fn tools_of_the_server_and_of_the_client_in_one_step() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("get_current_time", json!({}))
            .and_call(CALCULATE, json!({ "expression": "6 * 7" })),
        ScriptedReply::text("Both."),
    ]);
    let client = stage.client();
    client.register_tool(time()).unwrap();
    let told = events(client.chat("both")).await;
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    let of_server: Vec<_> =
        answer.results.iter().map(|result| (result.tool.as_str(), result.of_server)).collect();
    assert!(of_server.contains(&(CALCULATE, true)) && of_server.contains(&("get_current_time", false)));
    assert!(
        told.iter()
            .any(|event| matches!(event, ChatEvent::ToolAbout(about) if about.name == "toolyard:calculate"))
    );
    assert_eq!((stage.results(1).len(), answer.rounds), (2, 2));
    let ends =
        told.iter().filter(|event| matches!(event, ChatEvent::ToolEnd { is_error: false, .. })).count();
    assert_eq!(ends, 2, "{told:?}");
}

#[tokio::test]
async fn a_tool_of_the_server_alone_takes_one_request() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call(CALCULATE, json!({ "expression": "6 * 7" })),
        ScriptedReply::text("42."),
    ]);
    let answer = soon(stage.client().ask("6 * 7?")).await.unwrap();
    assert_eq!((answer.rounds, stage.asked(), answer.finish), (1, 2, ChatFinish::Stop));
    assert!(answer.calls[0].of_server);
}

#[tokio::test]
async fn the_model_gets_the_error_of_a_failed_tool() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("milk", json!({})), ScriptedReply::text("Sorry.")]);
    let client = stage.client();
    client.register_tool(tool("milk", |_, _| async { Err("no milk left".to_owned()) })).unwrap();
    let told = events(client.chat("milk")).await;
    assert_eq!(stage.results(1), [json!({ "error": "no milk left" }).to_string()]);
    assert!(
        told.iter()
            .any(|event| matches!(event, ChatEvent::ToolEnd { is_error: true, tool, .. } if tool == "milk"))
    );
    let Some(ChatEvent::Finish(answer)) = told.last() else { panic!("{told:?}") };
    assert_eq!(
        (answer.results[0].is_error, &answer.results[0].output),
        (true, &json!({ "error": "no milk left" }))
    );
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_and_the_others_continue() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("bad", json!({})).and_call("good", json!({})),
        ScriptedReply::text("One of two."),
    ]);
    let client = stage.client();
    client.register_tool(tool("bad", |_, _| async { panic!("the secret of the panic") })).unwrap();
    client.register_tool(counted("good").0).unwrap();
    soon(client.ask("both")).await.unwrap();
    assert_eq!(
        stage.results(1),
        [json!({ "error": "the tool `bad` panicked" }).to_string(), "ran".to_owned()]
    );
}

#[tokio::test]
async fn a_tool_that_times_out_is_an_error_and_is_cancelled() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("slow", json!({})).and_call("quick", json!({})),
        ScriptedReply::text("Too slow."),
    ]);
    let client = stage.builder().tool_timeout(Duration::from_millis(20)).build().unwrap();
    let (told, mut hears) = tokio::sync::mpsc::channel(1);
    let slow = tool("slow", move |_, cx| {
        let told = told.clone();
        async move {
            // Whatever the tool has begun elsewhere can listen to this.
            let cancelled = cx.cancellation().clone();
            tokio_util::task::TaskTracker::new().spawn(async move {
                cancelled.cancelled().await;
                told.send(()).await.unwrap();
            });
            std::future::pending().await
        }
    });
    client.register_tool(slow).unwrap().register_tool(counted("quick").0).unwrap();
    soon(client.ask("both")).await.unwrap();
    assert_eq!(stage.results(1)[0], json!({ "error": "the tool `slow` took longer than 20ms" }).to_string());
    assert_eq!(stage.results(1)[1], "ran");
    soon(hears.recv()).await.unwrap();
}

#[tokio::test]
async fn progress_of_a_tool_comes_before_its_end() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("steps", json!({})), ScriptedReply::text("Done.")]);
    let client = stage.client();
    let steps = tool("steps", |_, cx| async move {
        for step in 1..=100 {
            cx.progress(f64::from(step), Some(100.0), format!("step {step}"));
        }
        Ok(json!("done"))
    });
    client.register_tool(steps).unwrap();
    let told = events(client.chat("go")).await;
    let far: Vec<f64> = told
        .iter()
        .filter_map(|event| match event {
            ChatEvent::Progress { progress, .. } => Some(progress.done),
            _ => None,
        })
        .collect();
    assert!(far.len() <= 16 && far.first() == Some(&1.0) && far.last() == Some(&100.0), "{far:?}");
    let place = |kind: &str| kinds(&told).iter().rposition(|other| *other == kind).unwrap();
    assert!(place("progress") < place("result"), "{:?}", kinds(&told));
}

#[tokio::test]
async fn progress_is_reported_while_the_tool_runs() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("long", json!({})), ScriptedReply::text("Done.")]);
    let (client, gate) = (stage.client(), Arc::new(tokio::sync::Notify::new()));
    let goes_on = gate.clone();
    let long = tool("long", move |_, cx| {
        let gate = gate.clone();
        async move {
            cx.progress(1.0, None, None);
            gate.notified().await;
            Ok(json!(1))
        }
    });
    client.register_tool(long).unwrap();
    let mut stream = client.chat("go");
    crate::stage::until(
        &mut stream,
        |event| matches!(event, ChatEvent::Progress { progress, .. } if progress.done == 1.0),
    )
    .await;
    goes_on.notify_one();
    assert_eq!(soon(stream.collect()).await.unwrap().text, "Done.");
}

#[tokio::test]
async fn a_history_can_be_stored_and_sent_again() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::text("Look.")
            .and_call("get_current_time", json!({}))
            .and_call(CALCULATE, json!({ "expression": "1 +" })),
        ScriptedReply::text("Noon."),
        ScriptedReply::text("You are welcome."),
    ]);
    let client = stage.client();
    client.register_tool(time()).unwrap();
    let answer = soon(client.ask("time?")).await.unwrap();
    let stored = serde_json::to_string(&answer.history).unwrap();
    let read: Vec<Message> = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, answer.history);
    let parts = &read[1].parts;
    assert!(
        matches!(&parts[..2], [MessagePart::Step, MessagePart::Text(text)] if text == "Look."),
        "{parts:?}"
    );
    assert!(
        parts.iter().any(
            |part| matches!(part, MessagePart::Call(call) if matches!(call.end, CallPartState::Failed(_)))
        )
    );
    let next = soon(client.ask([read, vec![Message::user("thanks")]].concat())).await.unwrap();
    assert_eq!((next.text.as_str(), next.history.len()), ("You are welcome.", 4));
    assert_eq!(next.history[..2], answer.history);
    // The model sees its own texts and calls, and the results.
    let seen = stage.model.requests();
    let roles: Vec<_> =
        seen[2].body["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(json!(roles), json!(["system", "user", "assistant", "tool", "tool", "assistant", "user"]));
}

#[tokio::test]
async fn a_tool_removed_during_a_request_still_runs_as_it_was_offered() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("mine", json!({})), ScriptedReply::text("Done.")]);
    let (client, (mine, ran)) = (stage.client(), counted("mine"));
    client.use_plugin(Plugin::new("p", "1").tool(mine)).await.unwrap();
    let mut stream = client.chat("go");
    crate::stage::until(&mut stream, |event| matches!(event, ChatEvent::ToolCall(_))).await;
    client.unuse("p").await.unwrap();
    let answer = soon(stream.collect()).await.unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), answer.text.as_str()), (1, "Done."));
    assert_eq!(stage.offered(1), [""; 0], "the next request does not offer it");
}

#[tokio::test]
async fn a_result_that_is_too_large_is_an_error() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("large", json!({})), ScriptedReply::text("Less.")]);
    let client = stage.client();
    client.register_tool(tool("large", |_, _| async { Ok(json!("x".repeat(1024 * 1024))) })).unwrap();
    client.register_tool(endless("never_called")).unwrap();
    soon(client.ask("large")).await.unwrap();
    assert!(
        stage.results(1)[0].contains("the result has 1048578 bytes; at most 1048576"),
        "{:?}",
        stage.results(1)
    );
}
