//! Reasoning, and other text up to a known end.

use super::markers;

/// Reads text up to one of several ends.
#[derive(Debug)]
pub(super) struct ThoughtReader {
    ends: &'static [&'static str],
    /// A possible beginning of an end.
    held: String,
    /// Only white space so far.
    blank: bool,
}

/// The effect of a character.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ThoughtStep {
    /// Text that is not part of an end.
    More(String),
    /// The end. The end marker may itself open something and must be parsed again.
    Ended { again: &'static str },
}

impl ThoughtReader {
    pub(super) fn new(ends: &'static [&'static str]) -> Self {
        Self { ends, held: String::new(), blank: true }
    }

    /// Takes the next character.
    pub(super) fn push_char(&mut self, c: char) -> ThoughtStep {
        if self.blank && self.held.is_empty() && c.is_whitespace() {
            return ThoughtStep::More(String::new());
        }
        self.held.push(c);
        let mut free = String::new();
        while !self.held.is_empty() && !self.ends.iter().any(|end| end.starts_with(self.held.as_str())) {
            free.push(self.held.remove(0));
        }
        if let Some(end) = self.ends.iter().find(|end| **end == self.held) {
            let opens = matches!(*end, markers::HARMONY_START | markers::HARMONY_CHANNEL);
            return ThoughtStep::Ended { again: if opens { end } else { "" } };
        }
        self.blank &= free.is_empty();
        ThoughtStep::More(free)
    }

    /// The held text, at the end of a reply.
    pub(super) fn into_rest(self) -> String {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_held_back() {
        let mut thoughts = ThoughtReader::new(&["</think>"]);
        let shown: Vec<_> = "\n a</th<".chars().map(|c| thoughts.push_char(c)).collect();
        let shown: String =
            shown.iter().map(|step| if let ThoughtStep::More(text) = step { text } else { "" }).collect();
        assert_eq!(shown, "a</th");
        let ended = "/think>".chars().map(|c| thoughts.push_char(c)).last();
        assert_eq!(ended, Some(ThoughtStep::Ended { again: "" }));
    }
}
