//! Similarity of texts in constant space: the smallest hashes of their shingles.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::Value;

/// Hashes kept per text.
const SKETCH_SIZE: usize = 64;
/// Words per shingle.
const SHINGLE_WORDS: usize = 3;
/// A hash that more texts than this share says nothing about any of them.
const MAX_POSTINGS: usize = 64;

/// A sample of the shingles of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextSketch(BTreeSet<u64>);

impl TextSketch {
    /// The sketch of a text. Case and punctuation do not count.
    pub(crate) fn from_text(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut hashes = BTreeSet::new();
        for shingle in words.windows(SHINGLE_WORDS.min(words.len().max(1))) {
            insert_hash(&mut hashes, shingle);
        }
        Self(hashes)
    }

    /// The sketch of everything a definition says, except its name.
    pub(crate) fn from_definition(definition: &Value) -> Self {
        let mut text = String::new();
        if let Value::Object(members) = definition {
            for (name, value) in members.iter().filter(|(name, _)| *name != "name") {
                collect_text(name, value, &mut text);
            }
        }
        Self::from_text(&text)
    }

    /// Estimated share of common shingles, from 0 to 1. Two empty texts have nothing in common.
    pub(crate) fn similarity(&self, other: &Self) -> f64 {
        let union: BTreeSet<u64> = self.0.union(&other.0).copied().take(SKETCH_SIZE).collect();
        let common = union.iter().filter(|hash| self.0.contains(hash) && other.0.contains(hash)).count();
        if union.is_empty() { 0.0 } else { common as f64 / union.len() as f64 }
    }
}

fn insert_hash(hashes: &mut BTreeSet<u64>, shingle: &[&str]) {
    // The default hasher has fixed keys: the same text has the same sketch in every process.
    let mut hasher = DefaultHasher::new();
    shingle.hash(&mut hasher);
    hashes.insert(hasher.finish());
    if hashes.len() > SKETCH_SIZE {
        hashes.pop_last();
    }
}

fn collect_text(name: &str, value: &Value, text: &mut String) {
    text.extend([name, " "]);
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| collect_text(name, value, text)),
        Value::Array(items) => items.iter().for_each(|item| collect_text("", item, text)),
        Value::String(string) => text.extend([string, " "]),
        other => text.extend([other.to_string().as_str(), " "]),
    }
}

/// Finds similar texts without comparing every pair.
#[derive(Debug, Default)]
pub(crate) struct SketchIndex {
    sketches: Vec<TextSketch>,
    postings: HashMap<u64, Vec<usize>>,
}

impl SketchIndex {
    /// Adds a sketch; its number is the count of those added before.
    pub(crate) fn insert(&mut self, sketch: TextSketch) {
        let number = self.sketches.len();
        for hash in &sketch.0 {
            let posting = self.postings.entry(*hash).or_default();
            if posting.len() < MAX_POSTINGS {
                posting.push(number);
            }
        }
        self.sketches.push(sketch);
    }

    /// The most similar sketch that `wanted` allows, with its similarity; the first one of equals.
    pub(crate) fn nearest(
        &self,
        sketch: &TextSketch,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<(usize, f64)> {
        let mut candidates: BTreeSet<usize> = BTreeSet::new();
        for hash in &sketch.0 {
            candidates
                .extend(self.postings.get(hash).into_iter().flatten().filter(|number| wanted(**number)));
        }
        candidates
            .into_iter()
            .map(|number| (number, self.sketches[number].similarity(sketch)))
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "Sends an e-mail with a subject and a body to one or more recipients and returns its id.";

    #[test]
    fn similar_texts_have_similar_sketches() {
        let sketch = TextSketch::from_text(TEXT);
        assert!(sketch.similarity(&TextSketch::from_text(&TEXT.to_uppercase())) > 0.99);
        assert!(sketch.similarity(&TextSketch::from_text(&TEXT.replace("its id", "the id"))) > 0.6);
        assert!(sketch.similarity(&TextSketch::from_text("Reads the weather of a city.")) < 0.1);
        assert!(TextSketch::default().similarity(&TextSketch::default()) < 0.1);
    }

    #[test]
    fn the_index_finds_the_nearest_of_many() {
        let mut index = SketchIndex::default();
        for number in 0..500 {
            index.insert(TextSketch::from_text(&format!(
                "Tool number {number} does thing {number} for user {number}"
            )));
        }
        index.insert(TextSketch::from_text(TEXT));
        let (found, similarity) = index.nearest(&TextSketch::from_text(TEXT), |_| true).unwrap();
        assert!(found == 500 && similarity > 0.99);
        assert_eq!(index.nearest(&TextSketch::from_text(TEXT), |number| number != 500), None);
    }
}
