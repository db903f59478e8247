//! A word-by-word diff of two texts with a bounded cost.

/// Largest table of the comparison, in cells. Larger texts are compared as removed and added as a whole.
const MAX_CELLS: usize = 1 << 20;

/// A piece of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffPiece {
    /// Words in both texts.
    Same(String),
    /// Words of the old text only.
    Removed(String),
    /// Words of the new text only.
    Added(String),
}

/// The pieces of two texts in order. A removed piece comes before the added piece that replaces it.
pub(crate) fn diff_words(old: &str, new: &str) -> Vec<DiffPiece> {
    let (old, new) = (split_words(old), split_words(new));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut pieces = PieceList::default();
    old[..start].iter().for_each(|word| pieces.push_same(word));
    compare_middle(&old[start..old.len() - end], &new[start..new.len() - end], &mut pieces);
    old[old.len() - end..].iter().for_each(|word| pieces.push_same(word));
    pieces.finish()
}

/// Words with the whitespace that follows them, so that joining them gives the text.
fn split_words(text: &str) -> Vec<&str> {
    text.split_inclusive(char::is_whitespace).collect()
}

/// Longest common subsequence, if the table is small enough.
fn compare_middle<'t>(old: &[&'t str], new: &[&'t str], pieces: &mut PieceList) {
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > MAX_CELLS {
        old.iter().for_each(|word| pieces.removed.push_str(word));
        new.iter().for_each(|word| pieces.added.push_str(word));
        return;
    }
    let mut table = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i * width + j] = if old[i] == new[j] {
                table[(i + 1) * width + j + 1] + 1
            } else {
                table[(i + 1) * width + j].max(table[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            pieces.push_same(old[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && table[(i + 1) * width + j] >= table[i * width + j + 1])
        {
            pieces.removed.push_str(old[i]);
            i += 1;
        } else {
            pieces.added.push_str(new[j]);
            j += 1;
        }
    }
}

#[derive(Default)]
struct PieceList {
    pieces: Vec<DiffPiece>,
    same: String,
    removed: String,
    added: String,
}

impl PieceList {
    fn push_same(&mut self, word: &str) {
        self.flush_changed();
        self.same.push_str(word);
    }

    fn flush_changed(&mut self) {
        if self.removed.is_empty() && self.added.is_empty() {
            return;
        }
        self.flush_same();
        for (text, piece) in
            [(&mut self.removed, DiffPiece::Removed as fn(_) -> _), (&mut self.added, DiffPiece::Added)]
        {
            if !text.is_empty() {
                self.pieces.push(piece(std::mem::take(text)));
            }
        }
    }

    fn flush_same(&mut self) {
        if !self.same.is_empty() {
            self.pieces.push(DiffPiece::Same(std::mem::take(&mut self.same)));
        }
    }

    fn finish(mut self) -> Vec<DiffPiece> {
        self.flush_changed();
        self.flush_same();
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_compared() {
        use DiffPiece::{Added, Removed, Same};
        let pieces = diff_words("Adds one todo to the list.", "Adds a todo to the shared list.");
        let expected = [
            Same("Adds ".to_owned()),
            Removed("one ".to_owned()),
            Added("a ".to_owned()),
            Same("todo to the ".to_owned()),
            Added("shared ".to_owned()),
            Same("list.".to_owned()),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn long_texts_are_compared_at_a_bounded_cost() {
        let (old, new) = ("a b ".repeat(5_000), "c d ".repeat(5_000));
        assert_eq!(diff_words(&old, &new).len(), 2);
    }

    proptest! {
        #[test]
        fn both_texts_can_be_rebuilt(old in "[ab \n]{0,40}", new in "[ab \n]{0,40}") {
            let (mut left, mut right) = (String::new(), String::new());
            for piece in diff_words(&old, &new) {
                match piece {
                    DiffPiece::Same(text) => { left.push_str(&text); right.push_str(&text); }
                    DiffPiece::Removed(text) => left.push_str(&text),
                    DiffPiece::Added(text) => right.push_str(&text),
                }
            }
            prop_assert_eq!((left, right), (old, new));
        }
    }
}
