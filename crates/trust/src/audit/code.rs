//! Audits code by its tokens: what it calls, and what it may hide.

use toolyard_protocol::plugin::PluginPermissions;

use super::{
    hosts,
    lexer::{JsToken, LexIssue, LexedCode, lex_code},
    report::{Code, FindingCollector},
};

/// A run of base64 characters this long is suspicious.
const BLOB_CHARS: usize = 200;
/// A string with this many escaped plain letters is suspicious.
const ESCAPES: usize = 12;

/// The host APIs that code uses.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct UsedApis {
    pub(super) fetch: bool,
    pub(super) storage: bool,
    pub(super) clock: bool,
}

/// Names that are not allowed in a plugin.
const FORBIDDEN: [(&str, Code, &str); 11] = [
    ("eval", Code::Eval, "compiles text to code"),
    ("Function", Code::FunctionConstructor, "compiles text to code"),
    ("AsyncFunction", Code::FunctionConstructor, "compiles text to code"),
    ("GeneratorFunction", Code::FunctionConstructor, "compiles text to code"),
    ("AsyncGeneratorFunction", Code::FunctionConstructor, "compiles text to code"),
    ("import", Code::Import, "nothing can be loaded; put everything into the manifest"),
    ("require", Code::Import, "nothing can be loaded; put everything into the manifest"),
    ("importScripts", Code::Import, "nothing can be loaded; put everything into the manifest"),
    ("WebAssembly", Code::WebAssembly, "people cannot review it"),
    ("globalThis", Code::GlobalObject, "reaches every global by a computed name"),
    ("constructor", Code::ConstructorAccess, "leads to the constructor of functions"),
];

/// Names of the global object in other hosts.
const OTHER_GLOBALS: [&str; 8] = ["window", "self", "global", "process", "Deno", "Bun", "document", "parent"];

/// Audits one piece of code.
pub(super) fn audit_code(
    code: &str,
    place: &str,
    requested: &PluginPermissions,
    uses: &mut UsedApis,
    findings: &mut FindingCollector,
) {
    let lexed = lex_code(code);
    for issue in &lexed.issues {
        let at = line_place(place, issue.line);
        match issue.what {
            LexIssue::Unfinished(what) => findings.add(Code::Syntax, &at, format!("{what} does not end")),
            LexIssue::Unbalanced(bracket) => {
                findings.add(
                    Code::Syntax,
                    &at,
                    format!("`{bracket}` has no counterpart; check the brackets"),
                );
            }
            LexIssue::Unexpected(c) => findings.add(Code::Syntax, &at, format!("`{c}` is not JavaScript")),
            LexIssue::Slash => {
                findings.add(Code::UnclearSlash, &at, "is it a division? write it in parentheses")
            }
            LexIssue::HtmlComment => findings.add(Code::HtmlComment, &at, "write // instead"),
            LexIssue::EscapedName => findings.add(Code::EscapedName, &at, "a name written with escapes"),
        }
    }
    for index in 0..lexed.tokens.len() {
        let at = line_place(place, lexed.tokens[index].line);
        match &lexed.tokens[index].token {
            JsToken::Name(name) => audit_name(&lexed, index, name, &at, uses, findings),
            JsToken::Text { .. } => audit_literal(&lexed, index, &at, requested, findings),
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
        // `constructor` in a class, and members with such names, are harmless.
        Some((_, Code::ConstructorAccess, _)) if !is_member => {}
        Some((_, Code::Import, _)) if is_member => {}
        Some((word, code, why)) => findings.add(*code, at, format!("`{word}`: {why}")),
        None => {}
    }
    match name {
        "fetch" if !is_member => {
            uses.fetch = true;
            if is_called && !matches!(lexed.token(index + 2), Some(JsToken::Text { .. })) {
                findings.add(Code::ComputedUrl, at, "the URL is computed at run time");
            }
        }
        "storage" if !is_member => uses.storage = true,
        "Date" | "performance" if !is_member => uses.clock = true,
        "setTimeout" | "setInterval"
            if is_called && matches!(lexed.token(index + 2), Some(JsToken::Text { .. })) =>
        {
            findings.add(Code::Eval, at, format!("`{name}` with a string compiles it to code"));
        }
        "atob" | "fromCharCode" | "fromCodePoint" | "unescape" => {
            findings.add(Code::Decoding, at, format!("`{name}`: decodes data to text"));
        }
        _ if OTHER_GLOBALS.contains(&name) && !is_member && lexed.is_reached_into(index) => {
            findings.add(
                Code::GlobalObject,
                at,
                format!("`{name}` does not exist here; using it may be an attempt to leave the sandbox"),
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
    requested: &PluginPermissions,
    findings: &mut FindingCollector,
) {
    let Some(JsToken::Text { value, whole, escapes }) = lexed.token(index) else { return };
    if *escapes >= ESCAPES {
        findings.add(Code::EscapedText, at, format!("a string with {escapes} escaped plain letters"));
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    if value.split(|c| !is_base64(c)).any(|run| run.len() >= BLOB_CHARS) {
        findings.add(
            Code::EncodedBlob,
            at,
            format!("a string with {BLOB_CHARS} or more characters of encoded data"),
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
        findings.add(Code::PlainHttp, at, "anyone on the network can read and change http: traffic");
    }
    match url.host {
        None if is_fetched => findings.add(Code::ComputedUrl, at, "the host is computed at run time"),
        Some(host) if !requested.allows_host(&host) => {
            let code = if is_fetched { Code::UndeclaredHost } else { Code::OtherUrl };
            findings.add(code, at, format!("{host} is not among the declared hosts"));
        }
        None | Some(_) => {}
    }
}

/// Finds forbidden words outside of name tokens. If the lexer was fooled, people still get to see them.
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
                let text = format!("`{word}` in a comment, string or regular expression ({code:?})");
                findings.add(Code::WordInText, &line_place(place, number), text);
            }
        }
    }
}
