//! Ranks tools against a question.

use std::collections::HashSet;

use super::{
    MAX_QUERY_BYTES, MAX_QUERY_WORDS, MAX_RECENT_WORDS, Mention, ToolIndex,
    language::StemLanguage,
    postings::{IndexTerm, TermSpace},
    top::top_documents,
    truncate_bytes,
    vectors::normalise_vector,
    words::{TextAtoms, WordRole},
};

/// The weight of meaning relative to words.
const MEANING: f32 = 0.8;
/// Words count in full if the best tool covers at least this share of the question. Below that, a single matching word
/// must not outweigh the meaning of the whole.
const GOOD_COVERAGE: f32 = 0.15;
/// The weight of the newest earlier text relative to the question. Each older text has half the weight of the one after
/// it.
const RECENT: f32 = 0.2;
/// The largest weight of all earlier texts relative to the question.
const RECENT_SHARE: f32 = 0.5;
/// The bonus for a mention, once per kind. It is small and only settles near ties, because
/// [`pick_tools`](super::pick_tools) picks mentioned tools anyway.
const NAMED: f32 = 0.1;

/// What the tools are searched for.
#[derive(Debug, Clone, Default)]
pub struct ToolQuery<'a> {
    /// The user's last message.
    pub text: &'a str,
    /// Earlier texts, newest first: results of this turn's tools, then earlier messages. They count less.
    pub recent: Vec<&'a str>,
}

impl<'a> ToolQuery<'a> {
    /// A question without earlier texts.
    pub fn new(text: &'a str) -> Self {
        Self { text, recent: Vec::new() }
    }
}

/// A tool that matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolHit {
    /// The key of its document.
    pub key: usize,
    /// Comparable within one search only.
    pub score: f32,
    /// Where the score comes from.
    pub parts: ScoreParts,
}

/// Where a score comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreParts {
    /// Common words. 1 for the best tool, if it covers enough.
    pub words: f32,
    /// Similarity in meaning. 1 for the most similar tool, 0 without word vectors.
    pub meaning: f32,
    /// What was mentioned.
    pub mention: Option<Mention>,
}

/// The scores of all tools for one question.
pub(super) struct ToolRanking {
    words: Vec<f32>,
    meaning: Vec<f32>,
    /// Tools and their mentions, once per kind, by tool.
    pub(super) mentions: Vec<(u32, Mention)>,
    pub(super) scores: Vec<f32>,
}

impl ToolIndex {
    /// The best tools, best first. Equal scores are in the order of the view.
    pub fn search(&self, query: &ToolQuery<'_>, limit: usize) -> Vec<ToolHit> {
        let ranking = self.rank_tools(query);
        let hits = top_documents(&ranking.scores, limit).into_iter();
        hits.map(|document| ranking.to_hit(self.keys[document as usize], document)).collect()
    }

    pub(super) fn rank_tools(&self, query: &ToolQuery<'_>) -> ToolRanking {
        let text = TextAtoms::from_text(truncate_bytes(query.text, MAX_QUERY_BYTES));
        let earlier: Vec<_> = query
            .recent
            .iter()
            .map(|text| TextAtoms::from_text(truncate_bytes(text, MAX_QUERY_BYTES)))
            .collect();
        let query_words = QueryWords::from_atoms(&text, &earlier);
        let words = self.word_scores(&query_words);
        let meaning = self.meaning_scores(&query_words);
        let mut scores: Vec<f32> = words.clone();
        scores.iter_mut().zip(&meaning).for_each(|(score, meaning)| *score += MEANING * meaning);
        let mentions = self.mentions.find_in(&text);
        for &(document, _) in &mentions {
            scores[document as usize] += NAMED;
        }
        ToolRanking { words, meaning, mentions, scores }
    }

    /// The word scores: 1 for the best tool if it covers enough of the question.
    fn word_scores(&self, query_words: &QueryWords<'_>) -> Vec<f32> {
        let mut scores = vec![0.0; self.len()];
        let mut coverage = 0.0_f32;
        for space in self.postings.spaces() {
            let (terms, mass) = self.query_terms(space, &query_words.text);
            let best = self.add_term_scores(&terms, 1.0, &mut scores);
            let (recent, recent_mass) = self.query_terms(space, &query_words.recent);
            let share = (RECENT_SHARE * mass.max(space.unseen) / recent_mass.max(f32::MIN_POSITIVE)).min(1.0);
            let recent_best = self.add_term_scores(&recent, share, &mut scores);
            // A short answer says little, but the text before it may say enough.
            for (best, mass) in [(best, mass), (recent_best, share * recent_mass)] {
                coverage = if mass > 0.0 { coverage.max(best / mass) } else { coverage };
            }
        }
        scale_scores(&mut scores, (coverage / GOOD_COVERAGE).min(1.0));
        scores
    }

