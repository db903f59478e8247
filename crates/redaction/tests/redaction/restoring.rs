use proptest::prelude::*;
use serde_json::{Value, json};
use toolyard_redaction::{
    KnownSecrets, MAX_RESTORED_BYTES, MAX_SECRET_BYTES, MAX_SECRETS, MAX_TABLE_BYTES, RedactedText, Redactor,
    RestoreOutcome, may_have_placeholder, redact_json,
};

use crate::samples::{all_keys, alnum, hex, pem};

const VAULT: &str = "com.example.vault";
const MAIL: &str = "com.example.mail";

fn github() -> String {
    format!("ghp_{}", alnum(36))
}

fn redactor() -> Redactor {
    Redactor::new([7; 32])
}

/// Restores a document.
fn restore(redactor: &Redactor, origin: &str, document: &mut Value) -> RestoreOutcome {
    let json = document.to_string();
    let restored = redactor.restore_json(origin, &json);
    *document = serde_json::from_str(&restored.text).unwrap();
    restored.outcome
}

/// What a tool with one argument would get.
fn restored(redactor: &Redactor, origin: &str, argument: &str) -> (Value, [usize; 3]) {
    let mut arguments = json!(argument);
    let outcome = restore(redactor, origin, &mut arguments);
    (arguments, [outcome.restored, outcome.foreign + outcome.too_long, outcome.unknown])
}

#[test]
fn a_secret_comes_back_only_for_the_origin_it_came_from() {
    let mut redactor = redactor();
    let RedactedText { text, count } = redactor.redact_text(VAULT, &github()).to_owned_text();
    assert_eq!(count, 1);
    assert!(text.starts_with("[secret:github-token:1-") && text.ends_with(']'), "{text}");
    assert_eq!(restored(&redactor, VAULT, &text), (json!(github()), [1, 0, 0]));
    assert_eq!(restored(&redactor, MAIL, &text), (json!(text), [0, 1, 0]));
}

#[test]
fn the_same_secret_has_the_same_placeholder_and_each_origin_that_knows_it_can_use_it() {
    let mut redactor = redactor();
    let first = redactor.redact_text(VAULT, &github()).text.into_owned();
    let again = redactor.redact_text(MAIL, &format!("it is {}", github())).text.into_owned();
    assert_eq!(again, format!("it is {first}"));
    assert_eq!(redactor.stored(), 1);
    for origin in [VAULT, MAIL] {
        assert_eq!(restored(&redactor, origin, &first), (json!(github()), [1, 0, 0]));
    }
}

#[test]
fn strings_anywhere_in_the_arguments_are_restored_also_inside_of_longer_ones() {
    let mut redactor = redactor();
    let text = format!("{} and AIza{}", github(), alnum(35));
    let redacted = redactor.redact_text(VAULT, &text).text.into_owned();
    let mut arguments = json!({
        "header": format!("<{redacted}>"),
        "list": [1, null, {"deep": [redacted, true]}],
        "plain": "[secret: is what a text may say]",
    });
    let outcome = restore(&redactor, VAULT, &mut arguments);
    assert_eq!((outcome.restored, outcome.foreign, outcome.unknown), (4, 0, 0));
    assert_eq!(
        arguments,
        json!({
            "header": format!("<{text}>"),
            "list": [1, null, {"deep": [text, true]}],
            "plain": "[secret: is what a text may say]",
        })
    );
}

#[test]
fn a_placeholder_of_another_conversation_or_a_guessed_one_stands_for_nothing() {
    let mut here = redactor();
    let mine = here.redact_text(VAULT, &github()).text.into_owned();
    let mut elsewhere = Redactor::new([8; 32]);
    let other = elsewhere.redact_text(VAULT, &github()).text.into_owned();
    assert_ne!(mine, other, "the random bytes decide");
    for forged in [other.as_str(), "[secret:github-token:1-00000000]", "[secret:anything:99-zzzzzzzz]"] {
        assert_eq!(restored(&here, VAULT, forged), (json!(forged), [0, 0, 1]));
        let outcome = here.restore_json(VAULT, &json!({ "a": forged, "b": other }).to_string()).outcome;
        assert_eq!(outcome.first_unknown.as_deref(), Some(forged));
    }
}

