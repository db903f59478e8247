//! The index of the tools of one frozen view. Built as a whole, then only read.

use std::{collections::HashMap, fmt, sync::Arc};

use super::{
    MAX_INDEX_WORDS, MAX_PARAMETERS, MAX_PHRASES, MAX_TOOL_BYTES, MAX_TOOLS, ToolDocument, cut,
    language::Language,
    mention::Mentions,
    postings::{APP, Collector, DESCRIPTION, NAME, PARAMETERS, PHRASES, Postings, TITLE},
    vectors::{Directions, WordVectors},
    words::{Atoms, Role},
};

/// What a word of each field adds to the direction of a tool, in the order of the fields.
const MEANING: [f32; PHRASES + 1] = [3.0, 3.0, 0.5, 2.0, 1.0, 1.0];

/// The tools of a view, ready to be searched.
pub struct ToolIndex {
    /// Keys by document; documents are numbered as they came.
    pub(super) keys: Vec<usize>,
    pub(super) postings: Postings,
    pub(super) mentions: Mentions,
    pub(super) meaning: Option<(Arc<WordVectors>, Directions)>,
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
    /// Reads all tools, in the order in which they will be shown. With `vectors`, meaning counts beside words.
    ///
    /// Takes some 15 to 60 µs a tool of the processor's time: for large views, not a thing for an async worker thread.
    pub fn build<'a>(
        tools: impl IntoIterator<Item = ToolDocument<'a>>,
        vectors: Option<Arc<WordVectors>>,
    ) -> Self {
        let mut builder = Builder::new(vectors);
        let mut tools = tools.into_iter();
        tools.by_ref().take(MAX_TOOLS).for_each(|tool| builder.tool(&tool));
        builder.finish(tools.count())
    }

    /// How many tools are in it.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many tools came after [`MAX_TOOLS`] and cannot be found.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Memory that it holds, in bytes, roughly; shared vectors of words aside.
    pub fn bytes(&self) -> usize {
        let meaning = self.meaning.as_ref().map_or(0, |(_, directions)| directions.bytes());
        self.keys.len() * size_of::<usize>() + self.postings.bytes() + self.mentions.bytes() + meaning
    }
}

struct Builder {
    keys: Vec<usize>,
    collector: Collector,
    mentions: Mentions,
    meaning: Option<Meaning>,
    /// Bytes of text that the tool under way may still bring.
    budget: usize,
}

impl Builder {
    fn new(vectors: Option<Arc<WordVectors>>) -> Self {
        Self {
            keys: Vec::new(),
            collector: Collector::new(MAX_INDEX_WORDS),
            mentions: Mentions::default(),
            meaning: vectors.map(Meaning::new),
            budget: 0,
        }
    }

    fn tool(&mut self, tool: &ToolDocument<'_>) {
        let document = self.keys.len() as u32;
        self.keys.push(tool.key);
        self.budget = MAX_TOOL_BYTES;
        let name = self.text(NAME, tool.name);
        self.mentions.name(document, &name);
        let title = self.text(TITLE, tool.title);
        self.mentions.name(document, &title);
        let app = self.text(APP, tool.app_name);
        self.mentions.app(document, &app);
        for alias in &tool.aliases {
            let alias = Atoms::of(self.take(alias));
            self.mentions.name(document, &alias);
        }
        self.text(DESCRIPTION, tool.description);
        for (phrase, tag) in tool.phrases.iter().take(MAX_PHRASES) {
            let field = self.collector.phrases_in(Language::of_tag(*tag));
            let phrase = self.text(field, phrase);
            self.mentions.phrase(document, &phrase);
        }
        for (name, description) in tool.parameters.iter().take(MAX_PARAMETERS) {
            self.text(PARAMETERS, name);
            self.text(PARAMETERS, description);
        }
        self.collector.close();
        if let Some(meaning) = &mut self.meaning {
            meaning.close();
        }
    }

    /// Reads a text into a field.
    fn text(&mut self, field: usize, text: &str) -> Atoms {
        let atoms = Atoms::of(self.take(text));
        for (word, role) in atoms.words() {
            let telling = self.collector.word(field, word);
            if let (true, Role::Text, Some(meaning), Some(&weight)) =
                (telling, role, &mut self.meaning, MEANING.get(field))
            {
                meaning.word(word, weight);
            }
        }
        atoms
    }

    fn take<'t>(&mut self, text: &'t str) -> &'t str {
        let taken = cut(text, self.budget);
        self.budget -= taken.len();
        taken
    }

    fn finish(self, left_out: usize) -> ToolIndex {
        ToolIndex {
            keys: self.keys,
            postings: self.collector.finish(),
            mentions: self.mentions,
            meaning: self.meaning.map(|meaning| (meaning.vectors, meaning.directions)),
            left_out,
        }
    }
}

/// Collects directions, tool by tool.
struct Meaning {
    vectors: Arc<WordVectors>,
    directions: Directions,
    /// The tool under way.
    sum: Vec<f32>,
    /// Tokens of words, so that each is taken apart once.
    seen: HashMap<Box<str>, Box<[u32]>>,
}

impl Meaning {
    fn new(vectors: Arc<WordVectors>) -> Self {
        let dimensions = vectors.dimensions();
        let directions = Directions::new(dimensions);
        Self { vectors, directions, sum: vec![0.0; dimensions], seen: HashMap::new() }
    }

    fn word(&mut self, word: &str, weight: f32) {
        if !self.seen.contains_key(word) {
            self.seen.insert(word.into(), self.vectors.tokens(word).into());
        }
        if let Some(tokens) = self.seen.get(word) {
            self.vectors.add(tokens, weight, &mut self.sum);
        }
    }

    fn close(&mut self) {
        self.directions.push(&mut self.sum);
        self.sum.fill(0.0);
    }
}
