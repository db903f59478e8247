//! Characters that a person does not see, or sees in another order.

use toolyard_protocol::visible::strip_invisible;

use super::{FindingList, ScanRule, Severity, normalize::normalize, rules::worst_rule, texts::PlacedText};
use crate::excerpt::is_hidden;

/// Blank lines, or spaces in a row, that push what follows out of sight.
const FAR_LINES: usize = 20;
const FAR_SPACES: usize = 200;

pub(super) fn scan_characters(place: &PlacedText<'_>, report: &mut FindingList) {
    let text = place.text;
    if let Some(rest) = text_out_of_sight(text) {
        let reason = "text is far below or beside the rest, where people do not look";
        report.push((ScanRule::InvisibleText, Severity::Medium, reason), &place.pointer, rest);
    }
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || matches!(byte, b'\n' | b'\r' | b'\t')) {
        return;
    }
    let excerpt = around_first_hidden(text);
    let mut push =
        |rule, severity, reason: &str| report.push((rule, severity, reason), &place.pointer, &excerpt);
    if text.chars().any(|char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')) {
        push(
            ScanRule::DirectionControl,
            Severity::High,
            "characters change the order in which text is shown",
        );
    }
    if text.contains('\u{1b}') {
        push(
            ScanRule::ControlCharacter,
            Severity::High,
            "escape sequences hide or change text in a terminal",
        );
    } else if text.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\r' | '\t')) {
        push(ScanRule::ControlCharacter, Severity::Low, "it has control characters");
    }
    if text.chars().any(|char| matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10fffd}')) {
        push(ScanRule::InvisibleText, Severity::Medium, "it has characters without a public meaning");
    }
    let tags: String = text.chars().filter_map(tag_letter).collect();
    let visible = strip_invisible(text);
    if !tags.is_empty() && strip_invisible(text).chars().filter_map(tag_letter).next().is_none() {
        push(ScanRule::InvisibleText, Severity::High, "invisible tag characters carry text");
        if let Some((rule, _)) = worst_rule(&normalize(&tags)) {
            report.push((rule, Severity::High, "hidden in tag characters"), &place.pointer, &tags);
        }
        return;
    }
    let removed = text.chars().filter(|char| is_zero_width(*char)).count()
        - visible.chars().filter(|char| is_zero_width(*char)).count();
    // A byte order mark at the start comes from a file; alone it hides nothing.
    let is_mark = removed == 1 && text.starts_with('\u{feff}');
    if removed > 0 {
        let severity = if is_mark { Severity::Low } else { Severity::Medium };
        push(ScanRule::InvisibleText, severity, "invisible characters are between the visible ones");
    }
}

/// The text after a long stretch of whitespace.
fn text_out_of_sight(text: &str) -> Option<&str> {
    let (mut lines, mut spaces) = (0, 0);
    for (at, char) in text.char_indices() {
        match char {
            '\n' => (lines, spaces) = (lines + 1, 0),
            ' ' | '\t' | '\r' => spaces += 1,
            _ if lines >= FAR_LINES || spaces >= FAR_SPACES => return Some(&text[at..]),
            _ => (lines, spaces) = (0, 0),
        }
    }
    None
}

/// Invisible format characters, without controls and direction controls, which have rules of their own. Soft hyphens come
/// from word processors.
fn is_zero_width(char: char) -> bool {
    is_hidden(char)
        && !char.is_control()
        && !matches!(char, '\u{ad}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        && !matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10fffd}')
}

fn tag_letter(char: char) -> Option<char> {
    match char {
        '\u{e0020}'..='\u{e007e}' => char::from_u32(u32::from(char) - 0xe0000),
        _ => None,
    }
}

fn around_first_hidden(text: &str) -> String {
    let at = text.find(is_hidden).unwrap_or(0);
    text[text.floor_char_boundary(at.saturating_sub(60))..].to_owned()
}
