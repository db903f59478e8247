//! Which claims of an identity provider give access. Most rows are near-misses.

#![cfg(test)]

use serde_json::{Value, json};
use toolyard_authorization::sign_in_rules::{
    AccountAccess, ClaimRule, ClaimRuleError as E, ClaimRulesError, access_from_claims, check_claim_rules,
};
use toolyard_protocol::api::Role;

/// A rule for users, from its conditions.
fn rule(mut conditions: Value) -> ClaimRule {
    conditions.as_object_mut().unwrap().entry("role").or_insert(json!("user"));
    serde_json::from_value(conditions).unwrap()
}

fn access(rules: &[ClaimRule], claims: &Value, trust_unverified_email: bool) -> Option<AccountAccess> {
    access_from_claims(rules, claims.as_object().unwrap(), trust_unverified_email)
}

fn matches(conditions: &Value, claims: &Value) -> bool {
    access(&[rule(conditions.clone())], claims, false).is_some()
}

#[test]
fn values_match_exactly() {
    let admin = json!({ "claim": "groups", "value": "admin" });
    let nested = json!({ "claim": "/realm_access/roles", "value": "admin" });
    let escaped = json!({ "claim": "/https:~1~1example.com~1a~0b/role", "value": "x" });
    let url = json!({ "claim": "https://example.com/roles", "value": "x" });
    let flag = json!({ "claim": "staff", "value": true });
    let level = json!({ "claim": "level", "value": 3 });
    let rows = [
        ("same text", &admin, json!({ "groups": "admin" }), true),
        ("first of a list", &admin, json!({ "groups": ["admin", "dev"] }), true),
        ("last of a mixed list", &admin, json!({ "groups": [1, null, {}, "admin"] }), true),
        ("longer name", &admin, json!({ "groups": ["admins"] }), false),
        ("shorter name", &admin, json!({ "groups": ["admi"] }), false),
        ("part of a text", &admin, json!({ "groups": "dev admin" }), false),
        ("list in a text", &admin, json!({ "groups": "admin,dev" }), false),
        ("JSON in a text", &admin, json!({ "groups": "[\"admin\"]" }), false),
        ("upper case", &admin, json!({ "groups": ["Admin"] }), false),
        ("space", &admin, json!({ "groups": ["admin "] }), false),
        ("zero-width character", &admin, json!({ "groups": ["admin\u{200b}"] }), false),
        ("Cyrillic look-alike", &admin, json!({ "groups": ["\u{430}dmin"] }), false),
        ("list in a list", &admin, json!({ "groups": [["admin"]] }), false),
        ("key of an object", &admin, json!({ "groups": { "admin": true } }), false),
        ("value of an object", &admin, json!({ "groups": { "name": "admin" } }), false),
        ("object in a list", &admin, json!({ "groups": [{ "name": "admin" }] }), false),
        ("null", &admin, json!({ "groups": null }), false),
        ("empty list", &admin, json!({ "groups": [] }), false),
        ("no claim", &admin, json!({}), false),
        ("other claim", &admin, json!({ "roles": ["admin"] }), false),
        ("case of the claim", &admin, json!({ "Groups": ["admin"] }), false),
        ("nested", &nested, json!({ "realm_access": { "roles": ["admin"] } }), true),
        ("nested elsewhere", &nested, json!({ "resource_access": { "roles": ["admin"] } }), false),
        ("pointer as a name", &nested, json!({ "/realm_access/roles": ["admin"] }), false),
        ("nested too deep", &nested, json!({ "realm_access": { "roles": { "roles": ["admin"] } } }), false),
        ("text on the path", &nested, json!({ "realm_access": "roles" }), false),
        ("escaped pointer", &escaped, json!({ "https://example.com/a~b": { "role": "x" } }), true),
        ("URL as a name", &url, json!({ "https://example.com/roles": ["x"] }), true),
        ("URL is no path", &url, json!({ "https:": { "": { "example.com": { "roles": "x" } } } }), false),
        ("true", &flag, json!({ "staff": true }), true),
        ("text instead of true", &flag, json!({ "staff": "true" }), false),
        ("one instead of true", &flag, json!({ "staff": 1 }), false),
        ("false instead of true", &flag, json!({ "staff": false }), false),
        ("same number", &level, json!({ "level": 3 }), true),
        ("number in a list", &level, json!({ "level": [1, 3] }), true),
        ("text instead of a number", &level, json!({ "level": "3" }), false),
        ("other number", &level, json!({ "level": 30 }), false),
        (
            "text instead of a flag",
            &json!({ "claim": "staff", "value": "true" }),
            json!({ "staff": true }),
            false,
        ),
    ];
    for (name, conditions, claims, expected) in rows {
        assert_eq!(matches(conditions, &claims), expected, "{name}");
    }
}

