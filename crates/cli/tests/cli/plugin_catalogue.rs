//! `toolyard plugin publish`, `search`, `install ID` and `revoke`, against a server that is its own curator.

use serde_json::{Value, json};

use crate::{
    fixture::{Ran, Yard, ended, toolyard},
    plugin_install::{yard, yard_with},
};

fn read(yard: &Yard, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(yard.folder.path().join(name)).unwrap()).unwrap()
}

/// Another file with some members changed.
fn changed(yard: &Yard, name: &str, change: impl FnOnce(&mut Value)) {
    let mut manifest = read(yard, "time.json");
    change(&mut manifest);
    yard.file(name, &manifest.to_string());
}

#[tokio::test]
async fn published_found_installed_and_revoked() {
    let yard = yard().await;
    let told = yard.run(&["plugin", "publish", "time.json", "--out", "signed.json"]).await.good();
    let signed = read(&yard, "signed.json");
    let key = signed["keyId"].as_str().unwrap();
    let first = format!("signed com.example.time 1.0.0 with key {key} and added it to the catalogue\nhash ");
    assert!(told.starts_with(&first), "{told}");
    assert!(told.ends_with("audit: no findings\nwritten to signed.json\n"), "{told}");
    let checked = yard.run(&["plugin", "verify", "signed.json", "--key", "curator.key.pub"]).await.good();
    assert!(checked.starts_with("com.example.time 1.0.0 is signed"), "{checked}");

    let found = yard.ada(&["plugin", "search", "tells", "the"]).await.good();
    let mut lines = found.lines();
    assert!(lines.next().unwrap().starts_with("ID ") && found.lines().count() == 2, "{found}");
    assert_eq!(lines.next().unwrap(), "com.example.time  1.0.0    signed  Example    Tells the time");
    let none = yard.ada(&["plugin", "search", "a&q=time#?"]).await.good();
    assert_eq!(none, "No plugins found.\n");
    let listed = yard.ada(&["plugin", "search", "--json"]).await.json();
    assert_eq!(listed["plugins"][0]["asksFor"], json!({ "clock": true }));
    let after = yard.ada(&["plugin", "search", "--after", "com.example.time", "--json"]).await.json();
    assert_eq!(after, json!({ "plugins": [] }));

    let installed =
        yard.ada(&["plugin", "install", "com.example.time@1.0.0", "--yes", "--json"]).await.json();
    assert_eq!((&installed["status"], &installed["runs"]), (&json!("signed"), &json!(true)));
    // The folder that it was packed from is not a file.
    std::fs::create_dir(yard.folder.path().join("com.example.time")).unwrap();
    yard.ada(&["plugin", "install", "com.example.time"]).await.good();
    let missing = yard.ada(&["plugin", "install", "com.example.time@9.9.9"]).await.bad();
    assert!(missing.contains("`toolyard plugin search` lists"), "{missing}");

    let back = ["plugin", "revoke", "com.example.time", "--version", "1.0.0", "--reason", "a hole"];
    assert_eq!(yard.run(&back).await.good(), "revoked com.example.time 1.0.0; it no longer runs\n");
    assert_eq!(yard.run(&back).await.good(), "com.example.time 1.0.0 had already been revoked\n");
    let table = yard.ada(&["plugin", "ls"]).await.good();
    assert!(table.contains("no: revoked: the plugin was revoked: a hole"), "{table}");
    let found = yard.ada(&["plugin", "search"]).await.good();
    assert!(found.contains("revoked"), "{found}");
    let refused = yard.ada(&["plugin", "install", "com.example.time", "--yes"]).await.bad();
    assert!(refused.contains("revoked"), "{refused}");
}

