//! What a typed line means.

use std::str::FromStr;

/// What the user wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// An answer to this.
    Ask(String),
    /// A conversation from the beginning.
    New,
    /// To see the tools.
    Tools,
    /// Another model; none is to see which there are.
    Model(Option<String>),
    /// Another system text; none takes it away.
    System(Option<String>),
    /// To know what can be typed.
    Help,
    /// To leave.
    Quit,
    /// Nothing.
    Nothing,
}

impl FromStr for Typed {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let line = line.trim();
        let Some(order) = line.strip_prefix('/') else {
            return Ok(if line.is_empty() { Self::Nothing } else { Self::Ask(line.to_owned()) });
        };
        let (word, rest) = order.split_once(char::is_whitespace).unwrap_or((order, ""));
        let rest = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
        match (word, rest) {
            ("new", None) => Ok(Self::New),
            ("tools", None) => Ok(Self::Tools),
            ("model", name) => Ok(Self::Model(name)),
            ("system", text) => Ok(Self::System(text)),
            ("help", _) => Ok(Self::Help),
            ("quit" | "exit", None) => Ok(Self::Quit),
            // A path or a fraction is a question like any other.
            (word, _) if !word.chars().all(|c| c.is_ascii_lowercase()) || word.is_empty() => {
                Ok(Self::Ask(line.to_owned()))
            }
            _ => Err(format!("`/{order}` is nothing that can be done here; /help lists what can")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_slash_do_something() {
        let some = |text: &str| Some(text.to_owned());
        for (line, wanted) in [
            ("  what is 6 * 7? ", Typed::Ask("what is 6 * 7?".to_owned())),
            ("/new", Typed::New),
            ("/tools", Typed::Tools),
            ("/model", Typed::Model(None)),
            ("/model  local/m ", Typed::Model(some("local/m"))),
            ("/system Be brief, please.", Typed::System(some("Be brief, please."))),
            ("/system", Typed::System(None)),
            ("/help me", Typed::Help),
            ("/quit", Typed::Quit),
            ("/exit", Typed::Quit),
            ("  ", Typed::Nothing),
            ("/etc/hosts says what?", Typed::Ask("/etc/hosts says what?".to_owned())),
            ("/ 2", Typed::Ask("/ 2".to_owned())),
        ] {
            assert_eq!(line.parse(), Ok(wanted), "{line}");
        }
        for wrong in ["/fly", "/new york", "/quit now"] {
            assert!(wrong.parse::<Typed>().is_err(), "{wrong}");
        }
    }
}
