//! Approvals: what a user is asked before a call runs, and what they may answer.

mod predicate;

use serde::{Deserialize, Serialize};

pub use self::predicate::ArgumentPredicate;

use crate::{
    id::{ApprovalId, CallId, UserId},
    name::ToolName,
};

/// Longest note of an answer, in bytes.
pub const MAX_NOTE_BYTES: usize = 500;
/// Longest time for which a yes is remembered, or after which a choice is asked again, in days.
pub const MAX_REMEMBER_DAYS: u32 = 3_650;

/// Declares an enum with its wire names.
macro_rules! wire_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// Every value, in ascending order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The wire name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|one| one.as_str()).collect();
                    format!("`{}` is none of {}", crate::name::text_excerpt(text), names.join(", "))
                })
            }
        }
    };
}
pub(crate) use wire_enum;

mod data_flow;

pub use self::data_flow::{DataFlowPolicy, DataLabel, ToolLabelInfo, ToolLabelList};

wire_enum! {
    /// What a policy says about a call. Ordered by strictness.
    CallDecision {
        /// Run it.
        Allow = "allow",
        /// Ask the user first.
        Ask = "ask",
        /// Refuse it.
        Deny = "deny",
    }
}

wire_enum! {
    /// A user's choice for one tool.
    ToolChoice {
        /// Run it without asking.
        Always = "always",
        /// Ask each time.
        Ask = "ask",
        /// Never run it.
        Never = "never",
    }
}

impl ToolChoice {
    /// The decision that follows from it.
    pub const fn decision(self) -> CallDecision {
        match self {
            Self::Always => CallDecision::Allow,
            Self::Ask => CallDecision::Ask,
            Self::Never => CallDecision::Deny,
        }
    }
}

wire_enum! {
    /// How much a wrong yes can cost.
    RiskLevel {
        /// Little.
        Low = "low",
        /// Something can be lost.
        Medium = "medium",
        /// Cannot be undone and reaches others. A spoken yes is not enough.
        High = "high",
    }
}

wire_enum! {
    /// The state of an approval.
    ApprovalState {
        /// Not answered yet.
        Pending = "pending",
        /// Answered with yes; the call is about to run.
        Approved = "approved",
        /// Answered with no.
        Denied = "denied",
        /// Nobody answered in time.
        Expired = "expired",
        /// The call runs.
        Running = "running",
        /// The call has ended.
        Done = "done",
        /// Answered with yes, but tool, app or user changed before the call ran; or withdrawn by the caller.
        Void = "void",
    }
}

impl ApprovalState {
    /// Whether nothing more will happen to it.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Denied | Self::Expired | Self::Done | Self::Void)
    }
}

wire_enum! {
    /// Where an approval was answered.
    ApprovalSurface {
        /// The web console.
        Console = "console",
        /// A chat.
        Chat = "chat",
        /// A program, over REST.
        Api = "api",
        /// The command line.
        Terminal = "terminal",
        /// An MCP client that the operator trusts.
        Mcp = "mcp",
        /// A spoken answer.
        Voice = "voice",
        /// A button of a device.
        Button = "button",
    }
}

wire_enum! {
    /// Why a call needs an approval.
    ApprovalReason {
        /// A rule of the operator, or the preset.
        Policy = "policy",
        /// The user wants to be asked about this tool.
        Choice = "choice",
        /// An earlier yes has expired, or the definition has changed since.
        Lapsed = "lapsed",
        /// The conversation has read private data and content from outside, and the call can send data out.
        DataFlow = "dataFlow",
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalAnswer {
    /// Run the call.
    Approve,
    /// Do not run it.
    Deny,
}

/// How a yes is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "scope", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RememberScope {
    /// Not at all: it covers this call only.
    Once,
    /// For calls of this tool in the same conversation.
    Conversation,
    /// For every call of this tool.
    Tool {
        /// For this many days; missing means until revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        days: Option<u32>,
    },
    /// For calls of this tool with the same arguments.
    Arguments {
        /// For this many days; missing means until revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        days: Option<u32>,
    },
}

/// One line of a summary: an argument as it will be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SummaryLine {
    /// The name of the argument.
    pub label: String,
    /// Its value, truncated if it is long.
    pub value: String,
}

/// What a person is asked. Built by the server from the definition and the arguments, never by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalSummary {
    /// The question, in one line.
    pub title: String,
    /// The name of the app.
    pub app: String,
    /// The arguments.
    pub lines: Vec<SummaryLine>,
    /// Why the user is asked, and what to pay attention to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequester {
    /// The door of the call: `rest`, `legacy`, `mcp`, `chat`.
    pub door: String,
    /// The caller: `user`, `app:com.example.assistant`, `client:…` for a client that the user connected, `person:root`.
    pub caller: String,
    /// The client program, if it named itself. Nobody has checked the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The client that the user connected, if it is one: as the user agreed to it, whatever the program calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<ConnectedRequester>,
}

/// A client that the user connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedRequester {
    /// Its name on the consent page.
    pub name: String,
    /// The host that the consent page showed.
    pub host: String,
}

