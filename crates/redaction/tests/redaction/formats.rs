use toolyard_redaction::find_secrets;

use crate::samples::{all_keys, alnum, fill, hex};

/// The only secret of a text, as kind and characters.
fn only_secret(text: &str) -> Option<(&'static str, &str)> {
    match find_secrets(text).as_slice() {
        [secret] => Some((secret.kind, &text[secret.range.clone()])),
        _ => None,
    }
}

#[test]
fn each_format_is_found_alone_and_in_every_surrounding() {
    for (kind, key) in all_keys() {
        for text in [
            key.clone(),
            format!("{key} at the start"),
            format!("at the end: {key}"),
            format!("{{\"token\":\"{key}\",\"n\":1}}"),
            format!("TOKEN={key}\nOTHER=1"),
            format!("https://example.com/path?token={key}&page=2"),
            format!("https://example.com/?next=a%3D{key}"),
            format!("line one\\n{key}\\nline three"),
            format!("`{key}`, ({key2})", key2 = "none"),
            format!("秘密は{key}です"),
        ] {
            assert_eq!(only_secret(&text), Some((kind, key.as_str())), "{text}");
        }
    }
}

#[test]
fn many_secrets_in_one_text_are_found_in_order() {
    let keys = all_keys();
    let text: Vec<_> = keys.iter().map(|(_, key)| key.as_str()).collect();
    let text = text.join("\n");
    let found: Vec<_> = find_secrets(&text).into_iter().map(|found| text[found.range].to_owned()).collect();
    let expected: Vec<_> = keys.into_iter().map(|(_, key)| key).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_secret_without_a_prefix_is_known_by_its_surroundings() {
    let aws = format!("{}/+{}", alnum(20), alnum(18));
    let storage = format!("{}==", alnum(86));
    let bus = format!("{}=", alnum(43));
    for (text, kind, secret) in [
        (format!("aws_secret_access_key = {aws}"), "aws-secret-key", aws.as_str()),
        (format!("export AWS_SECRET_ACCESS_KEY='{aws}'"), "aws-secret-key", &aws),
        (format!(r#"{{"SecretAccessKey": "{aws}"}}"#), "aws-secret-key", &aws),
        (format!(r#"{{\"SecretAccessKey\": \"{aws}\"}}"#), "aws-secret-key", &aws),
        (format!("<SecretAccessKey>{aws}</SecretAccessKey>"), "aws-secret-key", &aws),
        (format!("AccountName=a;AccountKey={storage};EndpointSuffix=x"), "azure-storage-key", &storage),
        (format!("//registry.example.com/:_authToken={}", hex(36)), "npm-token", &hex(36)),
        (format!("Endpoint=sb://b/;SharedAccessKey={bus}"), "azure-shared-access-key", &bus),
        (
            format!("https://a.blob.core.windows.net/c?sv=2024-01-01&sig={}%3D", alnum(43)),
            "azure-sas-signature",
            &format!("{}%3D", alnum(43)),
        ),
        (
            "https://hooks.slack.com/services/T0001AAAA/B0001BBBB/abcdEFGH0123456789abcdEF".to_owned(),
            "slack-webhook",
            "T0001AAAA/B0001BBBB/abcdEFGH0123456789abcdEF",
        ),
        ("postgres://app:s3cr%40et!@db.example.com:5432/x".to_owned(), "url-password", "s3cr%40et!"),
        ("amqp://u:pa:ss@h".to_owned(), "url-password", "pa:ss"),
        (format!("Authorization: Bearer {}", alnum(30)), "bearer-token", &alnum(30)),
        (format!("curl -H \"authorization: bearer {}\"", alnum(30)), "bearer-token", &alnum(30)),
        (format!(r#"{{"Authorization":"Bearer {}"}}"#, hex(40)), "bearer-token", &hex(40)),
        (format!(r#"{{"name":"X","value":"Bearer {}"}}"#, hex(40)), "bearer-token", &hex(40)),
        (format!(r#"{{\"Authorization\": \"Bearer {}\"}}"#, hex(40)), "bearer-token", &hex(40)),
        ("Authorization: Basic YW5uYTpzM2NyZXQ=".to_owned(), "basic-auth", "YW5uYTpzM2NyZXQ="),
    ] {
        assert_eq!(only_secret(&text), Some((kind, secret)), "{text}");
    }
}

#[test]
fn an_issuers_name_wins_over_the_form_around_it() {
    let token = format!("ghp_{}", alnum(36));
    for text in [format!("https://x:{token}@github.com/a/b"), format!("Authorization: Bearer {token}")] {
        assert_eq!(only_secret(&text), Some(("github-token", token.as_str())));
    }
}

#[test]
fn a_private_key_that_was_cut_is_still_hidden() {
    let cut = format!("-----BEGIN RSA PRIVATE KEY-----\\nProc-Type: 4,ENCRYPTED\\n\\n{}", alnum(200));
    let text = format!(r#"{{"text":"{cut}\""}}"#);
    assert_eq!(only_secret(&text), Some(("private-key", cut.as_str())));
}

#[test]
fn the_private_lines_of_a_putty_key_are_hidden() {
    let lines = format!("{}\n{}\n{}=", fill(b"aB3+", 64), alnum(64), alnum(43));
    let text = format!(
        "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\n{}\nPrivate-Lines: 3\n{lines}\nPrivate-MAC: {}\n",
        alnum(64),
        hex(64)
    );
    assert_eq!(only_secret(&text), Some(("putty-key", lines.as_str())));
    assert_eq!(only_secret(&text.replace('\n', "\\n")), Some(("putty-key", &*lines.replace('\n', "\\n"))));
}
