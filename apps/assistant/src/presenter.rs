//! An answer as it comes: the first sentence at once, pages that turn by themselves, a voice beside them, and the decision with
//! which words it ends.

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

/// Longest answer, in letters; a model that goes on is not heard.
pub const MAX_ANSWER: usize = 8_000;
/// Most follow-ups that are offered.
pub const MAX_FOLLOW_UPS: usize = 3;
/// Longest follow-up that is offered, in letters.
const MAX_FOLLOW_UP: usize = 80;
/// A page stays a little longer than its time, so that the next one comes before it is gone.
const OVERLAP: Duration = Duration::from_secs(1);
/// How long a sentence stays that says that it takes longer, unless it is shown again.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// When it is shown again: before it is gone.
pub const ACKNOWLEDGED_AGAIN: Duration = ACKNOWLEDGED.saturating_sub(OVERLAP);

/// Longest start of a voice, and what each letter takes at most.
const SPEECH: Duration = Duration::from_secs(4);
const LETTER: Duration = Duration::from_millis(120);

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEnding {
    /// The model said it.
    ModelText,
    /// The assistant said it.
    OwnText(String),
    /// An app shows or speaks it.
    Silent,
}

/// Tells one answer.
pub struct AnswerPresenter {
    /// To whom.
    pub glasses: Arc<dyn Glasses>,
    /// What they are.
    pub device: GlassesProfile,
    /// Whether it is spoken.
    pub speaks: bool,
    /// For sentences.
    pub language: SpokenLanguage,
    /// How long a page stays.
    pub reading: ReadingTime,
    /// When the user is told that it takes longer.
    pub acknowledge: DelayNotice,
    /// While something is asked, nothing else is said.
    pub approvals: Arc<ApprovalPrompt>,
    /// Where a tool leaves the whole answer.
    pub notes: Arc<AnswerNotes>,
    /// Ends the turn: there is nothing left to say.
    pub enough: CancellationToken,
}

/// What happened so far.
#[derive(Default)]
struct AnswerProgress {
    text: String,
    /// The words of the next step take the place of those before.
    fresh: bool,
    open: HashSet<String>,
    apps: Vec<(String, String)>,
    /// Of the calls of this step: whether the app answers itself.
    quiet: Vec<bool>,
    silent: bool,
    follow_ups: Vec<String>,
    last_result: Option<String>,
    failed: Option<String>,
    /// The only tool of a step gave the whole answer, so the turn was ended.
    is_answered: bool,
}

/// What is on the display.
#[derive(Default)]
struct DisplayedPages {
    pages: Vec<String>,
    at: usize,
    page: Option<String>,
    since: Option<Instant>,
}

