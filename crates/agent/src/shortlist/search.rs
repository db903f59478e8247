//! Ranks tools against a question.

use std::collections::HashSet;

use super::{
    MAX_QUERY_BYTES, MAX_QUERY_WORDS, MAX_RECENT_WORDS, Mention, ToolIndex, cut,
    language::Language,
    postings::{Space, Term},
    top::top,
    vectors::normalise,
    words::{Atoms, Role},
};

/// What meaning counts against words.
const MEANING: f32 = 0.8;
/// Words count in full when the best tool has at least this share of what the question says. Below, one word met by
/// chance must not outweigh the meaning of the whole.
const GOOD_COVERAGE: f32 = 0.15;
/// What the newest earlier text counts against the question; each older one half of the one before.
const RECENT: f32 = 0.2;
/// Most that all earlier texts count against the question.
const RECENT_SHARE: f32 = 0.5;
/// What being named adds, once for each way. Little: it settles near draws, and [`pick`](fn@super::pick) keeps the place.
const NAMED: f32 = 0.1;

/// What the model is asked.
#[derive(Debug, Clone, Default)]
pub struct Query<'a> {
    /// The user's last message.
    pub text: &'a str,
    /// What came before, the newest first: results of this turn's tools, then earlier messages. Counts less.
    pub recent: Vec<&'a str>,
}

impl<'a> Query<'a> {
    /// A question with nothing before it.
    pub fn new(text: &'a str) -> Self {
        Self { text, recent: Vec::new() }
    }
}

/// A tool that fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The key of its document.
    pub key: usize,
    /// Only good to compare within one search.
    pub score: f32,
    /// Where the score comes from.
    pub why: Why,
}

/// Where a score comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Why {
    /// Words in common; 1 is the tool that has the most, if it has enough.
    pub words: f32,
    /// Likeness in meaning; 1 is the tool that is most alike. 0 without word vectors.
    pub meaning: f32,
    /// What was named outright.
    pub mention: Option<Mention>,
}

/// Every tool of an index against one question.
pub(super) struct Ranking {
    words: Vec<f32>,
    meaning: Vec<f32>,
    /// Tool and what was named of it, once for each way, by tool.
    pub(super) mentions: Vec<(u32, Mention)>,
    pub(super) scores: Vec<f32>,
}

impl ToolIndex {
    /// The tools that fit best, best first; equals in the order of the view.
    pub fn search(&self, query: &Query<'_>, limit: usize) -> Vec<Hit> {
        let ranking = self.rank(query);
        let hits = top(&ranking.scores, limit).into_iter();
        hits.map(|document| ranking.hit(self.keys[document as usize], document)).collect()
    }

    pub(super) fn rank(&self, query: &Query<'_>) -> Ranking {
        let text = Atoms::of(cut(query.text, MAX_QUERY_BYTES));
        let earlier: Vec<_> = query.recent.iter().map(|text| Atoms::of(cut(text, MAX_QUERY_BYTES))).collect();
        let asked = Asked::of(&text, &earlier);
        let words = self.words(&asked);
        let meaning = self.meaning(&asked);
        let mut scores: Vec<f32> = words.clone();
        scores.iter_mut().zip(&meaning).for_each(|(score, meaning)| *score += MEANING * meaning);
        let mentions = self.mentions.in_text(&text);
        for &(document, _) in &mentions {
            scores[document as usize] += NAMED;
        }
        Ranking { words, meaning, mentions, scores }
    }

    /// What the words say, 1 for the best tool if it covers enough of the question.
    fn words(&self, asked: &Asked<'_>) -> Vec<f32> {
        let mut scores = vec![0.0; self.len()];
        let mut coverage = 0.0_f32;
        for space in self.postings.spaces() {
            let (terms, mass) = self.terms(space, &asked.text);
            let best = self.add(&terms, 1.0, &mut scores);
            let (recent, recent_mass) = self.terms(space, &asked.recent);
            let share = (RECENT_SHARE * mass.max(space.unseen) / recent_mass.max(f32::MIN_POSITIVE)).min(1.0);
            let recent_best = self.add(&recent, share, &mut scores);
            // A short answer says little, but what it answers to may say enough.
            for (best, mass) in [(best, mass), (recent_best, share * recent_mass)] {
                coverage = if mass > 0.0 { coverage.max(best / mass) } else { coverage };
            }
        }
        scale(&mut scores, (coverage / GOOD_COVERAGE).min(1.0));
        scores
    }