#[tokio::test]
async fn findings_are_printed_and_errors_are_not_signed() {
    let yard = yard().await;
    changed(&yard, "odd.json", |manifest| {
        manifest["tools"][0]["executorCode"] = "return eval(args.code) + Date.now();".into();
    });
    let Ran { code, out, err } = yard.run(&["plugin", "publish", "odd.json", "--out", "never.json"]).await;
    assert_eq!(code, 1, "{err}");
    assert!(out.starts_with("com.example.time 1.0.0 was not signed: fix the errors"), "{out}");
    let error = out.lines().find(|line| line.starts_with("  error: ")).unwrap();
    assert!(error.contains("tools[0].executorCode, line 1") && error.ends_with("(eval)"), "{error}");
    assert!(!yard.folder.path().join("never.json").exists());
    let told = yard.run(&["plugin", "publish", "odd.json", "--json"]).await;
    assert_eq!(told.code, 1);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&told["signed"], &told["keyId"]), (&json!(false), &json!(null)));
    assert_eq!(told["report"]["findings"][0]["code"], "eval");

    let told = yard.run(&["plugin", "publish", "time.json", "--json"]).await.json();
    assert_eq!(told["keyId"], read(&yard, "time.json")["keyId"]);
    assert_eq!((&told["signed"], &told["report"]["passes"]), (&json!(true), &json!(true)));
    // The same version with other content, and a file that is not a manifest.
    changed(&yard, "other.json", |manifest| manifest["name"] = "Another".into());
    let refused = yard.run(&["plugin", "publish", "other.json"]).await.bad();
    assert!(refused.contains("raise the version"), "{refused}");
    yard.file("none.json", "{}");
    assert_ne!(yard.run(&["plugin", "publish", "none.json"]).await.code, 0);
}

#[tokio::test]
async fn revoking_every_version_needs_a_confirmation() {
    let yard = yard().await;
    yard.run(&["plugin", "publish", "time.json"]).await.good();
    let all = ["plugin", "revoke", "com.example.time", "--reason", "gone"];
    let asked = yard.run(&all).await;
    assert!(asked.code != 0 && asked.err.contains("every version of com.example.time"), "{asked:?}");
    let told = yard.run(&[&all[..], &["--yes", "--json"]].concat()).await.json();
    assert_eq!(told, json!({ "id": "com.example.time", "revoked": true }));
    let hash = "0".repeat(64);
    let told = yard.run(&[&all[..], &["--hash", &hash]].concat()).await.good();
    assert_eq!(told, format!("revoked content {hash}; it no longer runs\n"));
    let missing = yard.run(&[&all[..], &["--version", "9.9.9"]].concat()).await.bad();
    assert!(missing.contains("9.9.9") && missing.contains("`toolyard plugin search` lists"), "{missing}");
    for wrong in [&["--version", "1", "--hash", hash.as_str()][..], &["--hash", "x"]] {
        assert_eq!(yard.run(&[&all[..], wrong].concat()).await.code, 2, "{wrong:?}");
    }
    let silent = yard.run(&["plugin", "revoke", "com.example.time", "--version", "1.0.0"]).await;
    assert_eq!(silent.code, 2, "a reason is needed");
}

#[tokio::test]
async fn only_curators_publish_and_revoke() {
    let yard = yard_with(&["--set", "auth.mode=token"]).await;
    let token = async |role: &str| {
        let data = ["token", role, "cleo@example.com", "--data", "data"];
        yard.run(&data).await.good().trim().to_owned()
    };
    let as_role = async |role: &str, args: &[&str]| {
        let mut command = yard.command(args);
        command.env("TOOLYARD_TOKEN", token(role).await);
        ended(command).await
    };
    let publish = ["plugin", "publish", "time.json"];
    let back = ["plugin", "revoke", "com.example.time", "--version", "1.0.0", "--reason", "x"];
    for role in ["user", "developer"] {
        for line in [&publish[..], &back] {
            let refused = as_role(role, line).await.bad();
            assert!(refused.contains("curator"), "{role}: {refused}");
        }
    }
    assert!(yard.run(&publish).await.bad().contains("TOOLYARD_TOKEN"));
    as_role("curator", &publish).await.good();
    as_role("curator", &back).await.good();
}

#[tokio::test]
async fn help_has_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["publish", "revoke", "search", "install", "ls"] {
        let help = ended(toolyard(folder.path(), &["plugin", command, "--help"])).await.good();
        assert!(help.contains(&format!("Examples:\n  toolyard plugin {command}")), "{help}");
        assert!(help.contains("--json"), "{help}");
    }
}
