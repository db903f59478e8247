//! Why a change was not made.

use std::time::Duration;

use toolyard_core::ports::{SealError, StoreError};
use toolyard_protocol::{Problem, plugin::PluginPermissions};
use toolyard_trust::ManifestChange as PluginUpdate;

/// Why a change was not made. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// It does not exist, or this actor may not know about it.
    #[error("there is no {0} here")]
    NotFound(String),
    /// The request is invalid, with all of its problems.
    #[error("{message}")]
    Invalid {
        /// What cannot be done.
        message: String,
        /// The problems, each with its path.
        problems: Vec<Problem>,
    },
    /// It conflicts with the current state.
    #[error("{0}")]
    Conflict(String),
    /// This actor may not do it.
    #[error("{0}")]
    Forbidden(String),
    /// The credential is not accepted.
    #[error("{0}")]
    BadCredential(String),
    /// A sign-in failed. It says nothing about why: whether there is such an account is nobody's business.
    #[error("the sign-in failed: the account, the password, the passkey or the link is not valid here")]
    SignInFailed,
    /// The user signed in too long ago for this change.
    #[error("sign in again: this change needs a sign-in in the last 15 minutes")]
    SignInAgain,
    /// The user has no session, and this actor cannot open one.
    #[error("this user has no session")]
    NoSession,
    /// A plugin needs permissions that the user has not granted.
    #[error("{}", .0.message)]
    NeedsAgreement(Box<NeededAgreement>),
    /// Too many requests from this actor.
    #[error("too many requests; try again in {} s", .0.as_secs() + 1)]
    RateLimited(Duration),
    /// A quota is reached.
    #[error("{0}")]
    QuotaReached(String),
    /// It is larger than allowed.
    #[error("{0}")]
    TooLarge(String),
    /// It cannot be done now.
    #[error("{0}")]
    Unavailable(String),
    /// The server failed; details are in the log.
    #[error("{0}")]
    Internal(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// What a user has to agree to before a plugin is installed.
#[derive(Debug)]
pub struct NeededAgreement {
    /// A message for people.
    pub message: String,
    /// All permissions that the plugin requests.
    pub asks_for: PluginPermissions,
    /// The permissions that the user has not granted.
    pub not_agreed: PluginPermissions,
    /// What an update changes.
    pub change: Option<PluginUpdate>,
}

impl PlatformError {
    /// It does not exist for this actor.
    pub fn not_found(what: impl std::fmt::Display) -> Self {
        Self::NotFound(what.to_string())
    }

    /// The request is invalid for one reason.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), problems: Vec::new() }
    }

    /// The request is invalid, with these problems.
    pub fn invalid_with(message: impl Into<String>, problems: Vec<Problem>) -> Self {
        Self::Invalid { message: message.into(), problems }
    }

    /// It conflicts with the current state.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict(message.into())
    }

    /// This actor may not do it.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::Forbidden(message.into())
    }
}

impl From<SealError> for PlatformError {
    fn from(error: SealError) -> Self {
        tracing::error!(%error, "a secret was not stored");
        Self::Internal("the secret could not be sealed; see the server's log")
    }
}

impl From<StoreError> for PlatformError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Quota(reached) => Self::QuotaReached(reached.to_string()),
            error @ (StoreError::Failed(_) | StoreError::Unavailable(_)) => Self::Store(error),
        }
    }
}
