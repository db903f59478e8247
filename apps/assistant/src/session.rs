//! The session of one user: feeds speech and button presses to the listener, and starts an answer for each question.

use std::{future::Future, pin::Pin, sync::Arc};

use tokio::{
    sync::watch,
    time::{Duration, Instant, sleep_until, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_app_sdk::{
    ButtonPress, PressType, Session, SessionConnection, SessionError, Transcription, UserSettings,
};
use toolyard_spoken_answer::{AnswerLanguage, SpokenAnswer, interpret};

use crate::{
    AssistantState,
    approval::{ApprovalPrompt, HeardReply},
    choices::UserChoices,
    glasses::Glasses,
    listener::{
        ListenerDecision, QuestionListener, SpeechPiece,
        phrases::{PhraseMeaning, phrase_meaning},
    },
    localization::LocalizedMessage,
    turn::{StartedTurn, UserTurn},
};

/// How long "Listening" is shown.
const LISTENING: Duration = Duration::from_secs(8);
/// How long the next answer waits for a cancelled one to be stored.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A running answer.
struct RunningAnswer {
    /// Completes when the answer is fully presented and stored.
    all: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Fires when the answer is stored.
    written: CancellationToken,
    /// Whether all text has arrived.
    text_complete: watch::Receiver<bool>,
    /// Whether the listener has been informed of that.
    listener_informed: bool,
    speaks: bool,
    /// Cancels the answer when dropped.
    leave: DropGuard,
}

/// The state of one session.
struct AssistantSession {
    shared: Arc<AssistantState>,
    session: Session,
    listener: QuestionListener,
    approvals: Arc<ApprovalPrompt>,
    choices: UserChoices,
    answer: Option<RunningAnswer>,
    is_first: bool,
    /// The language of the last speech.
    heard_in: Option<String>,
}

/// Runs a session to its end.
pub(crate) async fn run_session(shared: Arc<AssistantState>, session: Session) -> Result<(), SessionError> {
    let choices = UserChoices::from_settings(&session.settings(), shared.config.history.keep);
    let mut speech = session.on_transcription(choices.transcription_stream())?;
    let mut presses = session.on_button_press()?;
    let mut settings = session.watch_settings();
    let listener = QuestionListener::new(shared.wake.clone(), shared.config.listening.clone());
    let mut open = AssistantSession {
        shared,
        session: session.clone(),
        listener,
        approvals: Arc::default(),
        choices,
        answer: None,
        is_first: true,
        heard_in: None,
    };
    open.apply_retention().await;
    loop {
        let due = open.listener.next_tick();
        tokio::select! {
            // In this order: a changed setting applies to what the user says next.
            biased;
            Ok(()) = settings.changed() => {
                let changed = settings.borrow_and_update().clone();
                if open.apply_settings(&changed).await {
                    speech = session.on_transcription(open.choices.transcription_stream())?;
                }
            }
            transcription = speech.next() => match transcription {
                Some(transcription) => open.handle_transcription(&transcription).await,
                None => return Ok(()),
            },
            press = presses.next() => match press {
                Some(press) => open.handle_press(&press).await,
                None => return Ok(()),
            },
            () = sleep_until_due(due) => {
                let decision = open.listener.tick(Instant::now());
                open.handle_decision(decision).await;
            }
            is_over = answer_progress(&mut open.answer) => open.note_progress(is_over),
        }
    }
}

/// Waits for the next event of an answer: all text has arrived (false), or it is over (true).
async fn answer_progress(answer: &mut Option<RunningAnswer>) -> bool {
    let Some(answer) = answer else { return std::future::pending().await };
    let is_known = answer.listener_informed;
    let text_complete = async {
        if is_known {
            std::future::pending::<()>().await;
        }
        let _ = answer.text_complete.wait_for(|text_complete| *text_complete).await;
    };
    tokio::select! {
        () = &mut answer.all => true,
        () = text_complete => false,
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl AssistantSession {
    async fn handle_transcription(&mut self, speech: &Transcription) {
        let language = speech.detected_language.as_ref().or(speech.transcribe_language.as_ref());
        self.heard_in = language.cloned();
        // Words that may still change are no answer.
        if speech.is_final && self.approvals.is_waiting() && self.take_spoken_answer(speech) {
            return;
        }
        let piece = SpeechPiece {
            text: &speech.text,
            is_final: speech.is_final,
            utterance: speech.utterance_id.as_deref(),
            speaker: speech.speaker_id.as_deref(),
        };
        let decision = self.listener.on_speech(piece, Instant::now());
        self.handle_decision(decision).await;
    }

    /// Takes speech as the answer to the open approval question. Returns false if it is another question.
    fn take_spoken_answer(&mut self, speech: &Transcription) -> bool {
        let after_wake = self.shared.wake.text_after(&speech.text);
        let text = after_wake.unwrap_or(&speech.text);
        let answer = match interpret(text, self.spoken_language()) {
            SpokenAnswer::Unclear if phrase_meaning(text) == Some(PhraseMeaning::Cancel) => SpokenAnswer::No,
            // Another question needs the wake word, as always during an answer.
            SpokenAnswer::Unclear if after_wake.is_some() => return false,
            answer => answer,
        };
        let is_asker = self.listener.is_same_speaker(speech.speaker_id.as_deref());
        self.approvals.hear(&HeardReply { text, answer, is_asker }, Instant::now());
        self.listener.drop_question(speech.utterance_id.as_deref());
        true
    }

    /// The language of the last speech: as the recognizer says, else as the user chose. `None` if neither is known, or if there
    /// is no vocabulary for it; then a yes of any language counts.
    fn spoken_language(&self) -> Option<AnswerLanguage> {
        let tag = self.heard_in.as_deref().or(self.choices.language.as_deref())?;
        AnswerLanguage::from_tag(tag)
    }

    async fn handle_press(&mut self, press: &ButtonPress) {
        if press.press_type == PressType::Short && !self.approvals.press(Instant::now()) {
            let decision = self.listener.on_press(Instant::now());
            self.handle_decision(decision).await;
        }
    }

    async fn handle_decision(&mut self, decision: ListenerDecision) {
        match decision {
            ListenerDecision::Nothing => {}
            ListenerDecision::Listening => {
                let (language, _) = self.choices.answer_language(self.heard_in.as_deref());
                if self.session.device().has_display {
                    Glasses::show_text(
                        &self.session,
                        &LocalizedMessage::Listening.to_text(language),
                        LISTENING,
                    )
                    .await;
                }
            }
            ListenerDecision::Question(question) => self.begin_answer(question).await,
            ListenerDecision::Cancelled => {
                self.stop_answer().await;
                self.session.clear_display().await;
            }
            ListenerDecision::GaveUp if self.answer.is_none() => self.session.clear_display().await,
            ListenerDecision::GaveUp => {}
        }
    }

    /// Starts an answer. A running one is cancelled.
    async fn begin_answer(&mut self, question: String) {
        self.stop_answer().await;
        let asker = UserTurn {
            shared: self.shared.clone(),
            user: self.session.user().clone(),
            glasses: Arc::new(self.session.clone()),
            choices: self.choices.clone(),
            approvals: self.approvals.clone(),
            time_zone: self.session.settings().system("userTimezone"),
            is_first: std::mem::take(&mut self.is_first),
        };
        let StartedTurn { work, presenting, cancel, text_complete, speaks } =
            asker.start(question, self.heard_in.as_deref());
        // Checked after the start: if the session ends later, its conversation is deleted later as well.
        if self.session.connection() == SessionConnection::Ended {
            return;
        }
        let written = CancellationToken::new();
        let at_end = written.clone().drop_guard();
        self.shared.tasks.spawn(async move {
            let _at_end = at_end;
            work.await;
        });
        let waits = written.clone();
        let all = Box::pin(async move {
            presenting.await;
            waits.cancelled().await;
        });
        self.answer = Some(RunningAnswer {
            all,
            written,
            text_complete,
            listener_informed: false,
            speaks,
            leave: cancel.drop_guard(),
        });
        self.listener.answer_started();
    }

    async fn stop_answer(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        drop((answer.leave, answer.all));
        if answer.speaks {
            self.session.stop_speech().await;
        }
        let _ = timeout(STOP_WAIT, answer.written.cancelled()).await;
    }

    fn note_progress(&mut self, is_over: bool) {
        if is_over {
            self.answer = None;
            self.listener.answer_ended(Instant::now());
        } else if let Some(answer) = &mut self.answer {
            answer.listener_informed = true;
            if !answer.speaks {
                self.listener.answer_readable();
            }
        }
    }

    /// Applies new settings. Returns whether another speech stream is needed.
    async fn apply_settings(&mut self, settings: &UserSettings) -> bool {
        let chosen = UserChoices::from_settings(settings, self.shared.config.history.keep);
        let before = std::mem::replace(&mut self.choices, chosen);
        if before.keep != self.choices.keep {
            self.apply_retention().await;
        }
        before.transcription_stream() != self.choices.transcription_stream()
    }

    async fn apply_retention(&mut self) {
        let user = self.session.user();
        if let Err(error) = self.shared.history.apply_retention(user, self.choices.keep).await {
            tracing::error!(%user, %error, "cannot delete conversation after retention change");
        }
    }
}
