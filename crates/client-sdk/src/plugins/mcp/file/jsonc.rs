//! Converts JSON with comments and trailing commas, as editors write it, to JSON.

use std::{iter::Peekable, str::Chars};

/// The text as JSON. Removed characters become spaces, so that positions in error messages stay correct.
pub(super) fn strip_comments(text: &str) -> String {
    let (mut json, mut chars, mut comma) = (String::with_capacity(text.len()), text.chars().peekable(), None);
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                comma = None;
                json.push('"');
                copy_string(&mut chars, &mut json);
            }
            ('/', Some('/')) => {
                json.push(' ');
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    json.push(to_blank(c));
                }
            }
            ('/', Some('*')) => {
                json.push(' ');
                blank_block(&mut chars, &mut json);
            }
            (',', _) => {
                comma = Some(json.len());
                json.push(',');
            }
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    json.replace_range(at..=at, " ");
                }
                json.push(c);
            }
            // Some editors write a byte order mark.
            ('\u{feff}', _) => json.push(' '),
            (c, _) => {
                if !c.is_ascii_whitespace() {
                    comma = None;
                }
                json.push(c);
            }
        }
    }
    json
}

fn to_blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

/// Copies the rest of a string, including its closing quote.
fn copy_string(chars: &mut Peekable<Chars<'_>>, json: &mut String) {
    while let Some(c) = chars.next() {
        json.push(c);
        match c {
            '"' => return,
            '\\' => json.extend(chars.next()),
            _ => {}
        }
    }
}

/// Blanks the rest of a block comment, from its star on.
fn blank_block(chars: &mut Peekable<Chars<'_>>, json: &mut String) {
    json.extend(chars.next().map(to_blank));
    let mut star = false;
    for c in chars.by_ref() {
        json.push(to_blank(c));
        if star && c == '/' {
            return;
        }
        star = c == '*';
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&strip_comments(text))
    }

    #[test]
    fn comments_and_trailing_commas_go() {
        let text = "\u{feff}// first, \"quoted\"\n{ /* a } , */ \"a\": [1, 2, /* , */ ], // ]\n \"b\": {\"c\": 1,\n},/**/}";
        assert_eq!(read(text).unwrap(), json!({ "a": [1, 2], "b": { "c": 1 } }));
        assert_eq!(read("[1]// end").unwrap(), json!([1]));
        assert_eq!(read("[/*/ 1 /*/ 2 /**/]").unwrap(), json!([2]));
    }

    #[test]
    fn strings_stay() {
        for text in [
            r#"{"a":"http://x/* y */,]","b":"\"// ,}","c":"\\"}"#,
            r#"["a,",",]","/*"]"#,
            r#"["\\\"//"]"#,
            "[\"ü//€\"]",
        ] {
            assert_eq!(strip_comments(text), text);
        }
    }

    #[test]
    fn invalid_json_stays_invalid_with_correct_positions() {
        for text in ["{", "[1,,2]", "/* [1]", "[1", "[1 2,]", "\"", "\"\\", "/", "[1]/"] {
            assert!(read(text).is_err(), "{text}");
        }
        let error = read("{ // one\n  /* two\n  */ \"a\": x }").unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 11));
    }
}
