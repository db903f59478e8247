//! The limits of a turn, and its ends from outside.

use std::time::Duration;

use super::*;
use crate::{
    event::{TurnEndReason, TurnLimitKind},
    model::{BadCall, ToolChoice},
};

/// A model that never finishes.
fn for_ever(event: impl FnOnce() -> Vec<ModelEvent>) -> TurnWorld {
    let mut world = TurnWorld::new(Vec::new());
    world.model().for_ever = Some(event());
    world
}

#[tokio::test]
async fn the_last_step_has_no_tools_and_ends_the_turn() {
    let mut world = for_ever(|| calls(&[("a", "good")]));
    world.limits.steps = 3;
    world.limits.repeats = 10;
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Budget(TurnLimitKind::Steps)));
    let choices: Vec<_> = world.asked().iter().map(|asked| asked.choice).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]);
    assert_eq!(ends(&events), ["a: good of a", "a: good of a", "a: DENIED"]);
    assert_eq!(world.tools.ran.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn without_tools_no_calls_are_reported() {
    let asked = |events: Vec<ModelEvent>| async move {
        let world = TurnWorld::new(vec![events]);
        let (turn, mut events) = world.turn();
        let ended = turn.run(ModelRequest { choice: ToolChoice::None, ..hello() }).await;
        let mut kinds = Vec::new();
        while let Ok(event) = events.try_recv() {
            kinds.push(match event {
                TurnEvent::StepBegins | TurnEvent::StepEnds { .. } => continue,
                TurnEvent::Text(text) => text,
                TurnEvent::Ends(_) => "end".to_owned(),
                other => format!("{other:?}"),
            });
        }
        assert!(world.tools.ran.lock().unwrap().is_empty());
        (ended.finish, kinds)
    };
    let began = || ModelEvent::CallBegins { id: "a".to_owned(), name: "good".to_owned() };
    let piece = || ModelEvent::CallText { id: "a".to_owned(), text: "{".to_owned() };
    let bad = || {
        let (name, text, problem) = (None, String::new(), "no".to_owned());
        ModelEvent::BadCall(BadCall { id: "b".to_owned(), name, text, problem })
    };
    let all = || vec![began(), piece(), call("a", "good", json!({})), bad(), call("c", "client", json!({}))];
    let with = |first: &str, stop: ModelStopReason| [vec![text(first)], all(), vec![end(stop)]].concat();
    let (finish, events) = asked(with("Well.", ModelStopReason::Calls)).await;
    assert!(matches!(finish, TurnEndReason::Stop), "{finish:?}");
    assert_eq!(events, ["Well.", "end"]);
    let (finish, _) = asked(with(" \n", ModelStopReason::Calls)).await;
    assert!(
        matches!(&finish, TurnEndReason::Failed(error) if error.text.contains("although tools are switched off")),
        "{finish:?}"
    );
    let (finish, _) = asked(with("", ModelStopReason::Length)).await;
    assert!(matches!(finish, TurnEndReason::Length), "{finish:?}");
    let (finish, _) = asked(vec![end(ModelStopReason::Done)]).await;
    assert!(matches!(finish, TurnEndReason::Stop), "a model may have nothing to say: {finish:?}");
}

#[tokio::test]
async fn a_repeated_call_is_refused() {
    let world = for_ever(|| calls(&[("a", "good")]));
    let (ended, events) = world.run().await;
    assert_eq!(world.tools.ran.lock().unwrap().len(), world.limits.repeats);
    assert!(matches!(ended.finish, TurnEndReason::Budget(TurnLimitKind::Steps)));
    assert_eq!(ends(&events)[3], "a: DENIED");
    assert!(read(&world)[3].1.contains("called 3 times with these arguments"));
}

#[tokio::test]
async fn a_tool_that_fails_every_time_is_given_up() {
    let attempts =
        (0..5).map(|n| vec![call(&n.to_string(), "fails", json!({ "n": n })), end(ModelStopReason::Calls)]);
    let world = TurnWorld::new(attempts.chain([says("It does not work.")]).collect());
    let (ended, _) = world.run().await;
    assert_eq!(*world.tools.ran.lock().unwrap(), ["0", "1", "2"]);
    assert!(read(&world)[4].1.contains("failed 3 times"));
    assert!(matches!(ended.finish, TurnEndReason::Stop), "and the model comes to an end in words");
}

#[tokio::test]
async fn calls_that_cannot_be_run_are_corrected_a_few_times() {
    let bad = || {
        let problem = "no".to_owned();
        let bad = BadCall { id: "x".to_owned(), name: None, text: String::new(), problem };
        vec![ModelEvent::BadCall(bad), end(ModelStopReason::Done)]
    };
    let (wrong, unknown) = (calls(&[("b", "bad")]), calls(&[("u", "unknown")]));
    let world = TurnWorld::new(vec![wrong.clone(), unknown, bad(), wrong, says("I cannot.")]);
    let (ended, _) = world.run().await;
    let choices: Vec<_> = world.asked().iter().map(|asked| asked.choice).collect();
    assert_eq!(choices[3..], [ToolChoice::Auto, ToolChoice::None]);
    assert!(matches!(ended.finish, TurnEndReason::Stop));
}

#[tokio::test]
async fn too_many_calls_in_one_step_fail() {
    let mut world = TurnWorld::new(vec![calls(&[("a", "good"), ("b", "good"), ("c", "good")]), says("ok")]);
    world.limits.calls = 2;
    let (_, events) = world.run().await;
    let mut ended = ends(&events);
    ended.sort();
    assert_eq!(ended, ["a: good of a", "b: good of b", "c: OVERLOADED"]);
}

#[tokio::test]
async fn tokens_are_counted() {
    let mut world = for_ever(|| calls(&[("a", "good")]));
    world.limits.tokens = 30;
    let (ended, _) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Budget(TurnLimitKind::Tokens)));
    assert_eq!((ended.steps, ended.usage), (2, ModelUsage { input: 20, output: 10 }));
}

