//! What people read when an answer ends before it is through.

use toolyard_agent::event::Bound;

pub(super) const fn code(bound: Bound) -> &'static str {
    match bound {
        Bound::Steps => "steps",
        Bound::Tokens => "tokens",
        Bound::Time => "time",
    }
}

pub(super) const fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Steps => "The answer was ended: it took too many steps.",
        Bound::Tokens => "The answer was ended: it took too many tokens.",
        Bound::Time => "The answer was ended: it took too long.",
    }
}
