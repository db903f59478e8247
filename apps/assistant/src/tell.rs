//! An answer as it comes: the first sentence at once, pages that turn by themselves, a voice beside them, and the decision with
//! which words it ends.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use toolyard_agent::{
    event::{Bound, CallEnd, Finish, TurnEvent},
    model::ModelTrouble,
    turn::answer::words as result_words,
};
use toolyard_protocol::result::ToolResult;

use crate::{
    acknowledge::Acknowledge,
    ask::Approvals,
    glasses::{Device, Glasses},
    page::Reading,
    remote::{Notes, is_down},
    voice::{Sentences, plain},
    words::{Language, Say},
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
pub enum Ending {
    /// The model said it.
    Said,
    /// The assistant said it.
    Words(String),
    /// An app shows or speaks it.
    Silent,
}

/// Tells one answer.
pub struct Teller {
    /// To whom.
    pub glasses: Arc<dyn Glasses>,
    /// What they are.
    pub device: Device,
    /// Whether it is spoken.
    pub speaks: bool,
    /// For sentences.
    pub language: Language,
    /// How long a page stays.
    pub reading: Reading,
    /// When the user is told that it takes longer.
    pub acknowledge: Acknowledge,
    /// While something is asked, nothing else is said.
    pub approvals: Arc<Approvals>,
    /// Where a tool leaves the whole answer.
    pub notes: Arc<Notes>,
    /// Ends the turn: there is nothing left to say.
    pub enough: CancellationToken,
}

/// What happened so far.
#[derive(Default)]
struct Heard {
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
struct Shown {
    pages: Vec<String>,
    at: usize,
    page: Option<String>,
    since: Option<Instant>,
}

impl Teller {
    /// Tells the answer to its end. `voice` gets the sentences, `ended` how it ended, `told` that nothing more will come.
    pub async fn tell(
        mut self,
        mut events: mpsc::Receiver<TurnEvent>,
        voice: mpsc::Sender<String>,
        ended: oneshot::Sender<Ending>,
        told: &watch::Sender<bool>,
    ) {
        let (mut heard, mut shown, mut sentences) =
            (Heard::default(), Shown::default(), Sentences::default());
        let finish = loop {
            let (slow, turn) = (self.acknowledge.due(), shown.due(&self.reading));
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(TurnEvent::Ends(finish)) => break finish,
                    None => break Finish::Cancelled,
                    Some(TurnEvent::Text(words)) => {
                        if self.hear(&mut heard, &mut shown, &words) {
                            let whole = sentences.push(&words);
                            self.say(whole, &mut heard, &mut shown, &voice).await;
                        }
                    }
                    Some(event) => {
                        // What stands before a call is a sentence, whether it has an end or not.
                        if matches!(event, TurnEvent::Called { .. }) {
                            let before = sentences.finish().into_iter().collect();
                            self.say(before, &mut heard, &mut shown, &voice).await;
                        }
                        self.note(&mut heard, event);
                    }
                },
                () = at(slow) => self.take_longer(&voice).await,
                () = at(turn) => drop(self.turn_page(&mut shown).await),
            }
        };
        let ending = self.ending(&heard, &finish);
        if ending != Ending::Silent {
            let last: Vec<String> = sentences.finish().into_iter().collect();
            self.say(last, &mut heard, &mut shown, &voice).await;
            self.close(&ending, &mut heard, &mut shown, &voice).await;
        }
        let is_silent = ending == Ending::Silent;
        let _ = ended.send(ending);
        drop(voice);
        told.send_replace(true);
        while !is_silent && let Some(due) = shown.due(&self.reading) {
            sleep_until(due).await;
            if !self.turn_page(&mut shown).await {
                break;
            }
        }
    }

    /// Takes in words of the model; says whether they count.
    fn hear(&mut self, heard: &mut Heard, shown: &mut Shown, words: &str) -> bool {
        if std::mem::take(&mut heard.fresh) && !heard.text.is_empty() {
            heard.text.clear();
            *shown = Shown::default();
        }
        let counts = !heard.silent && heard.text.len() < MAX_ANSWER;
        if counts {
            heard.text.push_str(words);
        }
        counts
    }

    /// Speaks whole sentences, and shows the answer as far as it is there.
    async fn say(
        &mut self,
        whole: Vec<String>,
        heard: &mut Heard,
        shown: &mut Shown,
        voice: &mpsc::Sender<String>,
    ) {
        if whole.is_empty() {
            return;
        }
        self.acknowledge.has_words();
        if self.speaks {
            for sentence in whole {
                let _ = voice.send(sentence).await;
            }
        }
        shown.pages = self.device.screen.pages(&plain(&heard.text));
        self.show(shown).await;
    }

    /// What is not words.
    fn note(&mut self, heard: &mut Heard, event: TurnEvent) {
        match event {
            TurnEvent::StepBegins => {
                heard.fresh = true;
                heard.quiet.clear();
            }
            TurnEvent::Called { call, tool: Some(tool) } => {
                let app = tool.about.app.clone().unwrap_or_default();
                if !self.approvals.is_waiting() {
                    self.acknowledge.asks(&app, Instant::now());
                }
                heard.apps.push((call.id.clone(), app));
                heard.open.insert(call.id);
            }
            TurnEvent::CallEnds { id, end } if heard.open.remove(&id) => {
                self.ends(heard, &id, &end);
                if heard.open.is_empty() {
                    self.acknowledge.answered();
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

    fn ends(&self, heard: &mut Heard, id: &str, end: &CallEnd) {
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
                heard.failed = Some(if is_down(error.code) {
                    Say::AppDown(&app).text(self.language)
                } else {
                    Say::ToolFailed { app: &app, why: &error.for_model }.text(self.language)
                });
            }
        }
    }

    /// With which words it ends.
    fn ending(&self, heard: &Heard, finish: &Finish) -> Ending {
        if heard.silent {
            return Ending::Silent;
        }
        let has_text = !plain(&heard.text).is_empty() && !heard.fresh;
        // Where there was more to do, the model has told what came of the rest.
        if let Some(words) = self.notes.last_words().filter(|_| heard.is_answered || !has_text) {
            return Ending::Words(words);
        }
        let trouble = match finish {
            Finish::Failed(error) => Some(Say::Model(error.kind)),
            Finish::Filtered if !has_text => Some(Say::Model(ModelTrouble::Refused)),
            Finish::Budget(Bound::Time | Bound::Tokens) if !has_text => Some(Say::TooLong),
            _ => None,
        };
        match trouble {
            Some(trouble) => Ending::Words(trouble.text(self.language)),
            None if has_text => Ending::Said,
            // The model has nothing to add: what the tool said is the answer.
            None => Ending::Words(
                heard
                    .failed
                    .clone()
                    .or_else(|| heard.last_result.clone())
                    .unwrap_or_else(|| Say::Nothing.text(self.language)),
            ),
        }
    }

    /// The last words: the assistant's own, what could be asked next, and a remark.
    async fn close(
        &mut self,
        ending: &Ending,
        heard: &mut Heard,
        shown: &mut Shown,
        voice: &mpsc::Sender<String>,
    ) {
        if let Ending::Words(words) = ending {
            // What the model began to say stays where it broke off.
            if heard.fresh || heard.is_answered {
                heard.text.clear();
                *shown = Shown::default();
            }
            let gap = if heard.text.is_empty() { "" } else { "\n" };
            heard.text.push_str(&format!("{gap}{words}"));
            let mut sentences = Sentences::default();
            let mut whole = sentences.push(words);
            whole.extend(sentences.finish());
            self.say(whole, heard, shown, voice).await;
        }
        let offer = (!heard.follow_ups.is_empty()).then(|| {
            let quoted: Vec<String> = heard.follow_ups.iter().map(|text| format!("\"{text}\"")).collect();
            Say::YouCanSay(&quoted.join(", ")).text(self.language)
        });
        for words in offer.into_iter().chain(self.notes.take_remark()) {
            shown.pages.extend(self.device.screen.pages(&words));
            if self.speaks && !self.device.has_display {
                let _ = voice.send(words).await;
            }
        }
        self.show(shown).await;
    }

    /// Tells the user that it takes longer. Spoken once.
    async fn take_longer(&mut self, voice: &mpsc::Sender<String>) {
        if self.approvals.is_waiting() {
            return self.acknowledge.wait(Instant::now());
        }
        let (sentence, is_first) = self.acknowledge.say(self.language, Instant::now());
        if self.device.has_display {
            self.glasses.show(&sentence, ACKNOWLEDGED).await;
        }
        if self.speaks && is_first {
            let _ = voice.try_send(sentence);
        }
    }

    /// Shows the current page, if it is another one than before.
    async fn show(&self, shown: &mut Shown) {
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
            self.glasses.show(&page, self.reading.time(&page) + OVERLAP).await;
        }
        shown.since.get_or_insert_with(Instant::now);
        shown.page = Some(page);
    }

    /// Goes to the next page; says whether there was one.
    async fn turn_page(&self, shown: &mut Shown) -> bool {
        if shown.at + 1 >= shown.pages.len() || !self.device.has_display {
            // Nothing to turn until more words come.
            shown.since = None;
            return false;
        }
        shown.at += 1;
        shown.since = None;
        self.show(shown).await;
        true
    }
}

impl Shown {
    fn due(&self, reading: &Reading) -> Option<Instant> {
        Some(self.since? + reading.time(self.page.as_deref()?))
    }
}

fn has_words(result: &ToolResult) -> bool {
    let parts = result.mcp.parts();
    !parts.content.is_empty() || parts.structured_content.is_some()
}

/// That time, or never.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Speaks sentences one after the other. A device that does not say when one is over is waited for as long as it would take.
pub async fn speak(glasses: &dyn Glasses, mut sentences: mpsc::Receiver<String>) {
    while let Some(sentence) = sentences.recv().await {
        let letters = u32::try_from(sentence.chars().count()).unwrap_or(u32::MAX);
        let _ = timeout(SPEECH + LETTER.saturating_mul(letters), glasses.speak(&sentence)).await;
    }
}

#[cfg(test)]
mod tests;
