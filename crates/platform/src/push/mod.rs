//! The browsers in which users are notified.

mod subscribe;
mod test;
mod unsubscribe;

pub use self::{subscribe::subscribe, test::test, unsubscribe::unsubscribe};
use crate::{ActorOfUser, PlatformError};

/// Refuses everyone but the user: a notification says what the user's calls are about.
fn require_user(actor: &ActorOfUser) -> Result<(), PlatformError> {
    if actor.is_user_in_person() {
        return Ok(());
    }
    Err(PlatformError::forbidden("only the user can decide where they are notified"))
}