impl AnswerPresenter {
    /// Tells the answer to its end. `voice` gets the sentences, `ended` how it ended, `told` that nothing more will come.
    pub async fn present_answer(
        mut self,
        mut events: mpsc::Receiver<TurnEvent>,
        voice: mpsc::Sender<String>,
        ended: oneshot::Sender<AnswerEnding>,
        told: &watch::Sender<bool>,
    ) {
        let (mut heard, mut shown, mut sentences) =
            (AnswerProgress::default(), DisplayedPages::default(), SentenceSplitter::default());
        let finish = loop {
            let (slow, turn) = (self.acknowledge.next_due(), shown.page_due(&self.reading));
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(TurnEvent::Ends(finish)) => break finish,
                    None => break TurnEndReason::Cancelled,
                    Some(TurnEvent::Text(words)) => {
                        if self.add_words(&mut heard, &mut shown, &words) {
                            let whole = sentences.push(&words);
                            self.present_sentences(whole, &mut heard, &mut shown, &voice).await;
                        }
                    }
                    Some(event) => {
                        // What stands before a call is a sentence, whether it has an end or not.
                        if matches!(event, TurnEvent::Called { .. }) {
                            let before = sentences.finish().into_iter().collect();
                            self.present_sentences(before, &mut heard, &mut shown, &voice).await;
                        }
                        self.handle_event(&mut heard, event);
                    }
                },
                () = sleep_until_due(slow) => self.present_delay(&voice).await,
                () = sleep_until_due(turn) => drop(self.turn_page(&mut shown).await),
            }
        };
        let ending = self.decide_ending(&heard, &finish);
        if ending != AnswerEnding::Silent {
            let last: Vec<String> = sentences.finish().into_iter().collect();
            self.present_sentences(last, &mut heard, &mut shown, &voice).await;
            self.present_ending(&ending, &mut heard, &mut shown, &voice).await;
        }
        let is_silent = ending == AnswerEnding::Silent;
        let _ = ended.send(ending);
        drop(voice);
        told.send_replace(true);
        while !is_silent && let Some(due) = shown.page_due(&self.reading) {
            sleep_until(due).await;
            if !self.turn_page(&mut shown).await {
                break;
            }
        }
    }

    /// Takes in words of the model; says whether they count.
    fn add_words(&mut self, heard: &mut AnswerProgress, shown: &mut DisplayedPages, words: &str) -> bool {
        if std::mem::take(&mut heard.fresh) && !heard.text.is_empty() {
            heard.text.clear();
            *shown = DisplayedPages::default();
        }
        let counts = !heard.silent && heard.text.len() < MAX_ANSWER;
        if counts {
            heard.text.push_str(words);
        }
        counts
    }

    /// Speaks whole sentences, and shows the answer as far as it is there.
    async fn present_sentences(
        &mut self,
        whole: Vec<String>,
        heard: &mut AnswerProgress,
        shown: &mut DisplayedPages,
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
        shown.pages = self.device.screen.split_pages(&strip_markdown(&heard.text));
        self.show_page(shown).await;
    }

    /// What is not words.
    fn handle_event(&mut self, heard: &mut AnswerProgress, event: TurnEvent) {
        match event {
            TurnEvent::StepBegins => {
                heard.fresh = true;
                heard.quiet.clear();
            }
            TurnEvent::Called { call, tool: Some(tool) } => {
                let app = tool.about.app.clone().unwrap_or_default();
                if !self.approvals.is_waiting() {
                    self.acknowledge.app_called(&app, Instant::now());
                }
                heard.apps.push((call.id.clone(), app));
                heard.open.insert(call.id);
            }
            TurnEvent::CallEnds { id, end } if heard.open.remove(&id) => {
                self.handle_call_end(heard, &id, &end);
                if heard.open.is_empty() {
                    self.acknowledge.app_answered();
                }
                let all_quiet = heard.quiet.iter().all(|quiet| *quiet);
                // Of this tool, not of one of a step before.
                let last_words = self.notes.last_words();
                let all_said =
                    heard.quiet.len() == 1 && last_words.is_some() && last_words == heard.last_result;
                if heard.open.is_empty() && (all_quiet || all_said) {
                    (heard.silent, heard.is_answered) = (all_quiet, all_said);
                    self.enough.cancel();
                }
            }
            _ => {}
        }
    }

    fn handle_call_end(&self, heard: &mut AnswerProgress, id: &str, end: &CallEnd) {
        let app =
            heard.apps.iter().find(|(call, _)| call == id).map(|(_, app)| app.clone()).unwrap_or_default();
        match end {
            CallEnd::Done(result) => {
                heard.quiet.push(result.extensions.suppress_voice_response);
                heard.last_result = Some(result_words(result)).filter(|_| has_words(result));
                for follow_up in &result.extensions.suggested_follow_ups {
                    let short: String = follow_up.trim().chars().take(MAX_FOLLOW_UP).collect();
                    let room = heard.follow_ups.len() < MAX_FOLLOW_UPS;
                    if room && !short.is_empty() && !heard.follow_ups.contains(&short) {
                        heard.follow_ups.push(short);
                    }
                }
            }
            CallEnd::Failed(error) => {
                heard.quiet.push(false);
                heard.failed = Some(if is_app_down(error.code) {
                    LocalizedMessage::AppDown(&app).to_text(self.language)
                } else {
                    LocalizedMessage::ToolFailed { app: &app, why: &error.for_model }.to_text(self.language)
                });
            }
        }
    }

    /// With which words it ends.
    fn decide_ending(&self, heard: &AnswerProgress, finish: &TurnEndReason) -> AnswerEnding {
        if heard.silent {
            return AnswerEnding::Silent;
        }
        let has_text = !strip_markdown(&heard.text).is_empty() && !heard.fresh;
        // Where there was more to do, the model has told what came of the rest.
        if let Some(words) = self.notes.last_words().filter(|_| heard.is_answered || !has_text) {
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
            // The model has nothing to add: what the tool said is the answer.
            None => AnswerEnding::OwnText(
                heard
                    .failed
                    .clone()
                    .or_else(|| heard.last_result.clone())
                    .unwrap_or_else(|| LocalizedMessage::Nothing.to_text(self.language)),
            ),
        }
    }

    /// The last words: the assistant's own, what could be asked next, and a remark.
    async fn present_ending(
        &mut self,
        ending: &AnswerEnding,
        heard: &mut AnswerProgress,
        shown: &mut DisplayedPages,
        voice: &mpsc::Sender<String>,
    ) {
        if let AnswerEnding::OwnText(words) = ending {
            // What the model began to say stays where it broke off.
            if heard.fresh || heard.is_answered {
                heard.text.clear();
                *shown = DisplayedPages::default();
            }
            let gap = if heard.text.is_empty() { "" } else { "\n" };
            heard.text.push_str(&format!("{gap}{words}"));
            let mut sentences = SentenceSplitter::default();
            let mut whole = sentences.push(words);
            whole.extend(sentences.finish());
            self.present_sentences(whole, heard, shown, voice).await;
        }
        let offer = (!heard.follow_ups.is_empty()).then(|| {
            let quoted: Vec<String> = heard.follow_ups.iter().map(|text| format!("\"{text}\"")).collect();
            LocalizedMessage::YouCanSay(&quoted.join(", ")).to_text(self.language)
        });
        for words in offer.into_iter().chain(self.notes.take_remark()) {
            shown.pages.extend(self.device.screen.split_pages(&words));
            if self.speaks && !self.device.has_display {
                let _ = voice.send(words).await;
            }
        }
        self.show_page(shown).await;
    }

    /// Tells the user that it takes longer. Spoken once.
    async fn present_delay(&mut self, voice: &mpsc::Sender<String>) {
        if self.approvals.is_waiting() {
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

    /// Shows the current page, if it is another one than before.
    async fn show_page(&self, shown: &mut DisplayedPages) {
        // It was read to its end before there was a next one.
        let is_read =
            shown.since.is_none() && shown.page.is_some() && shown.page.as_ref() == shown.pages.get(shown.at);
        if is_read && shown.at + 1 < shown.pages.len() {
            shown.at += 1;
        }
        let Some(page) = shown.pages.get(shown.at).filter(|page| shown.page.as_ref() != Some(*page)).cloned()
        else {
            return;
        };
        if self.device.has_display {
            self.glasses.show_text(&page, self.reading.display_time(&page) + OVERLAP).await;
        }
        shown.since.get_or_insert_with(Instant::now);
        shown.page = Some(page);
    }

    /// Goes to the next page; says whether there was one.
    async fn turn_page(&self, shown: &mut DisplayedPages) -> bool {
        if shown.at + 1 >= shown.pages.len() || !self.device.has_display {
            // Nothing to turn until more words come.
            shown.since = None;
            return false;
        }
        shown.at += 1;
        shown.since = None;
        self.show_page(shown).await;
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

/// That time, or never.
async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Speaks sentences one after the other. A device that does not say when one is over is waited for as long as it would take.
pub async fn speak_sentences(glasses: &dyn Glasses, mut sentences: mpsc::Receiver<String>) {
    while let Some(sentence) = sentences.recv().await {
        let letters = u32::try_from(sentence.chars().count()).unwrap_or(u32::MAX);
        let _ = timeout(SPEECH + LETTER.saturating_mul(letters), glasses.speak_text(&sentence)).await;
    }
}

#[cfg(test)]
mod tests;
