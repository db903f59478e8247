//! Runs documentation pages: their code blocks, and the output of commands.

/// The code blocks of a page: language and text.
pub fn code_blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("```").skip(1).step_by(2).map(|block| block.split_once('\n').expect("a language, then lines"))
}

/// Fails unless each line of a block matches a line of the output, in order. `…` matches anything.
pub fn assert_output_matches(output: &str, block: &str) {
    let mut lines = output.lines();
    for shown in block.lines() {
        assert!(lines.any(|line| line_matches(line, shown)), "`{shown}` is not in\n{output}");
    }
}

/// Whether the pieces of a line occur in another line in order.
fn line_matches(line: &str, shown: &str) -> bool {
    let mut rest = line;
    shown.split('…').map(str::trim).all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_pieces() {
        assert!(
            line_matches("made the key 5f (Ada)", "made the key … (Ada)") && line_matches("  a b c", "a … c")
        );
        assert!(
            !line_matches("made the key", "made a key")
                && !line_matches("a c b", "a … b … c")
                && !line_matches("", "x")
        );
    }

    #[test]
    #[should_panic(expected = "`a` is not in")]
    fn lines_are_found_in_order() {
        assert_output_matches("a\nb\n", "b\na");
    }
}
