//! The capabilities of the terminal, and what the user wants of them.

use std::io::{self, IsTerminal as _};

/// How to write to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalStyle {
    /// Whether a line can be cleared again.
    pub(super) live: bool,
    pub(super) colour: bool,
}

impl TerminalStyle {
    /// The style for stderr, limited by the environment.
    pub(super) fn from_environment(environment: impl Iterator<Item = (String, String)>) -> Self {
        Self::for_terminal(io::stderr().is_terminal(), environment)
    }

    fn for_terminal(terminal: bool, environment: impl Iterator<Item = (String, String)>) -> Self {
        let mut style = Self { live: terminal, colour: terminal };
        for (name, value) in environment {
            match name.as_str() {
                "NO_COLOR" if !value.is_empty() => style.colour = false,
                "TERM" if value == "dumb" => style = Self { live: false, colour: false },
                _ => {}
            }
        }
        style.colour &= style.live;
        style
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_that_want_it() {
        let variables = |list: &[(&str, &str)]| {
            list.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<Vec<_>>()
                .into_iter()
        };
        let both = TerminalStyle { live: true, colour: true };
        assert_eq!(
            TerminalStyle::for_terminal(true, variables(&[("NO_COLOR", ""), ("TERM", "xterm")])),
            both
        );
        assert_eq!(
            TerminalStyle::for_terminal(true, variables(&[("NO_COLOR", "1")])),
            TerminalStyle { colour: false, ..both }
        );
        assert_eq!(
            TerminalStyle::for_terminal(true, variables(&[("TERM", "dumb")])),
            TerminalStyle { live: false, colour: false }
        );
        assert_eq!(
            TerminalStyle::for_terminal(false, variables(&[])),
            TerminalStyle { live: false, colour: false }
        );
    }
}
