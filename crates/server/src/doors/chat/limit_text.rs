//! Texts for responses that a limit ended early.

use toolyard_agent::event::TurnLimitKind;

pub(super) const fn limit_code(bound: TurnLimitKind) -> &'static str {
    match bound {
        TurnLimitKind::Steps => "steps",
        TurnLimitKind::Tokens => "tokens",
        TurnLimitKind::Time => "time",
    }
}

pub(super) const fn limit_message(bound: TurnLimitKind) -> &'static str {
    match bound {
        TurnLimitKind::Steps => "The response was stopped: it took too many steps.",
        TurnLimitKind::Tokens => "The response was stopped: it took too many tokens.",
        TurnLimitKind::Time => "The response was stopped: it took too long.",
    }
}
