//! Text for a terminal. Text from servers, apps and files is not trusted: control characters could move the cursor or
//! worse, so they are removed.

use std::fmt::Write as _;

use toolyard_protocol::Problem;

/// One line: every control character becomes a space.
pub(crate) fn sanitize_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Several lines: newlines and tabs stay, every other control character becomes a space.
pub(crate) fn sanitize_block(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { ' ' } else { c }).collect()
}

/// JSON on one line. JSON allows some control characters unescaped in strings, and a terminal would obey them. They are
/// escaped, which does not change the value.
pub(crate) fn sanitize_json(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            // Only between tokens: inside strings JSON escapes them.
            '\0'..='\u{1f}' => safe.push(' '),
            c if c.is_control() => drop(write!(safe, "\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}

/// The first line of a text, truncated to `most` characters.
pub(crate) fn first_line(text: &str, most: usize) -> String {
    let first = sanitize_line(text.trim_start().lines().next().unwrap_or_default());
    truncate_text(&first, most)
}

/// Truncates a text to `most` characters.
pub(crate) fn truncate_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A problem with its path, if it has one.
pub(crate) fn format_problem(problem: &Problem) -> String {
    if problem.path.is_empty() {
        sanitize_line(&problem.message)
    } else {
        sanitize_line(&problem.to_string())
    }
}

/// A command line, quoted for a shell.
pub(crate) fn shell_quote<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&b);
    let word = |word: &str| match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A table in which each column is as wide as its widest cell. Cells are sanitized here.
pub(crate) fn format_table<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| sanitize_line(cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let written = rows.iter().map(|row| {
        let mut written = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(written, "{cell:<width$}  ");
        }
        written.trim_end().to_owned()
    });
    written.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(sanitize_line("a\u{1b}[2Jb\nc\u{9b}d"), "a [2Jb c d");
        assert_eq!(sanitize_block("a\u{7}b\n\tc\r"), "a b\n\tc ");
        assert_eq!(format_table(&[["\u{1b}x".to_owned()]]), " x");
        let written = serde_json::to_string("a\u{9b}2Jb\u{7f}\u{1b}").unwrap();
        assert!(written.contains('\u{9b}'), "JSON does not escape it");
        assert_eq!(sanitize_json(&written), r#""a\u009b2Jb\u007f\u001b""#);
        assert_eq!(sanitize_json("{\t\"a\":\r1}"), "{ \"a\": 1}");
        assert_eq!(
            serde_json::from_str::<String>(&sanitize_json(&written)).unwrap(),
            "a\u{9b}2Jb\u{7f}\u{1b}"
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "bb", "c"], ["lang", "ö", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(format_table(&rows), "a     bb  c\nlang  ö");
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        let words = ["npx", "-y", "@a/b@1", "two words", "it's", "", "$(rm)"];
        assert_eq!(shell_quote(words), r"npx -y @a/b@1 'two words' 'it'\''s' '' '$(rm)'");
    }

    #[test]
    fn long_texts_are_truncated() {
        assert_eq!(first_line("  one two\nthree", 80), "one two");
        assert_eq!(first_line("one two", 4), "one…");
        assert_eq!(truncate_text("one", 3), "one");
    }
}
