//! Connecting a device.

use toolyard_protocol::{UserId, api::Role};

use crate::{Actor, ActorOfUser, Credential, PlatformError};

/// The user whose device the actor may connect. Operators can connect one for the user they name, as they can call tools
/// for them; for everyone else a named user is ignored. The socket opens the session, so nothing is written here.
pub fn connect(actor: Actor, named: Option<UserId>) -> Result<ActorOfUser, PlatformError> {
    let user = match (&actor, named) {
        (Actor::App(_), _) => return Err(PlatformError::forbidden("a device needs a user's token")),
        (Actor::Person { credential: Credential::Client { .. }, .. }, _) => {
            return Err(PlatformError::forbidden("a connected client cannot be a device"));
        }
        (Actor::Person { role: Role::Operator, .. }, Some(user)) => user,
        (Actor::Person { credential: Credential::DevHeader, .. }, _) => {
            return Err(PlatformError::invalid("name the user: `?user=` or X-User-Id, or send a token"));
        }
        (Actor::Person { name, .. }, _) => name
            .parse()
            .map_err(|error| PlatformError::BadCredential(format!("the token names no user: {error}")))?,
    };
    Ok(ActorOfUser { user, actor })
}
