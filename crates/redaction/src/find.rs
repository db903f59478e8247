//! Finds secrets: one pass for all prefixes, then a look around each hit.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::{
    alphabet::ScannedText,
    context,
    formats::{FORMATS, KeyFormat, KeyShape},
    known::{KNOWN_KIND, KnownSecrets},
};

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// What it is, as written in placeholders: `github-token`.
    pub kind: &'static str,
    /// Where it is, in bytes.
    pub range: Range<usize>,
}

struct PrefixSearch {
    automaton: AhoCorasick,
    /// The format of each pattern.
    formats: Vec<&'static KeyFormat>,
}

static PREFIXES: LazyLock<PrefixSearch> = LazyLock::new(|| {
    let pairs = FORMATS.iter().flat_map(|format| format.prefixes.iter().map(move |prefix| (*prefix, format)));
    let (prefixes, formats): (Vec<&str>, Vec<&KeyFormat>) = pairs.unzip();
    let builder = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::Standard)
        .build(prefixes);
    #[expect(clippy::expect_used, reason = "the table is constant, and every test builds the automaton")]
    let automaton = builder.expect("a few hundred prefixes fit into an automaton");
    PrefixSearch { automaton, formats }
});

/// The secrets of a text, in order and without overlaps. A secret is one because of its issuer's format, not because it looks
/// random. The time is proportional to the length of the text.
pub fn find_secrets(text: &str) -> Vec<SecretMatch> {
    find_in_member(text, None, &KnownSecrets::default())
}

/// The same for the value of a JSON member, whose name may say what the value is, and with secrets that are known already.
pub(crate) fn find_in_member(text: &str, member: Option<&str>, known: &KnownSecrets) -> Vec<SecretMatch> {
    let mut scanned = ScannedText::new(text, member);
    if let Some(kind) = context::member_secret(&scanned) {
        return vec![SecretMatch { kind, range: 0..text.len() }];
    }
    let search = &*PREFIXES;
    // With the place of its format in the table, which decides between equal ranges.
    let mut found: Vec<(usize, SecretMatch)> = Vec::new();
    for hit in search.automaton.find_overlapping_iter(text) {
        let pattern = hit.pattern().as_usize();
        let format = search.formats[pattern];
        if let Some(range) = verify(&mut scanned, format, hit.range()) {
            found.push((pattern, SecretMatch { kind: format.kind, range }));
        }
    }
    found.extend(known.find(text).map(|range| (usize::MAX, SecretMatch { kind: KNOWN_KIND, range })));
    found
        .sort_by_key(|(pattern, secret)| (secret.range.start, std::cmp::Reverse(secret.range.end), *pattern));
    let mut end = 0;
    let apart = found.into_iter().map(|(_, secret)| secret).filter(|secret| {
        let is_apart = secret.range.start >= end;
        if is_apart {
            end = secret.range.end;
        }
        is_apart
    });
    apart.collect()
}

fn verify(text: &mut ScannedText<'_>, format: &KeyFormat, prefix: Range<usize>) -> Option<Range<usize>> {
    let (alphabet, min, max, start) = match format.shape {
        KeyShape::Key(alphabet, min, max) => (alphabet, min, max, prefix.start),
        KeyShape::Value(alphabet, min, max) => (alphabet, min, max, prefix.end),
        KeyShape::Checked(check) => return check(text, prefix.start, prefix.end),
    };
    if start == prefix.start && !text.is_key_start(start) {
        return None;
    }
    let end = text.run_end(alphabet, prefix.end);
    ((min..=max).contains(&(end - prefix.end)) && text.is_key_end(end)).then_some(start..end)
}
