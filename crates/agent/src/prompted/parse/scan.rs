//! Walks strings and brackets, one character at a time. Says where a value ends and whether something at its end is
//! missing, before anybody repairs anything. Not a parser: what stands between the brackets is not its business.

use super::limits::MAX_DEPTH;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Comment {
    #[default]
    None,
    /// A slash that may begin one.
    Slash,
    Line,
    Block,
    /// A star in a block that may end it.
    Star,
}

/// Where in a value we are.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    /// Brackets that must still come, at most [`MAX_DEPTH`] of them.
    due: Vec<char>,
    /// Brackets deeper than that.
    deeper: usize,
    string: Option<char>,
    escaped: bool,
    comment: Comment,
    /// The last character that counts, outside of strings.
    last: Option<char>,
    opened: bool,
    mismatched: bool,
    too_deep: bool,
    bad_escape: bool,
    /// Opening minus closing brackets, strings ignored.
    raw: i64,
    parentheses: bool,
}

impl Scan {
    /// For JSON, well written or not.
    pub(super) fn json() -> Self {
        Self::default()
    }

    /// For `[f(a="x")]`.
    pub(super) fn python() -> Self {
        Self { parentheses: true, ..Self::default() }
    }

    /// All of a text.
    pub(super) fn of(mut self, text: &str) -> Self {
        text.chars().for_each(|c| self.step(c));
        self
    }

    /// The next character.
    pub(super) fn step(&mut self, c: char) {
        match c {
            '{' | '[' => self.raw += 1,
            '}' | ']' => self.raw -= 1,
            _ => {}
        }
        if let Some(quote) = self.string {
            self.in_string(quote, c);
        } else if !self.in_comment(c) {
            self.outside(c);
        }
    }

    fn in_string(&mut self, quote: char, c: char) {
        if self.escaped {
            self.escaped = false;
            self.bad_escape |= !matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' | '\'');
        } else if c == '\\' {
            self.escaped = true;
        } else if closes(quote, c) {
            self.string = None;
            self.last = Some(c);
        }
    }

    fn in_comment(&mut self, c: char) -> bool {
        self.comment = match (self.comment, c) {
            (Comment::None, '/') => Comment::Slash,
            (Comment::None, '#') | (Comment::Slash, '/') => Comment::Line,
            (Comment::Slash, '*') => Comment::Block,
            (Comment::None | Comment::Slash, _) | (Comment::Line, '\n') | (Comment::Star, '/') => {
                let skipped = matches!(self.comment, Comment::Line | Comment::Star);
                self.comment = Comment::None;
                return skipped;
            }
            (Comment::Block | Comment::Star, '*') => Comment::Star,
            (Comment::Star, _) => Comment::Block,
            (stays, _) => stays,
        };
        true
    }

    fn outside(&mut self, c: char) {
        match c {
            '"' => self.string = Some(c),
            '\'' | '‘' | '’' | '“' | '”' if self.value_may_begin() => self.string = Some(c),
            '{' => self.open('}'),
            '[' => self.open(']'),
            '(' if self.parentheses => self.open(')'),
            '}' | ']' => self.close(c),
            ')' if self.parentheses => self.close(c),
            _ => {}
        }
        if !c.is_whitespace() {
            self.last = Some(c);
        }
    }

    /// An apostrophe elsewhere is one, not a quote.
    fn value_may_begin(&self) -> bool {
        matches!(self.last, None | Some('{' | '[' | '(' | ',' | ':' | '='))
    }

    fn open(&mut self, closer: char) {
        self.opened = true;
        if self.due.len() < MAX_DEPTH {
            self.due.push(closer);
        } else {
            self.deeper += 1;
            self.too_deep = true;
        }
    }

    fn close(&mut self, c: char) {
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
            && matches!(self.comment, Comment::None | Comment::Slash)
    }

    /// Whether we are inside of a string.
    pub(super) fn is_in_string(&self) -> bool {
        self.string.is_some()
    }

    /// Whether brackets are even when strings are not believed: so it looks after a stray quote.
    pub(super) fn is_raw_even(&self) -> bool {
        self.opened && self.raw == 0
    }

    /// Whether a bracket closed what it did not open.
    pub(super) fn is_mismatched(&self) -> bool {
        self.mismatched
    }

    /// Whether it was nested too deep.
    pub(super) fn is_too_deep(&self) -> bool {
        self.too_deep
    }

    /// Whether a string has an escape that JSON does not know.
    pub(super) fn has_bad_escape(&self) -> bool {
        self.bad_escape
    }

    /// The last character that counts, outside of strings and comments.
    pub(super) fn last(&self) -> Option<char> {
        self.last
    }

    /// Whether neither a string nor a comment is open.
    pub(super) fn is_outside(&self) -> bool {
        self.string.is_none() && matches!(self.comment, Comment::None | Comment::Slash)
    }
}

fn closes(quote: char, c: char) -> bool {
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
        Scan::json().of(text).is_complete()
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
        assert!(Scan::json().of("{[}]").is_mismatched());
        assert!(!Scan::json().of("{[]}}").is_mismatched(), "one too many is no mismatch");
        let deep = |n: usize| Scan::json().of(&format!("{}{}", "[".repeat(n), "]".repeat(n)));
        assert!(!deep(MAX_DEPTH).is_too_deep() && deep(MAX_DEPTH).is_complete());
        assert!(deep(MAX_DEPTH + 1).is_too_deep() && deep(MAX_DEPTH + 1).is_complete());
    }

    #[test]
    fn escapes_that_json_does_not_know_are_seen() {
        assert!(Scan::json().of(r#"{"p":"C:\dir"}"#).has_bad_escape());
        assert!(!Scan::json().of(r#"{"p":"C:\\dir\n\u0041\/"}"#).has_bad_escape());
    }
}
