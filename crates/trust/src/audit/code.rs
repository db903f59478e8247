//! Code as tokens: what it calls, and what it tries to hide.

use toolyard_protocol::plugin::Permissions;

use super::{
    hosts,
    lexer::{Lexed, Odd, Token, lex},
    report::{Code, Findings},
};

/// A text of so many letters of base64 is hardly made for people.
const BLOB_CHARS: usize = 200;
/// A text with so many escapes of plain letters neither.
const ESCAPES: usize = 12;

/// What code makes use of.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Uses {
    pub(super) fetch: bool,
    pub(super) storage: bool,
    pub(super) clock: bool,
}

/// Words that have no business in a plugin, wherever they stand.
const FORBIDDEN: [(&str, Code, &str); 11] = [
    ("eval", Code::Eval, "makes code of text"),
    ("Function", Code::FunctionConstructor, "makes code of text"),
    ("AsyncFunction", Code::FunctionConstructor, "makes code of text"),
    ("GeneratorFunction", Code::FunctionConstructor, "makes code of text"),
    ("AsyncGeneratorFunction", Code::FunctionConstructor, "makes code of text"),
    ("import", Code::Import, "nothing can be loaded; put everything into the manifest"),
    ("require", Code::Import, "nothing can be loaded; put everything into the manifest"),
    ("importScripts", Code::Import, "nothing can be loaded; put everything into the manifest"),
    ("WebAssembly", Code::WebAssembly, "people cannot read it"),
    ("globalThis", Code::GlobalObject, "reaches every global by a computed name"),
    ("constructor", Code::ConstructorAccess, "a way to the constructor of functions"),
];

/// Ways to the global object of other hosts.
const OTHER_GLOBALS: [&str; 8] = ["window", "self", "global", "process", "Deno", "Bun", "document", "parent"];

/// Looks at one piece of code.
pub(super) fn look(code: &str, place: &str, asked: &Permissions, uses: &mut Uses, findings: &mut Findings) {
    let lexed = lex(code);
    for odd in &lexed.odd {
        let at = line(place, odd.line);
        match odd.what {
            Odd::Unfinished(what) => findings.add(Code::Syntax, &at, format!("{what} does not end")),
            Odd::Unbalanced(bracket) => {
                findings.add(
                    Code::Syntax,
                    &at,
                    format!("`{bracket}` has no counterpart; check the brackets"),
                );
            }
            Odd::Unexpected(c) => findings.add(Code::Syntax, &at, format!("`{c}` is no JavaScript")),
            Odd::Slash => findings.add(Code::UnclearSlash, &at, "is it a division? write it in parentheses"),
            Odd::HtmlComment => findings.add(Code::HtmlComment, &at, "write // instead"),
            Odd::EscapedName => findings.add(Code::EscapedName, &at, "a name that is written with escapes"),
        }
    }
    for index in 0..lexed.tokens.len() {
        let at = line(place, lexed.tokens[index].line);
        match &lexed.tokens[index].token {
            Token::Name(name) => look_at_name(&lexed, index, name, &at, uses, findings),
            Token::Text { .. } => look_at_text(&lexed, index, &at, asked, findings),
            Token::Sign(_) | Token::Number | Token::Regex => {}
        }
    }
    words_in_text(code, place, &lexed, findings);
}

fn line(place: &str, line: usize) -> String {
    format!("{place}, line {line}")
}

