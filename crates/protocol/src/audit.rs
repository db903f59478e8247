//! The audit log: which actions are recorded, and an entry as the API shows it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Declares the actions with their names, so that no list of them can be incomplete.
macro_rules! audit_actions {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// An action that the audit log records.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum AuditAction {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl AuditAction {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name of the action: what changed, a dot, and what happened to it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

audit_actions! {
    /// Someone signed in.
    AccountSignedIn = "account.signed_in",
    /// A sign-in failed. Only some are recorded if there are many.
    AccountSignInFailed = "account.sign_in_failed",
    /// A user signed out in one or more browsers.
    AccountSignedOut = "account.signed_out",
    /// A user set a password.
    AccountPasswordSet = "account.password_set",
    /// A user removed their password.
    AccountPasswordRemoved = "account.password_removed",
    /// A user let a program have a token, or refused it.
    AccountDeviceLoginAnswered = "account.device_login_answered",
    /// A user was asked about a call and answered.
    ApprovalAnswered = "approval.answered",
    /// A user chose for a tool: always, ask or never; or removed the choice.
    ApprovalChoiceChanged = "approval.choice_changed",
    /// A user allowed calls in advance.
    ApprovalGrantAdded = "approval.grant_added",
    /// A user revoked a grant or a remembered answer.
    ApprovalGrantRevoked = "approval.grant_revoked",
    /// An operator replaced the approval policy, or returned to that of the configuration file.
    ApprovalPolicyChanged = "approval.policy_changed",
    /// A user gave an app the permission to call the tools of other apps, or revoked it.
    AppAssistantGrantChanged = "app.assistant_grant_changed",
    /// An app was changed.
    AppChanged = "app.changed",
    /// A user installed an app or an upstream.
    AppInstalled = "app.installed",
    /// An app got a new API key.
    AppKeyRotated = "app.key_rotated",
    /// An app was registered.
    AppRegistered = "app.registered",
    /// An app was removed.
    AppRemoved = "app.removed",
    /// An app got a new signing secret.
    AppSecretRotated = "app.secret_rotated",
    /// Another version of an app's tools became the current one.
    AppToolsActivated = "app.tools_activated",
    /// An app published a version of its tools.
    AppToolsPublished = "app.tools_published",
    /// A user uninstalled an app or an upstream.
    AppUninstalled = "app.uninstalled",
    /// A client was connected to a user's account.
    ClientConnected = "client.connected",
    /// A client was disconnected.
    ClientDisconnected = "client.disconnected",
    /// An operator reloaded the configuration, and settings changed.
    ConfigChanged = "config.changed",
    /// A changed definition was accepted.
    DefinitionAccepted = "definition.accepted",
    /// A changed definition was rejected.
    DefinitionRejected = "definition.rejected",
    /// A user added a passkey.
    PasskeyAdded = "passkey.added",
    /// A user removed a passkey.
    PasskeyRemoved = "passkey.removed",
    /// A user installed a plugin, or another version of it.
    PluginInstalled = "plugin.installed",
    /// A curator signed a plugin and added it to the catalogue.
    PluginPublished = "plugin.published",
    /// A curator revoked a plugin.
    PluginRevoked = "plugin.revoked",
    /// A user switched a plugin on or off.
    PluginSwitched = "plugin.switched",
    /// A user uninstalled a plugin.
    PluginUninstalled = "plugin.uninstalled",
    /// A token was issued.
    TokenIssued = "token.issued",
    /// A token was revoked, with those that were issued with it.
    TokenRevoked = "token.revoked",
    /// An upstream was added.
    UpstreamAdded = "upstream.added",
    /// A user's authorization of an upstream was removed.
    UpstreamAuthorizationRemoved = "upstream.authorization_removed",
    /// An upstream was changed.
    UpstreamChanged = "upstream.changed",
    /// An upstream was removed.
    UpstreamRemoved = "upstream.removed",
    /// An account was changed, except for its role and whether it is disabled.
    UserChanged = "user.changed",
    /// An account was created.
    UserCreated = "user.created",
    /// What is stored about a user was exported.
    UserDataExported = "user.data_exported",
    /// A user was deleted with everything that was stored about them, except for this log.
    UserDeleted = "user.deleted",
    /// An account was disabled.
    UserDisabled = "user.disabled",
    /// An account was enabled again.
    UserEnabled = "user.enabled",
    /// An operator created a link that signs a user in once.
    UserLinkCreated = "user.link_created",
    /// A user got another role.
    UserRoleChanged = "user.role_changed",
    /// An operator signed a user out everywhere.
    UserSignedOut = "user.signed_out",
}

/// A text that names no action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an action of the audit log; they are named like `token.issued`")]
pub struct UnknownAuditAction(String);

impl FromStr for AuditAction {
    type Err = UnknownAuditAction;

    fn from_str(text: &str) -> Result<Self, UnknownAuditAction> {
        let found = Self::ALL.iter().find(|action| action.as_str() == text);
        found.copied().ok_or_else(|| UnknownAuditAction(text.to_owned()))
    }
}

/// Who acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditActorKind {
    /// A person, or a program with a person's token.
    Person,
    /// A client that a person connected.
    Client,
    /// An app with its key.
    App,
    /// A command on the machine of the server, with the root key.
    Command,
    /// Nobody who is known, for example someone whose sign-in failed.
    Anonymous,
}

impl AuditActorKind {
    /// The wire name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Client => "client",
            Self::App => "app",
            Self::Command => "command",
            Self::Anonymous => "anonymous",
        }
    }
}

/// One entry of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Its number. Entries are numbered without gaps.
    pub number: u64,
    /// When it was written, ISO 8601 with milliseconds.
    pub at: String,
    /// What kind of actor it was: `person`, `client`, `app`, `command` or `anonymous`.
    pub actor_kind: String,
    /// The name of the actor: a user id, or the package of an app. Empty if it is not known.
    pub actor: String,
    /// The credential: `token` or `session` with its id, `client` with the id of the client. Never a secret.
    pub credential: String,
    /// What was done, such as `token.issued`.
    pub action: String,
    /// What it was done to: the id of a token, the name of a package.
    pub target: String,
    /// The user whom it is about, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// More about it, without secrets. Depends on the action.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub detail: Box<RawValue>,
    /// The hash of the previous entry, in hex.
    pub previous: String,
    /// The hash of this entry, in hex. It covers everything above.
    pub hash: String,
}

/// A page of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// Newest first, or oldest first if the request has `after`.
    pub entries: Vec<AuditEntry>,
    /// Pass it as `before`, or as `after` if the request has `after`, to get the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_action_has_a_name_of_its_own_that_is_read_back() {
        let names: BTreeSet<_> = AuditAction::ALL.iter().map(|action| action.as_str()).collect();
        assert_eq!(names.len(), AuditAction::ALL.len());
        for action in AuditAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(*action));
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
            let (what, happened) = action.as_str().split_once('.').unwrap();
            assert!(!what.is_empty() && !happened.is_empty() && !happened.contains('.'), "{action:?}");
        }
        assert!("token.stolen".parse::<AuditAction>().is_err());
    }
}
