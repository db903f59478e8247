//! Splits JavaScript into tokens, as far as an audit needs them. Never fails: unknown syntax is reported, and lexing continues.

mod literal;

use std::collections::HashSet;

/// Names after which a slash starts a regular expression.
const BEFORE_VALUE: [&str; 15] = [
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "instanceof",
    "do",
    "else",
    "yield",
    "await",
    "default",
];
/// Names whose parentheses are followed by a statement.
const BEFORE_STATEMENT: [&str; 4] = ["if", "while", "for", "with"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsToken {
    /// A name or keyword, with escapes decoded.
    Name(String),
    /// A string, with escapes decoded; for a template, the parts between the expressions.
    Text {
        value: String,
        /// Whether no expression is inserted after it.
        whole: bool,
        /// Number of plain letters written as escapes.
        escapes: usize,
    },
    Number,
    Regex,
    /// Any other character.
    Sign(char),
}

#[derive(Debug)]
pub(super) struct PlacedToken {
    pub(super) token: JsToken,
    /// Starts at 1.
    pub(super) line: usize,
}

/// Something that ordinary code does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexIssue {
    Unfinished(&'static str),
    /// A bracket without its counterpart.
    Unbalanced(char),
    Unexpected(char),
    Slash,
    HtmlComment,
    EscapedName,
}

#[derive(Debug)]
pub(super) struct PlacedIssue {
    pub(super) what: LexIssue,
    pub(super) line: usize,
}

#[derive(Debug, Default)]
pub(super) struct LexedCode {
    pub(super) tokens: Vec<PlacedToken>,
    pub(super) issues: Vec<PlacedIssue>,
    names: HashSet<(String, usize)>,
}

impl LexedCode {
    pub(super) fn token(&self, index: usize) -> Option<&JsToken> {
        self.tokens.get(index).map(|placed| &placed.token)
    }

    pub(super) fn is_sign(&self, index: usize, sign: char) -> bool {
        self.token(index) == Some(&JsToken::Sign(sign))
    }

    /// Whether a member of the token at this index is accessed.
    pub(super) fn is_reached_into(&self, index: usize) -> bool {
        ['.', '[', '?'].iter().any(|sign| self.is_sign(index + 1, *sign))
    }

    /// Whether a token on that line is this name.
    pub(super) fn has_name(&self, name: &str, line: usize) -> bool {
        self.names.contains(&(name.to_owned(), line))
    }
}

/// Splits code into tokens.
pub(super) fn lex_code(code: &str) -> LexedCode {
    let mut lexer = Lexer {
        rest: code.chars().collect(),
        at: 0,
        line: 1,
        line_is_blank: true,
        parens: Vec::new(),
        after_statement_parens: false,
        templates: Vec::new(),
        brackets: Vec::new(),
        lexed: LexedCode::default(),
    };
    while let Some(c) = lexer.peek(0) {
        lexer.step(c);
    }
    if !lexer.templates.is_empty() {
        lexer.add_issue(LexIssue::Unfinished("a template"));
    }
    let open =
        std::mem::take(&mut lexer.brackets).into_iter().filter(|(bracket, _)| *bracket != SUBSTITUTION);
    lexer
        .lexed
        .issues
        .extend(open.map(|(bracket, line)| PlacedIssue { what: LexIssue::Unbalanced(bracket), line }));
    lexer.lexed
}

/// Represents `${` among the open brackets.
const SUBSTITUTION: char = '$';

struct Lexer {
    rest: Vec<char>,
    at: usize,
    line: usize,
    /// Whether this line has only space and comments so far.
    line_is_blank: bool,
    /// For each open parenthesis, whether a statement follows it.
    parens: Vec<bool>,
    after_statement_parens: bool,
    /// For each open template, the number of open braces inside the inserted expression.
    templates: Vec<usize>,
    /// Open brackets, each with its line. The code becomes the body of a function. An extra bracket would end that
    /// function, so that the rest would not run as what was audited.
    brackets: Vec<(char, usize)>,
    lexed: LexedCode,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        if is_line_end(c) {
            // Counted as in `str::lines`; the other characters end a line only for the engine.
            self.line += usize::from(c == '\n');
            self.line_is_blank = true;
        }
        Some(c)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn add_issue(&mut self, what: LexIssue) {
        self.lexed.issues.push(PlacedIssue { what, line: self.line });
    }

    fn push(&mut self, token: JsToken, line: usize) {
        if let JsToken::Name(name) = &token {
            self.lexed.names.insert((name.clone(), line));
        }
        self.line_is_blank = false;
        self.lexed.tokens.push(PlacedToken { token, line });
    }

    fn step(&mut self, c: char) {
        match c {
            _ if c.is_whitespace() || c == '\u{feff}' => self.skip(1),
            '/' if self.starts_with("//") => self.line_comment(),
            '/' if self.starts_with("/*") => self.block_comment(),
            '<' if self.starts_with("<!--") => self.html_comment(),
            '-' if self.line_is_blank && self.starts_with("-->") => self.html_comment(),
            '/' => self.lex_slash(),
            '"' | '\'' => self.lex_string(c),
            '`' => {
                self.skip(1);
                self.lex_template();
            }
            '}' if self.templates.last() == Some(&0) => {
                self.templates.pop();
                self.close_bracket(SUBSTITUTION, '}');
                self.skip(1);
                self.lex_template();
            }
            _ if c.is_ascii_digit() => self.lex_number(),
            _ if is_name_start(c) || c == '\\' => self.lex_name(),
            _ if c.is_ascii_punctuation() => self.lex_punctuation(c),
            _ => {
                self.add_issue(LexIssue::Unexpected(c));
                self.skip(1);
            }
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| !is_line_end(c)) {
            self.skip(1);
        }
    }

    fn html_comment(&mut self) {
        self.add_issue(LexIssue::HtmlComment);
        self.line_comment();
    }

    fn block_comment(&mut self) {
        let blank = self.line_is_blank;
        self.skip(2);
        while !self.starts_with("*/") {
            if self.next().is_none() {
                return self.add_issue(LexIssue::Unfinished("a comment"));
            }
        }
        self.skip(2);
        self.line_is_blank |= blank;
    }

    /// Reports brackets that were opened inside and never closed.
    fn close_bracket(&mut self, open: char, close: char) {
        match self.brackets.last() {
            Some((last, _)) if *last == open => drop(self.brackets.pop()),
            // A template has its own end.
            _ if open == SUBSTITUTION => {
                let start = self.brackets.iter().rposition(|(bracket, _)| *bracket == open).unwrap_or(0);
                let inside = self.brackets.split_off(start).into_iter().skip(1);
                let inside =
                    inside.map(|(bracket, line)| PlacedIssue { what: LexIssue::Unbalanced(bracket), line });
                self.lexed.issues.extend(inside);
            }
            _ => self.add_issue(LexIssue::Unbalanced(close)),
        }
    }

    fn lex_punctuation(&mut self, c: char) {
        match c {
            '(' | '[' | '{' => self.brackets.push((c, self.line)),
            ')' => self.close_bracket('(', c),
            ']' => self.close_bracket('[', c),
            '}' => self.close_bracket('{', c),
            _ => {}
        }
        match c {
            '(' => {
                let last = self.lexed.tokens.len().wrapping_sub(1);
                let statement = match self.lexed.token(last) {
                    Some(JsToken::Name(name)) if name == "await" => {
                        matches!(self.lexed.token(last.wrapping_sub(1)), Some(JsToken::Name(name)) if name == "for")
                    }
                    Some(JsToken::Name(name)) => BEFORE_STATEMENT.contains(&name.as_str()),
                    _ => false,
                };
                self.parens.push(statement);
            }
            ')' => self.after_statement_parens = self.parens.pop().unwrap_or(false),
            '{' => {
                if let Some(open) = self.templates.last_mut() {
                    *open += 1;
                }
            }
            '}' => {
                if let Some(open) = self.templates.last_mut() {
                    *open -= 1;
                }
            }
            _ => {}
        }
        let line = self.line;
        self.skip(1);
        self.push(JsToken::Sign(c), line);
    }

    /// A division or a regular expression, depending on the previous token.
    fn lex_slash(&mut self) {
        let last = self.lexed.tokens.len().wrapping_sub(1);
        let before_last = last.wrapping_sub(1);
        let (is_regex, is_clear) = match self.lexed.token(last) {
            None => (true, true),
            Some(JsToken::Name(name)) => {
                (!self.lexed.is_sign(before_last, '.') && BEFORE_VALUE.contains(&name.as_str()), true)
            }
            Some(JsToken::Text { .. } | JsToken::Number | JsToken::Regex | JsToken::Sign(']')) => {
                (false, true)
            }
            Some(JsToken::Sign(')')) => (self.after_statement_parens, true),
            // A regular expression after a block, a division after an object; dividing objects makes no sense.
            Some(JsToken::Sign('}')) => (true, false),
            Some(JsToken::Sign(sign @ ('+' | '-'))) if self.lexed.is_sign(before_last, *sign) => {
                (false, false)
            }
            Some(JsToken::Sign(_)) => (true, true),
        };
        if !is_clear {
            self.add_issue(LexIssue::Slash);
        }
        if is_regex { self.lex_regex() } else { self.lex_punctuation('/') }
    }
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '$' || c == '_'
}

fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_numeric() || matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests;
