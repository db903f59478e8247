//! Splits text into pages for small displays, by their number of lines and their width.

use std::time::Duration;

use serde::Deserialize;
use toolyard_app_sdk::Capabilities;

/// Most pages of one answer. More is not readable on glasses.
pub const MAX_PAGES: usize = 20;
/// Lines of a display that does not report them.
const LINES: usize = 5;
/// Columns of a display that does not report its width.
const COLUMNS: usize = 30;
/// Smallest and largest plausible width of a letter, in pixels. A letter is about half as wide as a line is high.
const LETTER: (u32, u32) = (16, 21);

/// The size of a display in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenSize {
    /// Lines per page.
    pub lines: usize,
    /// Letters per line; wide ones count twice.
    pub columns: usize,
}

impl Default for ScreenSize {
    fn default() -> Self {
        Self { lines: LINES, columns: COLUMNS }
    }
}

impl ScreenSize {
    /// The display size of glasses.
    pub fn from_capabilities(glasses: Option<&Capabilities>) -> Self {
        let Some(display) = glasses.and_then(|glasses| glasses.display.as_ref()) else {
            return Self::default();
        };
        let lines = display.max_text_lines.filter(|lines| *lines > 0).map_or(LINES, |lines| lines as usize);
        let columns = display.resolution.as_ref().map_or(COLUMNS, |resolution| {
            let line_height = resolution.height / u32::try_from(lines).unwrap_or(1).max(1);
            (resolution.width / (line_height / 2).clamp(LETTER.0, LETTER.1)) as usize
        });
        Self { lines, columns: columns.max(8) }
    }

    /// Splits a text into pages. Words are broken only if they do not fit on a line.
    pub fn split_pages(&self, text: &str) -> Vec<String> {
        let lines: Vec<String> = text.lines().flat_map(|line| self.wrap_text(line)).collect();
        let mut pages: Vec<String> = lines
            .chunks(self.lines.max(1))
            .map(|page| page.join("\n").trim_matches('\n').to_owned())
            .filter(|page| !page.trim().is_empty())
            .collect();
        if pages.len() > MAX_PAGES {
            pages.truncate(MAX_PAGES);
            if let Some(last) = pages.last_mut() {
                last.push_str(" ...");
            }
        }
        pages
    }

    fn wrap_text(&self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut line, mut width) = (String::new(), 0);
        for word in text.split_whitespace() {
            for piece in self.split_word(word) {
                let needs = text_columns(piece);
                if width > 0 && width + 1 + needs > self.columns {
                    lines.push(std::mem::take(&mut line));
                    width = 0;
                }
                if width > 0 {
                    line.push(' ');
                    width += 1;
                }
                line.push_str(piece);
                width += needs;
            }
        }
        lines.push(line);
        lines
    }

    /// Splits a word that is wider than a line. In scripts without spaces, most words are.
    fn split_word<'a>(&self, word: &'a str) -> Vec<&'a str> {
        let (mut pieces, mut start, mut width) = (Vec::new(), 0, 0);
        for (at, letter) in word.char_indices() {
            let needs = char_columns(letter);
            if width + needs > self.columns {
                pieces.push(&word[start..at]);
                (start, width) = (at, 0);
            }
            width += needs;
        }
        pieces.push(&word[start..]);
        pieces
    }
}

fn text_columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

fn char_columns(letter: char) -> usize {
    let wide = matches!(letter, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}');
    if wide { 2 } else { 1 }
}

/// How long a page is shown, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadingTime {
    /// The minimum.
    pub least_ms: u64,
    /// The time per letter.
    pub letter_ms: u64,
    /// The maximum. The platform clears the view of an app that is not in front after 10 s.
    pub most_ms: u64,
}

impl Default for ReadingTime {
    fn default() -> Self {
        Self { least_ms: 2_500, letter_ms: 60, most_ms: 8_000 }
    }
}

impl ReadingTime {
    /// How long this page is shown.
    pub fn display_time(&self, page: &str) -> Duration {
        let letters = u64::try_from(page.chars().count()).unwrap_or(u64::MAX);
        let wanted = self.least_ms.saturating_add(self.letter_ms.saturating_mul(letters));
        Duration::from_millis(wanted.min(self.most_ms))
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::device::find_profile;

    use super::*;

    fn of(model: &str) -> ScreenSize {
        ScreenSize::from_capabilities(Some(&find_profile(model).unwrap()))
    }

    #[test]
    fn known_glasses_have_their_real_display_size() {
        assert_eq!(of("Even Realities G1"), ScreenSize { lines: 5, columns: 32 });
        assert_eq!(of("Vuzix Z100"), ScreenSize { lines: 7, columns: 30 });
        assert_eq!(ScreenSize::from_capabilities(None), ScreenSize::default());
    }

    #[test]
    fn the_same_text_has_fewer_pages_on_a_larger_display() {
        let text = "word ".repeat(60);
        let (g1, z100) = (of("Even Realities G1").split_pages(&text), of("Vuzix Z100").split_pages(&text));
        assert_eq!((g1.len(), z100.len()), (2, 2));
        assert_eq!((g1[0].lines().count(), z100[0].lines().count()), (5, 7));
        for page in g1.iter().chain(&z100) {
            assert!(page.lines().all(|line| text_columns(line) <= 32), "{page}");
        }
        let words = |pages: &[String]| pages.join(" ").split_whitespace().count();
        assert_eq!((words(&g1), words(&z100)), (60, 60), "nothing is lost");
    }

    #[test]
    fn words_stay_whole_unless_they_do_not_fit() {
        let screen = ScreenSize { lines: 2, columns: 8 };
        assert_eq!(screen.split_pages("one two three\n\nfour"), ["one two\nthree", "four"]);
        assert_eq!(screen.split_pages("Donaudampfschiff"), ["Donaudam\npfschiff"]);
        assert_eq!(screen.split_pages("明日の天気は晴れ"), ["明日の天\n気は晴れ"]);
        assert!(screen.split_pages(" \n ").is_empty());
    }

    #[test]
    fn pages_are_limited() {
        let pages = ScreenSize { lines: 1, columns: 8 }.split_pages(&"word ".repeat(1_000));
        assert_eq!(pages.len(), MAX_PAGES);
        assert!(pages[MAX_PAGES - 1].ends_with(" ..."));
    }

    #[test]
    fn a_page_is_shown_as_long_as_reading_takes() {
        let reading = ReadingTime::default();
        assert_eq!(reading.display_time(""), Duration::from_millis(2_500));
        assert_eq!(reading.display_time(&"x".repeat(50)), Duration::from_millis(5_500));
        assert_eq!(reading.display_time(&"x".repeat(5_000)), Duration::from_millis(8_000));
    }
}
