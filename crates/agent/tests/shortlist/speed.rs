//! Speed. `cargo test --release -p toolyard-agent --test shortlist speed -- --ignored --nocapture`

use std::time::Duration;

use toolyard_agent::shortlist::{DEFAULT_LIMIT, ToolDocument, ToolIndex, ToolQuery, pick_tools};

use crate::{clock, vectors};

/// A simple random source.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Words from a vocabulary with few frequent words, as in any language.
    fn words(&mut self, count: usize) -> String {
        let word = |dice: &mut Self| {
            let rank = dice.below(20_000) * dice.below(20_000) / 20_000;
            let syllables = ["a", "lo", "m", "te", "r", "s", "ve", "d", "p", "i"];
            rank.to_string().bytes().map(|digit| syllables[usize::from(digit - b'0')]).collect::<String>()
        };
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}

struct Owned {
    name: String,
    app: String,
    description: String,
    parameters: Vec<(String, String)>,
    phrases: Vec<String>,
}

fn tools(count: usize, dice: &mut Dice) -> Vec<Owned> {
    let tool = |at: usize| Owned {
        name: dice.words(3).replace(' ', "_"),
        app: format!("App {}", at / 12),
        description: dice.words(25),
        parameters: (0..4).map(|_| (dice.words(1), dice.words(7))).collect(),
        phrases: (0..3).map(|_| dice.words(3)).collect(),
    };
    (0..count).map(tool).collect()
}

fn document((key, tool): (usize, &Owned)) -> ToolDocument<'_> {
    let phrases = ["en", "de", "es"].iter().zip(&tool.phrases);
    ToolDocument {
        key,
        name: &tool.name,
        app_name: &tool.app,
        description: &tool.description,
        parameters: tool.parameters.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect(),
        phrases: phrases.map(|(tag, phrase)| (phrase.as_str(), Some(*tag))).collect(),
        ..ToolDocument::default()
    }
}

#[test]
#[ignore = "measures; run it in release"]
fn speed_of_building_and_searching() {
    for count in [150, 5_000, 50_000] {
        let mut dice = Dice(7);
        let tools = tools(count, &mut dice);
        for vectors in [None, vectors()] {
            let with = if vectors.is_some() { "with" } else { "without" };
            let mut now = clock();
            let start = now();
            let index = ToolIndex::build(tools.iter().enumerate().map(document), vectors);
            let built = now() - start;
            println!(
                "{count} tools {with} vectors: built in {built:.1?}, {} KiB",
                index.memory_bytes() / 1024
            );
            for words in [12, 60] {
                let mut times: Vec<Duration> = (0..1_000)
                    .map(|_| {
                        let (text, recent) = (dice.words(words), dice.words(80));
                        let query = ToolQuery { text: &text, recent: vec![&recent] };
                        // The best of three, because other programs run on the machine.
                        let mut once = || {
                            let start = now();
                            assert_eq!(
                                pick_tools(&index, &query, &[3, 5], DEFAULT_LIMIT).len(),
                                DEFAULT_LIMIT
                            );
                            now() - start
                        };
                        once().min(once()).min(once())
                    })
                    .collect();
                times.sort_unstable();
                let [median, p95, worst] = [500, 950, 999].map(|at| times[at].as_micros());
                println!("  {words} words: median {median} µs, p95 {p95} µs, worst {worst} µs");
            }
        }
    }
}
