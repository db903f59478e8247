use proptest::prelude::*;
use toolyard_redaction::find_secrets;

use crate::samples::{all_keys, alnum, hex, jwt, shortest_keys};

fn assert_none(text: &str) {
    assert_eq!(find_secrets(text), [], "{text}");
}

#[test]
fn one_character_less_is_no_key() {
    for (_, key) in shortest_keys() {
        assert_none(&key[..key.len() - 1]);
    }
}

#[test]
fn a_key_inside_of_a_longer_word_is_no_key() {
    for (kind, key) in shortest_keys() {
        // A number before a Telegram token is a longer number, and `Q~` marks a secret wherever it starts.
        if !matches!(kind, "telegram-bot-token" | "azure-client-secret") {
            assert_none(&format!("x{key}"));
        }
    }
    let fixed = ["aws-access-key", "npm-token", "digitalocean-token", "huggingface-token", "twilio-key"];
    for (_, key) in shortest_keys().into_iter().filter(|(kind, _)| fixed.contains(kind)) {
        assert_none(&format!("{key}G"));
    }
}

#[test]
fn ordinary_text_with_a_prefix_is_no_key() {
    for text in [
        "the ask-sk-button and sk-fading-circle classes",
        "ghp_short and github_pat_",
        "AKIAshouldNotMatchLower",
        "xoxb-your-slack-bot-token-goes-here",
        "npm_config_registry=https://registry.example.com/",
        "npm_package_dependencies_typescript_version_x",
        "SKU12345, SKILLS, SG.com",
        "secret_access_key_of_the_environment",
        "hf_hub_download(repo_id, filename)",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUJXNr5r0M9l6tqk0jP4yXqZ0w\n-----END CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "const HEAD = \"-----BEGIN RSA PRIVATE KEY-----\" + body",
        "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
        "Authorization: Bearer <token>, Authorization: Bearer $TOKEN",
        "the bearer of0123456789abcdef this letter",
        "Authorization: Basic authentication",
        "http://user:password@example.com, http://user:pass@host, redis://:@localhost, https://u:***@h",
        "https://user:${PASSWORD}@host, https://user:<password>@host, https://user:$PW@host",
        "https://example.com:8080/a@b, ssh://git@github.com:22/x, http://localhost:3000/@scope/x",
        "^https?://([^:]+):([^@]+)@",
        "design=abc&sig=short",
        "sha512-dGhpcyBpcyBub3QgYSByZWFsIGludGVncml0eSBoYXNoIGJ1dCBpdCBsb29rcyBsaWtlIG9uZQ==",
        "550e8400-e29b-41d4-a716-446655440000",
        "12:AAshort, 12345678:AAtoo-short",
    ] {
        assert_none(text);
    }
}

#[test]
fn a_jwt_needs_a_header_with_an_algorithm_and_a_signature() {
    assert_none(&jwt(r#"{"typ":"JWT"}"#));
    assert_none(&jwt(r#"["alg","HS256"]"#));
    assert_none(&format!("eyJ{}.{}.{}", alnum(30), alnum(30), alnum(43)));
    let unsigned = jwt(r#"{"alg":"none"}"#);
    assert_none(&format!("{}.", unsigned.rsplit_once('.').unwrap().0));
    assert_none(&format!("{}.", jwt(r#"{"alg":"HS256"}"#).split('.').next().unwrap()));
}

#[test]
fn a_secret_key_of_aws_has_forty_characters() {
    assert_none(&format!("aws_secret_access_key = {}", alnum(39)));
    assert_none(&format!("aws_secret_access_key = {}", alnum(41)));
    assert_none(&format!("secretAccessKey{}", alnum(40)));
    assert_none(&hex(40));
}

proptest! {
    #[test]
    fn no_text_makes_the_search_fail(text in any::<String>()) {
        for found in find_secrets(&text) {
            prop_assert!(text.get(found.range).is_some());
        }
    }

    #[test]
    fn ranges_of_mixed_pieces_are_apart_and_on_character_boundaries(
        pieces in prop::collection::vec((0..200usize, "[\\PC\\n\"\\\\é-]{0,3}", any::<bool>()), 0..12)
    ) {
        let keys = all_keys();
        let mut text = String::new();
        for (at, noise, cut) in pieces {
            let key = &keys[at % keys.len()].1;
            text.push_str(if cut { &key[..key.len() / 2] } else { key });
            text.push_str(&noise);
        }
        let mut end = 0;
        for found in find_secrets(&text) {
            prop_assert!(found.range.start >= end && found.range.start < found.range.end);
            prop_assert!(text.get(found.range.clone()).is_some());
            end = found.range.end;
        }
    }
}
