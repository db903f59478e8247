//! What people read when an answer ends before it is through.

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
        TurnLimitKind::Steps => "The answer was ended: it took too many steps.",
        TurnLimitKind::Tokens => "The answer was ended: it took too many tokens.",
        TurnLimitKind::Time => "The answer was ended: it took too long.",
    }
}
