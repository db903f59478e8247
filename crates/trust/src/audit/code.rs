//! Code as tokens: what it calls, and what it tries to hide.

use toolyard_protocol::plugin::PluginPermissions;

use super::{
    hosts,
    lexer::{JsToken, LexIssue, LexedCode, lex_code},
    report::{Code, FindingCollector},
};

/// A text of so many letters of base64 is hardly made for people.
const BLOB_CHARS: usize = 200;
/// A text with so many escapes of plain letters neither.
const ESCAPES: usize = 12;

/// What code makes use of.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct UsedApis {
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
pub(super) fn audit_code(
    code: &str,
    place: &str,
    asked: &PluginPermissions,
    uses: &mut UsedApis,
    findings: &mut FindingCollector,
) {
    let lexed = lex_code(code);
    for odd in &lexed.issues {
        let at = line_place(place, odd.line);
        match odd.what {
            LexIssue::Unfinished(what) => findings.add(Code::Syntax, &at, format!("{what} does not end")),
            LexIssue::Unbalanced(bracket) => {
                findings.add(
                    Code::Syntax,
                    &at,
                    format!("`{bracket}` has no counterpart; check the brackets"),
                );
            }
            LexIssue::Unexpected(c) => findings.add(Code::Syntax, &at, format!("`{c}` is no JavaScript")),
            LexIssue::Slash => {
                findings.add(Code::UnclearSlash, &at, "is it a division? write it in parentheses")
            }
            LexIssue::HtmlComment => findings.add(Code::HtmlComment, &at, "write // instead"),
            LexIssue::EscapedName => {
                findings.add(Code::EscapedName, &at, "a name that is written with escapes")
            }
        }
    }
    for index in 0..lexed.tokens.len() {
        let at = line_place(place, lexed.tokens[index].line);
        match &lexed.tokens[index].token {
            JsToken::Name(name) => audit_name(&lexed, index, name, &at, uses, findings),
            JsToken::Text { .. } => audit_literal(&lexed, index, &at, asked, findings),
            JsToken::Sign(_) | JsToken::Number | JsToken::Regex => {}
        }
    }
    audit_hidden_words(code, place, &lexed, findings);
}

fn line_place(place: &str, line: usize) -> String {
    format!("{place}, line {line}")
}

fn audit_name(
    lexed: &LexedCode,
    index: usize,
    name: &str,
    at: &str,
    uses: &mut UsedApis,
    findings: &mut FindingCollector,
) {
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
            if is_called && !matches!(lexed.token(index + 2), Some(JsToken::Text { .. })) {
                findings.add(Code::ComputedUrl, at, "the URL is put together while running");
            }
        }
        "storage" if !is_member => uses.storage = true,
        "Date" | "performance" if !is_member => uses.clock = true,
        "setTimeout" | "setInterval"
            if is_called && matches!(lexed.token(index + 2), Some(JsToken::Text { .. })) =>
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

fn audit_literal(
    lexed: &LexedCode,
    index: usize,
    at: &str,
    asked: &PluginPermissions,
    findings: &mut FindingCollector,
) {
    let Some(JsToken::Text { value, whole, escapes }) = lexed.token(index) else { return };
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
    let Some(url) = hosts::parse_url_text(value, *whole) else { return };
    let is_fetched = lexed.is_sign(index.wrapping_sub(1), '(')
        && matches!(lexed.token(index.wrapping_sub(2)), Some(JsToken::Name(name)) if name == "fetch");
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
fn audit_hidden_words(code: &str, place: &str, lexed: &LexedCode, findings: &mut FindingCollector) {
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
                findings.add(Code::WordInText, &line_place(place, number), text);
            }
        }
    }
}
