//! Streamed answers on fake glasses that record what they show and speak and when. Time is controlled by the tests.

use std::sync::Mutex;

use async_trait::async_trait;
use toolyard_agent::{
    message::ModelToolCall,
    model::{ModelError, ToolSpec},
    tools::{ToolDisplay, ToolLocation, TurnTool},
};
use toolyard_core::ToolError;
use toolyard_protocol::{
    ErrorCode,
    device::find_profile,
    raw::to_raw,
    result::{McpResult, ResultExtensions},
};

use super::*;
use crate::approval::{ApprovalQuestion, YesMethod};

const AFTER: Duration = Duration::from_millis(250);

/// Glasses that record everything, with the time in milliseconds.
struct Noted {
    device: GlassesProfile,
    began: Instant,
    shown: Mutex<Vec<(u64, String)>>,
    spoken: Mutex<Vec<String>>,
}

#[async_trait]
impl Glasses for Noted {
    fn device(&self) -> GlassesProfile {
        self.device.clone()
    }

    async fn show_text(&self, text: &str, _lasting: Duration) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        self.shown.lock().unwrap().push((ms, text.to_owned()));
    }

    async fn clear_display(&self) {}

    async fn speak_text(&self, text: &str) {
        self.spoken.lock().unwrap().push(text.to_owned());
    }

    async fn stop_speech(&self) {}
}

/// A running presentation.
struct Stage {
    glasses: Arc<Noted>,
    approvals: Arc<ApprovalPrompt>,
    cancel: CancellationToken,
    speaks: bool,
}

impl Stage {
    fn new(model: &str, speaks: bool) -> Self {
        let device = GlassesProfile::from_capabilities(Some(&find_profile(model).unwrap()));
        let glasses =
            Noted { device, began: Instant::now(), shown: Mutex::default(), spoken: Mutex::default() };
        Self {
            glasses: Arc::new(glasses),
            approvals: Arc::default(),
            cancel: CancellationToken::new(),
            speaks,
        }
    }

    /// Presents what a script sends, and returns the ending.
    async fn tell<F: Future<Output = ()>>(
        &self,
        script: impl FnOnce(mpsc::Sender<TurnEvent>) -> F,
    ) -> AnswerEnding {
        self.tell_with(Arc::default(), script).await
    }

    async fn tell_with<F: Future<Output = ()>>(
        &self,
        notes: Arc<AnswerNotes>,
        script: impl FnOnce(mpsc::Sender<TurnEvent>) -> F,
    ) -> AnswerEnding {
        let presenter = AnswerPresenter {
            glasses: self.glasses.clone(),
            device: self.glasses.device(),
            speaks: self.speaks,
            language: SpokenLanguage::English,
            reading: ReadingTime::default(),
            acknowledge: DelayNotice::new(AFTER, ACKNOWLEDGED_AGAIN, Instant::now()),
            approvals: self.approvals.clone(),
            notes,
            cancel: self.cancel.clone(),
        };
        let (events, coming) = mpsc::channel(8);
        let (sentences, spoken) = mpsc::channel(8);
        let (ended, ending) = oneshot::channel();
        let text_complete = watch::Sender::new(false);
        tokio::join!(
            script(events),
            presenter.present_answer(coming, sentences, ended, &text_complete),
            speak_sentences(&*self.glasses, spoken)
        );
        assert!(*text_complete.borrow());
        ending.await.unwrap()
    }

    fn shown(&self) -> Vec<(u64, String)> {
        self.glasses.shown.lock().unwrap().clone()
    }

    fn texts(&self) -> Vec<String> {
        self.shown().into_iter().map(|(_, text)| text).collect()
    }

