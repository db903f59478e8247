//! Ids of calls that every vendor takes.

use toolyard_core::ports::Ids;

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Letters of an id.
const LENGTH: usize = 24;

/// A new one: `call_` and 24 letters or digits.
pub(super) fn call_id(ids: &dyn Ids) -> String {
    // Two bytes a letter: so the letters are nearly as likely as each other without asking again.
    let mut bytes = [0; 2 * LENGTH];
    ids.fill(&mut bytes);
    let letter = |pair: &[u8]| {
        let number = pair.iter().fold(0, |number, byte| number * 256 + usize::from(*byte));
        char::from(LETTERS[number % LETTERS.len()])
    };
    "call_".chars().chain(bytes.chunks_exact(2).map(letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Same(u8);

    impl Ids for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn ids_have_the_form_that_vendors_take() {
        for byte in [0, 1, 97, 255] {
            let id = call_id(&Same(byte));
            let rest = id.strip_prefix("call_").unwrap();
            assert!(rest.len() == LENGTH && rest.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
        }
        assert_ne!(call_id(&Same(1)), call_id(&Same(2)));
    }
}
