//! The section `[approvals]`: which calls are asked about before they run.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolyard_core::{
    approvals::{AnnotationMatch, ApprovalPolicy, ApprovalSettings, PolicyPreset, PolicyRule},
    data_flow::LabelSettings,
};
use toolyard_protocol::{
    PackageName, TokenId,
    approval::{CallDecision, DataFlowPolicy, DataLabel},
};

/// Longest wait of an MCP call for the user's answer, in seconds.
pub(super) const MAX_MCP_WAIT_S: u64 = 60 * 60;

/// Which calls are asked about before they run, and who may answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsConfig {
    /// What happens to calls that no rule matches: `open`, `default` or `strict`.
    pub preset: PolicyPreset,
    /// The rules; the first match decides.
    pub rules: Vec<PolicyRule>,
    /// What happens to a call that can send data out of a conversation which has read private data and content from
    /// outside: `off`, `ask` or `deny`. Users cannot lower it.
    pub data_flow: DataFlowPolicy,
    /// Labels of tools, by pattern of the canonical name: `private`, `untrusted`, `outward`. They replace what the
    /// definition says; several matching patterns add up.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Vec<DataLabel>>,
    /// Which arguments of a tool say who receives its data, by pattern of the canonical name, as JSON pointers. In a chat,
    /// a call does not count as outward if the user's own messages name all of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub destinations: BTreeMap<String, Vec<String>>,
    /// How long a question can be answered, in seconds.
    pub expires_s: u64,
    /// Open questions of one user at once.
    pub max_open: u64,
    /// Remembered approvals and grants of one user.
    pub max_grants: u64,
    /// Apps that may answer for a user, because they ask the user in person, such as a voice assistant.
    pub apps: Vec<PackageName>,
    /// Tokens whose MCP clients may answer for their user, because they show the question to the user in person. Given as
    /// token ids, because a client's name is only a claim.
    pub mcp_clients: Vec<TokenId>,
    /// How long an MCP call waits for the user's answer before it returns the link, in seconds. 0 never waits.
    pub mcp_wait_s: u64,
    /// Whether users can be notified in their browsers (web push). The server then sends encrypted messages to the push
    /// services of browsers.
    pub push: bool,
    /// How the operator of a push service reaches you: a `mailto:` or `https:` URL. Default: the public URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_contact: Option<String>,
    /// Where questions and answers are announced: `[approvals.webhook]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<ApprovalWebhookConfig>,
}

/// A program of the operator that is notified of every question and every answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalWebhookConfig {
    /// Where the requests are sent. `[net]` decides which addresses are allowed.
    pub url: String,
    /// The name of an environment variable that holds the signing secret. Without it, requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_env: Option<String>,
    /// Whether the arguments of the call are sent, and the note of an answer.
    #[serde(default = "default_summary")]
    pub summary: bool,
}

fn default_summary() -> bool {
    true
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        let settings = ApprovalSettings::default();
        Self {
            preset: PolicyPreset::default(),
            rules: Vec::new(),
            data_flow: DataFlowPolicy::default(),
            labels: BTreeMap::new(),
            destinations: BTreeMap::new(),
            expires_s: settings.expires.as_secs(),
            max_open: settings.max_open,
            max_grants: settings.max_grants,
            apps: Vec::new(),
            mcp_clients: Vec::new(),
            mcp_wait_s: 5 * 60,
            push: true,
            push_contact: None,
            webhook: None,
        }
    }
}

impl ApprovalsConfig {
    /// Lets tools that match the pattern run without a question, unless a rule says otherwise.
    pub fn allow_tools(&mut self, pattern: &str) {
        self.rules.push(PolicyRule {
            users: Vec::new(),
            tools: vec![pattern.to_owned()],
            categories: Vec::new(),
            annotations: AnnotationMatch::default(),
            arguments: Vec::new(),
            decision: CallDecision::Allow,
            floor: false,
            risk: None,
        });
    }

    /// How long an MCP call waits for the user's answer.
    pub(crate) fn mcp_wait(&self) -> Duration {
        Duration::from_secs(self.mcp_wait_s.min(MAX_MCP_WAIT_S))
    }

    pub(crate) fn policy(&self) -> ApprovalPolicy {
        ApprovalPolicy { preset: self.preset, rules: self.rules.clone() }
    }

    pub(crate) fn label_settings(&self) -> LabelSettings {
        LabelSettings {
            policy: self.data_flow,
            labels: self.labels.clone(),
            destinations: self.destinations.clone(),
        }
    }

    pub(crate) fn settings(&self, base_url: &str) -> ApprovalSettings {
        ApprovalSettings {
            expires: Duration::from_secs(self.expires_s.max(1)),
            max_open: self.max_open,
            max_grants: self.max_grants,
            page_url: format!("{base_url}/console/approvals"),
        }
    }
}
