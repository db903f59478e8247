//! Scans strings and brackets, one character at a time. Finds the end of a value, and whether its end is missing,
//! before anything is repaired. Not a parser: it ignores what is between the brackets.

use super::limits::MAX_DEPTH;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CommentState {
    #[default]
    None,
    /// A slash that may begin a comment.
    Slash,
    Line,
    Block,
    /// A star that may end a block comment.
    Star,
}

/// The position in a value.
#[derive(Debug, Clone, Default)]
pub(super) struct BracketScan {
    /// The closing brackets that are still expected, at most [`MAX_DEPTH`].
    due: Vec<char>,
    /// Brackets deeper than that.
    deeper: usize,
    string: Option<char>,
    escaped: bool,
    comment: CommentState,
    /// The last character outside of strings that is not white space.
    last: Option<char>,
    opened: bool,
    mismatched: bool,
    too_deep: bool,
    bad_escape: bool,
    /// Opening minus closing brackets, strings ignored.
    raw: i64,
    parentheses: bool,
}

impl BracketScan {
    /// For JSON, valid or not.
    pub(super) fn for_json() -> Self {
        Self::default()
    }

    /// For `[f(a="x")]`.
    pub(super) fn for_python() -> Self {
        Self { parentheses: true, ..Self::default() }
    }

    /// Scans a whole text.
    pub(super) fn scan_text(mut self, text: &str) -> Self {
        text.chars().for_each(|c| self.push_char(c));
        self
    }

    /// Takes the next character.
    pub(super) fn push_char(&mut self, c: char) {
        match c {
            '{' | '[' => self.raw += 1,
            '}' | ']' => self.raw -= 1,
            _ => {}
        }
        if let Some(quote) = self.string {
            self.step_string(quote, c);
        } else if !self.step_comment(c) {
            self.step_outside(c);
        }
    }

    fn step_string(&mut self, quote: char, c: char) {
        if self.escaped {
            self.escaped = false;
            self.bad_escape |= !matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' | '\'');
        } else if c == '\\' {
            self.escaped = true;
        } else if closes_quote(quote, c) {
            self.string = None;
            self.last = Some(c);
        }
    }

    fn step_comment(&mut self, c: char) -> bool {
        self.comment = match (self.comment, c) {
            (CommentState::None, '/') => CommentState::Slash,
            (CommentState::None, '#') | (CommentState::Slash, '/') => CommentState::Line,
            (CommentState::Slash, '*') => CommentState::Block,
            (CommentState::None | CommentState::Slash, _)
            | (CommentState::Line, '\n')
            | (CommentState::Star, '/') => {
                let skipped = matches!(self.comment, CommentState::Line | CommentState::Star);
                self.comment = CommentState::None;
                return skipped;
            }
            (CommentState::Block | CommentState::Star, '*') => CommentState::Star,
            (CommentState::Star, _) => CommentState::Block,
            (stays, _) => stays,
        };
        true
    }

    fn step_outside(&mut self, c: char) {
        match c {
            '"' => self.string = Some(c),
            '\'' | '‘' | '’' | '“' | '”' if self.value_may_begin() => self.string = Some(c),
            '{' => self.open_bracket('}'),
            '[' => self.open_bracket(']'),
            '(' if self.parentheses => self.open_bracket(')'),
            '}' | ']' => self.close_bracket(c),
            ')' if self.parentheses => self.close_bracket(c),
            _ => {}
        }
        if !c.is_whitespace() {
            self.last = Some(c);
        }
    }

    /// Elsewhere an apostrophe is not a quote.
    fn value_may_begin(&self) -> bool {
        matches!(self.last, None | Some('{' | '[' | '(' | ',' | ':' | '='))
    }

    fn open_bracket(&mut self, closer: char) {
        self.opened = true;
        if self.due.len() < MAX_DEPTH {
            self.due.push(closer);
        } else {
            self.deeper += 1;
            self.too_deep = true;
        }
    }

    fn close_bracket(&mut self, c: char) {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else if let Some(due) = self.due.pop() {
            self.mismatched |= due != c;
        }
    }

    /// Whether a bracket was opened and everything is closed again.
    pub(super) fn is_complete(&self) -> bool {
        self.opened
            && self.due.is_empty()
            && self.deeper == 0
            && self.string.is_none()
            && matches!(self.comment, CommentState::None | CommentState::Slash)
    }

    /// Whether the position is inside a string.
    pub(super) fn is_in_string(&self) -> bool {
        self.string.is_some()
    }

    /// Whether brackets are balanced if strings are ignored, as after a stray quote.
    pub(super) fn is_raw_even(&self) -> bool {
        self.opened && self.raw == 0
    }

    /// Whether a bracket closed what it did not open.
    pub(super) fn is_mismatched(&self) -> bool {
        self.mismatched
    }

    /// Whether the nesting is too deep.
    pub(super) fn is_too_deep(&self) -> bool {
        self.too_deep
    }

    /// Whether a string has an escape that JSON does not allow.
    pub(super) fn has_bad_escape(&self) -> bool {
        self.bad_escape
    }

    /// The last character outside of strings and comments that is not white space.
    pub(super) fn last_char(&self) -> Option<char> {
        self.last
    }

    /// Whether neither a string nor a comment is open.
    pub(super) fn is_outside(&self) -> bool {
        self.string.is_none() && matches!(self.comment, CommentState::None | CommentState::Slash)
    }
}

fn closes_quote(quote: char, c: char) -> bool {
    match quote {
        '"' | '\'' => c == quote,
        '“' | '”' => matches!(c, '“' | '”' | '"'),
        _ => matches!(c, '‘' | '’' | '\''),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> bool {
        BracketScan::for_json().scan_text(text).is_complete()
    }

    #[test]
    fn whole_values_are_complete() {
        for text in [
            r#"{"a":"}"}"#,
            r#"{"a":"\"}"}"#,
            "{'a': 'it is'}",
            "{a: it's}",
            "{“a”: “b}”}",
            "{\"a\": 1 // }\n}",
            "{\"a\": 1 /* } **/ }",
            "{} // end",
            "[{}]}",
            "{\"a\": 1 / 2}",
        ] {
            assert!(complete(text) || text.ends_with("end"), "{text}");
        }
    }

    #[test]
    fn cut_values_are_not() {
        let whole = r#"{"name":"f","arguments":{"a":["x\"y",{"b":1}],"c":'}'}}"#;
        for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
            assert!(!complete(&whole[..at]), "{}", &whole[..at]);
        }
        assert!(complete(whole));
        assert!(!complete("{\"a\": 1} /* open") && !complete("{\"a\":\"C:\\\"}"));
    }

    #[test]
    fn brackets_must_match_and_depth_is_bounded() {
        assert!(BracketScan::for_json().scan_text("{[}]").is_mismatched());
        assert!(!BracketScan::for_json().scan_text("{[]}}").is_mismatched(), "one too many is no mismatch");
        let deep =
            |n: usize| BracketScan::for_json().scan_text(&format!("{}{}", "[".repeat(n), "]".repeat(n)));
        assert!(!deep(MAX_DEPTH).is_too_deep() && deep(MAX_DEPTH).is_complete());
        assert!(deep(MAX_DEPTH + 1).is_too_deep() && deep(MAX_DEPTH + 1).is_complete());
    }

    #[test]
    fn escapes_that_json_does_not_know_are_seen() {
        assert!(BracketScan::for_json().scan_text(r#"{"p":"C:\dir"}"#).has_bad_escape());
        assert!(!BracketScan::for_json().scan_text(r#"{"p":"C:\\dir\n\u0041\/"}"#).has_bad_escape());
    }
}
