//! The shortlist from outside: results, picks, quality and speed.

#![cfg(test)]

mod bounds;
mod picks;
mod quality;
mod searches;
mod speed;
mod wordllama;

use std::{path::PathBuf, sync::Arc, time::Duration};

use toolyard_agent::shortlist::{ToolDocument, ToolIndex, vectors::WordVectors};

/// The variable with a directory of word vectors, for tests that need them.
const VECTORS: &str = "TOOLYARD_WORD_VECTORS";

/// The word vectors. If there are none, prints how to get them.
fn vectors() -> Option<Arc<WordVectors>> {
    let usual = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/word-vectors"));
    let directory = std::env::var_os(VECTORS).map_or_else(usual, PathBuf::from);
    if !directory.join("model.safetensors").exists() {
        eprintln!(
            "skipped: no word vectors in {}. Take l2_supercat_256.safetensors and l2_supercat_tokenizer_config.json \
             out of the PyPI wheel wordllama 0.4.0.post1, and put them there as model.safetensors and \
             tokenizer.json, or name another directory by {VECTORS}.",
            directory.display()
        );
        return None;
    }
    Some(Arc::new(WordVectors::open(&directory).unwrap()))
}

/// Time since some moment.
fn clock() -> impl FnMut() -> Duration {
    let start = tokio::time::Instant::now();
    move || start.elapsed()
}

/// A small view: name, app, description, phrases.
type Sample = (&'static str, &'static str, &'static str, &'static [(&'static str, Option<&'static str>)]);
const SAMPLES: [Sample; 5] = [
    (
        "add_task",
        "Taskpad",
        "Adds a task to a list.",
        &[("remind me to", None), ("erinnere mich", Some("de"))],
    ),
    ("get_forecast", "Skyline", "Weather for the next days.", &[("明日の天気", Some("ja"))]),
    ("set_light", "Hearth Home", "Switches lights on or off.", &[("Licht aus", Some("de"))]),
    ("getUserInfoV2", "Accounts", "Details of a person.", &[]),
    ("lock_door", "Hearth Home", "Locks or unlocks a door.", &[]),
];

fn document(key: usize, (name, app_name, description, phrases): Sample) -> ToolDocument<'static> {
    ToolDocument { key, name, app_name, description, phrases: phrases.to_vec(), ..ToolDocument::default() }
}

/// The samples. The key of each is ten times its position.
fn sample() -> ToolIndex {
    ToolIndex::build((0..).zip(SAMPLES).map(|(at, tool)| document(at * 10, tool)), None)
}
