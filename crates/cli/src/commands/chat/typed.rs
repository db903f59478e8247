//! What can be ordered in a chat.

use crate::typed::{self, Meant, Typed};

/// An order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A conversation from the beginning.
    New,
    /// To see the tools.
    Tools,
    /// Another model; none is to see which there are.
    Model(Option<String>),
    /// Another system text; none takes it away.
    System(Option<String>),
}

/// What a line means; words are a question.
pub(super) fn read(line: &str) -> Result<Typed<Order>, String> {
    typed::read(line, |word, rest| {
        let some = || (!rest.is_empty()).then(|| rest.to_owned());
        Ok(match (word, rest) {
            ("new", "") => Meant::Order(Order::New),
            ("tools", "") => Meant::Order(Order::Tools),
            ("model", _) => Meant::Order(Order::Model(some())),
            ("system", _) => Meant::Order(Order::System(some())),
            // A path or a fraction is a question like any other.
            (word, _) if !word.chars().all(|c| c.is_ascii_lowercase()) || word.is_empty() => Meant::Words,
            _ => Meant::Unknown,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_slash_do_something() {
        let some = |text: &str| Some(text.to_owned());
        let words = |text: &str| Typed::Words(text.to_owned());
        for (line, wanted) in [
            ("  what is 6 * 7? ", words("what is 6 * 7?")),
            ("/new", Typed::Order(Order::New)),
            ("/tools", Typed::Order(Order::Tools)),
            ("/model", Typed::Order(Order::Model(None))),
            ("/model  local/m ", Typed::Order(Order::Model(some("local/m")))),
            ("/system Be brief, please.", Typed::Order(Order::System(some("Be brief, please.")))),
            ("/system", Typed::Order(Order::System(None))),
            ("/etc/hosts says what?", words("/etc/hosts says what?")),
            ("/ 2", words("/ 2")),
        ] {
            assert_eq!(read(line), Ok(wanted), "{line}");
        }
        for wrong in ["/fly", "/new york", "/quit now"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
