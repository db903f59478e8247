//! Names that look like other names.

use unicode_normalization::UnicodeNormalization as _;

use super::{FindingList, ScanRule, Severity, texts::PlacedText};

/// A name in more than one script cannot be read by its letters.
pub(super) fn scan_name(place: &PlacedText<'_>, report: &mut FindingList) {
    let has_latin = place.text.chars().any(|char| char.is_ascii_alphabetic());
    let has_look_alike = place.text.chars().any(|char| !char.is_ascii() && fold_homoglyph(char) != char);
    if has_latin && has_look_alike {
        let reason = "the name mixes Latin letters with letters of another script that look the same";
        report.push((ScanRule::MixedScriptName, Severity::High, reason), &place.pointer, place.text);
    }
}

/// The skeleton of a name: two names that look alike have the same one.
pub(super) fn name_skeleton(name: &str) -> String {
    let folded: String = name.nfkc().map(fold_homoglyph).collect::<String>().to_lowercase();
    let mut skeleton: String = folded
        .chars()
        .filter(|char| char.is_alphanumeric())
        .map(|char| match char {
            '0' => 'o',
            '1' | 'i' | '|' => 'l',
            '5' => 's',
            other => other,
        })
        .collect();
    for (pair, single) in [("rn", "m"), ("vv", "w"), ("cl", "d")] {
        skeleton = skeleton.replace(pair, single);
    }
    skeleton
}

/// The name without separators and case: two names with the same one differ only in style.
pub(super) fn name_style(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The Latin letter that a letter of another script looks like.
#[rustfmt::skip]
pub(super) fn fold_homoglyph(char: char) -> char {
    match char {
        // Cyrillic
        'а' => 'a', 'в' => 'b', 'с' => 'c', 'ԁ' => 'd', 'е' | 'ё' => 'e', 'һ' => 'h', 'і' | 'ї' => 'i', 'ј' => 'j',
        'к' => 'k', 'ӏ' => 'l', 'м' => 'm', 'п' => 'n', 'о' => 'o', 'р' => 'p', 'ԛ' => 'q', 'г' => 'r', 'ѕ' => 's',
        'т' => 't', 'ц' => 'u', 'ѵ' => 'v', 'ԝ' => 'w', 'х' => 'x', 'у' => 'y',
        'А' => 'A', 'В' => 'B', 'С' => 'C', 'Е' => 'E', 'Н' => 'H', 'І' => 'I', 'Ј' => 'J', 'К' => 'K', 'М' => 'M',
        'О' => 'O', 'Р' => 'P', 'Ѕ' => 'S', 'Т' => 'T', 'Х' => 'X', 'У' => 'Y',
        // Greek
        'α' => 'a', 'β' => 'b', 'ε' => 'e', 'η' => 'n', 'ι' => 'i', 'κ' => 'k', 'ν' => 'v', 'ο' => 'o', 'ρ' => 'p',
        'τ' => 't', 'υ' => 'u', 'χ' => 'x', 'γ' => 'y', 'ω' => 'w',
        'Α' => 'A', 'Β' => 'B', 'Ε' => 'E', 'Ζ' => 'Z', 'Η' => 'H', 'Ι' => 'I', 'Κ' => 'K', 'Μ' => 'M', 'Ν' => 'N',
        'Ο' => 'O', 'Ρ' => 'P', 'Τ' => 'T', 'Υ' => 'Y', 'Χ' => 'X',
        // Latin letters and marks outside of ASCII, Armenian, Cherokee
        'ɑ' => 'a', 'ɡ' => 'g', 'ı' => 'i', 'ɩ' => 'i', 'ⅼ' => 'l', 'ո' => 'n', 'օ' => 'o', 'ս' => 'u', 'ᴏ' => 'o',
        'ᴄ' => 'c', 'ѡ' => 'w', 'ʏ' => 'y', 'ɢ' => 'g', 'ɴ' => 'n', 'ʀ' => 'r', 'ᴀ' => 'a', 'ᴇ' => 'e', 'ᴛ' => 't',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_have_one_skeleton() {
        for (one, other) in [
            ("read_file", "rеad_file"),
            ("login", "1ogin"),
            ("confirm", "confirrn"),
            ("sendMail", "send-mai1"),
        ] {
            assert_eq!(name_skeleton(one), name_skeleton(other), "{one} {other}");
        }
        assert_ne!(name_skeleton("read_file"), name_skeleton("read_files"));
    }
}