#[test]
fn a_claim_without_a_value_must_say_something() {
    let present = json!({ "claim": "member" });
    let rows = [
        (json!(true), true),
        (json!("yes"), true),
        (json!(0), true),
        (json!(["a"]), true),
        (json!([null, "a"]), true),
        (json!(false), false),
        (json!(null), false),
        (json!(""), false),
        (json!([]), false),
        (json!([null, false, ""]), false),
        (json!([[]]), false),
        (json!([["a"]]), false),
        (json!({}), false),
        (json!({ "a": 1 }), false),
    ];
    for (claim, expected) in rows {
        assert_eq!(matches(&present, &json!({ "member": claim })), expected, "{claim}");
    }
    assert!(!matches(&present, &json!({ "members": true })));
    assert!(matches(&json!({}), &json!({})), "a rule without a claim is for everyone");
}

#[test]
fn domains_match_exactly() {
    let rows = [
        ("same domain", json!("ada@example.com"), true),
        ("case", json!("Ada@EXAMPLE.com"), true),
        ("plus address", json!("ada+tools@example.com"), true),
        ("domain as a prefix", json!("eve@example.com.evil.org"), false),
        ("domain as a suffix", json!("eve@evilexample.com"), false),
        ("subdomain", json!("eve@mail.example.com"), false),
        ("parent domain", json!("eve@com"), false),
        ("trailing dot", json!("eve@example.com."), false),
        ("trailing space", json!("eve@example.com "), false),
        ("line break", json!("eve@example.com\n"), false),
        ("two @ signs, ours last", json!("eve@evil.org@example.com"), false),
        ("two @ signs, ours first", json!("eve@example.com@evil.org"), false),
        ("quoted @ sign", json!("\"eve@evil.org\"@example.com"), false),
        ("quoted name", json!("\"eve\"@example.com"), false),
        ("name with a space", json!("eve evil.org@example.com"), false),
        ("name with a control character", json!("eve\0@example.com"), false),
        ("no name", json!("@example.com"), false),
        ("no @ sign", json!("example.com"), false),
        ("URL", json!("https://evil.org/eve@example.com/"), false),
        ("comment", json!("eve@(evil.org)example.com"), false),
        ("Cyrillic look-alike", json!("eve@ex\u{430}mple.com"), false),
        ("full-width dot", json!("eve@example\u{ff0e}com"), false),
        ("too long", json!(format!("{}@example.com", "e".repeat(300))), false),
        ("list", json!(["ada@example.com"]), false),
        ("object", json!({ "address": "ada@example.com" }), false),
        ("null", json!(null), false),
    ];
    let company = json!({ "claim": "email", "domain": "Example.com" });
    for (name, email, expected) in rows {
        let claims = json!({ "email": email, "email_verified": true });
        assert_eq!(matches(&company, &claims), expected, "{name}");
        // Trust in addresses does not make the comparison more lenient.
        assert_eq!(access(&[rule(company.clone())], &claims, true).is_some(), expected, "trusted: {name}");
    }
}

#[test]
fn an_address_must_be_verified() {
    let company = [rule(json!({ "claim": "email", "domain": "example.com" }))];
    for verified in [json!(false), json!("true"), json!(1), json!(null), json!([true])] {
        let claims = json!({ "email": "eve@example.com", "email_verified": verified });
        assert_eq!(access(&company, &claims, false), None, "{verified}");
        assert!(access(&company, &claims, true).is_some(), "{verified}");
    }
    let silent = json!({ "email": "eve@example.com" });
    assert_eq!(access(&company, &silent, false), None);
    assert!(access(&company, &silent, true).is_some());
}

#[test]
fn a_verified_address_does_not_verify_other_claims() {
    // Many providers let people choose their user name.
    let by_name = [rule(json!({ "claim": "preferred_username", "domain": "example.com" }))];
    let claims = json!({
        "email": "eve@evil.org", "email_verified": true, "preferred_username": "eve@example.com",
    });
    assert_eq!(access(&by_name, &claims, false), None);
    assert!(access(&by_name, &claims, true).is_some());
}

