//! Whether a turn may start now. A user at a limit can still replace their own stream.

use toolyard_core::CallOwner;
use toolyard_protocol::UserId;

use super::{
    begin::TurnStartError,
    turns::{TurnPermit, TurnRefusal},
};
use crate::{connections::StreamSlot, state::ServerState};

/// The places that a running turn takes. Dropping them frees both.
#[derive(Debug)]
pub(super) struct AdmittedTurn {
    _permit: TurnPermit,
    _slot: StreamSlot,
}

/// Admits a turn, after everything else about its request was checked: a refused request must not count. If the user has
/// too many turns and this one replaces a running one, that one is cancelled first.
pub(super) async fn admit_turn(
    state: &ServerState,
    owner: &CallOwner,
    replaces: Option<&str>,
) -> Result<AdmittedTurn, TurnStartError> {
    match (try_admit(state, &owner.user), replaces) {
        // Cancelling one of them would not help.
        (Err(refused @ TurnStartError::Limited(TurnRefusal::TooFast { .. })), _) => Err(refused),
        (Err(refused), Some(id)) => match state.chat.replays.end_turn(owner, id).await {
            true => try_admit(state, &owner.user),
            false => Err(refused),
        },
        (admitted, _) => admitted,
    }
}

fn try_admit(state: &ServerState, user: &UserId) -> Result<AdmittedTurn, TurnStartError> {
    state.chat.turns.check_rate(user).map_err(TurnStartError::Limited)?;
    let slot = state.process.streams.reserve(user.as_str())?;
    let permit = state.chat.turns.enter(user).map_err(TurnStartError::Limited)?;
    Ok(AdmittedTurn { _permit: permit, _slot: slot })
}
