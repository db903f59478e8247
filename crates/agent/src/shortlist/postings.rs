//! Which words occur in which tools, and their weights (BM25F). Flat arrays with final weights.

use std::{collections::HashMap, ops::Range};

use super::language::StemLanguage;

/// How fast repetitions of a word stop counting.
const SATURATION: f32 = 1.2;

/// The weight of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldWeight {
    /// Relative to other fields.
    weight: f32,
    /// How much the length of a text reduces the weight of its words, 0 to 1.
    length: f32,
}

/// The fields of a tool. Phrases of each language except English are additional fields after these.
pub(super) const NAME: usize = 0;
pub(super) const TITLE: usize = 1;
pub(super) const APP: usize = 2;
pub(super) const DESCRIPTION: usize = 3;
pub(super) const PARAMETERS: usize = 4;
pub(super) const PHRASES: usize = 5;
const FIELDS: [FieldWeight; 6] = [
    FieldWeight { weight: 3.0, length: 0.5 },
    FieldWeight { weight: 3.0, length: 0.5 },
    FieldWeight { weight: 1.0, length: 0.3 },
    FieldWeight { weight: 2.0, length: 0.75 },
    FieldWeight { weight: 1.0, length: 0.75 },
    FieldWeight { weight: 2.0, length: 0.5 },
];

/// The words of one language.
#[derive(Debug)]
pub(super) struct TermSpace {
    pub(super) language: StemLanguage,
    terms: HashMap<Box<str>, u32>,
    /// The weight of a word that no tool has.
    pub(super) unseen: f32,
}

/// A word of a language in the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexTerm {
    /// How rare it is.
    pub(super) rarity: f32,
    start: u32,
    end: u32,
}

/// From words to tools.
#[derive(Debug)]
pub(super) struct Postings {
    spaces: Vec<TermSpace>,
    terms: Vec<IndexTerm>,
    documents: Vec<u32>,
    weights: Vec<f32>,
}

impl Postings {
    /// The languages in the index. The first is used for texts without a language.
    pub(super) fn spaces(&self) -> &[TermSpace] {
        &self.spaces
    }

    /// The term of a stem, if a tool has it.
    pub(super) fn find_term(&self, space: &TermSpace, stem: &str) -> Option<IndexTerm> {
        space.terms.get(stem).map(|&term| self.terms[term as usize])
    }

    /// The tools that have a term, with its weight.
    pub(super) fn documents_of(&self, term: IndexTerm) -> impl Iterator<Item = (usize, f32)> {
        let range = term.start as usize..term.end as usize;
        self.documents[range.clone()]
            .iter()
            .map(|&document| document as usize)
            .zip(self.weights[range].iter().copied())
    }

    /// Approximate memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let words: usize =
            self.spaces.iter().flat_map(|space| space.terms.keys()).map(|term| term.len() + 24).sum();
        words + self.terms.len() * size_of::<IndexTerm>() + self.documents.len() * 8
    }
}

/// A word in a field of a tool.
#[derive(Debug, Clone, Copy)]
struct TermOccurrence {
    term: u32,
    document: u32,
    field: u32,
    count: f32,
}

/// Collects words, tool by tool.
#[derive(Debug)]
pub(super) struct PostingsCollector {
    spaces: Vec<TermSpace>,
    /// Words as written, by language, so that each is stemmed once.
    seen: Vec<HashMap<Box<str>, Option<u32>>>,
    terms: u32,
    occurrences: Vec<TermOccurrence>,
    /// Number of words by field and tool.
    lengths: Vec<Vec<f32>>,
    documents: u32,
    /// Words of the current tool: term and field.
    open: Vec<(u32, u32)>,
    /// Most occurrences.
    limit: usize,
}

