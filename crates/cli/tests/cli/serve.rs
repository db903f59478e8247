//! `toolyard serve`

use serde_json::Value;

use crate::{
    app::{self, App},
    fixture::{ADA, Running, Yard, ended, serve, toolyard},
};

#[tokio::test]
async fn a_signal_stops_it_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let mut yard = Yard::start().await;
        yard.run(&["apps", "add", "--package", "com.example.echo"]).await.good();
        yard.server.signal(signal).await;
        assert_eq!(yard.server.end().await, 0, "{signal}");
        assert!(yard.folder.path().join("data/toolyard.db").exists());
        assert!(yard.server.rest().await.contains("stopped"));
    }
}

#[tokio::test]
async fn a_second_signal_does_not_wait() {
    let (mut yard, mut app) =
        (Yard::start_with(&["--set", "server.drain_ms=600000"]).await, App::start().await);
    let tools = yard.file("tools.json", &app::tools().to_string());
    let tools = tools.to_str().unwrap();
    yard.run(&[
        "apps",
        "add",
        "--package",
        "com.example.echo",
        "--url",
        &app.url,
        "--kind",
        "tools-only",
        "--tools",
        tools,
    ])
    .await
    .good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let _glasses = yard.glasses(&[]).await;
    let _call = Running::start(yard.command(&["tools", "call", "com.example.echo:hang", "--user", ADA]));
    app.asked("/tool").await;
    yard.server.signal("-TERM").await;
    yard.server.notes("a second signal").await;
    yard.server.signal("-TERM").await;
    assert_eq!(yard.server.end().await, 130);
}

#[tokio::test]
async fn a_hangup_reloads_the_configuration_and_never_ends_the_process() {
    let mut yard = Yard::start().await;
    // There is no file, then a file, then an invalid one.
    yard.server.signal("-HUP").await;
    yard.server.notes("configuration reloaded applied=0").await;
    yard.file("toolyard.toml", "[log]\nfilter = \"warn\"\n[ledger]\nbatch_size = 7\n");
    yard.server.signal("-HUP").await;
    // The last line that the new filter lets through.
    yard.server.notes("setting takes effect after a restart setting=\"ledger.batch_size\"").await;
    yard.file("toolyard.toml", "[log]\nfilter = 1\n");
    yard.server.signal("-HUP").await;
    let line = yard.server.notes("configuration not reloaded").await;
    assert!(line.contains("log.filter") && line.contains("nothing was changed"), "{line}");
    let report = yard.run(&["health"]).await.good();
    assert!(report.starts_with("ready: "), "{report}");
    yard.server.signal("-TERM").await;
    assert_eq!(yard.server.end().await, 0);
    let rest = yard.server.rest().await;
    assert!(!rest.contains("INFO"), "the filter is in force: {rest}");
}

#[tokio::test]
async fn a_stop_follows_the_reloaded_drain_timeout() {
    let (folder, mut app) = (tempfile::tempdir().unwrap(), App::start().await);
    let file = folder.path().join("toolyard.toml");
    std::fs::write(&file, "[server]\ndrain_ms = 600000\n").unwrap();
    let (server, url) = serve(folder.path(), "127.0.0.1:0", &[]).await;
    let mut yard = Yard { folder, server, url };
    let tools = yard.file("tools.json", &app::tools().to_string());
    let tools = tools.to_str().unwrap();
    let add = ["apps", "add", "--package", "com.example.echo", "--url", &app.url];
    yard.run(&[&add[..], &["--kind", "tools-only", "--tools", tools]].concat()).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    let _glasses = yard.glasses(&[]).await;
    let _call = Running::start(yard.command(&["tools", "call", "com.example.echo:hang", "--user", ADA]));
    app.asked("/tool").await;
    std::fs::write(&file, "[server]\ndrain_ms = 10\n").unwrap();
    yard.server.signal("-HUP").await;
    yard.server.notes("configuration reloaded applied=1").await;
    yard.server.signal("-TERM").await;
    assert_eq!(yard.server.end().await, 0, "the hanging call is cancelled");
}

#[tokio::test]
async fn says_where_it_listens_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::start(toolyard(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--json"]));
    let line: Value = serde_json::from_str(&server.says("listening").await).unwrap();
    let listening = line["listening"].as_str().unwrap();
    assert!(listening.starts_with("http://127.0.0.1:"));
    // Built in only if `web/console/dist` existed; then it is served at the printed URL.
    if let Some(console) = line["console"].as_str() {
        assert_eq!(console, format!("{listening}/console/"));
    }
}

#[tokio::test]
async fn flags_override_the_environment_which_overrides_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    std::fs::write(
        &file,
        "[server]\nlisten = \"127.0.0.1:1\"\n[store]\npath = \"a/x.db\"\n[log]\nfilter = \"warn\"\n",
    )
    .unwrap();
    let mut command = toolyard(
        folder.path(),
        &["serve", "--config", "my.toml", "--listen", "127.0.0.1:0", "--set", "log.filter=info"],
    );
    command.env("TOOLYARD_STORE__PATH", "b/x.db").env("TOOLYARD_LOG__FILTER", "error");
    let mut server = Running::start(command);
    server.says("listening on ").await;
    server.notes("INFO").await;
    assert!(folder.path().join("b/x.db").exists() && !folder.path().join("a").exists());
}

#[tokio::test]
async fn a_wrong_configuration_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), "[calls]\ntimeouts = 1\n").unwrap();
    let wrong = ended(toolyard(folder.path(), &["serve"])).await;
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("timeouts") && wrong.err.contains("next: `toolyard schema config`"),
        "{}",
        wrong.err
    );
    let missing = ended(toolyard(folder.path(), &["serve", "--config", "missing.toml", "--json"])).await;
    assert_eq!((missing.code, &missing.json_lines()[0]["error"]["code"]), (2, &Value::from("CONFIGURATION")));
    for wrong in [&["--set", "x"][..], &["--auth", "maybe"], &["--listen", "here"]] {
        assert_eq!(ended(toolyard(folder.path(), &[&["serve"], wrong].concat())).await.code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_reported() {
    let yard = Yard::start().await;
    let address = yard.url.trim_start_matches("http://");
    let second =
        ended(toolyard(yard.folder.path(), &["serve", "--listen", address, "--data", "other"])).await;
    assert!(
        second.err.contains(&format!("cannot listen on {address}")) && second.err.contains("--listen"),
        "{}",
        second.err
    );
    assert_eq!(second.code, 1);
}
