//! What a turn does if all goes well, and if tools fail.

use super::*;
use crate::{
    event::TurnEndReason,
    model::{BadCall, ToolChoice},
};

#[tokio::test]
async fn a_text_response_is_streamed() {
    let world = TurnWorld::new(vec![vec![text("Hel"), text("lo"), end(ModelStopReason::Done)]]);
    let (ended, events) = world.run().await;
    let events: Vec<_> =
        events.iter().map(|event| format!("{event:?}").chars().take(12).collect::<String>()).collect();
    assert_eq!(events, ["StepBegins", "Text(\"Hel\")", "Text(\"lo\")", "StepEnds { u", "Ends(Stop)"]);
    assert!(matches!(ended.finish, TurnEndReason::Stop));
    assert!(matches!(&ended.messages[..], [ModelMessage::Assistant(said)] if said.text == "Hello"));
    assert_eq!((ended.steps, ended.usage), (1, ModelUsage { input: 10, output: 5 }));
}

#[tokio::test]
async fn calls_are_run_and_their_results_sent_to_the_model() {
    let world = TurnWorld::new(vec![calls(&[("a", "good")]), says("done")]);
    let (ended, events) = world.run().await;
    assert_eq!(ends(&events), ["a: good of a"]);
    assert_eq!(read(&world), [("a".to_owned(), "good of a".to_owned(), false)]);
    assert_eq!((ended.messages.len(), ended.steps, ended.usage.input), (3, 2, 20));
    let names: Vec<_> = world.asked()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names.len(), 8);
}

#[tokio::test]
async fn several_calls_run_in_parallel_with_their_progress() {
    let world = TurnWorld::new(vec![calls(&[("a", "slow"), ("b", "good"), ("c", "fails")]), says("done")]);
    let (_, events) = world.run().await;
    let mut ended = ends(&events);
    ended.sort();
    assert_eq!(ended, ["a: slowly", "b: good of b", "c: out of milk"]);
    let progress = events.iter().any(
        |event| matches!(event, TurnEvent::Progress { id, progress } if id == "a" && progress.progress == 0.5),
    );
    assert!(progress, "{events:?}");
    let mut heard = read(&world);
    heard.sort();
    assert_eq!(heard.iter().map(|(_, _, error)| *error).collect::<Vec<_>>(), [false, false, true]);
}

