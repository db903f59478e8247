//! Text that is encoded so that people do not read it: base64, hexadecimal, percent and character escapes.

use std::sync::LazyLock;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::bytes::Regex;

use super::{
    FindingList, ScanRule, Severity, normalize::normalize, patterns::SHELL_PAYLOAD, rules, texts::PlacedText,
};

/// Shortest base64 or hexadecimal run that can hold a sentence or a command.
const MIN_RUN_BYTES: usize = 20;
/// Maximum number of runs that are decoded in one text.
const MAX_RUNS: usize = 32;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

static SHELL: LazyLock<Regex> = LazyLock::new(|| rules::compile(SHELL_PAYLOAD));
static ESCAPED: LazyLock<Regex> = LazyLock::new(|| {
    rules::compile(r"(?:%[0-9a-fA-F]{2}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|&#x?[0-9a-fA-F]{2,5};)")
});

/// Decodes what looks encoded and applies the rules to it.
pub(super) fn scan_encoded(place: &PlacedText<'_>, report: &mut FindingList) {
    let runs = place
        .text
        .split(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '+' | '/' | '-' | '_' | '=')))
        .filter(|run| run.len() >= MIN_RUN_BYTES)
        .take(MAX_RUNS);
    for run in runs {
        // `init=Y3Vy…`: what is before the sign is a label, what is after it padding.
        let run = run.trim_end_matches('=');
        let run = run.rsplit('=').next().unwrap_or(run);
        if run.len() >= MIN_RUN_BYTES {
            decode_run(run).into_iter().for_each(|text| report_decoded(place, &text, report));
        }
    }
    if let Some(text) = decode_escapes(place.text) {
        report_decoded(place, &text, report);
    }
}

fn report_decoded(place: &PlacedText<'_>, decoded: &str, report: &mut FindingList) {
    let plain = normalize(decoded);
    if rules::worst_rule(&plain).is_some() || SHELL.is_match(plain.as_bytes()) {
        let reason = "encoded text decodes to instructions or commands";
        report.push((ScanRule::EncodedPayload, Severity::High, reason), &place.pointer, decoded);
    }
}

/// The texts that a run can stand for.
fn decode_run(run: &str) -> Vec<String> {
    let hexadecimal = hex::decode(run).ok();
    let base64 = STANDARD.decode(run).or_else(|_| URL_SAFE.decode(run)).ok();
    [hexadecimal, base64]
        .into_iter()
        .flatten()
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .filter(|t| is_text(t))
        .collect()
}

/// Random bytes are hardly ever readable text.
fn is_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|char| !char.is_control() || matches!(char, '\n' | '\r' | '\t'))
}

/// The text with its escapes decoded, if it has enough of them to hide a word.
fn decode_escapes(text: &str) -> Option<String> {
    if ESCAPED.find_iter(text.as_bytes()).take(8).count() < 8 {
        return None;
    }
    let decoded = ESCAPED.replace_all(text.as_bytes(), |found: &regex::bytes::Captures<'_>| {
        let escape = String::from_utf8_lossy(&found[0]).into_owned();
        let digits = escape.trim_start_matches(['%', '\\', '&', '#', 'x', 'u']).trim_end_matches(';');
        let radix = if escape.starts_with("&#") && !escape.starts_with("&#x") { 10 } else { 16 };
        let char = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).unwrap_or(' ');
        char.to_string().into_bytes()
    });
    String::from_utf8(decoded.into_owned()).ok()
}
