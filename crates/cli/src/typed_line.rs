//! What a line means that somebody typed: words, or behind a slash an order. What can be ordered is each command's own.

/// What somebody wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedLine<T> {
    /// These words are for somebody.
    PlainText(String),
    /// The command shall do this.
    Command(T),
    /// To know what can be typed.
    Help,
    /// To leave.
    Quit,
    /// Nothing.
    Empty,
}

/// What a command makes of the word behind a slash.
pub(crate) enum ParsedCommand<T> {
    /// An order.
    Command(T),
    /// No order: a slash stands at the beginning of other things too.
    PlainText,
    /// An order that it does not know.
    Unknown,
}

/// Reads a line. `order` gets the word behind the slash and the rest of the line; an error says what is wrong with that.
pub(crate) fn parse_typed_line<T>(
    line: &str,
    order: impl FnOnce(&str, &str) -> Result<ParsedCommand<T>, String>,
) -> Result<TypedLine<T>, String> {
    let line = line.trim();
    let Some(given) = line.strip_prefix('/') else {
        return Ok(if line.is_empty() { TypedLine::Empty } else { TypedLine::PlainText(line.to_owned()) });
    };
    let (word, rest) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    match (word, rest.trim()) {
        ("help", _) => Ok(TypedLine::Help),
        ("quit" | "exit", "") => Ok(TypedLine::Quit),
        (word, rest) => match order(word, rest)? {
            ParsedCommand::Command(order) => Ok(TypedLine::Command(order)),
            ParsedCommand::PlainText => Ok(TypedLine::PlainText(line.to_owned())),
            ParsedCommand::Unknown => {
                Err(format!("`/{given}` is nothing that can be done here; /help lists what can"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<TypedLine<String>, String> {
        parse_typed_line(line, |word, rest| match word {
            "do" => Ok(ParsedCommand::Command(rest.to_owned())),
            "wrong" => Err("wrong".to_owned()),
            "" => Ok(ParsedCommand::PlainText),
            _ => Ok(ParsedCommand::Unknown),
        })
    }

    #[test]
    fn a_line_is_words_or_an_order() {
        for (line, wanted) in [
            ("  say this ", TypedLine::PlainText("say this".to_owned())),
            ("/do \t that thing ", TypedLine::Command("that thing".to_owned())),
            ("/do", TypedLine::Command(String::new())),
            ("/ 2", TypedLine::PlainText("/ 2".to_owned())),
            ("/help me", TypedLine::Help),
            ("/quit", TypedLine::Quit),
            (" /exit ", TypedLine::Quit),
            ("  ", TypedLine::Empty),
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
