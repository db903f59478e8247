//! The slash commands of a chat.

use crate::typed_line::{self, ParsedCommand, TypedLine};

/// A slash command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatCommand {
    /// Start a new conversation.
    New,
    /// List the tools.
    Tools,
    /// Change the model; `None` lists the models.
    Model(Option<String>),
    /// Set the system prompt; `None` removes it.
    System(Option<String>),
}

/// Parses a line. Plain text is a chat message.
pub(super) fn parse_chat_line(line: &str) -> Result<TypedLine<ChatCommand>, String> {
    typed_line::parse_typed_line(line, |word, rest| {
        let some = || (!rest.is_empty()).then(|| rest.to_owned());
        Ok(match (word, rest) {
            ("new", "") => ParsedCommand::Command(ChatCommand::New),
            ("tools", "") => ParsedCommand::Command(ChatCommand::Tools),
            ("model", _) => ParsedCommand::Command(ChatCommand::Model(some())),
            ("system", _) => ParsedCommand::Command(ChatCommand::System(some())),
            // A path or a fraction is a message like any other.
            (word, _) if !word.chars().all(|c| c.is_ascii_lowercase()) || word.is_empty() => {
                ParsedCommand::PlainText
            }
            _ => ParsedCommand::Unknown,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_slash_are_commands() {
        let some = |text: &str| Some(text.to_owned());
        let words = |text: &str| TypedLine::PlainText(text.to_owned());
        for (line, wanted) in [
            ("  what is 6 * 7? ", words("what is 6 * 7?")),
            ("/new", TypedLine::Command(ChatCommand::New)),
            ("/tools", TypedLine::Command(ChatCommand::Tools)),
            ("/model", TypedLine::Command(ChatCommand::Model(None))),
            ("/model  local/m ", TypedLine::Command(ChatCommand::Model(some("local/m")))),
            ("/system Be brief, please.", TypedLine::Command(ChatCommand::System(some("Be brief, please.")))),
            ("/system", TypedLine::Command(ChatCommand::System(None))),
            ("/etc/hosts says what?", words("/etc/hosts says what?")),
            ("/ 2", words("/ 2")),
        ] {
            assert_eq!(parse_chat_line(line), Ok(wanted), "{line}");
        }
        for wrong in ["/fly", "/new york", "/quit now"] {
            assert!(parse_chat_line(wrong).is_err(), "{wrong}");
        }
    }
}
