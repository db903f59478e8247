//! `toolyard store`

use serde_json::Value;
use toolyard_testkit::postgres::TestDatabase;

use crate::fixture::{ADA, Running, Yard, ended, toolyard};

#[tokio::test]
async fn an_installation_moves_to_postgresql() {
    let database = TestDatabase::create();
    let mut yard = Yard::start().await;
    yard.run(&["apps", "add", "--package", "com.example.echo"]).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let migrate = ["store", "migrate", "--from", "data/toolyard.db", "--to", &database.url];
    let in_use = ended(toolyard(yard.folder.path(), &migrate)).await.bad();
    assert!(in_use.contains("in use by process") && in_use.contains("next: stop the server"), "{in_use}");
    yard.server.signal("-TERM").await;
    assert_eq!(yard.server.end().await, 0);

    let copied = ended(toolyard(yard.folder.path(), &[&migrate[..], &["--json"]].concat())).await.json();
    let tables = copied["tables"].as_array().unwrap();
    let installs = tables.iter().find(|table| table["name"] == "installs").unwrap();
    assert_eq!((&installs["rows"], &installs["replacedCharacters"]), (&Value::from(1), &Value::from(0)));
    assert_eq!(installs["digest"].as_str().unwrap().len(), 64);
    let again = ended(toolyard(yard.folder.path(), &migrate)).await.bad();
    assert!(again.contains("not empty: table apps") && again.contains("createdb"), "{again}");

    // The URL is read from the variable as well, for both commands.
    let args = ["serve", "--data", "data", "--listen", "127.0.0.1:0", "--json"];
    let mut command = toolyard(yard.folder.path(), &args);
    command.env("TOOLYARD_STORE__URL", &database.url);
    let mut server = Running::start(command);
    let line: Value = serde_json::from_str(&server.says("listening").await).unwrap();
    let url = line["listening"].as_str().unwrap();
    let list = ["apps", "ls", "--server", url, "--user", ADA, "--json"];
    let apps = ended(toolyard(yard.folder.path(), &list)).await.json();
    assert!(apps.to_string().contains("com.example.echo"), "{apps}");
    server.signal("-TERM").await;
    assert_eq!(server.end().await, 0);
}

#[tokio::test]
async fn only_postgresql_is_a_destination() {
    let folder = tempfile::tempdir().unwrap();
    let ran = ended(toolyard(folder.path(), &["store", "migrate", "--from", "a.db", "--to", "b.db"])).await;
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("must be a PostgreSQL database"), "{}", ran.err);
    let url = "postgres://ada:secret@127.0.0.1:1/db";
    let ran = ended(toolyard(folder.path(), &["store", "migrate", "--from", "a.db", "--to", url])).await;
    assert!(ran.err.contains("a.db does not exist") && !ran.err.contains("secret"), "{}", ran.err);
}