    /// The terms of a language that occur in tools, with their weights, and the weight of all words, including unknown
    /// ones.
    fn query_terms(
        &self,
        space: &TermSpace,
        words: &[(&str, WordRole, f32)],
    ) -> (Vec<(IndexTerm, f32)>, f32) {
        let (mut terms, mut mass) = (Vec::with_capacity(words.len()), 0.0);
        for &(word, role, weight) in words {
            if space.language.is_stop_word(word) {
                continue;
            }
            let found = self.postings.find_term(space, &space.language.stem_word(word));
            if role == WordRole::Text {
                mass += weight * found.map_or(space.unseen, |term| term.rarity);
            }
            terms.extend(found.map(|term| (term, weight)));
        }
        (terms, mass)
    }

    /// Adds the weights of terms to each tool, and returns the best tool's share.
    fn add_term_scores(&self, terms: &[(IndexTerm, f32)], share: f32, scores: &mut [f32]) -> f32 {
        let mut alone = vec![0.0_f32; if terms.is_empty() { 0 } else { scores.len() }];
        for &(term, weight) in terms {
            self.postings
                .documents_of(term)
                .for_each(|(document, found)| alone[document] += share * weight * found);
        }
        scores.iter_mut().zip(&alone).for_each(|(score, alone)| *score += alone);
        alone.into_iter().fold(0.0, f32::max)
    }

    /// The meaning scores: 1 for the most similar tool. Empty without word vectors.
    fn meaning_scores(&self, query_words: &QueryWords<'_>) -> Vec<f32> {
        let Some((vectors, directions)) = &self.meaning else { return Vec::new() };
        let sum = |words: &[(&str, WordRole, f32)]| {
            let mut sum = vec![0.0; vectors.dimensions()];
            for (word, _, weight) in words.iter().filter(|(_, role, _)| *role == WordRole::Text) {
                if !StemLanguage::English.is_stop_word(word) {
                    vectors.add_tokens(&vectors.word_tokens(word), *weight, &mut sum);
                }
            }
            normalise_vector(&mut sum);
            sum
        };
        let (mut direction, recent) = (sum(&query_words.text), sum(&query_words.recent));
        direction.iter_mut().zip(recent).for_each(|(value, recent)| *value += RECENT * recent);
        normalise_vector(&mut direction);
        let mut cosines = directions.cosines(&direction);
        cosines.iter_mut().for_each(|cosine| *cosine = cosine.max(0.0));
        scale_scores(&mut cosines, 1.0);
        cosines
    }
}

impl ToolRanking {
    fn to_hit(&self, key: usize, document: u32) -> ToolHit {
        let at = document as usize;
        let named = self.mentions.iter().filter(|(named, _)| *named == document);
        let why = ScoreParts {
            words: self.words[at],
            meaning: self.meaning.get(at).copied().unwrap_or_default(),
            mention: named.map(|(_, mention)| *mention).max(),
        };
        ToolHit { key, score: self.scores[at], parts: why }
    }
}

/// Scales the scores so that the highest is `highest`.
fn scale_scores(scores: &mut [f32], highest: f32) {
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best > 0.0 {
        scores.iter_mut().for_each(|score| *score *= highest / best);
    }
}

/// The distinct words of a question, each with its weight.
struct QueryWords<'a> {
    text: Vec<(&'a str, WordRole, f32)>,
    recent: Vec<(&'a str, WordRole, f32)>,
}

impl<'a> QueryWords<'a> {
    fn from_atoms(text: &'a TextAtoms, earlier: &'a [TextAtoms]) -> Self {
        let mut seen = HashSet::new();
        let words = text.search_words().filter(|(word, _)| seen.insert(*word));
        let text = words.take(MAX_QUERY_WORDS).map(|(word, role)| (word, role, 1.0)).collect();
        let mut weight = RECENT;
        let mut recent = Vec::new();
        for atoms in earlier {
            let room = MAX_RECENT_WORDS - recent.len();
            let words = atoms.search_words().filter(|(word, _)| seen.insert(*word));
            recent.extend(words.take(room).map(|(word, role)| (word, role, weight)));
            weight /= 2.0;
            if recent.len() == MAX_RECENT_WORDS {
                break;
            }
        }
        Self { text, recent }
    }
}