#[tokio::test(start_paused = true)]
async fn time_ends_a_call_and_a_silent_model() {
    let mut world = TurnWorld::new(vec![calls(&[("a", "never"), ("b", "good")])]);
    world.limits.time = Duration::from_secs(20);
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Budget(TurnLimitKind::Time)));
    assert_eq!(ends(&events), ["b: good of b", "a: TIMEOUT"]);
    assert_eq!(*world.tools.cancelled.lock().unwrap(), ["a"]);

    let mut world = TurnWorld::new(vec![vec![text("Well")]]);
    world.model().hangs = true;
    let (ended, _) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Budget(TurnLimitKind::Time)));
}

#[tokio::test]
async fn what_is_called_in_a_cut_answer_is_not_run() {
    let world = TurnWorld::new(vec![vec![call("a", "good", json!({})), end(ModelStopReason::Length)]]);
    let (ended, events) = world.run().await;
    assert!(matches!(ended.finish, TurnEndReason::Length));
    assert_eq!(ends(&events), ["a: DENIED"]);
    assert!(world.tools.ran.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_can_be_cancelled_while_a_tool_or_the_model_runs() {
    let world = TurnWorld::new(vec![calls(&[("a", "never")])]);
    let (turn, mut events) = world.turn();
    let cancel = world.cancel.clone();
    let (ended, ()) = tokio::join!(turn.run(hello()), async {
        while !matches!(events.recv().await, Some(TurnEvent::Called { .. })) {}
        cancel.cancel();
        let mut rest = Vec::new();
        while let Some(event) = events.recv().await {
            rest.push(event);
        }
        assert_eq!(ends(&rest), ["a: CANCELLED"]);
    });
    assert!(matches!(ended.finish, TurnEndReason::Cancelled));
    assert_eq!(*world.tools.cancelled.lock().unwrap(), ["a"]);

    let mut world = TurnWorld::new(vec![vec![text("Well")]]);
    world.model().hangs = true;
    let (turn, mut events) = world.turn();
    let ended = tokio::join!(turn.run(hello()), async {
        while !matches!(events.recv().await, Some(TurnEvent::Text(_))) {}
        // The receiver of the events is dropped.
        drop(events);
        world.cancel.cancel();
    });
    assert!(matches!(ended.0.finish, TurnEndReason::Cancelled));
}

#[tokio::test]
async fn a_turn_without_a_receiver_ends() {
    let world = for_ever(|| calls(&[("a", "good")]));
    let (turn, events) = world.turn();
    drop(events);
    assert!(matches!(turn.run(hello()).await.finish, TurnEndReason::Cancelled));
}

#[tokio::test]
async fn the_number_of_offered_tools_is_bounded() {
    let mut world = TurnWorld::new(vec![says("ok")]);
    Arc::get_mut(&mut world.tools).unwrap().many = 100;
    world.run().await;
    assert_eq!(world.asked()[0].tools.len(), world.limits.tools);
}