#[tokio::test]
async fn the_model_reads_results_in_the_order_of_its_calls() {
    let bad = BadCall {
        id: "b".to_owned(),
        name: Some("good".to_owned()),
        text: "{".to_owned(),
        problem: "it was cut".to_owned(),
    };
    let [a, c, d] =
        [("a", "slow"), ("c", "nothing"), ("d", "good")].map(|(id, name)| call(id, name, json!({})));
    let world = TurnWorld::new(vec![
        vec![a, ModelEvent::BadCall(bad), c, d, end(ModelStopReason::Calls)],
        says("done"),
    ]);
    let (ended, events) = world.run().await;
    assert_eq!(ends(&events), ["c: TOOL_NOT_FOUND", "d: good of d", "a: slowly"], "as they ended");
    let order: Vec<_> = read(&world).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(order, ["a", "b", "c", "d"]);
    let ModelMessage::Assistant(said) = &ended.messages[0] else { panic!("{:?}", ended.messages) };
    assert_eq!(said.calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_for_the_model() {
    let world = TurnWorld::new(vec![calls(&[("a", "nothing")]), says("sorry")]);
    let (_, events) = world.run().await;
    assert_eq!(ends(&events), ["a: TOOL_NOT_FOUND"]);
    assert!(read(&world)[0].1.contains("There is no tool nothing"));
    assert!(world.tools.ran.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_only_the_client_can_run_ends_the_turn() {
    let world = TurnWorld::new(vec![calls(&[("a", "good"), ("b", "client")])]);
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::ClientCalls));
    assert_eq!(ends(&events), ["a: good of a"], "ours has its answer, the client's is the client's");
    assert!(matches!(&ended.messages[..], [ModelMessage::Assistant(said), ModelMessage::Tools(answers)]
        if said.calls.len() == 2 && answers.len() == 1));
    let only = TurnWorld::new(vec![calls(&[("b", "client")])]).run().await.0;
    assert_eq!(only.messages.len(), 1, "no empty list of answers");
}

#[tokio::test]
async fn a_call_that_cannot_be_read_goes_back_to_the_model() {
    let bad = BadCall {
        id: "x".to_owned(),
        name: Some("good".to_owned()),
        text: "{\"a".to_owned(),
        problem: "it was cut; write it again".to_owned(),
    };
    let world = TurnWorld::new(vec![
        vec![ModelEvent::BadCall(bad), end(ModelStopReason::Done)],
        calls(&[("a", "good")]),
        says("ok"),
    ]);
    let (ended, events) = world.run().await;
    assert_eq!((ends(&events), ended.steps), (vec!["a: good of a".to_owned()], 3));
    assert_eq!(read(&world)[0], ("x".to_owned(), "it was cut; write it again".to_owned(), true));
}

#[tokio::test]
async fn a_call_that_began_and_cannot_be_read_has_an_end() {
    let begins = |id: &str| ModelEvent::CallBegins { id: id.to_owned(), name: "client".to_owned() };
    let bad = BadCall {
        id: "x".to_owned(),
        name: Some("client".to_owned()),
        text: "{".to_owned(),
        problem: "it was cut".to_owned(),
    };
    let both = vec![
        begins("x"),
        begins("a"),
        ModelEvent::BadCall(bad),
        call("a", "client", json!({})),
        end(ModelStopReason::Calls),
    ];
    let (ended, events) = TurnWorld::new(vec![both]).run().await;
    assert!(matches!(ended.finish, TurnEndReason::ClientCalls));
    assert_eq!(ends(&events), ["x: INVALID_ARGUMENTS"]);
}

#[tokio::test]
async fn some_tools_are_always_offered() {
    let mut world = TurnWorld::new(vec![says("ok")]);
    world.limits.tools = 5;
    Arc::get_mut(&mut world.tools).unwrap().many = 100;
    world.run().await;
    let names: Vec<_> = world.asked()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert!(names.len() <= 7 && names.contains(&"more_99".to_owned()), "{names:?}");
}

#[tokio::test]
async fn progress_is_sent_before_the_end() {
    let mut world = TurnWorld::new(vec![calls(&[("a", "more_0")]), says("ok")]);
    Arc::get_mut(&mut world.tools).unwrap().many = 1;
    let (_, events) = world.run().await;
    let place = |found: fn(&TurnEvent) -> bool| events.iter().position(found).unwrap();
    let progress = place(|event| matches!(event, TurnEvent::Progress { .. }));
    assert!(progress < place(|event| matches!(event, TurnEvent::CallEnds { .. })), "{events:?}");
}

#[tokio::test]
async fn a_long_result_is_cut_and_the_rest_is_kept() {
    let mut world = TurnWorld::new(vec![calls(&[("a", "long")]), says("ok")]);
    world.limits.result_chars = 30;
    let (_, events) = world.run().await;
    let heard = read(&world)[0].1.clone();
    assert_eq!(heard, format!("{}\n[cut: 30 of 100 characters. read on at 30]", "é".repeat(30)));
    assert_eq!(world.tools.kept.lock().unwrap()[0].chars().count(), 100);
    assert_eq!(ends(&events), [format!("a: {}", "é".repeat(100))], "whoever watches sees all of it");
}

#[tokio::test]
async fn a_required_call_is_required_once() {
    let world = TurnWorld::new(vec![calls(&[("a", "good")]), says("ok")]);
    let (turn, _told) = world.turn();
    turn.run(ModelRequest { choice: ToolChoice::Required, ..hello() }).await;
    let choices: Vec<_> = world.asked().iter().map(|asked| asked.choice).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}

#[tokio::test]
async fn errors_of_the_model_or_the_tool_list_end_the_turn() {
    let refused = TurnWorld::of(vec![Err(broken(ModelErrorKind::Unauthorized))]).run().await.0;
    assert!(
        matches!(refused.finish, TurnEndReason::Failed(error) if error.kind == ModelErrorKind::Unauthorized)
    );

    let began = ModelEvent::CallBegins { id: "a".to_owned(), name: "good".to_owned() };
    let world = TurnWorld::of(vec![Ok(vec![
        Ok(text("Well")),
        Ok(call("b", "good", json!({}))),
        Ok(began),
        Err(broken(ModelErrorKind::Broken)),
    ])]);
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Failed(error) if error.kind == ModelErrorKind::Broken));
    assert_eq!(ends(&events), ["b: CANCELLED", "a: CANCELLED"]);
    assert!(
        matches!(&ended.messages[..], [ModelMessage::Assistant(said)] if said.text == "Well" && said.calls.is_empty())
    );

    let unended = TurnWorld::new(vec![vec![text("Well")]]).run().await.0;
    assert!(matches!(unended.finish, TurnEndReason::Failed(error) if error.kind == ModelErrorKind::Broken));

    let mut world = TurnWorld::new(vec![]);
    Arc::get_mut(&mut world.tools).unwrap().no_list = true;
    let ended = world.run().await.0;
    assert!(matches!(ended.finish, TurnEndReason::Failed(error) if error.text.contains("the store is away")));
}