impl PostingsCollector {
    /// Collects up to `limit` occurrences of words.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            spaces: vec![TermSpace { language: StemLanguage::English, terms: HashMap::new(), unseen: 0.0 }],
            seen: vec![HashMap::new()],
            terms: 0,
            occurrences: Vec::new(),
            lengths: vec![Vec::new(); FIELDS.len()],
            documents: 0,
            open: Vec::new(),
        }
    }

    /// The field of phrases in a language.
    pub(super) fn phrases_in(&mut self, language: StemLanguage) -> usize {
        let at = self.spaces.iter().position(|space| space.language == language).unwrap_or_else(|| {
            self.spaces.push(TermSpace { language, terms: HashMap::new(), unseen: 0.0 });
            self.seen.push(HashMap::new());
            self.lengths.push(Vec::new());
            self.spaces.len() - 1
        });
        PHRASES + at
    }

    /// Adds a word of the current tool. Returns false for a stop word.
    pub(super) fn add_word(&mut self, field: usize, word: &str) -> bool {
        let at = field.saturating_sub(PHRASES);
        let term = match self.seen[at].get(word) {
            Some(term) => *term,
            None => {
                let term = self.intern_term(at, word);
                self.seen[at].insert(word.into(), term);
                term
            }
        };
        self.open.extend(term.map(|term| (term, field as u32)));
        term.is_some()
    }

    fn intern_term(&mut self, at: usize, word: &str) -> Option<u32> {
        let space = &mut self.spaces[at];
        if space.language.is_stop_word(word) {
            return None;
        }
        let stem = space.language.stem_word(word);
        if let Some(&term) = space.terms.get(&*stem) {
            return Some(term);
        }
        space.terms.insert(stem.into(), self.terms);
        self.terms += 1;
        Some(self.terms - 1)
    }

    /// Completes the current tool.
    pub(super) fn close_tool(&mut self) {
        let document = self.documents;
        self.documents += 1;
        self.open.sort_unstable();
        for same in self.open.chunk_by(|a, b| a == b) {
            if self.occurrences.len() >= self.limit {
                break;
            }
            let (term, field) = same[0];
            let count = same.len() as f32;
            let lengths = &mut self.lengths[field as usize];
            lengths.resize(self.documents as usize, 0.0);
            lengths[document as usize] += count;
            self.occurrences.push(TermOccurrence { term, document, field, count });
        }
        self.open.clear();
    }

    pub(super) fn into_postings(mut self) -> Postings {
        let norms = self.length_norms();
        let ranges = self.term_ranges();
        // Counting sort. It is stable, so the tools of a term stay in order, and the fields of a tool stay together.
        let mut next: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        let empty = TermOccurrence { term: 0, document: 0, field: 0, count: 0.0 };
        let mut sorted = vec![empty; self.occurrences.len()];
        for occurrence in self.occurrences.drain(..) {
            let place = &mut next[occurrence.term as usize];
            sorted[*place] = occurrence;
            *place += 1;
        }
        let worlds = self.tool_counts();
        let (mut documents, mut weights) = (Vec::new(), Vec::new());
        let terms = ranges.into_iter().map(|range| {
            let (start, found) = (documents.len(), &sorted[range]);
            let world = found.first().map_or(0.0, |one| worlds[(one.field as usize).saturating_sub(PHRASES)]);
            let tools = found.chunk_by(|a, b| a.document == b.document);
            let rarity = term_rarity(world, tools.clone().count() as f32);
            for fields in tools {
                let weight =
                    |one: &TermOccurrence| one.count * norms[one.field as usize][one.document as usize];
                let sum: f32 = fields.iter().map(weight).sum();
                documents.push(fields[0].document);
                weights.push(rarity * sum / (SATURATION + sum));
            }
            IndexTerm { rarity, start: start as u32, end: documents.len() as u32 }
        });
        let terms = terms.collect();
        for (space, world) in self.spaces.iter_mut().zip(worlds) {
            space.unseen = term_rarity(world, 0.0);
        }
        Postings { spaces: self.spaces, terms, documents, weights }
    }

    /// The number of tools with text in each language.
    fn tool_counts(&self) -> Vec<f32> {
        let others = self.lengths[FIELDS.len()..].iter();
        let others = others.map(|lengths| lengths.iter().filter(|&&length| length > 0.0).count() as f32);
        [self.documents as f32].into_iter().chain(others).collect()
    }

    /// The weight of one word by field and tool.
    fn length_norms(&mut self) -> Vec<Vec<f32>> {
        let lengths = std::mem::take(&mut self.lengths);
        let norms = lengths.iter().enumerate().map(|(at, lengths)| {
            let field = FIELDS[at.min(PHRASES)];
            let filled = lengths.iter().filter(|&&length| length > 0.0).count().max(1) as f32;
            let mean = (lengths.iter().sum::<f32>() / filled).max(1.0);
            let norm = |length: &f32| field.weight / (1.0 - field.length + field.length * length / mean);
            lengths.iter().map(norm).collect()
        });
        let norms = norms.collect();
        self.lengths = lengths;
        norms
    }

    /// The range of the occurrences of each term.
    fn term_ranges(&self) -> Vec<Range<usize>> {
        let mut counts = vec![0; self.terms as usize];
        self.occurrences.iter().for_each(|occurrence| counts[occurrence.term as usize] += 1);
        let mut start = 0;
        let range = |count: usize| {
            start += count;
            start - count..start
        };
        counts.into_iter().map(range).collect()
    }
}

