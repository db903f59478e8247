//! What a question mentions explicitly: a tool, an app, or an activation phrase, in any spelling.

use std::collections::HashMap;

use super::{language::StemLanguage, words::TextAtoms};

/// A mention that matches more tools than this does not distinguish them (`search`, `list`).
const MAX_SHARED: usize = 8;
/// Longest mention, in words, or in characters for scripts without spaces.
const MAX_ATOMS: usize = 24;

/// What was mentioned, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mention {
    /// The app that the tool belongs to.
    App,
    /// An activation phrase of the tool.
    Phrase,
    /// The tool itself: its name, an alias or its title.
    Tool,
}

/// Everything that can be mentioned, by its letters only.
#[derive(Debug, Default)]
pub(super) struct MentionIndex {
    /// Names and phrases, with their tools.
    names: HashMap<Box<str>, Vec<(u32, Mention)>>,
    /// Apps by name, and the tools of each.
    apps: HashMap<Box<str>, u32>,
    app_tools: Vec<Vec<u32>>,
    /// Longest key, in bytes.
    longest: usize,
}

impl MentionIndex {
    /// Adds a name of a tool.
    pub(super) fn add_name(&mut self, tool: u32, name: &TextAtoms) {
        self.add(tool, name, Mention::Tool);
    }

    /// Adds a phrase of a tool.
    pub(super) fn add_phrase(&mut self, tool: u32, phrase: &TextAtoms) {
        self.add(tool, phrase, Mention::Phrase);
    }

    fn add(&mut self, tool: u32, atoms: &TextAtoms, mention: Mention) {
        let Some(key) = self.mention_key(atoms) else { return };
        let targets = self.names.entry(key).or_default();
        // One more than the limit is enough to know that there are too many.
        if targets.len() <= MAX_SHARED && !targets.contains(&(tool, mention)) {
            targets.push((tool, mention));
        }
    }

    /// Adds a tool to the app of this name. Returns the number of the app.
    pub(super) fn add_app(&mut self, tool: u32, name: &TextAtoms) -> u32 {
        let all = name.squeezed_range(0..name.len());
        let app = match self.apps.get(all) {
            Some(&app) => app,
            None => {
                let app = self.app_tools.len() as u32;
                self.app_tools.push(Vec::new());
                self.longest = self.longest.max(all.len());
                self.apps.insert(all.into(), app);
                app
            }
        };
        self.app_tools[app as usize].push(tool);
        app
    }

    /// The letters of a name, unless it is a common word.
    fn mention_key(&mut self, atoms: &TextAtoms) -> Option<Box<str>> {
        let all = atoms.squeezed_range(0..atoms.len());
        if !is_distinctive(atoms.len(), all) || atoms.len() > MAX_ATOMS {
            return None;
        }
        self.longest = self.longest.max(all.len());
        Some(all.into())
    }

    /// The tools that a text mentions, each once per kind of mention.
    pub(super) fn find_in(&self, text: &TextAtoms) -> Vec<(u32, Mention)> {
        let mut found = Vec::new();
        for start in 0..text.len() {
            for end in start + 1..=text.len().min(start + MAX_ATOMS) {
                let letters = text.squeezed_range(start..end);
                if letters.len() > self.longest {
                    break;
                }
                if let Some(targets) = self.names.get(letters).filter(|targets| targets.len() <= MAX_SHARED) {
                    found.extend(targets);
                }
                if let Some(&app) = self.apps.get(letters).filter(|_| is_distinctive(end - start, letters)) {
                    let tools = self.app_tools[app as usize].iter();
                    found.extend(tools.map(|&tool| (tool, Mention::App)));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The tools of each app.
    pub(super) fn by_app(&self) -> &[Vec<u32>] {
        &self.app_tools
    }

    /// Approximate memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let names: usize =
            self.names.iter().map(|(key, targets)| key.len() + 48 + targets.capacity() * 8).sum();
        names + self.app_tools.iter().map(|tools| tools.capacity() * 4 + 72).sum::<usize>()
    }
}

/// Whether these letters are more than a common word.
fn is_distinctive(atoms: usize, letters: &str) -> bool {
    atoms > 1 || (letters.chars().nth(1).is_some() && !StemLanguage::English.is_stop_word(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> MentionIndex {
        let mut mentions = MentionIndex::default();
        mentions.add_name(0, &TextAtoms::from_text("get_userInfo"));
        mentions.add_phrase(1, &TextAtoms::from_text("remind me to"));
        mentions.add_phrase(2, &TextAtoms::from_text("次の電車"));
        mentions.add_phrase(2, &TextAtoms::from_text("prochain métro"));
        mentions.add_app(1, &TextAtoms::from_text("Task Pad"));
        mentions.add_app(3, &TextAtoms::from_text("Task Pad"));
        mentions
    }

    fn named(text: &str) -> Vec<(u32, Mention)> {
        sample().find_in(&TextAtoms::from_text(text))
    }

    #[test]
    fn tools_are_named_in_any_spelling() {
        for text in
            ["call get_user_info now", "getUserInfo", "GET-USER-INFO!", "getuserinfo", "get user info"]
        {
            assert_eq!(named(text), [(0, Mention::Tool)], "{text}");
        }
        for text in ["get user information", "target_user_info", "get info user", ""] {
            assert!(named(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn phrases_are_found_in_their_script() {
        assert_eq!(named("Please remind me to call"), [(1, Mention::Phrase)]);
        assert_eq!(named("新宿への次の電車は?"), [(2, Mention::Phrase)]);
        assert_eq!(named("Le prochain metro"), [(2, Mention::Phrase)]);
    }

    #[test]
    fn an_app_stands_for_all_its_tools() {
        assert_eq!(named("open taskpad"), [(1, Mention::App), (3, Mention::App)]);
        assert_eq!(sample().by_app(), [vec![1, 3]]);
    }

    #[test]
    fn common_words_are_not_mentions() {
        let mut mentions = MentionIndex::default();
        mentions.add_name(0, &TextAtoms::from_text("do"));
        mentions.add_name(1, &TextAtoms::from_text("x"));
        mentions.add_app(0, &TextAtoms::from_text("Do"));
        mentions.add_app(1, &TextAtoms::from_text(""));
        for tool in 0..=MAX_SHARED as u32 {
            mentions.add_name(tool, &TextAtoms::from_text("search"));
        }
        mentions.add_name(7, &TextAtoms::from_text(&"very ".repeat(MAX_ATOMS + 1)));
        let text = format!("do x search {}", "very ".repeat(MAX_ATOMS + 1));
        assert!(mentions.find_in(&TextAtoms::from_text(&text)).is_empty());
    }

    #[test]
    fn the_bound_of_sharing_is_exact() {
        let mut mentions = MentionIndex::default();
        for tool in 0..MAX_SHARED as u32 {
            mentions.add_name(tool, &TextAtoms::from_text("search"));
        }
        assert_eq!(mentions.find_in(&TextAtoms::from_text("search it")).len(), MAX_SHARED);
    }
}
