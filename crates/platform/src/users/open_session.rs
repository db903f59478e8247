//! Opening a session, and keeping it alive.

use toolyard_core::{
    Caller,
    catalog::{AppEntry, ViewScope},
};
use toolyard_protocol::UserId;

use crate::{Actor, ActorOfUser, Credential, Platform, PlatformError};

/// What an actor may do in a user's session.
#[derive(Debug, Clone)]
pub struct SessionAccess {
    /// In whose name calls are made.
    pub caller: Caller,
    /// Which of the user's tools the actor sees.
    pub scope: ViewScope,
}

/// Admits an actor to a user's session. A person's request opens the session, so no device is needed to call tools. An
/// app's request requires that the user already has one.
pub async fn open_session(platform: &Platform, actor: &ActorOfUser) -> Result<SessionAccess, PlatformError> {
    let user = &actor.user;
    if platform.tokens.is_disabled(user.as_str()) {
        // An app learns nothing about users.
        return Err(match &actor.actor {
            Actor::App(_) => PlatformError::NoSession,
            Actor::Person { .. } => PlatformError::forbidden("this user is disabled"),
        });
    }
    match &actor.actor {
        Actor::Person { name, credential, .. } => {
            if !platform.sessions.keep_alive(user) {
                let text = "too many active users; try again later";
                return Err(PlatformError::Unavailable(text.to_owned()));
            }
            // An operator who acts for a user is not the same caller as the user.
            let is_user = name == user.as_str() || matches!(credential, Credential::DevHeader);
            Ok(match credential {
                // Neither does a client share what it starts with the user or with other clients.
                Credential::Client { grant, access, .. } => SessionAccess {
                    caller: Caller::Client(grant.clone()),
                    scope: ViewScope::Client(access.view.clone()),
                },
                _ if is_user => SessionAccess { caller: Caller::User, scope: ViewScope::Everything },
                _ => SessionAccess {
                    caller: Caller::Person(name.as_str().into()),
                    scope: ViewScope::Everything,
                },
            })
        }
        Actor::App(app) => {
            if !platform.sessions.is_live(user) {
                return Err(PlatformError::NoSession);
            }
            // The same error as for a missing session, so that an app cannot find out who has one.
            let scope = app_scope(platform, user, app).await?.ok_or(PlatformError::NoSession)?;
            Ok(SessionAccess { caller: Caller::App(app.head.package().clone()), scope })
        }
    }
}

/// Which of the user's tools an app sees. None if the user has not installed it.
pub async fn app_scope(
    platform: &Platform,
    user: &UserId,
    app: &AppEntry,
) -> Result<Option<ViewScope>, PlatformError> {
    let package = app.head.package();
    let installs = platform.stores.installs.list_installs(user).await?;
    let install = installs.iter().find(|install| install.package == *package);
    Ok(install.map(|install| match app.head.record.assistant || install.assistant {
        true => ViewScope::Everything,
        false => ViewScope::Package(package.clone()),
    }))
}

/// Keeps the session of a user alive who was admitted before and has an open socket.
pub fn keep_session(platform: &Platform, user: &UserId) {
    platform.sessions.keep_alive(user);
}
