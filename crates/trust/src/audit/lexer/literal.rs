//! Tokens with content: names, numbers, strings, templates and regular expressions.

use super::{JsToken, LexIssue, Lexer, is_line_end, is_name_part};

impl Lexer {
    pub(super) fn lex_regex(&mut self) {
        let line = self.line;
        self.skip(1);
        let mut in_class = false;
        loop {
            match self.peek(0) {
                None => break self.add_issue(LexIssue::Unfinished("a regular expression")),
                Some(c) if is_line_end(c) => {
                    break self.add_issue(LexIssue::Unfinished("a regular expression"));
                }
                Some('\\') => self.skip(2),
                Some('/') if !in_class => break self.skip(1),
                Some(c) => {
                    in_class = c == '[' || (in_class && c != ']');
                    self.skip(1);
                }
            }
        }
        while self.peek(0).is_some_and(is_name_part) {
            self.skip(1);
        }
        self.push(JsToken::Regex, line);
    }

    pub(super) fn lex_number(&mut self) {
        let (line, is_hex) = (self.line, self.starts_with("0x") || self.starts_with("0X"));
        while let Some(c) = self.peek(0) {
            let exponent = !is_hex && matches!(c, 'e' | 'E') && matches!(self.peek(1), Some('+' | '-'));
            if !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_')) {
                break;
            }
            self.skip(if exponent { 2 } else { 1 });
        }
        self.push(JsToken::Number, line);
    }

    pub(super) fn lex_name(&mut self) {
        let (line, mut name, mut escaped) = (self.line, String::new(), false);
        while let Some(c) = self.peek(0) {
            if c == '\\' {
                self.skip(1);
                escaped = true;
                match self.unicode_escape() {
                    Some(c) => name.push(c),
                    None => {
                        self.add_issue(LexIssue::Unexpected('\\'));
                        break;
                    }
                }
            } else if is_name_part(c) {
                name.push(c);
                self.skip(1);
            } else {
                break;
            }
        }
        if escaped {
            self.add_issue(LexIssue::EscapedName);
        }
        if !name.is_empty() {
            self.push(JsToken::Name(name), line);
        }
    }

    /// `uXXXX` or `u{X…}`, after its backslash.
    fn unicode_escape(&mut self) -> Option<char> {
        if self.peek(0) != Some('u') {
            return None;
        }
        self.skip(1);
        if self.peek(0) != Some('{') {
            return self.read_hex(4);
        }
        self.skip(1);
        let mut number: u32 = 0;
        while let Some(digit) = self.peek(0).and_then(|c| c.to_digit(16)) {
            number = number.saturating_mul(16).saturating_add(digit);
            self.skip(1);
        }
        (self.next() == Some('}')).then_some(number).and_then(char::from_u32)
    }

    fn read_hex(&mut self, digits: usize) -> Option<char> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 16 + self.peek(0)?.to_digit(16)?;
            self.skip(1);
        }
        // Half of a surrogate pair is replaced; the pair does not matter for an audit.
        Some(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Reads one escape in a string, after its backslash. Counts escapes that hide a plain letter.
    fn read_escape(&mut self, value: &mut String, escapes: &mut usize) {
        match self.peek(0) {
            None => {}
            Some('x' | 'u') => {
                let c = if self.peek(0) == Some('x') {
                    self.skip(1);
                    self.read_hex(2)
                } else {
                    self.unicode_escape()
                };
                *escapes += usize::from(c.is_some_and(|c| c.is_ascii_graphic()));
                value.extend(c);
            }
            Some(c @ '0'..='7') => {
                let mut number = 0;
                while let Some(digit) = self.peek(0).and_then(|c| c.to_digit(8))
                    && number * 8 + digit < 256
                {
                    number = number * 8 + digit;
                    self.skip(1);
                }
                *escapes += usize::from(c != '0');
                value.extend(char::from_u32(number));
            }
            Some(c) => {
                match c {
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'r' => value.push('\r'),
                    _ if is_line_end(c) => {}
                    _ => value.push(c),
                }
                self.skip(1);
                if c == '\r' && self.peek(0) == Some('\n') {
                    self.skip(1);
                }
            }
        }
    }

    pub(super) fn lex_string(&mut self, quote: char) {
        let (line, mut value, mut escapes) = (self.line, String::new(), 0);
        self.skip(1);
        loop {
            match self.peek(0) {
                None | Some('\n' | '\r') => break self.add_issue(LexIssue::Unfinished("a text")),
                Some(c) if c == quote => break self.skip(1),
                Some('\\') => {
                    self.skip(1);
                    self.read_escape(&mut value, &mut escapes);
                }
                Some(c) => {
                    value.push(c);
                    self.skip(1);
                }
            }
        }
        self.push(JsToken::Text { value, whole: true, escapes }, line);
    }

    /// Reads a template from its start, or from the end of an inserted expression.
    pub(super) fn lex_template(&mut self) {
        let (line, mut value, mut escapes) = (self.line, String::new(), 0);
        let whole = loop {
            match self.peek(0) {
                None => {
                    self.add_issue(LexIssue::Unfinished("a template"));
                    break true;
                }
                Some('`') => {
                    self.skip(1);
                    break true;
                }
                Some('$') if self.peek(1) == Some('{') => {
                    self.skip(2);
                    self.templates.push(0);
                    self.brackets.push((super::SUBSTITUTION, self.line));
                    break false;
                }
                Some('\\') => {
                    self.skip(1);
                    self.read_escape(&mut value, &mut escapes);
                }
                Some(c) => {
                    value.push(c);
                    self.skip(1);
                }
            }
        };
        self.push(JsToken::Text { value, whole, escapes }, line);
        if !whole {
            // An inserted expression starts like one in parentheses.
            self.push(JsToken::Sign('('), self.line);
        }
    }
}
