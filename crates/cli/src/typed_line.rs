//! Parses lines that the user types: text, or a slash command. Which commands exist is up to the caller.

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedLine<T> {
    /// Text, such as a chat message.
    PlainText(String),
    /// A slash command.
    Command(T),
    /// `/help`
    Help,
    /// `/quit` or `/exit`
    Quit,
    /// An empty line.
    Empty,
}

/// What the word after a slash turned out to be.
pub(crate) enum ParsedCommand<T> {
    /// A command.
    Command(T),
    /// Not a command: other text can start with a slash too.
    PlainText,
    /// An unknown command.
    Unknown,
}

/// Parses a line. `parse_command` gets the word after the slash and the rest of the line; its error is shown to the user.
pub(crate) fn parse_typed_line<T>(
    line: &str,
    parse_command: impl FnOnce(&str, &str) -> Result<ParsedCommand<T>, String>,
) -> Result<TypedLine<T>, String> {
    let line = line.trim();
    let Some(given) = line.strip_prefix('/') else {
        return Ok(if line.is_empty() { TypedLine::Empty } else { TypedLine::PlainText(line.to_owned()) });
    };
    let (word, rest) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    match (word, rest.trim()) {
        ("help", _) => Ok(TypedLine::Help),
        ("quit" | "exit", "") => Ok(TypedLine::Quit),
        (word, rest) => match parse_command(word, rest)? {
            ParsedCommand::Command(order) => Ok(TypedLine::Command(order)),
            ParsedCommand::PlainText => Ok(TypedLine::PlainText(line.to_owned())),
            ParsedCommand::Unknown => Err(format!("unknown command `/{given}`; /help lists the commands")),
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
    fn a_line_is_text_or_a_command() {
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
            let expected = format!("unknown command `{unknown}`; /help lists the commands");
            assert_eq!(typed(unknown).unwrap_err(), expected);
        }
    }
}
