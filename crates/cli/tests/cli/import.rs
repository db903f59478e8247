//! `toolyard import`

use serde_json::{Value, json};

use crate::{app, fixture::Yard};

fn document(package: &str) -> String {
    json!({
        "_id": { "$oid": "665f1c2e8b3e4a0012ab34cd" }, "packageName": package, "name": "Notes", "description": "Keeps notes",
        "publicUrl": "http://127.0.0.1:7010", "appType": "standard", "hashedApiKey": "ab12",
        "permissions": [{ "type": "MICROPHONE", "_id": { "$oid": "1" } }], "tools": app::config()["tools"],
        "createdAt": { "$date": "2025-06-04T12:00:00.000Z" },
    })
    .to_string()
}

fn export() -> String {
    [
        document("com.example.one"),
        String::new(),
        "{not json".to_owned(),
        document("com.example.there"),
        document("Com.Example"),
        document("com.example.far").replace("127.0.0.1:7010", "10.0.0.1"),
        document("com.example.two"),
    ]
    .join("\n")
}

#[tokio::test]
async fn valid_lines_are_imported_and_invalid_ones_reported() {
    let yard = Yard::start().await;
    yard.run(&["apps", "add", "--package", "com.example.there"]).await.good();
    let file = yard.file("apps.jsonl", &export());
    let import = ["import", file.to_str().unwrap()];

    let dry = yard.run(&[&import[..], &["--dry-run"]].concat()).await;
    assert_eq!(dry.code, 1);
    assert!(dry.out.contains("line 1: would import com.example.one with 1 tools\n"), "{}", dry.out);
    assert_eq!(yard.run(&["apps", "ls", "--json"]).await.json()["apps"].as_array().unwrap().len(), 1);

    let run = yard.run(&[&import[..], &["--json"]].concat()).await;
    assert_eq!(run.code, 1);
    let lines = run.json_lines();
    let told: Vec<(u64, &str)> = lines[..6]
        .iter()
        .map(|line| (line["line"].as_u64().unwrap(), line["outcome"].as_str().unwrap()))
        .collect();
    let expected =
        [(1, "imported"), (3, "failed"), (4, "skippedExists"), (5, "failed"), (6, "failed"), (7, "imported")];
    assert_eq!(told, expected);
    assert_eq!(lines[0]["apiKey"].as_str().unwrap().len(), 64);
    let reasons = |line: &Value| {
        line["reasons"].as_array().unwrap().iter().map(|r| r.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(reasons(&lines[1])[0].starts_with("not JSON"));
    assert!(reasons(&lines[3])[0].starts_with("packageName: "));
    assert!(
        reasons(&lines[4])
            .iter()
            .any(|reason| reason.starts_with("publicUrl: ") && reason.contains("private"))
    );
    assert_eq!(lines[6], json!({ "imported": 2, "skipped": 1, "failed": 3, "dryRun": false }));

    let app = yard.run(&["apps", "show", "com.example.two", "--json"]).await.json();
    assert_eq!(
        (&app["appType"], &app["toolCount"], &app["legacy"]),
        (&json!("standard"), &json!(1), &json!(false))
    );
    assert_eq!(app["permissions"], json!([{ "type": "MICROPHONE" }]));
    let again = yard.run(&import).await;
    assert!(
        again.out.contains("line 7: skipped com.example.two: it is already registered\n"),
        "{}",
        again.out
    );
    assert!(again.out.ends_with("0 imported, 3 skipped, 3 failed\n"), "{}", again.out);
}

#[tokio::test]
async fn all_good_ends_with_0_and_no_server_ends_at_once() {
    let mut yard = Yard::start().await;
    let file = yard.file("apps.jsonl", &document("com.example.one"));
    let import = ["import", file.to_str().unwrap()];
    let text = yard.run(&import).await.good();
    assert!(text.starts_with("line 1: imported com.example.one with 1 tools; API key "), "{text}");
    yard.server.signal("-TERM").await;
    yard.server.end().await;
    let down = yard.run(&import).await;
    assert_eq!((down.code, down.out.as_str()), (1, ""));
    assert!(down.err.contains("cannot reach the server"), "{}", down.err);
    assert!(yard.run(&["import", "missing.jsonl"]).await.bad().contains("cannot read missing.jsonl"));
}

#[tokio::test]
async fn an_app_keeps_its_key() {
    let yard = Yard::start().await;
    // SHA-256 of the key `k`.
    let hash = "8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a";
    let file = yard.file("apps.jsonl", &document("com.example.one").replace("ab12", hash));
    let text = yard.run(&["import", file.to_str().unwrap()]).await.good();
    assert!(text.contains("it keeps its API key"), "{text}");
    let shown =
        yard.run(&["apps", "show", "com.example.one", "--token", "com.example.one:k", "--json"]).await.json();
    assert_eq!((&shown["packageName"], &shown["kind"]), (&json!("com.example.one"), &json!("session")));
}
