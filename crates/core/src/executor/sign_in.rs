//! Calls that wait until the user has signed in at the service behind their tool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolyard_protocol::{ErrorCode, PackageName};

use super::{CallOutcome, CallReply};
use crate::error::ToolError;

/// How often a call is repeated after a sign-in. An upstream that rejects every sign-in must not keep its caller waiting forever.
pub const MAX_SIGN_INS: usize = 3;

/// The sign-in that a call waits for. The call has not run; it is repeated after the sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedSignIn {
    /// The upstream at which the user signs in.
    pub package: PackageName,
    /// The upstream for people: its display name, if it has one, in one line.
    pub name: String,
    /// The page where the user signs in. Its URL contains no user: access is stored for the account that is signed in there, so
    /// sharing the link gives no one access to another account.
    pub url: String,
}

impl AwaitedSignIn {
    /// What a person is told.
    pub fn to_user_text(&self) -> String {
        format!("The MCP server {} needs you to sign in.", self.label())
    }

    /// The name in quotes, because it comes from outside, and the package.
    fn label(&self) -> String {
        if self.name == self.package.as_str() {
            return self.name.clone();
        }
        format!("\"{}\" ({})", self.name, self.package)
    }

    /// What a model reads.
    pub fn to_model_text(&self) -> String {
        format!(
            "The tool did not run: the user has to sign in to {} first. Tell the user to sign in at {} . After the user \
             has signed in, make the same call again.",
            self.label(),
            self.url
        )
    }

    /// The error that becomes [`CallReply::AwaitingSignIn`] where the caller can wait.
    pub fn into_error(self) -> ToolError {
        let mut error = ToolError::new(ErrorCode::Denied, self.to_model_text());
        error.sign_in = Some(Arc::new(self));
        error
    }
}

/// A call that failed only because the user has to sign in waits for that. An approved call does not: its one run ends, with an
/// error that contains the link.
pub(super) fn await_sign_in(outcome: CallOutcome, is_approved: bool) -> CallOutcome {
    match outcome {
        Err(ToolError { sign_in: Some(awaited), .. }) if !is_approved => {
            Ok(CallReply::AwaitingSignIn(awaited))
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(name: &str) -> AwaitedSignIn {
        AwaitedSignIn {
            package: "mcp.github".parse().unwrap(),
            name: name.to_owned(),
            url: "https://tools.example/console/upstreams/github/sign-in".to_owned(),
        }
    }

    #[test]
    fn people_and_models_read_who_asks_and_where_to_sign_in() {
        assert_eq!(
            awaited("GitHub").to_user_text(),
            "The MCP server \"GitHub\" (mcp.github) needs you to sign in."
        );
        assert_eq!(awaited("mcp.github").to_user_text(), "The MCP server mcp.github needs you to sign in.");
        let text = awaited("GitHub").to_model_text();
        assert!(text.contains("sign in to \"GitHub\" (mcp.github) first"), "{text}");
        assert!(text.contains(" https://tools.example/console/upstreams/github/sign-in "), "{text}");
    }

    #[test]
    fn only_a_call_that_can_be_made_again_waits() {
        let error = awaited("GitHub").into_error();
        let reply = await_sign_in(Err(error.clone()), false);
        assert!(matches!(reply, Ok(CallReply::AwaitingSignIn(waits)) if *waits == awaited("GitHub")));
        assert_eq!(await_sign_in(Err(error.clone()), true).unwrap_err(), error);
        let other = ToolError::new(ErrorCode::Denied, "no");
        assert_eq!(await_sign_in(Err(other.clone()), false).unwrap_err(), other);
    }
}
