//! Presents an answer as it streams: shows the first sentence at once, turns pages, speaks, and decides how the answer ends.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    event::{CallEnd, TurnEndReason, TurnEvent, TurnLimitKind},
    model::ModelErrorKind,
    turn::result_text::to_model_text as result_words,
};
use toolyard_protocol::result::ToolResult;

use crate::{
    acknowledge::DelayNotice,
    approval::ApprovalPrompt,
    glasses::{Glasses, GlassesProfile},
    localization::{LocalizedMessage, SpokenLanguage},
    page::ReadingTime,
    remote::{AnswerNotes, is_app_down},
    voice::{SentenceSplitter, strip_markdown},
};

/// Longest answer, in bytes; the rest is ignored.
pub const MAX_ANSWER: usize = 8_000;
/// Most suggested follow-ups.
pub const MAX_FOLLOW_UPS: usize = 3;
/// Longest suggested follow-up, in letters.
const MAX_FOLLOW_UP: usize = 80;
/// A page is shown a little longer than its time, so that the next one replaces it without a gap.
const OVERLAP: Duration = Duration::from_secs(1);
/// How long a delay notice is shown.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// When a delay notice is shown again: before it disappears.
pub const ACKNOWLEDGED_AGAIN: Duration = ACKNOWLEDGED.saturating_sub(OVERLAP);

/// Longest wait for speech to start, and longest time per letter.
const SPEECH: Duration = Duration::from_secs(4);
const LETTER: Duration = Duration::from_millis(120);

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEnding {
    /// With the model's text.
    ModelText,
    /// With a text of the assistant itself.
    OwnText(String),
    /// Without text: an app shows or speaks the answer.
    Silent,
}

/// Presents one answer.
pub struct AnswerPresenter {
    /// The user's glasses.
    pub glasses: Arc<dyn Glasses>,
    /// Their capabilities.
    pub device: GlassesProfile,
    /// Whether the answer is spoken.
    pub speaks: bool,
    /// The language of the assistant's own sentences.
    pub language: SpokenLanguage,
    /// How long a page is shown.
    pub reading: ReadingTime,
    /// The delay notices.
    pub acknowledge: DelayNotice,
    /// The open approval question. Nothing else is presented meanwhile.
    pub approvals: Arc<ApprovalPrompt>,
    /// Notes of the tools, such as a complete answer.
    pub notes: Arc<AnswerNotes>,
    /// Cancels the turn when nothing is left to present.
    pub cancel: CancellationToken,
}

/// The state of the answer.
#[derive(Default)]
struct AnswerProgress {
    text: String,
    /// The text of the next step replaces the text so far.
    fresh: bool,
    open: HashSet<String>,
    apps: Vec<(String, String)>,
    /// For each call of this step: whether the app presents the answer itself.
    quiet: Vec<bool>,
    silent: bool,
    follow_ups: Vec<String>,
    last_result: Option<String>,
    failed: Option<String>,
    /// The only tool of a step gave the complete answer, so the turn was cancelled.
    is_answered: bool,
}

/// The pages, and which one is shown.
#[derive(Default)]
struct DisplayedPages {
    pages: Vec<String>,
    at: usize,
    page: Option<String>,
    since: Option<Instant>,
}

