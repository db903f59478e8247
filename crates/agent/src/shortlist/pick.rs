//! The list of tools that a model is offered in one step.

use std::collections::{HashMap, HashSet};

use super::{Mention, ToolIndex, ToolQuery, top::top_documents};

/// How many tools a model is offered by default.
pub const DEFAULT_LIMIT: usize = 24;

/// Picks the tools for one step. Returns keys in the order of the view, so that equal picks make equal prompts.
///
/// If there are at most `limit` tools, all are picked. Otherwise, in this order:
/// 1. tools that were `used` in the conversation (oldest first), the last ones first, at most `limit`;
/// 2. tools that the question mentions by name or by an activation phrase;
/// 3. the best tools of an app that the question mentions, up to a third of the list for each app;
/// 4. the tools with the best scores;
/// 5. one tool of each app in turn, so that the model knows what is available.
///
/// Used tools never take more than half of the list from the others. Instead the list grows, to one and a half times
/// the limit at most.
pub fn pick_tools(index: &ToolIndex, query: &ToolQuery<'_>, used: &[usize], limit: usize) -> Vec<usize> {
    if index.len() <= limit {
        return index.keys.clone();
    }
    let mut picked = PickedTools { taken: vec![false; index.len()], room: limit };
    picked.take_used(index, used);
    picked.room = picked.room.max(limit.div_ceil(2));
    let ranking = index.rank_tools(query);
    let by_score = |documents: &mut Vec<u32>| {
        documents.sort_by(|&a, &b| ranking.scores[b as usize].total_cmp(&ranking.scores[a as usize]));
    };
    for strength in [Mention::Tool, Mention::Phrase] {
        let named = ranking.mentions.iter().filter(|(_, mention)| *mention == strength);
        let mut named: Vec<u32> = named.map(|(document, _)| *document).collect();
        by_score(&mut named);
        picked.take_documents(named);
    }
    let of_apps = ranking.mentions.iter().filter(|(_, mention)| *mention == Mention::App);
    let of_apps: HashSet<u32> = of_apps.map(|(document, _)| *document).collect();
    for tools in index.mentions.by_app().iter().filter(|tools| of_apps.contains(&tools[0])) {
        let mut tools = tools.clone();
        by_score(&mut tools);
        tools.truncate(limit.div_ceil(3));
        picked.take_documents(tools);
    }
    picked.take_documents(top_documents(&ranking.scores, picked.room + picked.picked_count()));
    picked.take_one_of_each(index.mentions.by_app());
    picked.picked_keys(index)
}

struct PickedTools {
    taken: Vec<bool>,
    /// How many tools can still be picked.
    room: usize,
}

impl PickedTools {
    /// Picks documents while there is room.
    fn take_documents(&mut self, documents: impl IntoIterator<Item = u32>) {
        for document in documents {
            if self.room == 0 {
                return;
            }
            let taken = &mut self.taken[document as usize];
            self.room -= usize::from(!*taken);
            *taken = true;
        }
    }

    fn take_used(&mut self, index: &ToolIndex, used: &[usize]) {
        // Later entries win, so each key has the position of its last use.
        let ages: HashMap<usize, usize> = used.iter().copied().zip((0..used.len()).rev()).collect();
        let known =
            (0..).zip(&index.keys).filter_map(|(document, key)| ages.get(key).map(|age| (*age, document)));
        let mut known: Vec<(usize, u32)> = known.collect();
        known.sort_unstable();
        self.take_documents(known.into_iter().map(|(_, document)| document));
    }

    fn take_one_of_each(&mut self, apps: &[Vec<u32>]) {
        let longest = apps.iter().map(Vec::len).max().unwrap_or_default();
        for round in 0..longest {
            if self.room == 0 {
                return;
            }
            self.take_documents(apps.iter().filter_map(|tools| tools.get(round).copied()));
        }
    }

    fn picked_count(&self) -> usize {
        self.taken.iter().filter(|taken| **taken).count()
    }

    fn picked_keys(&self, index: &ToolIndex) -> Vec<usize> {
        index.keys.iter().zip(&self.taken).filter(|(_, taken)| **taken).map(|(key, _)| *key).collect()
    }
}