    /// The words that tools of a language know, with their weights, and what all words are worth, known or not.
    fn terms(&self, space: &Space, words: &[(&str, Role, f32)]) -> (Vec<(Term, f32)>, f32) {
        let (mut terms, mut mass) = (Vec::with_capacity(words.len()), 0.0);
        for &(word, role, weight) in words {
            if space.language.is_stop_word(word) {
                continue;
            }
            let found = self.postings.find(space, &space.language.stem(word));
            if role == Role::Text {
                mass += weight * found.map_or(space.unseen, |term| term.rarity);
            }
            terms.extend(found.map(|term| (term, weight)));
        }
        (terms, mass)
    }

    /// Adds what terms weigh in each tool, and says what the best tool got by them.
    fn add(&self, terms: &[(Term, f32)], share: f32, scores: &mut [f32]) -> f32 {
        let mut alone = vec![0.0_f32; if terms.is_empty() { 0 } else { scores.len() }];
        for &(term, weight) in terms {
            self.postings.of(term).for_each(|(document, found)| alone[document] += share * weight * found);
        }
        scores.iter_mut().zip(&alone).for_each(|(score, alone)| *score += alone);
        alone.into_iter().fold(0.0, f32::max)
    }

    /// What the meaning says, 1 for the tool that is most alike. Empty without word vectors.
    fn meaning(&self, asked: &Asked<'_>) -> Vec<f32> {
        let Some((vectors, directions)) = &self.meaning else { return Vec::new() };
        let sum = |words: &[(&str, Role, f32)]| {
            let mut sum = vec![0.0; vectors.dimensions()];
            for (word, _, weight) in words.iter().filter(|(_, role, _)| *role == Role::Text) {
                if !Language::English.is_stop_word(word) {
                    vectors.add(&vectors.tokens(word), *weight, &mut sum);
                }
            }
            normalise(&mut sum);
            sum
        };
        let (mut direction, recent) = (sum(&asked.text), sum(&asked.recent));
        direction.iter_mut().zip(recent).for_each(|(value, recent)| *value += RECENT * recent);
        normalise(&mut direction);
        let mut cosines = directions.cosines(&direction);
        cosines.iter_mut().for_each(|cosine| *cosine = cosine.max(0.0));
        scale(&mut cosines, 1.0);
        cosines
    }
}

impl Ranking {
    fn hit(&self, key: usize, document: u32) -> Hit {
        let at = document as usize;
        let named = self.mentions.iter().filter(|(named, _)| *named == document);
        let why = Why {
            words: self.words[at],
            meaning: self.meaning.get(at).copied().unwrap_or_default(),
            mention: named.map(|(_, mention)| *mention).max(),
        };
        Hit { key, score: self.scores[at], why }
    }
}

/// Makes the highest number `highest`.
fn scale(scores: &mut [f32], highest: f32) {
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best > 0.0 {
        scores.iter_mut().for_each(|score| *score *= highest / best);
    }
}

/// The different words of a question, each with its weight.
struct Asked<'a> {
    text: Vec<(&'a str, Role, f32)>,
    recent: Vec<(&'a str, Role, f32)>,
}

impl<'a> Asked<'a> {
    fn of(text: &'a Atoms, earlier: &'a [Atoms]) -> Self {
        let mut seen = HashSet::new();
        let words = text.words().filter(|(word, _)| seen.insert(*word));
        let text = words.take(MAX_QUERY_WORDS).map(|(word, role)| (word, role, 1.0)).collect();
        let mut weight = RECENT;
        let mut recent = Vec::new();
        for atoms in earlier {
            let room = MAX_RECENT_WORDS - recent.len();
            let words = atoms.words().filter(|(word, _)| seen.insert(*word));
            recent.extend(words.take(room).map(|(word, role)| (word, role, weight)));
            weight /= 2.0;
            if recent.len() == MAX_RECENT_WORDS {
                break;
            }
        }
        Self { text, recent }
    }
}
