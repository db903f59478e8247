//! JavaScript as tokens, as far as an audit needs them. Never fails: what it does not understand it names, and goes on.

mod literal;

use std::collections::HashSet;

/// Names after which a slash begins a regular expression.
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
pub(super) enum Token {
    /// A name or keyword, escapes undone.
    Name(String),
    /// A text, escapes undone; of a template with something put in, the parts between.
    Text {
        value: String,
        /// Whether nothing is put in after it.
        whole: bool,
        /// How many plain letters were written as escapes.
        escapes: usize,
    },
    Number,
    Regex,
    /// Anything else, one character each.
    Sign(char),
}

#[derive(Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    /// From 1.
    pub(super) line: usize,
}

/// Something that code for people does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Odd {
    Unfinished(&'static str),
    /// A bracket that is closed and was not opened, or the other way round.
    Unbalanced(char),
    Unexpected(char),
    Slash,
    HtmlComment,
    EscapedName,
}

#[derive(Debug)]
pub(super) struct OddPlace {
    pub(super) what: Odd,
    pub(super) line: usize,
}

#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Placed>,
    pub(super) odd: Vec<OddPlace>,
    names: HashSet<(String, usize)>,
}

impl Lexed {
    pub(super) fn token(&self, index: usize) -> Option<&Token> {
        self.tokens.get(index).map(|placed| &placed.token)
    }

    pub(super) fn is_sign(&self, index: usize, sign: char) -> bool {
        self.token(index) == Some(&Token::Sign(sign))
    }

    /// Whether a member of the thing at this place is asked for.
    pub(super) fn is_reached_into(&self, index: usize) -> bool {
        ['.', '[', '?'].iter().any(|sign| self.is_sign(index + 1, *sign))
    }

    /// Whether a token on that line is this name.
    pub(super) fn has_name(&self, name: &str, line: usize) -> bool {
        self.names.contains(&(name.to_owned(), line))
    }
}

/// Reads code.
pub(super) fn lex(code: &str) -> Lexed {
    let mut lexer = Lexer {
        rest: code.chars().collect(),
        at: 0,
        line: 1,
        line_is_blank: true,
        parens: Vec::new(),
        after_statement_parens: false,
        templates: Vec::new(),
        brackets: Vec::new(),
        lexed: Lexed::default(),
    };
    while let Some(c) = lexer.peek(0) {
        lexer.step(c);
    }
    if !lexer.templates.is_empty() {
        lexer.odd(Odd::Unfinished("a template"));
    }
    let open =
        std::mem::take(&mut lexer.brackets).into_iter().filter(|(bracket, _)| *bracket != SUBSTITUTION);
    lexer.lexed.odd.extend(open.map(|(bracket, line)| OddPlace { what: Odd::Unbalanced(bracket), line }));
    lexer.lexed
}

/// Stands for `${` among the open brackets.
const SUBSTITUTION: char = '$';

struct Lexer {
    rest: Vec<char>,
    at: usize,
    line: usize,
    /// Nothing but space and comments on this line so far.
    line_is_blank: bool,
    /// For each open parenthesis whether a statement follows its end.
    parens: Vec<bool>,
    after_statement_parens: bool,
    /// For each open template the braces that are open inside what is put in.
    templates: Vec<usize>,
    /// Brackets that are open, each with its line. The code becomes the body of a function; a bracket too many would end
    /// that function, and what follows would be something else than what was read.
    brackets: Vec<(char, usize)>,
    lexed: Lexed,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn begins(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        if is_line_end(c) {
            // Counted as `str::lines` does; the others end a line for the engine only.
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

    fn odd(&mut self, what: Odd) {
        self.lexed.odd.push(OddPlace { what, line: self.line });
    }

    fn push(&mut self, token: Token, line: usize) {
        if let Token::Name(name) = &token {
            self.lexed.names.insert((name.clone(), line));
        }
        self.line_is_blank = false;
        self.lexed.tokens.push(Placed { token, line });
    }

    fn step(&mut self, c: char) {
        match c {
            _ if c.is_whitespace() || c == '\u{feff}' => self.skip(1),
            '/' if self.begins("//") => self.line_comment(),
            '/' if self.begins("/*") => self.block_comment(),
            '<' if self.begins("<!--") => self.html_comment(),
            '-' if self.line_is_blank && self.begins("-->") => self.html_comment(),
            '/' => self.slash(),
            '"' | '\'' => self.string(c),
            '`' => {
                self.skip(1);
                self.template();
            }
            '}' if self.templates.last() == Some(&0) => {
                self.templates.pop();
                self.close_bracket(SUBSTITUTION, '}');
                self.skip(1);
                self.template();
            }
            _ if c.is_ascii_digit() => self.number(),
            _ if is_name_start(c) || c == '\\' => self.name(),
            _ if c.is_ascii_punctuation() => self.sign(c),
            _ => {
                self.odd(Odd::Unexpected(c));
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
        self.odd(Odd::HtmlComment);
        self.line_comment();
    }

    fn block_comment(&mut self) {
        let blank = self.line_is_blank;
        self.skip(2);
        while !self.begins("*/") {
            if self.next().is_none() {
                return self.odd(Odd::Unfinished("a comment"));
            }
        }
        self.skip(2);
        self.line_is_blank |= blank;
    }

    /// What is open inside of the bracket that is closed was never closed.
    fn close_bracket(&mut self, open: char, close: char) {
        match self.brackets.last() {
            Some((last, _)) if *last == open => drop(self.brackets.pop()),
            // A template knows its own end.
            _ if open == SUBSTITUTION => {
                let start = self.brackets.iter().rposition(|(bracket, _)| *bracket == open).unwrap_or(0);
                let inside = self.brackets.split_off(start).into_iter().skip(1);
                let inside = inside.map(|(bracket, line)| OddPlace { what: Odd::Unbalanced(bracket), line });
                self.lexed.odd.extend(inside);
            }
            _ => self.odd(Odd::Unbalanced(close)),
        }
    }

    fn sign(&mut self, c: char) {
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
                    Some(Token::Name(name)) if name == "await" => {
                        matches!(self.lexed.token(last.wrapping_sub(1)), Some(Token::Name(name)) if name == "for")
                    }
                    Some(Token::Name(name)) => BEFORE_STATEMENT.contains(&name.as_str()),
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
        self.push(Token::Sign(c), line);
    }

    /// A division or a regular expression: that depends on what came before.
    fn slash(&mut self) {
        let last = self.lexed.tokens.len().wrapping_sub(1);
        let before_last = last.wrapping_sub(1);
        let (is_regex, is_clear) = match self.lexed.token(last) {
            None => (true, true),
            Some(Token::Name(name)) => {
                (!self.lexed.is_sign(before_last, '.') && BEFORE_VALUE.contains(&name.as_str()), true)
            }
            Some(Token::Text { .. } | Token::Number | Token::Regex | Token::Sign(']')) => (false, true),
            Some(Token::Sign(')')) => (self.after_statement_parens, true),
            // After a block a regular expression, after an object a division: nobody divides objects.
            Some(Token::Sign('}')) => (true, false),
            Some(Token::Sign(sign @ ('+' | '-'))) if self.lexed.is_sign(before_last, *sign) => (false, false),
            Some(Token::Sign(_)) => (true, true),
        };
        if !is_clear {
            self.odd(Odd::Slash);
        }
        if is_regex { self.regex() } else { self.sign('/') }
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