#[tokio::test]
async fn a_client_is_sent_only_calls_that_it_can_run() {
    // Invalid arguments go back to the model, and the client is not sent a call to run.
    let unfit = vec![call("a", "client", json!({ "unfit": true })), end(ModelStopReason::Calls)];
    let world = TurnWorld::new(vec![unfit, calls(&[("b", "client")])]);
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::ClientCalls));
    let called: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::Called { call, tool } => Some((call.id.as_str(), tool.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(called, [("a", false), ("b", true)]);
    assert_eq!(ends(&events), ["a: INVALID_ARGUMENTS"]);

    let began = ModelEvent::CallBegins { id: "a".to_owned(), name: "client".to_owned() };
    let cut = TurnWorld::new(vec![vec![began, call("a", "client", json!({})), end(ModelStopReason::Length)]]);
    let (_, events) = cut.run().await;
    assert!(!events.iter().any(|event| matches!(event, TurnEvent::Called { .. })), "{events:?}");
    assert_eq!(ends(&events), ["a: DENIED"], "what began has its end");
}

#[tokio::test]
async fn a_call_that_needs_approval_ends_the_turn_after_the_other_calls() {
    let mut world = TurnWorld::new(vec![calls(&[("a", "asks"), ("b", "slow")])]);
    world.pauses_for_approval = true;
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::AwaitingApproval));
    assert_eq!(ends(&events), ["b: slowly"]);
    let waits = events.iter().filter_map(|event| match event {
        TurnEvent::AwaitsApproval { id, approval } => Some((id.as_str(), approval.tool.to_string())),
        _ => None,
    });
    assert_eq!(waits.collect::<Vec<_>>(), [("a", "com.ex:asks".to_owned())]);
    assert_eq!(world.asked().len(), 1, "the model is asked again when the user has answered");
}

#[tokio::test]
async fn a_client_that_cannot_ask_lets_the_model_name_the_page_for_the_answer() {
    let world = TurnWorld::new(vec![calls(&[("a", "asks")]), says("Please open the page.")]);
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Stop));
    assert_eq!(ends(&events), ["a: DENIED"]);
    assert!(read(&world)[0].1.contains("https://yard.example/approvals/1"), "{:?}", read(&world));
}
