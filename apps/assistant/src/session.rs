//! One user who has the assistant open: what is heard goes to the listener, what it makes of it becomes an answer.

use std::{future::Future, pin::Pin, sync::Arc};

use tokio::{
    sync::watch,
    time::{Duration, Instant, sleep_until, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_app_sdk::{
    ButtonPress, PressType, Session, SessionConnection, SessionError, Transcription, UserSettings,
};

use crate::{
    AssistantState,
    approval::ApprovalPrompt,
    choices::UserChoices,
    glasses::Glasses,
    listener::{
        ListenerDecision, QuestionListener, SpeechPiece,
        phrases::{PhraseMeaning, phrase_meaning},
    },
    localization::LocalizedMessage,
    turn::{StartedTurn, UserTurn},
};

/// How long it stays on the glasses that the assistant listens.
const LISTENING: Duration = Duration::from_secs(8);
/// How long the next answer waits until the one before has written down what it did. It was told to stop.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// An answer under way.
struct RunningAnswer {
    /// Until all is told and written down.
    all: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Fires when all is written down.
    written: CancellationToken,
    /// Whether nothing more will come.
    told: watch::Receiver<bool>,
    /// The same, where the listener knows it.
    is_told: bool,
    speaks: bool,
    /// Whoever leaves ends it.
    leave: DropGuard,
}

/// One open assistant.
struct AssistantSession {
    shared: Arc<AssistantState>,
    session: Session,
    listener: QuestionListener,
    approvals: Arc<ApprovalPrompt>,
    choices: UserChoices,
    answer: Option<RunningAnswer>,
    is_first: bool,
    /// The language of what was heard last.
    heard_in: Option<String>,
}

/// Attends to a user until the session is over.
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
            // In this order: whoever changes a setting and then speaks means the new one.
            biased;
            Ok(()) = settings.changed() => {
                let changed = settings.borrow_and_update().clone();
                if open.apply_settings(&changed).await {
                    speech = session.on_transcription(open.choices.transcription_stream())?;
                }
            }
            heard = speech.next() => match heard {
                Some(heard) => open.handle_transcription(&heard).await,
                None => return Ok(()),
            },
            press = presses.next() => match press {
                Some(press) => open.handle_press(&press).await,
                None => return Ok(()),
            },
            () = sleep_until_due(due) => {
                let verdict = open.listener.tick(Instant::now());
                open.handle_decision(verdict).await;
            }
            is_over = answer_progress(&mut open.answer) => open.note_progress(is_over),
        }
    }
}

/// What happens to an answer: all was told (false), or it is over (true).
async fn answer_progress(answer: &mut Option<RunningAnswer>) -> bool {
    let Some(answer) = answer else { return std::future::pending().await };
    let is_known = answer.is_told;
    let told = async {
        if is_known {
            std::future::pending::<()>().await;
        }
        let _ = answer.told.wait_for(|told| *told).await;
    };
    tokio::select! {
        () = &mut answer.all => true,
        () = told => false,
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl AssistantSession {
    async fn handle_transcription(&mut self, heard: &Transcription) {
        let language = heard.detected_language.as_ref().or(heard.transcribe_language.as_ref());
        self.heard_in = language.cloned();
        if self.approvals.is_waiting() {
            let said = self.shared.wake.text_after(&heard.text).unwrap_or(&heard.text);
            match phrase_meaning(said, true).filter(|_| heard.is_final) {
                Some(PhraseMeaning::Yes) if self.listener.is_same_speaker(heard.speaker_id.as_deref()) => {
                    return self.approvals.answer(true);
                }
                // Whoever stands by may stop it, and not more.
                Some(PhraseMeaning::Yes) => return,
                Some(_) => return self.approvals.answer(false),
                // Whoever asks something else has to say the wake word, as always while an answer is under way.
                None => {}
            }
        }
        let piece = SpeechPiece {
            text: &heard.text,
            is_final: heard.is_final,
            utterance: heard.utterance_id.as_deref(),
            speaker: heard.speaker_id.as_deref(),
        };
        let verdict = self.listener.on_speech(piece, Instant::now());
        self.handle_decision(verdict).await;
    }

    async fn handle_press(&mut self, press: &ButtonPress) {
        if press.press_type == PressType::Short {
            let verdict = self.listener.on_press(Instant::now());
            self.handle_decision(verdict).await;
        }
    }

    async fn handle_decision(&mut self, verdict: ListenerDecision) {
        match verdict {
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

    /// Begins an answer; the one before, if it is still under way, ends.
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
        let StartedTurn { work, telling, enough, told, speaks } =
            asker.start(question, self.heard_in.as_deref());
        // Looked at after it has begun: where the session ends later, what it leaves behind is dropped later as well.
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
            telling.await;
            waits.cancelled().await;
        });
        self.answer =
            Some(RunningAnswer { all, written, told, is_told: false, speaks, leave: enough.drop_guard() });
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
            answer.is_told = true;
            if !answer.speaks {
                self.listener.answer_readable();
            }
        }
    }

    /// Takes new settings; says whether another stream has to be heard.
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
            tracing::error!(%user, %error, "what a user does not want kept could not be dropped");
        }
    }
}
