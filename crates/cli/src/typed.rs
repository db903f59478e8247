//! What a line means that somebody typed: words, or behind a slash an order. What can be ordered is each command's own.

/// What somebody wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed<T> {
    /// These words are for somebody.
    Words(String),
    /// The command shall do this.
    Order(T),
    /// To know what can be typed.
    Help,
    /// To leave.
    Quit,
    /// Nothing.
    Nothing,
}

/// What a command makes of the word behind a slash.
pub(crate) enum Meant<T> {
    /// An order.
    Order(T),
    /// No order: a slash stands at the beginning of other things too.
    Words,
    /// An order that it does not know.
    Unknown,
}

/// Reads a line. `order` gets the word behind the slash and the rest of the line; an error says what is wrong with that.
pub(crate) fn read<T>(
    line: &str,
    order: impl FnOnce(&str, &str) -> Result<Meant<T>, String>,
) -> Result<Typed<T>, String> {
    let line = line.trim();
    let Some(given) = line.strip_prefix('/') else {
        return Ok(if line.is_empty() { Typed::Nothing } else { Typed::Words(line.to_owned()) });
    };
    let (word, rest) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    match (word, rest.trim()) {
        ("help", _) => Ok(Typed::Help),
        ("quit" | "exit", "") => Ok(Typed::Quit),
        (word, rest) => match order(word, rest)? {
            Meant::Order(order) => Ok(Typed::Order(order)),
            Meant::Words => Ok(Typed::Words(line.to_owned())),
            Meant::Unknown => {
                Err(format!("`/{given}` is nothing that can be done here; /help lists what can"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Typed<String>, String> {
        read(line, |word, rest| match word {
            "do" => Ok(Meant::Order(rest.to_owned())),
            "wrong" => Err("wrong".to_owned()),
            "" => Ok(Meant::Words),
            _ => Ok(Meant::Unknown),
        })
    }

    #[test]
    fn a_line_is_words_or_an_order() {
        for (line, wanted) in [
            ("  say this ", Typed::Words("say this".to_owned())),
            ("/do \t that thing ", Typed::Order("that thing".to_owned())),
            ("/do", Typed::Order(String::new())),
            ("/ 2", Typed::Words("/ 2".to_owned())),
            ("/help me", Typed::Help),
            ("/quit", Typed::Quit),
            (" /exit ", Typed::Quit),
            ("  ", Typed::Nothing),
        ] {
            assert_eq!(typed(line), Ok(wanted), "{line}");
        }
        assert_eq!(typed("/wrong").unwrap_err(), "wrong");
        for unknown in ["/fly away", "/quit now"] {
            let told = format!("`{unknown}` is nothing that can be done here; /help lists what can");
            assert_eq!(typed(unknown).unwrap_err(), told);
        }
    }
}