/// The rarity of a word that `found` of `world` tools have.
fn term_rarity(world: f32, found: f32) -> f32 {
    (1.0 + (world - found + 0.5).max(0.0) / (found + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tools: &[&[(usize, &str)]]) -> Postings {
        let mut collector = PostingsCollector::new(100);
        for tool in tools {
            for (field, word) in *tool {
                collector.add_word(*field, word);
            }
            collector.close_tool();
        }
        collector.into_postings()
    }

    fn weights(postings: &Postings, stem: &str) -> Vec<(usize, f32)> {
        let term = postings.find_term(&postings.spaces()[0], stem);
        term.map(|term| postings.documents_of(term).collect()).unwrap_or_default()
    }

    #[test]
    fn a_word_in_the_name_outweighs_one_in_a_parameter() {
        let postings = of(&[&[(PARAMETERS, "task")], &[(NAME, "tasks")], &[(DESCRIPTION, "task")], &[]]);
        let found = weights(&postings, "task");
        assert_eq!(found.iter().map(|(document, _)| *document).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(found[0].1 < found[2].1 && found[2].1 < found[1].1, "{found:?}");
    }

    #[test]
    fn fields_of_one_tool_add_up_to_one_posting() {
        let postings =
            of(&[&[(NAME, "task"), (DESCRIPTION, "task"), (DESCRIPTION, "task")], &[(NAME, "task")]]);
        let found = weights(&postings, "task");
        assert_eq!(found.len(), 2);
        assert!(found[0].1 > found[1].1);
    }

    #[test]
    fn rare_words_say_more_and_long_texts_less() {
        let long =
            [(DESCRIPTION, "kettle"), (DESCRIPTION, "water"), (DESCRIPTION, "tea"), (DESCRIPTION, "cup")];
        let postings = of(&[&[(DESCRIPTION, "kettle")], &long, &[(DESCRIPTION, "lamp")]]);
        let kettle = weights(&postings, "kettl");
        assert!(kettle[0].1 > kettle[1].1);
        assert!(weights(&postings, "lamp")[0].1 > kettle[0].1);
        assert!(weights(&postings, "toaster").is_empty());
    }

    #[test]
    fn words_beyond_the_bound_are_not_held() {
        let mut collector = PostingsCollector::new(2);
        for word in ["one", "two", "three"] {
            collector.add_word(NAME, word);
            collector.close_tool();
        }
        let postings = collector.into_postings();
        assert_eq!(["one", "two", "three"].map(|word| weights(&postings, word).len()), [1, 1, 0]);
    }

    #[test]
    fn languages_are_weighted_separately() {
        let mut collector = PostingsCollector::new(100);
        let german = collector.phrases_in(StemLanguage::German);
        assert_eq!(collector.phrases_in(StemLanguage::English), PHRASES);
        assert!(collector.add_word(german, "karten"));
        assert!(!collector.add_word(german, "und"));
        collector.close_tool();
        collector.add_word(NAME, "karten");
        collector.close_tool();
        let postings = collector.into_postings();
        let [english, german] = postings.spaces() else { panic!("two languages") };
        assert_eq!(
            postings
                .documents_of(postings.find_term(german, "kart").unwrap())
                .map(|(at, _)| at)
                .collect::<Vec<_>>(),
            [0]
        );
        assert_eq!(
            postings
                .documents_of(postings.find_term(english, "karten").unwrap())
                .map(|(at, _)| at)
                .collect::<Vec<_>>(),
            [1]
        );
        assert!(german.unseen < english.unseen, "one tool of two speaks German");
    }
}
