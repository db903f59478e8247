//! Advertising that makes a model prefer a tool. One superlative is ordinary; a text made of them is not a description.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::bytes::Regex;

use super::{FindingList, ScanRule, Severity, rules, texts::PlacedText};

/// Different claims from which on a text is advertising.
const MIN_CLAIMS: usize = 3;

static CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    rules::compile(concat!(
        r"#1\b|\bnumber one\b|\brated\b|\baward-winning\b|\bthe best\b|\bmost (?:accurate|reliable|trusted|powerful|advanced)\b|\bsuperior\b|\binferior\b|\boutperform",
        r"|\b\d+x (?:better|faster|more)|\b\d+ ?% (?:more|better|faster)|\btrusted by\b|\brecommended by\b|\bendorsed by\b|\bfeatured (?:in|on)\b|\blimited time\b|\bact now\b|\bhurry\b",
        r"|\bexclusive\b|\b(?:million|thousands of) (?:users|downloads|customers)\b|\b(?:five|5)-star\b|\bgame[- ]changer\b|\bbreakthrough\b|\b(?:scientifically )?proven\b|\bunmatched\b|\bunprecedented\b",
        r"|\bdon't (?:settle|fall behind|waste|miss)\b|\bexperts\b|\belite\b|\bultimate\b|\brevolutionary\b|\bguaranteed\b|\bofficial(?:ly)?\b|\bworld-class\b|\bmilitary-grade\b|\bmust use this\b",
        r"|\balways (?:use|choose|try|prefer|select|pick) this\b|\bother (?:\w+ )?tools (?:are|will be) (?:being )?\w+",
    ))
});

/// Counts the claims of a text.
pub(super) fn scan_promotion(place: &PlacedText<'_>, plain: &str, report: &mut FindingList) {
    let claims: BTreeSet<&[u8]> = CLAIM.find_iter(plain.as_bytes()).map(|found| found.as_bytes()).collect();
    if claims.len() >= MIN_CLAIMS {
        let reason = "it advertises itself to the model instead of saying what it does";
        report.push((ScanRule::Preference, Severity::Medium, reason), &place.pointer, plain);
    }
}
