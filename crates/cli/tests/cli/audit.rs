//! `toolyard audit`

use serde_json::{Value, json};

use crate::fixture::{ended, serve, toolyard};

#[tokio::test]
async fn the_audit_log_is_listed_exported_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let offline = async |args: &[&str]| ended(toolyard(folder.path(), args)).await;
    let made = offline(&["token", "operator", "admin", "--data", "data", "--json"]).await.json();
    let refused = offline(&["audit", "verify", "--data", "data"]).await.bad();
    assert!(refused.contains("no server has used this store") && refused.contains("next: "), "{refused}");

    let (_server, url) = serve(folder.path(), "127.0.0.1:0", &["--auth", "token"]).await;
    let run = async |args: &[&str]| {
        let mut command = toolyard(folder.path(), args);
        command.env("TOOLYARD_URL", &url).env("TOOLYARD_TOKEN", made["token"].as_str().unwrap());
        ended(command).await
    };
    run(&["users", "add", "ada@example.com"]).await.good();
    run(&["users", "disable", "ada@example.com"]).await.good();
    let listed = run(&["audit", "list"]).await.good();
    let lines: Vec<_> = listed.lines().collect();
    let cells = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells(0), ["NUMBER", "TIME", "ACTION", "ACTOR", "TARGET", "DETAIL"]);
    assert_eq!(
        (cells(1)[0], &cells(1)[2..6]),
        ("3", &["user.disabled", "person", "admin", "ada@example.com"][..])
    );
    assert_eq!(cells(3)[2..6], ["token.issued", "command", "toolyard", "token"]);
    let about =
        run(&["audit", "ls", "--about", "ada@example.com", "--action", "user.created", "--json"]).await;
    assert_eq!(about.json()["entries"][0]["number"], 2);
    let none = run(&["audit", "list", "--actor", "nobody"]).await.good();
    assert_eq!(none, "No entries match.\n");
    for wrong in
        [&["list", "--action", "no.such"][..], &["list", "--limit", "201"], &["verify", "--head", "3"]]
    {
        assert_eq!(run(&[&["audit"], wrong].concat()).await.code, 2, "{wrong:?}");
    }

    let printed = run(&["audit", "export"]).await;
    let entries = printed.json_lines();
    assert_eq!(entries.iter().map(|entry| entry["number"].clone()).collect::<Vec<_>>(), [1, 2, 3]);
    let head = format!("3:{}", entries[2]["hash"].as_str().unwrap());
    assert_eq!(printed.err, format!("exported 3 entries; head {head}\n"));
    run(&["audit", "export", "-o", "audit.jsonl", "--after", "1"]).await.good();
    let file = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert_eq!(file.lines().collect::<Vec<_>>(), printed.out.lines().skip(1).collect::<Vec<_>>());
    assert_eq!(run(&["audit", "export", "-o", "audit.jsonl"]).await.code, 2, "it exists");

    // While the server runs.
    let verified = offline(&["audit", "verify", "--data", "data", "--head", &head]).await.good();
    assert_eq!(verified, format!("the audit log is valid: 3 entries\nhead {head}\n"));
    let later = format!("9:{}", "00".repeat(32));
    let truncated = offline(&["audit", "verify", "--data", "data", "--head", &later, "--json"]).await;
    assert_eq!(truncated.code, 1, "{truncated:?}");
    let fault: Value = serde_json::from_str(&truncated.out).unwrap();
    assert_eq!(
        (&fault["valid"], &fault["number"], &fault["fault"]),
        (&json!(false), &json!(4), &json!("truncated"))
    );
    let other = format!("2:{}", "00".repeat(32));
    let replaced = offline(&["audit", "verify", "--data", "data", "--head", &other]).await;
    assert!(replaced.code == 1 && replaced.out.contains("NOT valid: entry 2"), "{replaced:?}");
}
