//! Transcripts as recognizers send them, and the decisions.

use super::*;

struct Room {
    listener: QuestionListener,
    start: Instant,
}

impl Room {
    fn new() -> Self {
        Self::with(ListeningSettings::default())
    }

    fn with(patience: ListeningSettings) -> Self {
        Self {
            listener: QuestionListener::new(Arc::new(WakeWords::default()), patience),
            start: Instant::now(),
        }
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn says(&mut self, ms: u64, text: &str, is_final: bool) -> ListenerDecision {
        self.hear(ms, SpeechPiece { text, is_final, ..SpeechPiece::default() })
    }

    fn hear(&mut self, ms: u64, heard: SpeechPiece<'_>) -> ListenerDecision {
        let now = self.at(ms);
        self.listener.on_speech(heard, now)
    }

    fn tick(&mut self, ms: u64) -> ListenerDecision {
        let now = self.at(ms);
        self.listener.tick(now)
    }

    fn answered(&mut self, ms: u64) {
        let now = self.at(ms);
        self.listener.answer_started();
        self.listener.answer_ended(now);
    }
}

fn asked(text: &str) -> ListenerDecision {
    ListenerDecision::Question(text.to_owned())
}

#[test]
fn final_words_end_a_question_at_once() {
    let mut room = Room::new();
    assert_eq!(room.says(0, "so anyway", true), ListenerDecision::Nothing);
    assert_eq!(room.says(100, "hey toolyard what", false), ListenerDecision::Nothing);
    assert_eq!(room.says(200, "hey toolyard what time is it", true), asked("what time is it"));
}

#[test]
fn words_that_never_become_final_end_after_a_silence() {
    let mut room = Room::new();
    room.says(0, "hey toolyard what", false);
    room.says(1_000, "hey toolyard what time", false);
    // The same words again change nothing.
    room.says(2_000, "hey toolyard what time", false);
    assert_eq!(room.listener.next_tick(), Some(room.at(2_500)));
    assert_eq!(room.tick(2_499), ListenerDecision::Nothing);
    assert_eq!(room.tick(2_500), asked("what time"));
    assert_eq!(room.tick(9_000), ListenerDecision::Nothing);
}

#[test]
fn a_wake_word_alone_waits_and_gives_up() {
    let mut room = Room::new();
    assert_eq!(room.says(0, "Hey Toolyard.", true), ListenerDecision::Listening);
    assert_eq!(room.says(4_000, "what time is it", true), asked("what time is it"));
    assert_eq!(room.says(20_000, "Hey Toolyard.", true), ListenerDecision::Listening);
    assert_eq!(room.tick(29_999), ListenerDecision::Nothing);
    assert_eq!(room.tick(30_000), ListenerDecision::GaveUp);
    assert_eq!(room.says(31_000, "what time is it now", true), ListenerDecision::Nothing);
}

#[test]
fn utterances_are_joined_where_a_pause_is_allowed() {
    let mut room = Room::with(ListeningSettings { after_final_ms: 700, ..ListeningSettings::default() });
    let say =
        |text, is_final, utterance| SpeechPiece { text, is_final, utterance: Some(utterance), speaker: None };
    room.hear(0, say("hey toolyard add milk", true, "u1"));
    room.hear(500, say("and", false, "u2"));
    room.hear(900, say("and bread", true, "u2"));
    assert_eq!(room.tick(1_599), ListenerDecision::Nothing);
    assert_eq!(room.tick(1_600), asked("add milk and bread"));
    // The last version of the utterance comes late.
    assert_eq!(room.hear(1_700, say("and bread.", true, "u2")), ListenerDecision::Nothing);
}

#[test]
fn a_question_ends_after_its_longest_duration() {
    let mut room = Room::new();
    room.says(0, "hey toolyard a", false);
    for second in 1..15 {
        let text = format!("hey toolyard a{}", " b".repeat(second));
        room.says(second as u64 * 1_000, &text, false);
    }
    assert!(matches!(room.tick(15_000), ListenerDecision::Question(_)));
}

#[test]
fn a_revised_wake_word_cancels_the_question() {
    let mut room = Room::new();
    room.says(0, "hey mentra", false);
    assert_eq!(room.says(200, "hey men trap that animal", true), ListenerDecision::GaveUp);
    assert_eq!(room.says(400, "and bring it here", true), ListenerDecision::Nothing);
}

#[test]
fn after_an_answer_no_wake_word_is_needed_for_a_while() {
    let mut room = Room::new();
    room.says(0, "hey toolyard what time is it", true);
    room.answered(1_000);
    assert_eq!(room.says(8_000, "and in", false), ListenerDecision::Nothing);
    assert_eq!(room.says(10_000, "and in tokyo", true), asked("and in tokyo"), "begun in time is in time");
    room.answered(12_000);
    assert_eq!(room.says(20_001, "and in paris", true), ListenerDecision::Nothing);
    room.answered(30_000);
    assert_eq!(room.says(30_500, "thank you", true), ListenerDecision::Nothing);
    assert_eq!(
        room.says(31_000, "did you see the game", true),
        ListenerDecision::Nothing,
        "thanks closes it"
    );
}

#[test]
fn follow_ups_can_be_switched_off() {
    let mut room = Room::with(ListeningSettings { follow_up_ms: 0, ..ListeningSettings::default() });
    room.answered(0);
    assert_eq!(room.says(0, "and in tokyo", true), ListenerDecision::Nothing);
    room.listener.answer_readable();
    assert_eq!(room.says(1, "and in tokyo", true), ListenerDecision::Nothing);
}

#[test]
fn a_press_begins_a_question_and_ends_an_answer() {
    let mut room = Room::new();
    let now = room.at(0);
    assert_eq!(room.listener.on_press(now), ListenerDecision::Listening);
    assert_eq!(room.says(500, "what time is it", true), asked("what time is it"));
    room.listener.answer_started();
    assert_eq!(room.listener.on_press(now), ListenerDecision::Cancelled);
    assert_eq!(room.listener.on_press(now), ListenerDecision::Listening);
    assert_eq!(room.listener.on_press(now), ListenerDecision::Cancelled);
}

#[test]
fn while_an_answer_is_under_way_only_a_wake_word_or_a_stop_counts() {
    let mut room = Room::new();
    room.says(0, "hey toolyard tell me a story", true);
    room.listener.answer_started();
    assert_eq!(room.says(1_000, "that is nice", true), ListenerDecision::Nothing);
    assert_eq!(room.says(2_000, "hey toolyard a shorter one", true), asked("a shorter one"));
    room.listener.answer_started();
    assert_eq!(room.says(3_000, "stop", true), ListenerDecision::Cancelled);
    assert_eq!(room.says(4_000, "hey toolyard never mind", true), ListenerDecision::Cancelled);
}

#[test]
fn a_repeated_question_is_ignored_for_ten_seconds() {
    let mut room = Room::new();
    assert_eq!(room.says(0, "hey toolyard add milk", true), asked("add milk"));
    assert_eq!(room.says(9_000, "Hey Toolyard, add milk.", true), ListenerDecision::Nothing);
    assert_eq!(room.says(10_000, "Hey Toolyard, add milk.", true), asked("add milk."));
}

#[test]
fn another_speaker_does_not_continue_the_question() {
    let mut room = Room::new();
    let say = |text, speaker| SpeechPiece { text, is_final: true, utterance: None, speaker: Some(speaker) };
    assert_eq!(room.hear(0, say("hey toolyard", "1")), ListenerDecision::Listening);
    assert_eq!(room.hear(500, say("pass the salt", "2")), ListenerDecision::Nothing);
    assert_eq!(room.hear(900, say("what time is it", "1")), asked("what time is it"));
    room.answered(2_000);
    assert_eq!(room.hear(2_500, say("nice weather", "2")), ListenerDecision::Nothing);
    assert_eq!(room.hear(3_000, say("and in tokyo", "1")), asked("and in tokyo"));
}

#[test]
fn a_question_has_a_maximum_length() {
    let mut room = Room::new();
    let long = format!("hey toolyard {}", "x".repeat(1_000_000));
    let ListenerDecision::Question(text) = room.says(0, &long, true) else { panic!("nothing was asked") };
    assert_eq!(text.len(), normalized::MAX_CHARS);
}
