//! The shortlist from outside: results, picks, bounds and speed.

#![cfg(test)]

mod bounds;
mod picks;
mod searches;
mod speed;
mod wordllama;

use std::{sync::Arc, time::Duration};

use toolyard_agent::shortlist::{ToolDocument, ToolIndex, vectors::WordVectors};
use toolyard_testkit::word_vectors_folder;

/// The word vectors, if this machine has them.
fn vectors() -> Option<Arc<WordVectors>> {
    word_vectors_folder().map(|folder| Arc::new(WordVectors::open(&folder).unwrap()))
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