#[test]
fn other_texts_in_brackets_are_no_placeholders() {
    let texts = [
        "[secret:]",
        "[secret:tip]",
        "[secret:github-token:1]",
        "[secret:github-token:1-short]",
        "[secret:Github:1-00000000]",
        "[secret::1-00000000]",
        "[secret:github-token:1-0000000u]",
        "[secret:github-token:1-00000000",
        "[secret:é:1-00000000]",
    ];
    for text in texts {
        assert_eq!(restored(&redactor(), VAULT, text), (json!(text), [0, 0, 0]), "{text}");
    }
}

#[test]
fn restoring_keeps_everything_but_the_placeholders() {
    let mut redactor = redactor();
    let placeholder = redactor.redact_text(VAULT, &github()).text.into_owned();
    let arguments =
        format!(r#"{{ "n":12345678901234567890123,"f":1.50, "{placeholder}":"a {placeholder}" }}"#);
    let restored = redactor.restore_json(VAULT, &arguments);
    let expected = format!(r#"{{ "n":12345678901234567890123,"f":1.50, "{placeholder}":"a {}" }}"#, github());
    assert_eq!(
        (&*restored.text, restored.outcome.restored),
        (expected.as_str(), 1),
        "names stay as they are"
    );
}

#[test]
fn a_placeholder_written_with_escapes_is_restored() {
    let mut redactor = redactor();
    let placeholder = redactor.redact_text(VAULT, &github()).text.into_owned();
    let escaped = format!(r#"{{"a":"\u005b{}"}}"#, &placeholder[1..]);
    assert!(may_have_placeholder(&escaped) && !may_have_placeholder(r#"{"a":"[secrets]"}"#));
    assert_eq!(redactor.restore_json(VAULT, &escaped).text, json!({ "a": github() }).to_string());
}

#[test]
fn a_secret_that_a_call_received_is_hidden_in_its_result_whatever_its_form() {
    let mut redactor = redactor();
    let url = redactor.redact_text(VAULT, "postgres://app:Tr0ub4+dor@db/prod").text.into_owned();
    let (_, password) = url.split_once("app:").unwrap();
    let placeholder = password.trim_end_matches("@db/prod");
    let arguments = json!({ "p": placeholder, "q": placeholder }).to_string();
    let restored = redactor.restore_json(VAULT, &arguments);
    assert_eq!((restored.outcome.restored, restored.secrets.len()), (2, 1));
    let known = KnownSecrets::new(&restored.secrets);
    let password = restored.secrets[0].as_str();
    let result = json!({ "text": format!("logged in with {password}!"), "n": [password] }).to_string();
    let redacted = redact_json(&result, &known, |kind, secret| redactor.placeholder(VAULT, kind, secret));
    assert_eq!(redacted.count, 2);
    let expected = json!({ "text": format!("logged in with {placeholder}!"), "n": [placeholder] });
    assert_eq!(serde_json::from_str::<Value>(&redacted.text).unwrap(), expected);
    assert!(KnownSecrets::new(&[]).is_empty());
}

#[test]
fn a_call_tool_result_keeps_everything_but_its_secrets() {
    let key = pem("OPENSSH PRIVATE KEY", "\n");
    let result = format!(
        r#"{{ "content":[{{"type":"text","text":{}}},{{"type":"resource","resource":{{"uri":"x:1","text":"T={}"}}}}],
            "structuredContent":{{"n":12345678901234567890123,"f":1.50,"SecretAccessKey":"{}","é":"ä"}},"isError":false}}"#,
        serde_json::to_string(&format!("key:\n{key}\nend \"quoted\"")).unwrap(),
        github(),
        alnum(40),
    );
    let mut redactor = redactor();
    let redacted = redactor.redact_json(VAULT, &result);
    assert_eq!(redacted.count, 3);
    let text = redacted.text.into_owned();
    assert!(text.contains("\"n\":12345678901234567890123,\"f\":1.50,") && text.starts_with("{ \"content\""));
    let mut document: Value = serde_json::from_str(&text).unwrap();
    assert!(document["content"][0]["text"].as_str().unwrap().starts_with("key:\n[secret:private-key:1-"));
    assert!(document["content"][0]["text"].as_str().unwrap().ends_with("]\nend \"quoted\""));
    assert!(
        document["structuredContent"]["SecretAccessKey"]
            .as_str()
            .unwrap()
            .starts_with("[secret:aws-secret-key:3-")
    );
    restore(&redactor, VAULT, &mut document);
    assert_eq!(document, serde_json::from_str::<Value>(&result).unwrap());
}

#[test]
fn every_format_survives_the_way_through_a_result_and_back() {
    for (kind, key) in all_keys() {
        let mut redactor = redactor();
        let result =
            json!({"content": [{"type": "text", "text": format!("It is {key}.")}], "key": key}).to_string();
        let redacted = redactor.redact_json(VAULT, &result);
        assert_eq!(redacted.count, 2, "{kind}");
        assert!(!redacted.text.contains(&key[..key.len() / 2]), "{kind}: {}", redacted.text);
        let mut document: Value = serde_json::from_str(&redacted.text).unwrap();
        assert_eq!(restore(&redactor, VAULT, &mut document).restored, 2);
        assert_eq!(document, serde_json::from_str::<Value>(&result).unwrap());
    }
}

#[test]
fn a_secret_written_with_escapes_is_found() {
    let mut redactor = redactor();
    let escaped = format!("\\u0067hp_{}", alnum(36));
    let password = "https:\\/\\/anna:s3cret\\u0021@example.com";
    let json = format!(r#"{{"a":"{escaped}","b":"{password}"}}"#);
    let redacted = redactor.redact_json(VAULT, &json);
    assert_eq!(redacted.count, 2, "{}", redacted.text);
    let mut document: Value = serde_json::from_str(&redacted.text).unwrap();
    restore(&redactor, VAULT, &mut document);
    assert_eq!(document, json!({"a": github(), "b": "https://anna:s3cret!@example.com"}));
}

#[test]
fn a_key_file_inside_of_json_inside_of_a_text_is_found() {
    let file = format!("Private-Lines: 2\n{}\n{}\nPrivate-MAC: 0", alnum(64), alnum(64));
    let inner = json!({ "file": file }).to_string();
    let result = json!({"content": [{"type": "text", "text": inner}]}).to_string();
    let mut redactor = redactor();
    let redacted = redactor.redact_json(VAULT, &result).text.into_owned();
    assert!(redacted.contains("[secret:putty-key:1-"), "{redacted}");
    let mut document: Value = serde_json::from_str(&redacted).unwrap();
    restore(&redactor, VAULT, &mut document);
    assert_eq!(document, serde_json::from_str::<Value>(&result).unwrap());
}

#[test]
fn headers_in_json_hide_their_credentials() {
    let token = hex(40);
    for json in [
        format!(r#"{{"authorization":"Bearer {token}"}}"#),
        format!(r#"{{"headers":[{{"name":"Authorization","value":"Bearer {token}"}}]}}"#),
        format!(r#"["Authorization: Bearer {token}"]"#),
        format!(r#"{{"Authorization" : ["bearer {token}, and more"]}}"#),
    ] {
        let redacted = redactor().redact_json(VAULT, &json).text.into_owned();
        assert!(!redacted.contains(&token) && redacted.contains("[secret:bearer-token:1-"), "{redacted}");
    }
}

#[test]
fn text_that_is_no_json_is_searched_as_text() {
    let broken = format!("{{\"open: {}", github());
    let redacted = redactor().redact_json(VAULT, &broken).text.into_owned();
    assert!(redacted.starts_with("{\"open: [secret:github-token:"), "{redacted}");
}

#[test]
fn without_a_secret_nothing_is_copied() {
    let json = r#"{"content":[{"type":"text","text":"see https://example.com/sk-list \n task-list"}]}"#;
    let mut redactor = redactor();
    let redacted = redactor.redact_json(VAULT, json);
    assert!(matches!(redacted.text, std::borrow::Cow::Borrowed(text) if std::ptr::eq(text, json)));
    assert_eq!((redacted.count, redactor.stored()), (0, 0));
}

#[test]
fn the_secret_seen_longest_ago_makes_room() {
    let mut redactor = redactor();
    let secret = |n: usize| format!("dapi{n:032x}");
    let first = redactor.redact_text(VAULT, &secret(0)).text.into_owned();
    let second = redactor.redact_text(VAULT, &secret(1)).text.into_owned();
    for n in 2..MAX_SECRETS {
        redactor.redact_text(VAULT, &secret(n));
    }
    redactor.redact_text(VAULT, &secret(0));
    redactor.redact_text(VAULT, &secret(MAX_SECRETS));
    assert_eq!(redactor.stored(), MAX_SECRETS);
    assert_eq!(restored(&redactor, VAULT, &first).1, [1, 0, 0]);
    assert_eq!(restored(&redactor, VAULT, &second).1, [0, 0, 1]);
}

#[test]
fn all_secrets_together_stay_within_their_bytes() {
    let mut redactor = redactor();
    let secret =
        |n: usize| format!("-----BEGIN PRIVATE KEY-----\n{n:05}{}\n-----END PRIVATE KEY-----", alnum(12_000));
    for n in 0..40 {
        assert_eq!(redactor.redact_text(VAULT, &secret(n)).count, 1);
    }
    assert!(redactor.stored() * 12_000 <= MAX_TABLE_BYTES && redactor.stored() >= 20);
}

#[test]
fn a_secret_that_is_too_long_is_replaced_for_good() {
    let mut redactor = redactor();
    let long = format!("-----BEGIN PRIVATE KEY-----\n{}", alnum(MAX_SECRET_BYTES));
    assert_eq!(redactor.redact_text(VAULT, &long).text, "[secret:private-key:not-stored]");
    assert_eq!(restored(&redactor, VAULT, "[secret:private-key:not-stored]").1, [0, 0, 1]);
}

#[test]
fn a_call_gets_a_bounded_amount_of_secrets() {
    let mut redactor = redactor();
    let long = format!("-----BEGIN PRIVATE KEY-----\n{}", alnum(10_000));
    let placeholder = redactor.redact_text(VAULT, &long).text.into_owned();
    let fits = MAX_RESTORED_BYTES / long.len();
    assert_eq!(restored(&redactor, VAULT, &placeholder.repeat(fits + 5)).1, [fits, 5, 0]);
}

#[test]
fn what_is_logged_of_a_redactor_contains_no_secret() {
    let mut redactor = redactor();
    redactor.redact_text(VAULT, &github());
    assert_eq!(format!("{redactor:?}"), "Redactor { secrets: 1, .. }");
}

/// Lets a test keep the result while the redactor is used again.
trait ToOwnedText {
    fn to_owned_text(self) -> RedactedText<'static>;
}

impl ToOwnedText for RedactedText<'_> {
    fn to_owned_text(self) -> RedactedText<'static> {
        RedactedText { text: self.text.into_owned().into(), count: self.count }
    }
}

proptest! {
    #[test]
    fn redacting_twice_changes_nothing_and_restoring_gives_the_original(
        pieces in prop::collection::vec((0..200usize, "[ -~é\\n]{0,6}"), 0..8)
    ) {
        let keys = all_keys();
        let text: String = pieces.iter().map(|(at, noise)| format!("{noise} {} ", keys[at % keys.len()].1)).collect();
        let json = json!({"text": text, "list": [text]}).to_string();
        let mut redactor = redactor();
        let once = redactor.redact_json(VAULT, &json).text.into_owned();
        prop_assert_eq!(redactor.redact_json(VAULT, &once).count, 0);
        let mut document: Value = serde_json::from_str(&once).unwrap();
        restore(&redactor, VAULT, &mut document);
        prop_assert_eq!(document, serde_json::from_str::<Value>(&json).unwrap());
    }

    #[test]
    fn any_text_can_be_redacted_as_json(text in "[\"\\\\{}:,a-z0-9/@ ]{0,60}") {
        redactor().redact_json(VAULT, &text);
    }
}
