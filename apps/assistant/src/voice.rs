//! Splits the streamed text of a model into sentences that can be spoken and shown, without Markdown.

/// Shorter sentences are joined with the next: `Dr.`, `1.`
const MIN_SENTENCE: usize = 8;
/// Longer sentences are split at a space, because spoken text is part of a URL.
pub const MAX_SENTENCE: usize = 400;

/// Splits streamed text into sentences.
#[derive(Debug, Default)]
pub struct SentenceSplitter(String);

impl SentenceSplitter {
    /// Adds text. Returns the sentences that are now complete.
    pub fn push(&mut self, words: &str) -> Vec<String> {
        self.0.push_str(words);
        let mut whole = Vec::new();
        while let Some(end) = sentence_end(&self.0) {
            let rest = self.0.split_off(end);
            let sentence = strip_markdown(&std::mem::replace(&mut self.0, rest));
            if !sentence.is_empty() {
                whole.push(sentence);
            }
        }
        whole
    }

    /// Returns the rest at the end of the text.
    pub fn finish(&mut self) -> Option<String> {
        let rest = strip_markdown(&std::mem::take(&mut self.0));
        (!rest.is_empty()).then_some(rest)
    }
}

/// The end of the first sentence, if it is certain.
fn sentence_end(text: &str) -> Option<usize> {
    let mut letters = 0;
    let mut space = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        letters += 1;
        let end = at + character.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        match character {
            '\n' if letters > MIN_SENTENCE => return Some(end),
            '。' | '！' | '？' => return Some(end),
            // Not inside 3.5, z.B. or example.com, and not before the next character is known.
            '.' | '!' | '?' | '…' if letters > MIN_SENTENCE && next.is_some_and(char::is_whitespace) => {
                return Some(end);
            }
            character if character.is_whitespace() => space = Some(end),
            _ => {}
        }
        if letters >= MAX_SENTENCE {
            return Some(space.unwrap_or(end));
        }
    }
    None
}

/// Removes Markdown, which a voice would read out and small displays cannot show.
pub fn strip_markdown(text: &str) -> String {
    let lines = text.lines().map(|line| strip_inline_marks(strip_line_mark(line.trim())));
    // Drops fences, rules and the line below a table header.
    let lines =
        lines.filter(|line| line.is_empty() || line.chars().any(char::is_alphanumeric) || !is_rule(line));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn is_rule(line: &str) -> bool {
    line.chars().all(|c| matches!(c, '-' | '=' | '_' | ' ' | ',' | ':' | '|'))
}

/// Removes the mark at the start of a line: heading, quote, bullet.
fn strip_line_mark(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>']).trim_start();
    ["- [ ] ", "- [x] ", "- ", "* ", "+ ", "• "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .unwrap_or(line)
}

/// Removes the marks inside a line: emphasis, code, links, table bars.
fn strip_inline_marks(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['*', '`', '[', '|', '_', '!']) {
        let (before, mark) = rest.split_at(at);
        text.push_str(before);
        let character = mark.chars().next().unwrap_or_default();
        rest = &mark[character.len_utf8()..];
        match character {
            '[' => match parse_link(rest) {
                Some((words, after)) => {
                    text.push_str(words);
                    rest = after;
                }
                None => text.push('['),
            },
            '|' => text.push_str(if text.is_empty() || rest.trim().is_empty() { "" } else { ", " }),
            // `snake_case` stays, `__bold__` and `_emphasis_` do not.
            '_' => {
                let inside = text.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
                text.push_str(if inside { "_" } else { "" });
            }
            '!' if rest.starts_with('[') && parse_link(&rest[1..]).is_some() => {}
            '!' => text.push('!'),
            // `2 * 3` stays.
            '*' if (text.is_empty() || text.ends_with(' ')) && (rest.is_empty() || rest.starts_with(' ')) => {
                text.push('*');
            }
            _ => {}
        }
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" , ", ", ")
}

/// The text of a link after its opening bracket, and the rest of the line.
fn parse_link(text: &str) -> Option<(&str, &str)> {
    let (words, rest) = text.split_once("](")?;
    let (_, after) = rest.split_once(')')?;
    (!words.contains('[')).then_some((words, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(pieces: &[&str]) -> Vec<String> {
        let mut sentences = SentenceSplitter::default();
        let mut all: Vec<String> = pieces.iter().flat_map(|piece| sentences.push(piece)).collect();
        all.extend(sentences.finish());
        all
    }

    #[test]
    fn the_first_sentence_is_there_before_the_second_is_written() {
        let mut sentences = SentenceSplitter::default();
        assert!(sentences.push("It is half past").is_empty());
        assert!(sentences.push(" three.").is_empty(), "it could be three.5");
        assert_eq!(sentences.push(" And"), ["It is half past three."]);
        assert_eq!(sentences.push(" then some"), [""; 0]);
        assert_eq!(sentences.finish().unwrap(), "And then some");
        assert_eq!(sentences.finish(), None);
    }

    #[test]
    fn points_inside_of_words_do_not_end_a_sentence() {
        assert_eq!(
            sentences(&["It costs 3.50 at example.com today. Really!"]),
            ["It costs 3.50 at example.com today.", "Really!"]
        );
        assert_eq!(sentences(&["Dr. Who is on the telephone now."]), ["Dr. Who is on the telephone now."]);
        assert_eq!(sentences(&["明日は晴れ。気温は20度。"]), ["明日は晴れ。", "気温は20度。"]);
        assert_eq!(sentences(&["first line is here\nsecond line"]), ["first line is here", "second line"]);
    }

    #[test]
    fn an_endless_sentence_is_cut_at_a_space() {
        let all = sentences(&["word ".repeat(200).as_str()]);
        assert!(all.len() > 1 && all.iter().all(|sentence| sentence.len() <= MAX_SENTENCE), "{all:?}");
        assert_eq!(sentences(&["x".repeat(MAX_SENTENCE * 2).as_str()]).len(), 2);
    }

    #[test]
    fn markdown_is_removed() {
        for (text, said) in [
            ("**Bold** and _soft_ and `code`", "Bold and soft and code"),
            ("# Title\n- one\n- two", "Title\none\ntwo"),
            ("See [the page](https://example.com/a_b).", "See the page."),
            ("![a cat](cat.png) sits", "a cat sits"),
            ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b\n1, 2"),
            ("2 * 3 is 6, in snake_case", "2 * 3 is 6, in snake_case"),
            ("```\nlet x;\n```", "let x;"),
            ("array[0] stays!", "array[0] stays!"),
        ] {
            assert_eq!(strip_markdown(text), said, "{text}");
        }
    }
}
