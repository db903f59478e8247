//! Language names and codes, as transcribers report them.

/// The English names that Whisper uses, by code.
const NAMES: [(&str, &str); 57] = [
    ("af", "afrikaans"),
    ("ar", "arabic"),
    ("az", "azerbaijani"),
    ("be", "belarusian"),
    ("bg", "bulgarian"),
    ("bs", "bosnian"),
    ("ca", "catalan"),
    ("cs", "czech"),
    ("cy", "welsh"),
    ("da", "danish"),
    ("de", "german"),
    ("el", "greek"),
    ("en", "english"),
    ("es", "spanish"),
    ("et", "estonian"),
    ("fa", "persian"),
    ("fi", "finnish"),
    ("fr", "french"),
    ("gl", "galician"),
    ("he", "hebrew"),
    ("hi", "hindi"),
    ("hr", "croatian"),
    ("hu", "hungarian"),
    ("hy", "armenian"),
    ("id", "indonesian"),
    ("is", "icelandic"),
    ("it", "italian"),
    ("ja", "japanese"),
    ("kk", "kazakh"),
    ("kn", "kannada"),
    ("ko", "korean"),
    ("lt", "lithuanian"),
    ("lv", "latvian"),
    ("mi", "maori"),
    ("mk", "macedonian"),
    ("mr", "marathi"),
    ("ms", "malay"),
    ("ne", "nepali"),
    ("nl", "dutch"),
    ("no", "norwegian"),
    ("pl", "polish"),
    ("pt", "portuguese"),
    ("ro", "romanian"),
    ("ru", "russian"),
    ("sk", "slovak"),
    ("sl", "slovenian"),
    ("sr", "serbian"),
    ("sv", "swedish"),
    ("sw", "swahili"),
    ("ta", "tamil"),
    ("th", "thai"),
    ("tl", "tagalog"),
    ("tr", "turkish"),
    ("uk", "ukrainian"),
    ("ur", "urdu"),
    ("vi", "vietnamese"),
    ("zh", "chinese"),
];

/// The code of a language that a transcriber reported. None if it is unknown.
pub(super) fn language_code(named: &str) -> Option<String> {
    let named = named.trim().to_ascii_lowercase();
    if is_language_tag(&named) {
        return Some(named);
    }
    NAMES.iter().find(|(_, name)| *name == named).map(|(code, _)| (*code).to_owned())
}

/// Whether a text is a language tag, `de` or `de-DE`. It cannot be a path or an option.
pub(super) fn is_language_tag(text: &str) -> bool {
    let (language, region) =
        text.split_once('-').map_or((text, None), |(language, region)| (language, Some(region)));
    let letters = |part: &str, least, most| {
        (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    letters(language, 2, 3) && region.is_none_or(|region| letters(region, 2, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_understood() {
        assert_eq!(language_code("German").as_deref(), Some("de"));
        assert_eq!(language_code("en").as_deref(), Some("en"));
        assert_eq!(language_code("pt-BR").as_deref(), Some("pt-br"));
        assert_eq!((language_code("klingonese"), language_code("")), (None, None));
        assert!(NAMES.is_sorted(), "each once");
    }

    #[test]
    fn a_tag_is_letters_only() {
        assert!(["de", "de-DE", "haw-US", "zh-Hans"].iter().all(|tag| is_language_tag(tag)));
        for bad in ["", "d", "de-", "-f", "../x", "de/x", "de-DE-x", "en+f3", "en us", "de-D", "abcd"] {
            assert!(!is_language_tag(bad), "{bad}");
        }
    }
}
