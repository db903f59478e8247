//! Which role and groups a person of an identity provider gets. Denied by default: without a matching rule, the sign-in is
//! refused.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use toolyard_protocol::api::Role;

use crate::id_jag::MAX_EMAIL_BYTES;

/// Most rules of one identity provider.
pub const MAX_CLAIM_RULES: usize = 64;
/// Most groups of one rule.
pub const MAX_RULE_GROUPS: usize = 64;
/// Longest name of a group, in characters.
pub const MAX_GROUP_CHARS: usize = 64;
/// Longest name of a claim, or pointer to it, in bytes.
pub const MAX_CLAIM_NAME_BYTES: usize = 256;
/// Longest text that a claim is compared with, in bytes.
pub const MAX_CLAIM_VALUE_BYTES: usize = 1024;
/// Longest domain, in bytes.
pub const MAX_DOMAIN_BYTES: usize = 253;

/// One rule: people whose claims match get a role and groups. If several rules match, the highest role and all groups
/// count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// The name of a claim, such as `groups`, or a JSON pointer to a nested one, such as `/realm_access/roles`. Without
    /// it, the rule matches everyone whom the identity provider signs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The claim must equal this value, or be a list that contains it. Without `value` and `domain`, the claim must be
    /// present and not null, false or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ClaimValue>,
    /// Instead of `value`: the claim must be a verified e-mail address at exactly this domain. Subdomains do not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The role of people who match.
    pub role: Role,
    /// The groups of people who match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// A value that a claim is compared with. Types must be equal: the text `true` is not the boolean `true`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, a number, true or false")]
pub enum ClaimValue {
    /// A text. Upper and lower case differ.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number.
    Number(Number),
}

/// What a person may do after signing in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountAccess {
    /// The highest role of all matching rules.
    pub role: Role,
    /// The groups of all matching rules.
    pub groups: BTreeSet<String>,
}

/// A mistake in a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRuleError {
    /// The claim has no name.
    #[error("`claim` is empty; leave it out to match everyone")]
    EmptyClaim,
    /// The name of the claim is too long.
    #[error("`claim` is longer than {MAX_CLAIM_NAME_BYTES} bytes")]
    ClaimTooLong,
    /// A pointer with an empty segment, or with a `~` that escapes nothing.
    #[error("`claim` is not a valid JSON pointer; write it like /realm_access/roles")]
    Pointer,
    /// Nothing to compare the value with.
    #[error("`value` needs a `claim` to compare it with")]
    ValueWithoutClaim,
    /// Nothing to compare the domain with.
    #[error("`domain` needs a `claim`, usually `email`")]
    DomainWithoutClaim,
    /// Two conditions.
    #[error("`value` and `domain` cannot be combined; write two rules")]
    ValueAndDomain,
    /// An empty or too long value.
    #[error("`value` must have 1 to {MAX_CLAIM_VALUE_BYTES} bytes")]
    ValueLength,
    /// Not a domain.
    #[error("`domain` is not a domain; write it like example.com, without @")]
    Domain,
    /// Too many groups.
    #[error("`groups` has more than {MAX_RULE_GROUPS} entries")]
    TooManyGroups,
    /// Not a name of a group.
    #[error("the name of a group must have 1 to {MAX_GROUP_CHARS} characters, without control characters")]
    GroupName,
}

/// A mistake in the rules of an identity provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRulesError {
    /// Too many rules.
    #[error("more than {MAX_CLAIM_RULES} sign-in rules")]
    TooMany,
    /// One rule is invalid.
    #[error("sign-in rule {number}: {error}")]
    Rule {
        /// Its position, counted from one.
        number: usize,
        /// What is wrong with it.
        error: ClaimRuleError,
    },
}

/// The access of a person with these verified claims. `None` if no rule matches: refuse the sign-in then.
///
/// Rules with a domain match only if `email_verified` is true. With `trust_unverified_email` they match without it; that
/// is for providers who do not send that claim, and whose people cannot choose an address themselves.
pub fn access_from_claims(
    rules: &[ClaimRule],
    claims: &Map<String, Value>,
    trust_unverified_email: bool,
) -> Option<AccountAccess> {
    let matching: Vec<_> = rules.iter().filter(|rule| rule.matches(claims, trust_unverified_email)).collect();
    let role = matching.iter().map(|rule| rule.role).max()?;
    let groups = matching.iter().flat_map(|rule| rule.groups.iter().cloned()).collect();
    Some(AccountAccess { role, groups })
}

/// Checks the rules of an identity provider when the configuration is loaded.
pub fn check_claim_rules(rules: &[ClaimRule]) -> Result<(), ClaimRulesError> {
    if rules.len() > MAX_CLAIM_RULES {
        return Err(ClaimRulesError::TooMany);
    }
    for (index, rule) in rules.iter().enumerate() {
        rule.check().map_err(|error| ClaimRulesError::Rule { number: index + 1, error })?;
    }
    Ok(())
}

