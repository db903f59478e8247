//! Applies the text rules.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{
    FindingList, ScanRule, Severity,
    patterns::{FRAGMENTS, RULE_LISTS},
    texts::{PlacedText, TextKind},
};

/// Characters of a finding's excerpt before the match.
const EXCERPT_LEAD: usize = 40;
/// How far before a match the words that make it a mention are looked for, in bytes.
const MENTION_REACH: usize = 160;

/// A rule as it is written.
pub(super) struct TextRule {
    pub(super) rule: ScanRule,
    pub(super) severity: Severity,
    pub(super) reason: &'static str,
    /// What to find in normalized text. `{NAME}` stands for a fragment, `{~40}` for up to 40 characters of one sentence.
    pub(super) pattern: &'static str,
    /// If the sentence of the match has this, it is not a finding.
    pub(super) unless: Option<&'static str>,
    /// Whether the text can be a mention in a tool that defends against it.
    pub(super) mentionable: bool,
}

struct CompiledRule {
    spec: &'static TextRule,
    pattern: Regex,
    unless: Option<Regex>,
}

static COMPILED: LazyLock<Vec<CompiledRule>> = LazyLock::new(|| {
    RULE_LISTS
        .into_iter()
        .flatten()
        .map(|spec| CompiledRule { spec, pattern: compile(spec.pattern), unless: spec.unless.map(compile) })
        .collect()
});

static MENTION: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"(?:detect|scan|flag|block|prevent|guard|protect|identif|analy[sz]|classif|catch|reject|saniti[sz]|defen[ds]",
        r"|inspect|recogni[sz]|mitigat|check|report|explain|injection|jailbreak|attack|attempt|phrase|pattern)\S*",
        r#"[^\n]*(?:['"`(]| (?:that|which|who|to|whether|like|as|e\.g\.,?|including|contains?|containing) )$"#,
        r"|(?:sample|example|expected|mock|training|test|canned|illustrative)\S* ",
        r#"(?:responses?|outputs?|repl(?:y|ies)|texts?|inputs?|contents?|data): ?['"`]?$"#,
    ))
});

/// Compiles a pattern. All of them are constants, which a test compiles.
#[expect(clippy::expect_used, reason = "every pattern is a constant")]
pub(super) fn compile(pattern: &str) -> Regex {
    let mut expanded = pattern.to_owned();
    // Fragments may use others that come later in the list.
    for (name, fragment) in FRAGMENTS {
        expanded = expanded.replace(name, fragment);
    }
    let gap = Regex::new(r"\{~(\d+)\}").expect("a valid pattern");
    let expanded = gap.replace_all(expanded.as_bytes(), &br"(?:[^.!?\n]|[.!?][^ \n]){0,$1}?"[..]);
    let expanded = String::from_utf8_lossy(&expanded);
    // Byte classes keep the automata small; letters of other scripts are written out in the patterns.
    Regex::new(&format!("(?-u){expanded}")).expect("a valid pattern")
}

/// Adds a finding for each rule that matches.
pub(super) fn scan_rules(place: &PlacedText<'_>, plain: &str, report: &mut FindingList) {
    let words;
    let plain = match place.kind {
        // `read_file_first` is read as words.
        TextKind::ToolName | TextKind::MemberName => {
            words = plain.replace(['_', '-'], " ");
            &words
        }
        TextKind::Prose | TextKind::Literal => plain,
    };
    // Names are short and often nouns: `list_ssh_keys` asks for nothing.
    let is_name = matches!(place.kind, TextKind::ToolName | TextKind::MemberName);
    for (spec, severity, start) in matches(plain) {
        if is_name && matches!(spec.rule, ScanRule::SensitiveFile | ScanRule::Exfiltration) {
            continue;
        }
        let from = plain.floor_char_boundary(start.saturating_sub(EXCERPT_LEAD));
        report.push((spec.rule, severity, spec.reason), &place.pointer, &plain[from..]);
    }
}

/// The worst rule that a text breaks, if it is worth a review.
pub(super) fn worst_rule(plain: &str) -> Option<(ScanRule, Severity)> {
    matches(plain)
        .map(|(spec, severity, _)| (spec.rule, severity))
        .filter(|(_, severity)| *severity >= super::FLAG_THRESHOLD)
        .max_by_key(|(_, severity)| *severity)
}

/// Rules that match, with their severity and position.
fn matches(plain: &str) -> impl Iterator<Item = (&'static TextRule, Severity, usize)> {
    COMPILED.iter().filter_map(move |rule| {
        let found = rule
            .pattern
            .find_iter(plain.as_bytes())
            .take(8)
            .find(|found| !is_excused(rule, plain, found.start(), found.end()))?;
        let severity = if rule.spec.mentionable && is_mention(plain, found.start()) {
            Severity::Low
        } else {
            rule.spec.severity
        };
        Some((rule.spec, severity, found.start()))
    })
}

fn is_excused(rule: &CompiledRule, plain: &str, start: usize, end: usize) -> bool {
    rule.unless.as_ref().is_some_and(|unless| {
        let bytes = plain.as_bytes();
        let is_end = |at: usize| {
            bytes[at] == b'\n'
                || (matches!(bytes[at], b'.' | b'!' | b'?')
                    && bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace))
        };
        let from = (0..start).rev().find(|at| is_end(*at)).map_or(0, |at| at + 1);
        let to = (end..bytes.len()).find(|at| is_end(*at)).unwrap_or(bytes.len());
        unless.is_match(&bytes[from..to])
    })
}

/// Whether the words before a match say that the text is about such content: "detects prompts that ignore …". Only the same
/// sentence counts, so that an instruction cannot excuse itself elsewhere.
fn is_mention(plain: &str, start: usize) -> bool {
    let from = plain.floor_char_boundary(start.saturating_sub(MENTION_REACH));
    let before = &plain[from..start];
    let sentence =
        before.rfind(['\n', '!', '?']).map_or(0, |at| at + 1).max(before.rfind(". ").map_or(0, |at| at + 2));
    MENTION.is_match(&before.as_bytes()[sentence..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(COMPILED.len() > 30 && !MENTION.is_match(b"plain"));
    }
}