#[test]
fn the_highest_role_and_all_groups_count() {
    let rules = [
        rule(json!({ "claim": "groups", "value": "ops", "role": "operator", "groups": ["ops", "oncall"] })),
        rule(json!({ "claim": "groups", "value": "dev", "role": "developer", "groups": ["dev", "oncall"] })),
        rule(json!({ "claim": "groups", "value": "root", "role": "operator", "groups": ["root"] })),
        rule(json!({ "groups": ["everyone"] })),
    ];
    let rows: [(Value, Role, &[&str]); 4] = [
        (json!({}), Role::User, &["everyone"]),
        (json!({ "groups": "dev" }), Role::Developer, &["dev", "everyone", "oncall"]),
        (json!({ "groups": ["dev", "ops"] }), Role::Operator, &["dev", "everyone", "oncall", "ops"]),
        (json!({ "groups": ["roots"] }), Role::User, &["everyone"]),
    ];
    for (claims, role, groups) in rows {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        assert_eq!(access(&rules, &claims, false), Some(AccountAccess { role, groups }), "{claims}");
    }
    assert_eq!(access(&rules[..3], &json!({ "groups": ["roots"] }), false), None);
    assert_eq!(access(&[], &json!({ "groups": "ops" }), true), None, "no rules, no access");
}

#[test]
fn mistakes_in_rules_are_named_and_never_match() {
    let many = |count: usize| (0..count).map(|number| format!("group {number}")).collect::<Vec<_>>();
    let rows = [
        (json!({ "claim": "" }), E::EmptyClaim),
        (json!({ "claim": "c".repeat(257) }), E::ClaimTooLong),
        (json!({ "claim": "/" }), E::Pointer),
        (json!({ "claim": "/a//b" }), E::Pointer),
        (json!({ "claim": "/a/" }), E::Pointer),
        (json!({ "claim": "/a~2" }), E::Pointer),
        (json!({ "claim": "/a~" }), E::Pointer),
        (json!({ "value": "admin" }), E::ValueWithoutClaim),
        (json!({ "value": false }), E::ValueWithoutClaim),
        (json!({ "domain": "example.com" }), E::DomainWithoutClaim),
        (json!({ "claim": "email", "value": "x", "domain": "example.com" }), E::ValueAndDomain),
        (json!({ "claim": "c", "value": "" }), E::ValueLength),
        (json!({ "claim": "c", "value": "v".repeat(1025) }), E::ValueLength),
        (json!({ "claim": "email", "domain": "" }), E::Domain),
        (json!({ "claim": "email", "domain": "@example.com" }), E::Domain),
        (json!({ "claim": "email", "domain": ".example.com" }), E::Domain),
        (json!({ "claim": "email", "domain": "*.example.com" }), E::Domain),
        (json!({ "claim": "email", "domain": "example.com." }), E::Domain),
        (json!({ "claim": "email", "domain": "b\u{fc}ro.example" }), E::Domain),
        (json!({ "claim": "email", "domain": "d".repeat(254) }), E::Domain),
        (json!({ "groups": [""] }), E::GroupName),
        (json!({ "groups": ["ok", "a\nb"] }), E::GroupName),
        (json!({ "groups": ["g".repeat(65)] }), E::GroupName),
        (json!({ "groups": many(65) }), E::TooManyGroups),
    ];
    let claims =
        json!({ "": "x", "c": "", "email": "x@example.com", "email_verified": true, "a": { "": 1 } });
    for (conditions, expected) in rows {
        let rule = rule(conditions.clone());
        assert_eq!(rule.check(), Err(expected), "{conditions}");
        assert!((10..=200).contains(&expected.to_string().len()), "{expected}");
        assert_eq!(access(std::slice::from_ref(&rule), &claims, true), None, "{conditions}");
        let second = [self::rule(json!({})), rule];
        let named = ClaimRulesError::Rule { number: 2, error: expected };
        assert_eq!(check_claim_rules(&second), Err(named));
        assert_eq!(named.to_string(), format!("sign-in rule 2: {expected}"));
    }
    assert_eq!(rule(json!({ "groups": many(64) })).check(), Ok(()));
    assert_eq!(rule(json!({ "groups": ["\u{e4}".repeat(64)] })).check(), Ok(()), "characters, not bytes");
    let rules = vec![rule(json!({})); 65];
    assert_eq!(check_claim_rules(&rules), Err(ClaimRulesError::TooMany));
    assert_eq!(check_claim_rules(&rules[1..]), Ok(()));
}

#[test]
fn the_configuration_is_read_strictly() {
    for bad in [
        json!({ "claim": "groups", "value": "admin" }),
        json!({ "clam": "groups", "role": "operator" }),
        json!({ "claim": "groups", "value": ["admin"], "role": "user" }),
        json!({ "claim": "groups", "value": { "a": 1 }, "role": "user" }),
        json!({ "role": "root" }),
    ] {
        assert!(serde_json::from_value::<ClaimRule>(bad.clone()).is_err(), "{bad}");
    }
    let text = json!({ "claim": "level", "value": 3, "role": "curator", "groups": ["a"] });
    assert_eq!(serde_json::to_value(rule(text.clone())).unwrap(), text);
    let schema = serde_json::to_value(schemars::schema_for!(ClaimRule)).unwrap();
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["required"], json!(["role"]));
}