impl ClaimRule {
    /// Checks one rule. A rule that fails this check never matches.
    pub fn check(&self) -> Result<(), ClaimRuleError> {
        match &self.claim {
            Some(claim) => check_claim_name(claim)?,
            None if self.value.is_some() => return Err(ClaimRuleError::ValueWithoutClaim),
            None if self.domain.is_some() => return Err(ClaimRuleError::DomainWithoutClaim),
            None => {}
        }
        match (&self.value, &self.domain) {
            (Some(_), Some(_)) => return Err(ClaimRuleError::ValueAndDomain),
            (Some(ClaimValue::Text(text)), None) if !(1..=MAX_CLAIM_VALUE_BYTES).contains(&text.len()) => {
                return Err(ClaimRuleError::ValueLength);
            }
            (None, Some(domain)) if !is_domain(domain) => return Err(ClaimRuleError::Domain),
            _ => {}
        }
        if self.groups.len() > MAX_RULE_GROUPS {
            return Err(ClaimRuleError::TooManyGroups);
        }
        if self.groups.iter().all(|group| is_group_name(group)) {
            Ok(())
        } else {
            Err(ClaimRuleError::GroupName)
        }
    }

    fn matches(&self, claims: &Map<String, Value>, trust_unverified_email: bool) -> bool {
        // A rule that says less than its author meant could match too many people.
        if self.check().is_err() {
            return false;
        }
        let Some(name) = &self.claim else { return true };
        let Some(claim) = find_claim(claims, name) else { return false };
        match (&self.value, &self.domain) {
            (Some(value), _) => is_or_contains(claim, |item| value.equals(item)),
            (None, Some(domain)) => {
                // `email_verified` is about `email`: people can often choose other claims themselves.
                let is_verified = name == "email" && claims.get("email_verified") == Some(&Value::Bool(true));
                (is_verified || trust_unverified_email) && is_address_at(claim, domain)
            }
            (None, None) => is_or_contains(claim, is_set),
        }
    }
}

impl ClaimValue {
    fn equals(&self, claim: &Value) -> bool {
        match (self, claim) {
            (Self::Text(text), Value::String(claim)) => text == claim,
            (Self::Flag(flag), Value::Bool(claim)) => flag == claim,
            (Self::Number(number), Value::Number(claim)) => number == claim,
            _ => false,
        }
    }
}

/// The claim with a name, or the one that a pointer leads to. Names may contain slashes, as URLs do, but not start with one.
fn find_claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let Some(pointer) = name.strip_prefix('/') else { return claims.get(name) };
    let (first, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
    claims.get(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}

/// Looks at a claim, or at each item of a list. Lists inside of lists are not searched.
fn is_or_contains(claim: &Value, is_match: impl Fn(&Value) -> bool) -> bool {
    match claim {
        Value::Array(items) => items.iter().any(is_match),
        single => is_match(single),
    }
}

/// Whether a single value says something. Lists and objects never do.
fn is_set(claim: &Value) -> bool {
    match claim {
        Value::Bool(flag) => *flag,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether a claim is one e-mail address at a domain. Quoted local parts may contain an `@`; they are refused, because
/// systems disagree about where the domain begins.
fn is_address_at(claim: &Value, domain: &str) -> bool {
    let Some((local, host)) = claim.as_str().and_then(|address| address.split_once('@')) else {
        return false;
    };
    let is_plain = !local.is_empty()
        && local.len() + 1 + host.len() <= MAX_EMAIL_BYTES
        && !local.chars().any(|c| c.is_whitespace() || c.is_control() || c == '"');
    is_plain && host.eq_ignore_ascii_case(domain)
}

fn check_claim_name(name: &str) -> Result<(), ClaimRuleError> {
    if name.is_empty() {
        return Err(ClaimRuleError::EmptyClaim);
    }
    if name.len() > MAX_CLAIM_NAME_BYTES {
        return Err(ClaimRuleError::ClaimTooLong);
    }
    let is_segment = |segment: &str| {
        let mut after_escapes = segment.split('~').skip(1);
        !segment.is_empty() && after_escapes.all(|rest| rest.starts_with(['0', '1']))
    };
    match name.strip_prefix('/') {
        Some(pointer) if !pointer.split('/').all(is_segment) => Err(ClaimRuleError::Pointer),
        _ => Ok(()),
    }
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.len() <= MAX_DOMAIN_BYTES && text.split('.').all(is_label)
}

fn is_group_name(name: &str) -> bool {
    (1..=MAX_GROUP_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