fn look_at_name(lexed: &Lexed, index: usize, name: &str, at: &str, uses: &mut Uses, findings: &mut Findings) {
    let is_member = lexed.is_sign(index.wrapping_sub(1), '.') && !lexed.is_sign(index.wrapping_sub(2), '.');
    let is_called = lexed.is_sign(index + 1, '(');
    match FORBIDDEN.iter().find(|(word, ..)| *word == name) {
        // `constructor` in a class, and members that happen to be called so, are what they are.
        Some((_, Code::ConstructorAccess, _)) if !is_member => {}
        Some((_, Code::Import, _)) if is_member => {}
        Some((word, code, why)) => findings.add(*code, at, format!("`{word}`: {why}")),
        None => {}
    }
    match name {
        "fetch" if !is_member => {
            uses.fetch = true;
            if is_called && !matches!(lexed.token(index + 2), Some(Token::Text { .. })) {
                findings.add(Code::ComputedUrl, at, "the URL is put together while running");
            }
        }
        "storage" if !is_member => uses.storage = true,
        "Date" | "performance" if !is_member => uses.clock = true,
        "setTimeout" | "setInterval"
            if is_called && matches!(lexed.token(index + 2), Some(Token::Text { .. })) =>
        {
            findings.add(Code::Eval, at, format!("`{name}` with a text makes code of it"));
        }
        "atob" | "fromCharCode" | "fromCodePoint" | "unescape" => {
            findings.add(Code::Decoding, at, format!("`{name}`: makes text of data"));
        }
        _ if OTHER_GLOBALS.contains(&name) && !is_member && lexed.is_reached_into(index) => {
            findings.add(
                Code::GlobalObject,
                at,
                format!("`{name}` is not there, and tries to leave the sandbox"),
            );
        }
        _ if !name.is_ascii() => {
            findings.add(Code::ForeignLetters, at, format!("`{name}` may look like another name"));
        }
        _ => {}
    }
}

fn look_at_text(lexed: &Lexed, index: usize, at: &str, asked: &Permissions, findings: &mut Findings) {
    let Some(Token::Text { value, whole, escapes }) = lexed.token(index) else { return };
    if *escapes >= ESCAPES {
        findings.add(Code::EscapedText, at, format!("a text with {escapes} escapes of plain letters"));
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    if value.split(|c| !is_base64(c)).any(|run| run.len() >= BLOB_CHARS) {
        findings.add(
            Code::EncodedBlob,
            at,
            format!("a text with {BLOB_CHARS} or more letters of encoded data"),
        );
    }
    let in_brackets = lexed.is_sign(index.wrapping_sub(1), '[') && lexed.is_sign(index + 1, ']');
    let forbidden = FORBIDDEN.iter().find(|(word, ..)| in_brackets && word == value);
    if let Some((word, code, why)) = forbidden {
        findings.add(*code, at, format!("[\"{word}\"]: {why}"));
    }
    let Some(url) = hosts::url(value, *whole) else { return };
    let is_fetched = lexed.is_sign(index.wrapping_sub(1), '(')
        && matches!(lexed.token(index.wrapping_sub(2)), Some(Token::Name(name)) if name == "fetch");
    if url.is_plain {
        findings.add(Code::PlainHttp, at, "anybody on the way can read and change what http: carries");
    }
    match url.host {
        None if is_fetched => findings.add(Code::ComputedUrl, at, "the host is put together while running"),
        Some(host) if !asked.allows_host(&host) => {
            let code = if is_fetched { Code::UndeclaredHost } else { Code::OtherUrl };
            findings.add(code, at, format!("{host} is not among the hosts that it asks for"));
        }
        None | Some(_) => {}
    }
}

/// Forbidden words where tokens do not see them. If the reader of tokens was fooled after all, people still get to look.
fn words_in_text(code: &str, place: &str, lexed: &Lexed, findings: &mut Findings) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    for (index, written) in code.lines().enumerate() {
        let number = index + 1;
        for word in written.split(|c| !is_part(c)) {
            let forbidden = FORBIDDEN.iter().find(|(forbidden, ..)| *forbidden == word);
            let Some((_, code, _)) = forbidden.filter(|(_, code, _)| *code != Code::ConstructorAccess) else {
                continue;
            };
            if !lexed.has_name(word, number) {
                let text = format!("`{word}` in a comment, text or regular expression ({code:?})");
                findings.add(Code::WordInText, &line(place, number), text);
            }
        }
    }
}
