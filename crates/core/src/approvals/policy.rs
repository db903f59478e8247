//! Which calls run, which are asked about first, and which are refused: the operator's rules, first match.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolyard_protocol::{
    Problem, ToolName, UserId,
    approval::{ArgumentPredicate, CallDecision, RiskLevel},
    text::truncate_chars,
    tool::{Category, ToolAnnotations},
    wildcard::matches_pattern,
};

/// Maximum number of rules.
const MAX_RULES: usize = 500;
/// Maximum number of entries in one list of a rule.
const MAX_ENTRIES: usize = 200;
/// Longest entry, in bytes.
const MAX_ENTRY_BYTES: usize = 300;

/// What happens to calls that no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicyPreset {
    /// Everything runs.
    Open,
    /// Tools that are annotated as destructive are asked about; all others run.
    #[default]
    Default,
    /// Tools are asked about unless they are annotated as read-only or as not destructive, as MCP's defaults have it.
    Strict,
}

/// The operator's policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalPolicy {
    /// What happens to calls that no rule matches.
    pub preset: PolicyPreset,
    /// The rules; the first match decides.
    pub rules: Vec<PolicyRule>,
}

/// One rule. Conditions that are missing match everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyRule {
    /// Users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<UserId>,
    /// Patterns of canonical tool names: `com.example.bank:*`, `*:delete_*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Category>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "AnnotationMatch::is_empty")]
    pub annotations: AnnotationMatch,
    /// Conditions on the arguments; all of them must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
    /// What happens to the call.
    pub decision: CallDecision,
    /// Whether users cannot choose something less strict. `deny` is always a floor.
    #[serde(default, skip_serializing_if = "is_false")]
    pub floor: bool,
    /// How much a wrong yes can cost, if the annotations do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Annotations that a rule requires. An annotation that the definition does not have counts as `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AnnotationMatch {
    /// `readOnlyHint`
    #[serde(alias = "read_only", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// `destructiveHint`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// `idempotentHint`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    #[serde(alias = "open_world", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl AnnotationMatch {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn matches(&self, annotations: &ToolAnnotations) -> bool {
        let fits = |wanted: Option<bool>, found: bool| wanted.is_none_or(|wanted| wanted == found);
        fits(self.read_only, annotations.read_only_hint)
            && fits(self.destructive, annotations.destructive_hint == Some(true))
            && fits(self.idempotent, annotations.idempotent_hint)
            && fits(self.open_world, annotations.open_world_hint == Some(true))
    }
}

/// What rules look at.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The user.
    pub user: &'a UserId,
    /// The tool.
    pub tool: &'a ToolName,
    /// Its category.
    pub category: Category,
    /// Its annotations.
    pub annotations: &'a ToolAnnotations,
    /// The arguments; missing when a recorded call is judged, because arguments are not recorded.
    pub arguments: Option<&'a Value>,
}

/// What the policy says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyVerdict {
    /// What happens unless the user chose otherwise.
    pub decision: CallDecision,
    /// The least strict decision that the user can choose.
    pub floor: CallDecision,
    /// How much a wrong yes can cost, if a rule says it.
    pub risk: Option<RiskLevel>,
}

impl PolicyRule {
    /// Whether it matches. None if that depends on arguments that are not known.
    pub fn matches(&self, facts: &CallFacts<'_>) -> Option<bool> {
        let fits = (self.users.is_empty() || self.users.contains(facts.user))
            && (self.tools.is_empty()
                || self.tools.iter().any(|pattern| matches_pattern(pattern, facts.tool.as_str())))
            && (self.categories.is_empty() || self.categories.contains(&facts.category))
            && self.annotations.matches(facts.annotations);
        if !fits || self.arguments.is_empty() {
            return Some(fits);
        }
        facts.arguments.map(|arguments| self.arguments.iter().all(|test| test.is_satisfied(arguments)))
    }

    /// Whether users cannot choose something less strict.
    pub fn is_floor(&self) -> bool {
        self.floor || self.decision == CallDecision::Deny
    }

    /// Checks the rule itself; problems are reported under `path`.
    pub fn check(&self, path: &str, problems: &mut Vec<Problem>) {
        let mut report = |member: &str, text: String| {
            problems.push(Problem::new(format!("{path}.{member}"), text));
        };
        for (member, len) in
            [("users", self.users.len()), ("tools", self.tools.len()), ("arguments", self.arguments.len())]
        {
            if len > MAX_ENTRIES {
                report(member, format!("{len} entries; at most {MAX_ENTRIES}"));
            }
        }
        for pattern in &self.tools {
            if !pattern.contains(':') && pattern != "*" || pattern.len() > MAX_ENTRY_BYTES {
                let shown = truncate_chars(pattern, 40);
                report("tools", format!("`{shown}` is not a pattern such as `com.example.bank:*`"));
            }
        }
        for test in &self.arguments {
            if let Err(text) = test.check() {
                report("arguments", text);
            }
        }
    }
}

