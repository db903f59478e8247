//! The index of the tools of one frozen view. Built once, then read-only.

use std::{collections::HashMap, fmt, sync::Arc};

use super::{
    MAX_INDEX_WORDS, MAX_PARAMETERS, MAX_PHRASES, MAX_TOOL_BYTES, MAX_TOOLS, ToolDocument,
    language::StemLanguage,
    mention::MentionIndex,
    postings::{APP, DESCRIPTION, NAME, PARAMETERS, PHRASES, Postings, PostingsCollector, TITLE},
    truncate_bytes,
    vectors::{QuantisedVectors, WordVectors},
    words::{TextAtoms, WordRole},
};

/// The weight of a word of each field in the direction of a tool, in the order of the fields.
const MEANING: [f32; PHRASES + 1] = [3.0, 3.0, 0.5, 2.0, 1.0, 1.0];

/// The tools of a view, ready to be searched.
pub struct ToolIndex {
    /// Keys by document. Documents are numbered in the order of the tools.
    pub(super) keys: Vec<usize>,
    pub(super) postings: Postings,
    pub(super) mentions: MentionIndex,
    pub(super) meaning: Option<(Arc<WordVectors>, QuantisedVectors)>,
    left_out: usize,
}

impl fmt::Debug for ToolIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = self.meaning.is_some();
        f.debug_struct("ToolIndex")
            .field("tools", &self.len())
            .field("meaning", &meaning)
            .finish_non_exhaustive()
    }
}

impl ToolIndex {
    /// Indexes all tools, in the order in which they will be shown. With `vectors`, meaning counts in addition to
    /// words.
    ///
    /// Takes 15 to 60 µs of CPU time per tool. Do not call it on an async worker thread for large views.
    pub fn build<'a>(
        tools: impl IntoIterator<Item = ToolDocument<'a>>,
        vectors: Option<Arc<WordVectors>>,
    ) -> Self {
        let mut builder = IndexBuilder::new(vectors);
        let mut tools = tools.into_iter();
        tools.by_ref().take(MAX_TOOLS).for_each(|tool| builder.add_tool(&tool));
        builder.finish(tools.count())
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of tools beyond [`MAX_TOOLS`], which cannot be found.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Approximate memory in bytes, without the shared word vectors.
    pub fn memory_bytes(&self) -> usize {
        let meaning = self.meaning.as_ref().map_or(0, |(_, directions)| directions.memory_bytes());
        self.keys.len() * size_of::<usize>()
            + self.postings.memory_bytes()
            + self.mentions.memory_bytes()
            + meaning
    }
}

struct IndexBuilder {
    keys: Vec<usize>,
    collector: PostingsCollector,
    mentions: MentionIndex,
    meaning: Option<DirectionCollector>,
    /// Bytes of text that the current tool may still add.
    budget: usize,
}

impl IndexBuilder {
    fn new(vectors: Option<Arc<WordVectors>>) -> Self {
        Self {
            keys: Vec::new(),
            collector: PostingsCollector::new(MAX_INDEX_WORDS),
            mentions: MentionIndex::default(),
            meaning: vectors.map(DirectionCollector::new),
            budget: 0,
        }
    }

    fn add_tool(&mut self, tool: &ToolDocument<'_>) {
        let document = self.keys.len() as u32;
        self.keys.push(tool.key);
        self.budget = MAX_TOOL_BYTES;
        let name = self.add_text(NAME, tool.name);
        self.mentions.add_name(document, &name);
        let title = self.add_text(TITLE, tool.title);
        self.mentions.add_name(document, &title);
        let app = self.add_text(APP, tool.app_name);
        self.mentions.add_app(document, &app);
        for alias in &tool.aliases {
            let alias = TextAtoms::from_text(self.take_within_budget(alias));
            self.mentions.add_name(document, &alias);
        }
        self.add_text(DESCRIPTION, tool.description);
        for (phrase, tag) in tool.phrases.iter().take(MAX_PHRASES) {
            let field = self.collector.phrases_in(StemLanguage::from_tag(*tag));
            let phrase = self.add_text(field, phrase);
            self.mentions.add_phrase(document, &phrase);
        }
        for (name, description) in tool.parameters.iter().take(MAX_PARAMETERS) {
            self.add_text(PARAMETERS, name);
            self.add_text(PARAMETERS, description);
        }
        self.collector.close_tool();
        if let Some(meaning) = &mut self.meaning {
            meaning.close_tool();
        }
    }

    /// Adds a text to a field.
    fn add_text(&mut self, field: usize, text: &str) -> TextAtoms {
        let atoms = TextAtoms::from_text(self.take_within_budget(text));
        for (word, role) in atoms.search_words() {
            let telling = self.collector.add_word(field, word);
            if let (true, WordRole::Text, Some(meaning), Some(&weight)) =
                (telling, role, &mut self.meaning, MEANING.get(field))
            {
                meaning.add_word(word, weight);
            }
        }
        atoms
    }

    fn take_within_budget<'t>(&mut self, text: &'t str) -> &'t str {
        let taken = truncate_bytes(text, self.budget);
        self.budget -= taken.len();
        taken
    }

    fn finish(self, left_out: usize) -> ToolIndex {
        ToolIndex {
            keys: self.keys,
            postings: self.collector.into_postings(),
            mentions: self.mentions,
            meaning: self.meaning.map(|meaning| (meaning.vectors, meaning.directions)),
            left_out,
        }
    }
}

/// Collects directions, tool by tool.
struct DirectionCollector {
    vectors: Arc<WordVectors>,
    directions: QuantisedVectors,
    /// The sum for the current tool.
    sum: Vec<f32>,
    /// Tokens of words, so that each word is tokenized once.
    seen: HashMap<Box<str>, Box<[u32]>>,
}

impl DirectionCollector {
    fn new(vectors: Arc<WordVectors>) -> Self {
        let dimensions = vectors.dimensions();
        let directions = QuantisedVectors::new(dimensions);
        Self { vectors, directions, sum: vec![0.0; dimensions], seen: HashMap::new() }
    }

    fn add_word(&mut self, word: &str, weight: f32) {
        if !self.seen.contains_key(word) {
            self.seen.insert(word.into(), self.vectors.word_tokens(word).into());
        }
        if let Some(tokens) = self.seen.get(word) {
            self.vectors.add_tokens(tokens, weight, &mut self.sum);
        }
    }

    fn close_tool(&mut self) {
        self.directions.push(&mut self.sum);
        self.sum.fill(0.0);
    }
}