/// An approval as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalInfo {
    /// Its id.
    pub id: ApprovalId,
    /// The user who is asked.
    pub user: UserId,
    /// The tool to call.
    pub tool: ToolName,
    /// SHA-256 of the definition, in hex.
    pub definition_digest: String,
    /// SHA-256 of the validated arguments with their defaults, in hex.
    pub arguments_digest: String,
    /// What the user is asked.
    pub summary: ApprovalSummary,
    /// How much a wrong yes can cost.
    pub risk: RiskLevel,
    /// Why the user is asked.
    pub reason: ApprovalReason,
    /// Whether a yes may be remembered.
    pub can_remember: bool,
    /// Whether the call belongs to a conversation, so that a yes can be remembered for it.
    pub in_conversation: bool,
    /// Who asks.
    pub requester: ApprovalRequester,
    /// Its state.
    pub state: ApprovalState,
    /// When it was requested, ISO 8601.
    pub created_at: String,
    /// Until when it can be answered, ISO 8601.
    pub expires_at: String,
    /// The page where a person answers it.
    pub url: String,
    /// The call that asked.
    pub call_id: CallId,
    /// The call that ran after a yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<CallId>,
    /// The answer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ApprovalAnswerInfo>,
}

/// An answer as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswerInfo {
    /// Yes or no.
    pub answer: ApprovalAnswer,
    /// Who answered.
    pub by: String,
    /// Where.
    pub surface: ApprovalSurface,
    /// When, ISO 8601.
    pub at: String,
    /// How it is remembered.
    pub remember: RememberScope,
    /// What the person wrote with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Response to `GET /api/approvals`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalList {
    /// Newest first.
    pub approvals: Vec<ApprovalInfo>,
    /// Pass it as `before` to get the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ApprovalId>,
}

/// Body of `POST /api/approvals/{id}`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRequest {
    /// Yes or no.
    pub answer: ApprovalAnswer,
    /// How a yes is remembered. Default: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberScope>,
    /// Where the person answered. Default: `api`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<ApprovalSurface>,
    /// A note. The model receives it with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The digest of the arguments that the person saw. If given, it must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_digest: Option<String>,
}

/// What a call waits for: in a REST response with status 202.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PendingCall {
    /// A person's yes or no.
    Approval(PendingApproval),
    /// The user's sign-in at an upstream.
    SignIn(PendingSignIn),
}

/// An approval that a call waits for. Make the same call again after the answer, or ask for the outcome of the approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// The approval.
    pub id: ApprovalId,
    /// The page where a person can answer.
    pub url: String,
    /// Until when, ISO 8601.
    pub expires_at: String,
    /// What the person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ApprovalSummary>,
    /// How much a wrong yes can cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
}

/// A sign-in that a call waits for. Make the same call again after it; `GET /api/upstreams/{id}/authorize?wait=60` waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingSignIn {
    /// The upstream.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The page where the user signs in.
    pub url: String,
}

/// A user's choice for one tool, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolChoiceInfo {
    /// The tool.
    pub tool: ToolName,
    /// The choice.
    pub choice: ToolChoice,
    /// When it was made, ISO 8601.
    pub chosen_at: String,
    /// Until when `always` holds, ISO 8601; after that the user is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether `always` ends when the definition changes.
    pub until_changed: bool,
}

/// A remembered yes, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalGrantInfo {
    /// The approval that it comes from; also its id.
    pub id: ApprovalId,
    /// The tool.
    pub tool: ToolName,
    /// Whether it is restricted to one conversation.
    pub in_conversation: bool,
    /// Whether it is restricted to the arguments that were approved.
    pub same_arguments: bool,
    /// What the arguments must satisfy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
    /// When it was given, ISO 8601.
    pub created_at: String,
    /// When it ends, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many more calls it covers, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u64>,
}

/// Body of `PUT /api/approvals/choices/{tool}`: what a user chooses for a tool.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceRequest {
    /// The choice.
    pub choice: ToolChoice,
    /// Ask again after this many days. Only for `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Ask again when the definition of the tool changes. Default: true. Only for `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_changed: Option<bool>,
}

/// Body of `POST /api/approvals/grants`: what a user allows in advance. It has an end, and covers the current definition of
/// the tool only.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantRequest {
    /// The tool.
    pub tool: ToolName,
    /// For this many days.
    pub days: u32,
    /// For this many calls.
    pub uses: u64,
    /// What the arguments must satisfy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
}

/// Response to `POST /api/approvals/preview`: what a rule would have done.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewReport {
    /// Calls that were judged: the last 1,000 at most.
    pub calls: u64,
    /// Calls that the rule matches.
    pub matched: u64,
    /// Calls that it may match: that depends on their arguments, which are not recorded.
    pub depends_on_arguments: u64,
    /// Calls that would have been asked about or refused, and were not.
    pub stricter: u64,
    /// Calls that would have run without a question or refusal.
    pub looser: u64,
    /// The matching tools, most calls first.
    pub tools: Vec<PreviewedTool>,
}

/// One tool in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PreviewedTool {
    /// The tool.
    pub tool: ToolName,
    /// Calls that match, or may match.
    pub calls: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_ordered_by_strictness() {
        assert!(CallDecision::Allow < CallDecision::Ask && CallDecision::Ask < CallDecision::Deny);
        assert_eq!("ask".parse::<CallDecision>(), Ok(CallDecision::Ask));
        assert_eq!("maybe".parse::<CallDecision>().unwrap_err(), "`maybe` is none of allow, ask, deny");
    }

    #[test]
    fn a_scope_says_for_how_long() {
        let scope: RememberScope = serde_json::from_str(r#"{"scope":"tool","days":7}"#).unwrap();
        assert_eq!(scope, RememberScope::Tool { days: Some(7) });
        assert_eq!(serde_json::to_string(&RememberScope::Once).unwrap(), r#"{"scope":"once"}"#);
        assert!(serde_json::from_str::<RememberScope>(r#"{"scope":"forever"}"#).is_err());
    }
}