impl ApprovalPolicy {
    /// Checks the policy itself, and reports every problem.
    pub fn check(&self) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        if self.rules.len() > MAX_RULES {
            let text = format!("{} rules; at most {MAX_RULES}", self.rules.len());
            return Err(vec![Problem::new("rules", text)]);
        }
        for (index, rule) in self.rules.iter().enumerate() {
            rule.check(&format!("rules[{index}]"), &mut problems);
        }
        problems.truncate(toolyard_protocol::tool::MAX_PROBLEMS);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Whether a rule looks at arguments.
    pub(crate) fn reads_arguments(&self) -> bool {
        self.rules.iter().any(|rule| !rule.arguments.is_empty())
    }

    /// Decides about a call. A condition on unknown arguments does not match.
    pub fn decide(&self, facts: &CallFacts<'_>) -> PolicyVerdict {
        let mut verdict = PolicyVerdict {
            decision: self.preset.decide(facts.annotations),
            floor: CallDecision::Allow,
            risk: None,
        };
        let mut is_decided = false;
        for rule in self.rules.iter().filter(|rule| rule.matches(facts) == Some(true)) {
            if !is_decided {
                is_decided = true;
                (verdict.decision, verdict.risk) = (rule.decision, rule.risk);
            }
            if rule.is_floor() {
                verdict.floor = verdict.floor.max(rule.decision);
            }
        }
        verdict.decision = verdict.decision.max(verdict.floor);
        verdict
    }
}

impl PolicyPreset {
    fn decide(self, annotations: &ToolAnnotations) -> CallDecision {
        let asks = match self {
            Self::Open => false,
            Self::Default => annotations.destructive_hint == Some(true) && !annotations.read_only_hint,
            Self::Strict => annotations.destructive_hint != Some(false) && !annotations.read_only_hint,
        };
        if asks { CallDecision::Ask } else { CallDecision::Allow }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DESTRUCTIVE: ToolAnnotations = ToolAnnotations {
        read_only_hint: false,
        idempotent_hint: false,
        destructive_hint: Some(true),
        open_world_hint: None,
    };

    fn decide(policy: &ApprovalPolicy, annotations: ToolAnnotations, arguments: Value) -> PolicyVerdict {
        let (user, tool) = ("ada".parse().unwrap(), "com.bank:pay".parse().unwrap());
        policy.decide(&CallFacts {
            user: &user,
            tool: &tool,
            category: Category::Other,
            annotations: &annotations,
            arguments: Some(&arguments),
        })
    }

    fn policy(json: Value) -> ApprovalPolicy {
        let policy: ApprovalPolicy = serde_json::from_value(json).unwrap();
        policy.check().unwrap();
        policy
    }

    #[test]
    fn presets_use_annotations() {
        let plain = ToolAnnotations::default();
        let read_only = ToolAnnotations { read_only_hint: true, ..plain };
        let additive = ToolAnnotations { destructive_hint: Some(false), ..plain };
        for (preset, expected) in [
            ("open", [CallDecision::Allow; 4]),
            ("default", [CallDecision::Allow, CallDecision::Allow, CallDecision::Ask, CallDecision::Allow]),
            ("strict", [CallDecision::Ask, CallDecision::Allow, CallDecision::Ask, CallDecision::Allow]),
        ] {
            let policy = policy(json!({ "preset": preset }));
            let decided = [plain, read_only, DESTRUCTIVE, additive]
                .map(|hints| decide(&policy, hints, json!({})).decision);
            assert_eq!(decided, expected, "{preset}");
        }
    }

    #[test]
    fn the_first_match_decides_and_every_floor_holds() {
        let policy = policy(json!({ "rules": [
            { "tools": ["com.bank:*"], "arguments": [{ "pointer": "/amount", "lessThan": 10 }], "decision": "allow" },
            { "tools": ["*:pay"], "decision": "ask", "floor": true, "risk": "high" },
        ]}));
        let small = decide(&policy, ToolAnnotations::default(), json!({ "amount": 5 }));
        assert_eq!((small.decision, small.floor), (CallDecision::Ask, CallDecision::Ask), "a floor below");
        let large = decide(&policy, ToolAnnotations::default(), json!({ "amount": 50 }));
        assert_eq!(large.risk, Some(RiskLevel::High));
    }

    #[test]
    fn deny_is_a_floor() {
        let policy = policy(json!({ "rules": [{ "users": ["ada"], "decision": "deny" }] }));
        assert_eq!(decide(&policy, DESTRUCTIVE, json!({})).floor, CallDecision::Deny);
    }

    #[test]
    fn invalid_rules_are_named() {
        let policy: ApprovalPolicy = serde_json::from_value(json!({ "rules": [
            { "tools": ["pay"], "decision": "ask" },
            { "arguments": [{ "pointer": "x", "equals": 1 }], "decision": "ask" },
        ]}))
        .unwrap();
        let paths: Vec<_> = policy.check().unwrap_err().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["rules[0].tools", "rules[1].arguments"]);
    }
}
