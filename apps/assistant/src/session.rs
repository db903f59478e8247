//! One user who has the assistant open: what is heard goes to the listener, what it makes of it becomes an answer.

use std::{future::Future, pin::Pin, sync::Arc};

use tokio::{
    sync::watch,
    time::{Duration, Instant, sleep_until, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolyard_app_sdk::{ButtonPress, Connection, PressType, Session, SessionError, Settings, Transcription};

use crate::{
    Shared,
    addressed::{
        Heard, Listener, Verdict,
        phrases::{Meaning, meaning},
    },
    ask::Approvals,
    choices::Choices,
    glasses::Glasses,
    turn::{Asker, Begun},
    words::Say,
};

/// How long it stays on the glasses that the assistant listens.
const LISTENING: Duration = Duration::from_secs(8);
/// How long the next answer waits until the one before has written down what it did. It was told to stop.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// An answer under way.
struct Answer {
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
struct Open {
    shared: Arc<Shared>,
    session: Session,
    listener: Listener,
    approvals: Arc<Approvals>,
    choices: Choices,
    answer: Option<Answer>,
    is_first: bool,
    /// The language of what was heard last.
    heard_in: Option<String>,
}

/// Attends to a user until the session is over.
pub(crate) async fn attend(shared: Arc<Shared>, session: Session) -> Result<(), SessionError> {
    let choices = Choices::read(&session.settings(), shared.config.history.keep);
    let mut speech = session.on_transcription(choices.stream())?;
    let mut presses = session.on_button_press()?;
    let mut settings = session.watch_settings();
    let listener = Listener::new(shared.wake.clone(), shared.config.listening.clone());
    let mut open = Open {
        shared,
        session: session.clone(),
        listener,
        approvals: Arc::default(),
        choices,
        answer: None,
        is_first: true,
        heard_in: None,
    };
    open.keep_as_chosen().await;
    loop {
        let due = open.listener.due();
        tokio::select! {
            // In this order: whoever changes a setting and then speaks means the new one.
            biased;
            Ok(()) = settings.changed() => {
                let changed = settings.borrow_and_update().clone();
                if open.choose(&changed).await {
                    speech = session.on_transcription(open.choices.stream())?;
                }
            }
            heard = speech.next() => match heard {
                Some(heard) => open.hear(&heard).await,
                None => return Ok(()),
            },
            press = presses.next() => match press {
                Some(press) => open.press(&press).await,
                None => return Ok(()),
            },
            () = at(due) => {
                let verdict = open.listener.tick(Instant::now());
                open.follow(verdict).await;
            }
            is_over = progress(&mut open.answer) => open.progressed(is_over),
        }
    }
}

/// What happens to an answer: all was told (false), or it is over (true).
async fn progress(answer: &mut Option<Answer>) -> bool {
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

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl Open {
    async fn hear(&mut self, heard: &Transcription) {
        let language = heard.detected_language.as_ref().or(heard.transcribe_language.as_ref());
        self.heard_in = language.cloned();
        if self.approvals.is_waiting() {
            let said = self.shared.wake.after(&heard.text).unwrap_or(&heard.text);
            match meaning(said, true).filter(|_| heard.is_final) {
                Some(Meaning::Yes) if self.listener.is_ours(heard.speaker_id.as_deref()) => {
                    return self.approvals.answer(true);
                }
                // Whoever stands by may stop it, and not more.
                Some(Meaning::Yes) => return,
                Some(_) => return self.approvals.answer(false),
                // Whoever asks something else has to say the wake word, as always while an answer is under way.
                None => {}
            }
        }
        let piece = Heard {
            text: &heard.text,
            is_final: heard.is_final,
            utterance: heard.utterance_id.as_deref(),
            speaker: heard.speaker_id.as_deref(),
        };
        let verdict = self.listener.hear(piece, Instant::now());
        self.follow(verdict).await;
    }

    async fn press(&mut self, press: &ButtonPress) {
        if press.press_type == PressType::Short {
            let verdict = self.listener.press(Instant::now());
            self.follow(verdict).await;
        }
    }

    async fn follow(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Nothing => {}
            Verdict::Listens => {
                let (language, _) = self.choices.answers_in(self.heard_in.as_deref());
                if self.session.device().has_display {
                    Glasses::show(&self.session, &Say::Listening.text(language), LISTENING).await;
                }
            }
            Verdict::Asked(question) => self.begin(question).await,
            Verdict::Cancelled => {
                self.stop().await;
                self.session.clear().await;
            }
            Verdict::GaveUp if self.answer.is_none() => self.session.clear().await,
            Verdict::GaveUp => {}
        }
    }

    /// Begins an answer; the one before, if it is still under way, ends.
    async fn begin(&mut self, question: String) {
        self.stop().await;
        let asker = Asker {
            shared: self.shared.clone(),
            user: self.session.user().clone(),
            glasses: Arc::new(self.session.clone()),
            choices: self.choices.clone(),
            approvals: self.approvals.clone(),
            time_zone: self.session.settings().system("userTimezone"),
            is_first: std::mem::take(&mut self.is_first),
        };
        let Begun { work, telling, enough, told, speaks } = asker.begin(question, self.heard_in.as_deref());
        // Looked at after it has begun: where the session ends later, what it leaves behind is dropped later as well.
        if self.session.connection() == Connection::Ended {
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
        self.answer = Some(Answer { all, written, told, is_told: false, speaks, leave: enough.drop_guard() });
        self.listener.busy();
    }

    async fn stop(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        drop((answer.leave, answer.all));
        if answer.speaks {
            self.session.hush().await;
        }
        let _ = timeout(STOP_WAIT, answer.written.cancelled()).await;
    }

    fn progressed(&mut self, is_over: bool) {
        if is_over {
            self.answer = None;
            self.listener.answered(Instant::now());
        } else if let Some(answer) = &mut self.answer {
            answer.is_told = true;
            if !answer.speaks {
                self.listener.readable();
            }
        }
    }

    /// Takes new settings; says whether another stream has to be heard.
    async fn choose(&mut self, settings: &Settings) -> bool {
        let chosen = Choices::read(settings, self.shared.config.history.keep);
        let before = std::mem::replace(&mut self.choices, chosen);
        if before.keep != self.choices.keep {
            self.keep_as_chosen().await;
        }
        before.stream() != self.choices.stream()
    }

    async fn keep_as_chosen(&mut self) {
        let user = self.session.user();
        if let Err(error) = self.shared.history.choose(user, self.choices.keep).await {
            tracing::error!(%user, %error, "what a user does not want kept could not be dropped");
        }
    }
}