    fn spoken(&self) -> Vec<String> {
        self.glasses.spoken.lock().unwrap().clone()
    }
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn text(words: &str) -> TurnEvent {
    TurnEvent::Text(words.to_owned())
}

fn called(id: &str) -> TurnEvent {
    let spec =
        ToolSpec { name: "todo".to_owned(), description: String::new(), schema: serde_json::json!({}) };
    let about = ToolDisplay { app: Some("Todo".to_owned()), ..ToolDisplay::default() };
    let tool = TurnTool { spec: Arc::new(spec), place: ToolLocation::Here, about, phrases: Vec::new() };
    let call = ModelToolCall {
        id: id.to_owned(),
        name: "todo".to_owned(),
        arguments: to_raw(&serde_json::json!({})),
    };
    TurnEvent::Called { call, tool: Some(Arc::new(tool)) }
}

fn done(id: &str, said: &str, silent: bool, follow_ups: &[&str]) -> TurnEvent {
    let extensions = ResultExtensions {
        suppress_voice_response: silent,
        suggested_follow_ups: follow_ups.iter().map(|text| (*text).to_owned()).collect(),
    };
    let mcp = if said.is_empty() { McpResult::empty() } else { McpResult::from_text(said) };
    TurnEvent::CallEnds { id: id.to_owned(), end: CallEnd::Done(Arc::new(ToolResult { mcp, extensions })) }
}

async fn send<const N: usize>(events: mpsc::Sender<TurnEvent>, list: [TurnEvent; N]) {
    for event in list {
        let _ = events.send(event).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_sentence_is_shown_and_spoken_while_the_rest_is_written() {
    let stage = Stage::new("Simulated Glasses", true);
    let ending = stage
        .tell(|events| async move {
            pass(100).await;
            send(events.clone(), [TurnEvent::StepBegins, text("It is half past three. "), text("And it")])
                .await;
            pass(2_000).await;
            send(events, [text(" rains."), TurnEvent::Ends(TurnEndReason::Stop)]).await;
        })
        .await;
    assert_eq!(ending, AnswerEnding::ModelText);
    let shown = stage.shown();
    assert!(shown[0].0 == 100 && shown[0].1.starts_with("It is half past three."), "{shown:?}");
    assert!(shown.last().unwrap().1.ends_with("And it\nrains."), "{shown:?}");
    assert_eq!(stage.spoken(), ["It is half past three.", "And it rains."]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_is_acknowledged_in_time_and_only_once() {
    let stage = Stage::new("Simulated Glasses", true);
    stage
        .tell(|events| async move {
            pass(5_000).await;
            send(events, [TurnEvent::StepBegins, text("Here."), TurnEvent::Ends(TurnEndReason::Stop)]).await;
        })
        .await;
    assert_eq!(stage.shown(), [(250, "One moment ...".to_owned()), (5_000, "Here.".to_owned())]);
    assert_eq!(stage.spoken(), ["One moment ...", "Here."]);
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_always_shows_a_notice() {
    let stage = Stage::new("Simulated Glasses", true);
    stage
        .tell(|events| async move {
            pass(20_000).await;
            send(events, [TurnEvent::StepBegins, text("Here."), TurnEvent::Ends(TurnEndReason::Stop)]).await;
        })
        .await;
    let waiting = |at| (at, "One moment ...".to_owned());
    assert_eq!(stage.shown(), [waiting(250), waiting(9_250), waiting(18_250), (20_000, "Here.".to_owned())]);
    assert_eq!(stage.spoken(), ["One moment ...", "Here."]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_app_is_named_and_a_fast_one_is_not() {
    let stage = Stage::new("Even Realities G1", false);
    stage
        .tell(|events| async move {
            send(events.clone(), [TurnEvent::StepBegins, called("1")]).await;
            pass(1_000).await;
            let end = [
                done("1", "milk", false, &[]),
                TurnEvent::StepBegins,
                text("Milk."),
                TurnEvent::Ends(TurnEndReason::Stop),
            ];
            send(events, end).await;
        })
        .await;
    assert_eq!(stage.shown(), [(250, "One moment, asking Todo ...".to_owned()), (1_000, "Milk.".to_owned())]);
    let stage = Stage::new("Even Realities G1", false);
    stage
        .tell(|events| async move {
            send(events, [TurnEvent::StepBegins, text("At once."), TurnEvent::Ends(TurnEndReason::Stop)])
                .await;
        })
        .await;
    assert_eq!(stage.shown(), [(0, "At once.".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn text_before_a_call_is_a_separate_sentence() {
    let stage = Stage::new("Simulated Glasses", true);
    stage
        .tell(|events| async move {
            send(events.clone(), [TurnEvent::StepBegins, text("Let me look"), called("1")]).await;
            pass(9_000).await;
            let end = [
                done("1", "x", false, &[]),
                TurnEvent::StepBegins,
                text("Milk."),
                TurnEvent::Ends(TurnEndReason::Stop),
            ];
            send(events, end).await;
        })
        .await;
    assert_eq!(stage.texts(), ["Let me look", "Milk."], "and nothing is acknowledged beside it");
    assert_eq!(stage.spoken(), ["Let me look", "Milk."]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_spoken_during_an_approval_question() {
    let stage = Stage::new("Even Realities G1", false);
    let question =
        ApprovalQuestion { text: "May I?".to_owned(), yes_by: YesMethod::Speech, is_spoken: false };
    let asking = stage.approvals.ask_user(question, async {}, Duration::from_secs(15));
    let telling = stage.tell(|events| async move {
        send(events.clone(), [TurnEvent::StepBegins, called("1")]).await;
        pass(20_000).await;
        send(
            events,
            [
                done("1", "x", false, &[]),
                TurnEvent::StepBegins,
                text("No."),
                TurnEvent::Ends(TurnEndReason::Stop),
            ],
        )
        .await;
    });
    tokio::join!(asking, telling);
    // The question is over after 15 s; a longer delay is reported as usual.
    assert_eq!(stage.shown(), [(18_250, "One moment ...".to_owned()), (20_000, "No.".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn an_app_that_answers_itself_ends_the_turn_in_silence() {
    let stage = Stage::new("Simulated Glasses", true);
    let cancel = stage.cancel.clone();
    let ending = stage
        .tell(|events| async move {
            send(
                events.clone(),
                [TurnEvent::StepBegins, called("1"), called("2"), done("1", "a", true, &["more"])],
            )
            .await;
            pass(1).await;
            assert!(!cancel.is_cancelled(), "the other call runs");
            send(events.clone(), [done("2", "b", true, &[])]).await;
            cancel.cancelled().await;
            // Text of the model before the cancellation reaches it does not count.
            send(
                events,
                [TurnEvent::StepBegins, text("I have added it. "), TurnEvent::Ends(TurnEndReason::Cancelled)],
            )
            .await;
        })
        .await;
    assert_eq!(ending, AnswerEnding::Silent);
    assert_eq!((stage.texts().len(), stage.spoken().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn if_only_one_of_two_apps_presents_its_answer_the_model_continues() {
    let stage = Stage::new("Even Realities G1", false);
    let ending = stage
        .tell(|events| async move {
            let first = [
                TurnEvent::StepBegins,
                called("1"),
                called("2"),
                done("1", "a", true, &[]),
                done("2", "b", false, &[]),
            ];
            send(events.clone(), first).await;
            send(events, [TurnEvent::StepBegins, text("And b."), TurnEvent::Ends(TurnEndReason::Stop)]).await;
        })
        .await;
    assert_eq!((ending, stage.cancel.is_cancelled()), (AnswerEnding::ModelText, false));
    assert_eq!(stage.texts(), ["And b."]);
}

#[tokio::test(start_paused = true)]
async fn pages_turn_by_themselves_and_follow_ups_come_last() {
    let stage = Stage::new("Even Realities G1", false);
    let long = "word ".repeat(50);
    stage
        .tell(|events| async move {
            let offers = ["what else", "what else", "a", "b", "c"];
            send(events.clone(), [TurnEvent::StepBegins, called("1"), done("1", "x", false, &offers)]).await;
            send(events, [TurnEvent::StepBegins, text(&long), TurnEvent::Ends(TurnEndReason::Stop)]).await;
        })
        .await;
    let shown = stage.shown();
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert_eq!(shown[0].1.lines().count(), 5);
    assert_eq!(shown[2].1.replace('\n', " "), "You can say: \"what else\", \"a\", \"b\"");
    assert_eq!(shown[1].0 - shown[0].0, 8_000, "a full page stays for the longest time");
    assert!(
        stage.glasses.began.elapsed() > Duration::from_millis(shown[2].0),
        "the last page is read as well"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_cannot_run_is_the_answer_only_if_there_is_no_other() {
    let refused = || {
        let notes = Arc::new(AnswerNotes::default());
        notes.set_last_words("It needs a camera.".to_owned());
        notes
    };
    // The only call: the turn ends with the reason, whatever text came before it.
    let stage = Stage::new("Even Realities G1", false);
    let ending = stage
        .tell_with(refused(), |events| async move {
            let all = [
                TurnEvent::StepBegins,
                text("Let me look."),
                called("1"),
                done("1", "It needs a camera.", false, &[]),
                TurnEvent::Ends(TurnEndReason::Cancelled),
            ];
            send(events, all).await;
        })
        .await;
    assert_eq!(ending, AnswerEnding::OwnText("It needs a camera.".to_owned()));
    assert!(stage.cancel.is_cancelled() && stage.texts().last().unwrap() == "It needs a camera.");
    // With other calls before or after: the model's text covers all of them.
    let stage = Stage::new("Even Realities G1", false);
    let ending = stage
        .tell_with(refused(), |events| async move {
            let first = [
                TurnEvent::StepBegins,
                called("1"),
                called("2"),
                done("1", "It needs a camera.", false, &[]),
                done("2", "milk", false, &[]),
            ];
            send(events.clone(), first).await;
            let rest = [
                TurnEvent::StepBegins,
                called("3"),
                done("3", "bread", false, &[]),
                TurnEvent::StepBegins,
                text("Milk and bread."),
                TurnEvent::Ends(TurnEndReason::Stop),
            ];
            send(events, rest).await;
        })
        .await;
    assert_eq!((ending, stage.cancel.is_cancelled()), (AnswerEnding::ModelText, false));
    assert_eq!(stage.texts(), ["Milk and bread."]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_reported_in_plain_words() {
    let trouble = |kind| {
        TurnEndReason::Failed(ModelError {
            kind,
            text: "HTTP 500 at 10.0.0.1".to_owned(),
            cause: None,
            retry_after: None,
        })
    };
    let down = || ToolError::new(ErrorCode::AppNotAvailable, "technical");
    let failed =
        |error: ToolError| TurnEvent::CallEnds { id: "1".to_owned(), end: CallEnd::Failed(Arc::new(error)) };
    for (events, said) in [
        (vec![TurnEvent::Ends(trouble(ModelErrorKind::Unreachable))], "I cannot think right now"),
        (vec![TurnEvent::Ends(trouble(ModelErrorKind::RateLimited))], "too busy"),
        (vec![TurnEvent::Ends(TurnEndReason::Budget(TurnLimitKind::Time))], "takes too long"),
        (vec![TurnEvent::Ends(TurnEndReason::Filtered)], "Try to say it in another way"),
        (vec![TurnEvent::Ends(TurnEndReason::Stop)], "I have no answer"),
        (
            vec![called("1"), failed(down()), TurnEvent::StepBegins, TurnEvent::Ends(TurnEndReason::Stop)],
            "Todo does not answer right now.",
        ),
        (
            vec![
                called("1"),
                done("1", "Two todos.", false, &[]),
                TurnEvent::StepBegins,
                TurnEvent::Ends(TurnEndReason::Stop),
            ],
            "Two todos.",
        ),
        (vec![text("It is. And then"), TurnEvent::Ends(trouble(ModelErrorKind::Broken))], "And then"),
    ] {
        let stage = Stage::new("Vuzix Z100", false);
        stage
            .tell(|to| async move {
                let _ = to.send(TurnEvent::StepBegins).await;
                for event in events {
                    let _ = to.send(event).await;
                }
            })
            .await;
        let shown = stage.texts().join(" ").replace('\n', " ");
        assert!(shown.contains(said), "{said}: {shown}");
        assert!(!shown.contains("10.0.0.1"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_display_everything_is_spoken_and_nothing_shown() {
    let stage = Stage::new("Mentra Live", true);
    stage
        .tell(|events| async move {
            send(events.clone(), [TurnEvent::StepBegins, called("1"), done("1", "x", false, &["again"])])
                .await;
            send(
                events,
                [TurnEvent::StepBegins, text("**Done** it now."), TurnEvent::Ends(TurnEndReason::Stop)],
            )
            .await;
        })
        .await;
    assert!(stage.texts().is_empty());
    assert_eq!(stage.spoken(), ["Done it now.", "You can say: \"again\""]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_is_truncated() {
    let stage = Stage::new("Even Realities G1", false);
    stage
        .tell(|events| async move {
            let _ = events.send(TurnEvent::StepBegins).await;
            for _ in 0..MAX_ANSWER / 10 {
                let _ = events.send(text("This is a sentence. ")).await;
            }
            let _ = events.send(TurnEvent::Ends(TurnEndReason::Stop)).await;
        })
        .await;
    let letters: usize = stage.texts().iter().map(String::len).max().unwrap();
    assert!(letters < 5 * 40 && stage.texts().len() <= MAX_ANSWER / 10, "{}", stage.texts().len());
    assert!(stage.shown().last().unwrap().0 <= 8_000 * 21);
}

#[tokio::test(start_paused = true)]
async fn a_device_that_never_reports_the_end_of_speech_does_not_block() {
    struct Mute;
    #[async_trait]
    impl Glasses for Mute {
        fn device(&self) -> GlassesProfile {
            GlassesProfile::from_capabilities(None)
        }
        async fn show_text(&self, _text: &str, _lasting: Duration) {}
        async fn clear_display(&self) {}
        async fn speak_text(&self, _text: &str) {
            std::future::pending().await
        }
        async fn stop_speech(&self) {}
    }
    let (sentences, spoken) = mpsc::channel(2);
    sentences.send("x".repeat(10)).await.unwrap();
    sentences.send("x".repeat(20)).await.unwrap();
    drop(sentences);
    let began = Instant::now();
    speak_sentences(&Mute, spoken).await;
    assert_eq!(began.elapsed(), SPEECH * 2 + LETTER * 30);
}