impl AnswerPresenter {
    /// Presents the answer to its end. `voice` gets the sentences, `ended` the ending, and `text_complete` becomes true when all text
    /// has arrived.
    pub async fn present_answer(
        mut self,
        mut events: mpsc::Receiver<TurnEvent>,
        voice: mpsc::Sender<String>,
        ended: oneshot::Sender<AnswerEnding>,
        text_complete: &watch::Sender<bool>,
    ) {
        let (mut progress, mut display, mut sentences) =
            (AnswerProgress::default(), DisplayedPages::default(), SentenceSplitter::default());
        let finish = loop {
            let (slow, turn) = (self.acknowledge.next_due(), display.page_due(&self.reading));
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(TurnEvent::Ends(finish)) => break finish,
                    None => break TurnEndReason::Cancelled,
                    Some(TurnEvent::Text(words)) => {
                        if self.add_words(&mut progress, &mut display, &words) {
                            let whole = sentences.push(&words);
                            self.present_sentences(whole, &mut progress, &mut display, &voice).await;
                        }
                    }
                    Some(event) => {
                        // The text before a call counts as a sentence, even without a full stop.
                        if matches!(event, TurnEvent::Called { .. }) {
                            let before = sentences.finish().into_iter().collect();
                            self.present_sentences(before, &mut progress, &mut display, &voice).await;
                        }
                        self.handle_event(&mut progress, event);
                    }
                },
                () = sleep_until_due(slow) => self.present_delay(&voice).await,
                () = sleep_until_due(turn) => drop(self.turn_page(&mut display).await),
            }
        };
        let ending = self.decide_ending(&progress, &finish);
        if ending != AnswerEnding::Silent {
            let last: Vec<String> = sentences.finish().into_iter().collect();
            self.present_sentences(last, &mut progress, &mut display, &voice).await;
            self.present_ending(&ending, &mut progress, &mut display, &voice).await;
        }
        let is_silent = ending == AnswerEnding::Silent;
        let _ = ended.send(ending);
        drop(voice);
        text_complete.send_replace(true);
        while !is_silent && let Some(due) = display.page_due(&self.reading) {
            sleep_until(due).await;
            if !self.turn_page(&mut display).await {
                break;
            }
        }
    }

    /// Adds text of the model. Returns whether it is presented.
    fn add_words(
        &mut self,
        progress: &mut AnswerProgress,
        display: &mut DisplayedPages,
        words: &str,
    ) -> bool {
        if std::mem::take(&mut progress.fresh) && !progress.text.is_empty() {
            progress.text.clear();
            *display = DisplayedPages::default();
        }
        let counts = !progress.silent && progress.text.len() < MAX_ANSWER;
        if counts {
            progress.text.push_str(words);
        }
        counts
    }

    /// Speaks complete sentences, and shows the answer so far.
    async fn present_sentences(
        &mut self,
        whole: Vec<String>,
        progress: &mut AnswerProgress,
        display: &mut DisplayedPages,
        voice: &mpsc::Sender<String>,
    ) {
        if whole.is_empty() {
            return;
        }
        self.acknowledge.answer_started();
        if self.speaks {
            for sentence in whole {
                let _ = voice.send(sentence).await;
            }
        }
        display.pages = self.device.screen.split_pages(&strip_markdown(&progress.text));
        self.show_page(display).await;
    }

    /// Handles an event that is not text.
    fn handle_event(&mut self, progress: &mut AnswerProgress, event: TurnEvent) {
        match event {
            TurnEvent::StepBegins => {
                progress.fresh = true;
                progress.quiet.clear();
            }
            TurnEvent::Called { call, tool: Some(tool) } => {
                let app = tool.about.app.clone().unwrap_or_default();
                if !self.approvals.is_waiting() {
                    self.acknowledge.app_called(&app, Instant::now());
                }
                progress.apps.push((call.id.clone(), app));
                progress.open.insert(call.id);
            }
            TurnEvent::CallEnds { id, end } if progress.open.remove(&id) => {
                self.handle_call_end(progress, &id, &end);
                if progress.open.is_empty() {
                    self.acknowledge.app_answered();
                }
                let all_quiet = progress.quiet.iter().all(|quiet| *quiet);
                // Only if the text is from this tool, not from one of an earlier step.
                let last_words = self.notes.last_words();
                let all_said =
                    progress.quiet.len() == 1 && last_words.is_some() && last_words == progress.last_result;
                if progress.open.is_empty() && (all_quiet || all_said) {
                    (progress.silent, progress.is_answered) = (all_quiet, all_said);
                    self.cancel.cancel();
                }
            }
            _ => {}
        }
    }

    fn handle_call_end(&self, progress: &mut AnswerProgress, id: &str, end: &CallEnd) {
        let app =
            progress.apps.iter().find(|(call, _)| call == id).map(|(_, app)| app.clone()).unwrap_or_default();
        match end {
            CallEnd::Done(result) => {
                progress.quiet.push(result.extensions.suppress_voice_response);
                progress.last_result = Some(result_words(result)).filter(|_| has_words(result));
                for follow_up in &result.extensions.suggested_follow_ups {
                    let short: String = follow_up.trim().chars().take(MAX_FOLLOW_UP).collect();
                    let room = progress.follow_ups.len() < MAX_FOLLOW_UPS;
                    if room && !short.is_empty() && !progress.follow_ups.contains(&short) {
                        progress.follow_ups.push(short);
                    }
                }
            }
            CallEnd::Failed(error) | CallEnd::Denied(error) => {
                progress.quiet.push(false);
                progress.failed = Some(if is_app_down(error.code) {
                    LocalizedMessage::AppDown(&app).to_text(self.language)
                } else {
                    LocalizedMessage::ToolFailed { app: &app, why: &error.for_model }.to_text(self.language)
                });
            }
        }
    }

    /// Decides how the answer ends.
    fn decide_ending(&self, progress: &AnswerProgress, finish: &TurnEndReason) -> AnswerEnding {
        if progress.silent {
            return AnswerEnding::Silent;
        }
        let has_text = !strip_markdown(&progress.text).is_empty() && !progress.fresh;
        // If there was more to do, the model's text covers the rest too.
        if let Some(words) = self.notes.last_words().filter(|_| progress.is_answered || !has_text) {
            return AnswerEnding::OwnText(words);
        }
        let trouble = match finish {
            TurnEndReason::Failed(error) => Some(LocalizedMessage::Model(error.kind)),
            TurnEndReason::Filtered if !has_text => Some(LocalizedMessage::Model(ModelErrorKind::Refused)),
            TurnEndReason::Budget(TurnLimitKind::Time | TurnLimitKind::Tokens) if !has_text => {
                Some(LocalizedMessage::TooLong)
            }
            _ => None,
        };
        match trouble {
            Some(trouble) => AnswerEnding::OwnText(trouble.to_text(self.language)),
            None if has_text => AnswerEnding::ModelText,
            // The model added nothing, so the tool's text is the answer.
            None => AnswerEnding::OwnText(
                progress
                    .failed
                    .clone()
                    .or_else(|| progress.last_result.clone())
                    .unwrap_or_else(|| LocalizedMessage::Nothing.to_text(self.language)),
            ),
        }
    }

    /// Presents the ending: the assistant's own text, suggested follow-ups, and a remark.
    async fn present_ending(
        &mut self,
        ending: &AnswerEnding,
        progress: &mut AnswerProgress,
        display: &mut DisplayedPages,
        voice: &mpsc::Sender<String>,
    ) {
        if let AnswerEnding::OwnText(words) = ending {
            // Text that the model did not finish stays.
            if progress.fresh || progress.is_answered {
                progress.text.clear();
                *display = DisplayedPages::default();
            }
            let gap = if progress.text.is_empty() { "" } else { "\n" };
            progress.text.push_str(&format!("{gap}{words}"));
            let mut sentences = SentenceSplitter::default();
            let mut whole = sentences.push(words);
            whole.extend(sentences.finish());
            self.present_sentences(whole, progress, display, voice).await;
        }
        let offer = (!progress.follow_ups.is_empty()).then(|| {
            let quoted: Vec<String> = progress.follow_ups.iter().map(|text| format!("\"{text}\"")).collect();
            LocalizedMessage::YouCanSay(&quoted.join(", ")).to_text(self.language)
        });
        for words in offer.into_iter().chain(self.notes.take_remark()) {
            display.pages.extend(self.device.screen.split_pages(&words));
            if self.speaks && !self.device.has_display {
                let _ = voice.send(words).await;
            }
        }
        self.show_page(display).await;
    }

    /// Presents a delay notice. It is spoken only once.
    async fn present_delay(&mut self, voice: &mpsc::Sender<String>) {
        if self.approvals.is_waiting() || self.notes.waits_for_user() {
            return self.acknowledge.postpone(Instant::now());
        }
        let (sentence, is_first) = self.acknowledge.next_sentence(self.language, Instant::now());
        if self.device.has_display {
            self.glasses.show_text(&sentence, ACKNOWLEDGED).await;
        }
        if self.speaks && is_first {
            let _ = voice.try_send(sentence);
        }
    }

    /// Shows the current page, if it has changed.
    async fn show_page(&self, display: &mut DisplayedPages) {
        // The page was shown for its full time before the next one existed.
        let is_read = display.since.is_none()
            && display.page.is_some()
            && display.page.as_ref() == display.pages.get(display.at);
        if is_read && display.at + 1 < display.pages.len() {
            display.at += 1;
        }
        let Some(page) =
            display.pages.get(display.at).filter(|page| display.page.as_ref() != Some(*page)).cloned()
        else {
            return;
        };
        if self.device.has_display {
            self.glasses.show_text(&page, self.reading.display_time(&page) + OVERLAP).await;
        }
        display.since.get_or_insert_with(Instant::now);
        display.page = Some(page);
    }

    /// Turns to the next page. Returns whether there was one.
    async fn turn_page(&self, display: &mut DisplayedPages) -> bool {
        if display.at + 1 >= display.pages.len() || !self.device.has_display {
            // No next page until more text arrives.
            display.since = None;
            return false;
        }
        display.at += 1;
        display.since = None;
        self.show_page(display).await;
        true
    }
}

impl DisplayedPages {
    fn page_due(&self, reading: &ReadingTime) -> Option<Instant> {
        Some(self.since? + reading.display_time(self.page.as_deref()?))
    }
}

fn has_words(result: &ToolResult) -> bool {
    let parts = result.mcp.parts();
    !parts.content.is_empty() || parts.structured_content.is_some()
}

/// Sleeps until the time, or forever.
async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Speaks sentences one after the other. Waits at most the estimated time for devices that do not report the end of speech.
pub async fn speak_sentences(glasses: &dyn Glasses, mut sentences: mpsc::Receiver<String>) {
    while let Some(sentence) = sentences.recv().await {
        let letters = u32::try_from(sentence.chars().count()).unwrap_or(u32::MAX);
        let _ = timeout(SPEECH + LETTER.saturating_mul(letters), glasses.speak_text(&sentence)).await;
    }
}

#[cfg(test)]
mod tests;
