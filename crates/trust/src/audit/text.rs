//! Audits text without interpreting it.

use super::report::{Code, FindingCollector};

/// Longest line that a person will review.
const MAX_LINE_CHARS: usize = 500;

/// Characters that change the text direction (CVE-2021-42574).
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters without width.
fn is_invisible_char(c: char) -> bool {
    matches!(c, '\u{00ad}' | '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// Audits a text for people or models: only for direction controls.
pub(super) fn audit_bidi(text: &str, place: &str, findings: &mut FindingCollector) {
    if let Some(c) = text.chars().find(|c| is_bidi_control(*c)) {
        let text = format!("U+{:04X} changes the direction of the text", u32::from(c));
        findings.add(Code::BidiControl, place, text);
    }
}

/// Audits the lines of code.
pub(super) fn audit_lines(code: &str, place: &str, findings: &mut FindingCollector) {
    for (index, line) in code.lines().enumerate() {
        let at = format!("{place}, line {}", index + 1);
        audit_bidi(line, &at, findings);
        if let Some(c) = line.chars().find(|c| is_invisible_char(*c)) {
            let text = format!("U+{:04X} is invisible", u32::from(c));
            findings.add(Code::InvisibleCharacter, &at, text);
        }
        let length = line.chars().count();
        if length > MAX_LINE_CHARS {
            findings.add(
                Code::LongLine,
                &at,
                format!("{length} characters; more than {MAX_LINE_CHARS} are hard to review"),
            );
        }
    }
}
