//! `toolyard keys`

use std::path::Path;

use serde_json::json;

use crate::fixture::{Ran, ended, toolyard};

async fn keys(folder: &Path, args: &[&str]) -> Ran {
    ended(toolyard(folder, &[&["keys"], args].concat())).await
}

#[tokio::test]
async fn a_new_key_is_two_files_and_overwrites_neither() {
    let folder = tempfile::tempdir().unwrap();
    let made = keys(folder.path(), &["new", "--out", "ada.key"]).await.good();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (secret, public) = (read("ada.key"), read("ada.key.pub"));
    assert!(
        secret.starts_with("-----BEGIN PRIVATE KEY-----\n")
            && public.starts_with("-----BEGIN PUBLIC KEY-----\n")
    );
    assert!(made.starts_with("created key ") && made.contains(public.trim()), "{made}");
    assert!(!made.contains(secret.lines().nth(1).unwrap()), "the secret is not shown");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join("ada.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let again = keys(folder.path(), &["new", "--out", "ada.key"]).await;
    assert!(again.code == 2 && again.err.contains("already exists"), "{again:?}");
    std::fs::remove_file(folder.path().join("ada.key.pub")).unwrap();
    let again = keys(folder.path(), &["new", "--out", "ada.key"]).await;
    assert!(again.code == 2 && again.err.contains("ada.key already exists"), "{again:?}");
    assert_eq!(read("ada.key"), secret);
    let nowhere = keys(folder.path(), &["new", "--out", "no/ada.key"]).await.bad();
    assert!(nowhere.contains("cannot write no/ada.key"), "{nowhere}");
}

#[tokio::test]
async fn two_keys_are_two_keys() {
    let folder = tempfile::tempdir().unwrap();
    let one = keys(folder.path(), &["new", "--json", "--owner", "Ada"]).await.json();
    let two = keys(folder.path(), &["new", "--out", "b", "--json"]).await.json();
    assert_eq!(
        (&one["owner"], &one["alg"], &one["secretFile"]),
        (&json!("Ada"), &json!("Ed25519"), &json!("plugin.key"))
    );
    assert_ne!(one["keyId"], two["keyId"]);
}

#[tokio::test]
async fn a_secret_or_public_file_shows_the_public_key() {
    let folder = tempfile::tempdir().unwrap();
    let made = keys(folder.path(), &["new", "--out", "a", "--json"]).await.json();
    let secret = keys(folder.path(), &["show", "a", "--json"]).await.json();
    let public = keys(folder.path(), &["show", "a.pub", "--json"]).await.json();
    assert_eq!((&secret, &secret["key"], &secret["keyId"]), (&public, &made["key"], &made["keyId"]));
    let told = keys(folder.path(), &["show", "a"]).await.good();
    assert!(
        told.starts_with("Ed25519 key ") && told.contains("BEGIN PUBLIC KEY") && !told.contains("PRIVATE"),
        "{told}"
    );
    std::fs::write(folder.path().join("text"), "hello").unwrap();
    let none = keys(folder.path(), &["show", "text"]).await.bad();
    assert!(none.contains("no public key"), "{none}");
    std::fs::write(folder.path().join("large"), "x".repeat(20_000)).unwrap();
    assert!(keys(folder.path(), &["show", "large"]).await.bad().contains("larger than 16384 bytes"));
}

#[tokio::test]
async fn help_has_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in [&["--help"][..], &["new", "--help"], &["show", "--help"]] {
        let help = keys(folder.path(), command).await.good();
        assert!(help.contains("Examples:\n  toolyard keys "), "{help}");
    }
}
