//! `toolyard plugin install`, `ls` and `uninstall`, against a server that is its own curator.

use serde_json::{Value, json};

use crate::fixture::{Yard, ended, serve, toolyard};

/// A server with the key `curator.key` in its folder, and the plugin `time.json`, signed with it.
pub(crate) async fn yard() -> Yard {
    yard_with(&[]).await
}

/// The same with more settings.
pub(crate) async fn yard_with(more: &[&str]) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let run = async |args: &[&str]| ended(toolyard(folder.path(), args)).await;
    run(&["keys", "new", "--out", "curator.key"]).await.good();
    let plugin = json!({
        "schemaVersion": 1, "id": "com.example.time", "name": "Time", "version": "1.0.0", "publisher": "Example",
        "description": "Tells the time", "permissions": { "clock": true },
        "tools": [{ "name": "now", "description": "The time", "parameters": { "type": "object" },
                    "executorCode": "return new Date().toISOString();" }],
    });
    std::fs::write(folder.path().join("time.json"), plugin.to_string()).unwrap();
    run(&["plugin", "sign", "time.json", "--key", "curator.key"]).await.good();
    let flags = ["--set", "plugins.enabled=true", "--set", "plugins.curator_key_file=curator.key"];
    let (server, url) = serve(folder.path(), "127.0.0.1:0", &[&flags, more].concat()).await;
    Yard { folder, server, url }
}

#[tokio::test]
async fn a_plugin_from_its_install_to_its_end() {
    let yard = yard().await;
    let asked = yard.ada(&["plugin", "install", "time.json"]).await;
    assert_ne!(asked.code, 0);
    let said = asked.err;
    assert!(
        said.contains("time.json asks for these permissions:\n  knows the time") && said.contains("--yes"),
        "{said}"
    );
    let nothing = yard.ada(&["plugin", "ls"]).await.good();
    assert!(nothing.contains("No plugins yet"), "{nothing}");
    let installed = yard.ada(&["plugin", "install", "time.json", "--yes"]).await.good();
    assert!(
        installed.starts_with("installed com.example.time 1.0.0 (signed)\npermissions:\n  knows the time\n"),
        "{installed}"
    );
    assert!(installed.ends_with("tools: plugin.com.example.time:now\n"), "{installed}");
    let again = yard.ada(&["plugin", "install", "time.json", "--json"]).await.json();
    assert_eq!((&again["status"], &again["permissions"]), (&json!("signed"), &json!({ "clock": true })));
    let list = yard.ada(&["plugin", "ls", "--json"]).await.json();
    assert_eq!(list["plugins"][0]["runs"], true);
    let table = yard.ada(&["plugin", "ls"]).await.good();
    assert!(table.contains("com.example.time  1.0.0    signed  1      yes"), "{table}");
    let removed = yard.ada(&["plugin", "uninstall", "com.example.time"]).await.good();
    assert_eq!(removed, "uninstalled com.example.time\n");
    let gone = yard.ada(&["plugin", "uninstall", "com.example.time"]).await.bad();
    assert!(gone.contains("plugin ls"), "{gone}");
}

#[tokio::test]
async fn from_the_catalogue_and_what_is_refused() {
    let yard = yard().await;
    let missing = yard.ada(&["plugin", "install", "com.example.time@1.0.0"]).await.bad();
    assert!(missing.contains("in the catalogue"), "{missing}");
    let none = yard.ada(&["plugin", "install", "./none.json"]).await;
    assert!(none.code != 0 && none.err.contains("is neither a file nor a valid plugin id"), "{none:?}");
    let mut changed: Value =
        serde_json::from_str(&std::fs::read_to_string(yard.folder.path().join("time.json")).unwrap())
            .unwrap();
    changed["name"] = "Another".into();
    yard.file("changed.json", &changed.to_string());
    let refused = yard.ada(&["plugin", "install", "changed.json", "--yes"]).await.bad();
    assert!(refused.contains("modified"), "{refused}");
}
