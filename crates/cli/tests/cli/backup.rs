//! `toolyard backup` and `toolyard restore`

use std::{fs, path::Path};

use toolyard_testkit::postgres::TestDatabase;

use crate::fixture::{ADA, Ran, Running, Yard, ended, toolyard};

const PASSPHRASE: [&str; 2] = ["--passphrase-file", "passphrase"];

async fn run(folder: &Path, args: &[&str]) -> Ran {
    ended(toolyard(folder, args)).await
}

/// A running server with an app that Ada installed, and a passphrase.
async fn yard_with_app() -> Yard {
    let yard = Yard::start().await;
    yard.run(&["apps", "add", "--package", "com.example.echo"]).await.good();
    yard.ada(&["apps", "install", "com.example.echo"]).await.good();
    yard.file("passphrase", "correct horse battery staple\n");
    yard
}

/// Starts a server on restored data, and returns what apps it has.
async fn restored_apps(folder: &Path, data: &str, url: Option<&str>) -> String {
    let args = ["serve", "--data", data, "--listen", "127.0.0.1:0"];
    let mut command = toolyard(folder, &args);
    command.envs(url.map(|url| ("TOOLYARD_STORE__URL", url)));
    let mut server = Running::start(command);
    let line = server.says("listening on ").await;
    let url = line.trim_start_matches("listening on ");
    let apps = run(folder, &["apps", "ls", "--server", url, "--user", ADA, "--json"]).await.good();
    server.signal("-TERM").await;
    assert_eq!(server.end().await, 0);
    apps
}

#[tokio::test]
async fn a_running_server_is_backed_up_and_restored() {
    let yard = yard_with_app().await;
    let folder = yard.folder.path();
    let made = ["backup", "--to", "all.backup", "--data", "data", "--with-root-key"];
    let made = [&made[..], &PASSPHRASE, &["--json"]].concat();
    let ran = run(folder, &made).await;
    assert_eq!(ran.err, "", "nothing to remind of");
    let summary = ran.json();
    assert_eq!((&summary["encrypted"], &summary["rootKey"]), (&true.into(), &true.into()));
    assert_eq!(summary["store"], "sqlite");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(folder.join("all.backup")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let mut names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().ends_with(".partial")));
    let again = run(folder, &made).await;
    assert_eq!(again.code, 2);
    assert!(again.out.contains("already exists and was not changed"), "{again:?}");

    let shown = run(folder, &[&["backup", "verify", "all.backup"], &PASSPHRASE[..]].concat()).await.good();
    assert!(shown.contains("installs") && shown.contains("complete and undamaged"), "{shown}");
    let database = TestDatabase::create();
    for (data, url) in [("file", None), ("database", Some(database.url.as_str()))] {
        let args = [&["restore", "--from", "all.backup", "--data", data], &PASSPHRASE[..]].concat();
        let restore = |more: &[&str]| {
            let mut command = toolyard(folder, &[&args[..], more].concat());
            command.envs(url.map(|url| ("TOOLYARD_STORE__URL", url)));
            command
        };
        let dry = ended(restore(&["--dry-run"])).await;
        assert!(dry.err.contains("root key would be written"), "{dry:?}");
        assert!(dry.good().contains("Nothing was changed."));
        assert!(!folder.join(data).exists());
        let restored = ended(restore(&["--json"])).await.json();
        assert_eq!((&restored["rows"], &restored["rootKey"]), (&summary["rows"], &"written".into()));
        let refused = ended(restore(&[])).await.bad();
        assert!(
            refused.contains("is not empty: table apps") && refused.contains("next: restore to"),
            "{refused}"
        );
        let apps = restored_apps(folder, data, url).await;
        assert!(apps.contains("com.example.echo"), "{apps}");
    }
}

#[tokio::test]
async fn a_backup_without_encryption_says_what_it_lacks() {
    let yard = yard_with_app().await;
    let folder = yard.folder.path();
    let ran = run(folder, &["backup", "--to", "plain.backup", "--data", "data"]).await;
    assert!(ran.err.contains("the root key is not in the backup: without data/root.key"), "{ran:?}");
    assert!(ran.err.contains("the backup is not encrypted"), "{ran:?}");
    assert!(ran.good().contains("not encrypted, without the root key"));
    let quiet = ["backup", "--to", "quiet.backup", "--data", "data", "--without-root-key"];
    let ran = run(folder, &[&quiet[..], &PASSPHRASE].concat()).await;
    assert_eq!(ran.err, "");
    ran.good();
    let restored = run(folder, &["restore", "--from", "plain.backup", "--data", "new"]).await;
    assert!(restored.err.contains("put your copy of it at new/root.key"), "{restored:?}");
    restored.good();
}

#[tokio::test]
async fn what_cannot_be_backed_up_or_restored_is_explained() {
    let yard = yard_with_app().await;
    let folder = yard.folder.path();
    let key = run(folder, &["backup", "--to", "a", "--data", "data", "--with-root-key"]).await;
    assert_eq!(key.code, 2);
    assert!(key.err.contains("--passphrase-file"), "{key:?}");
    yard.file("short", "elevenchars\n");
    let short = run(folder, &["backup", "--to", "a", "--data", "data", "--passphrase-file", "short"]).await;
    assert_eq!(short.code, 2);
    assert!(short.err.contains("less than 12 characters"), "{short:?}");
    let nothing = run(folder, &["backup", "--to", "a", "--data", "nowhere"]).await.bad();
    assert!(
        nothing.contains("nothing to back up") && nothing.contains("next: name the data folder"),
        "{nothing}"
    );
    assert!(!folder.join("a").exists() && !folder.join("nowhere").exists());
    let folderless = run(folder, &["backup", "--to", "no/a", "--data", "data"]).await.bad();
    assert!(folderless.contains("cannot write no/a"), "{folderless}");
    assert_eq!(run(folder, &["backup"]).await.code, 2);

    run(folder, &[&["backup", "--to", "a", "--data", "data"], &PASSPHRASE[..]].concat()).await.good();
    let without = run(folder, &["backup", "verify", "a"]).await.bad();
    assert!(without.contains("it is encrypted") && without.contains("next: name the file"), "{without}");
    yard.file("wrong", "incorrect horse battery staple\n");
    let args = ["restore", "--from", "a", "--data", "new", "--passphrase-file", "wrong", "--json"];
    let wrong = run(folder, &args).await;
    assert!(
        wrong.out.contains("\"code\":\"RESTORE\"") && wrong.out.contains("passphrase is wrong"),
        "{wrong:?}"
    );
    let mut bytes = fs::read(folder.join("a")).unwrap();
    bytes.pop();
    fs::write(folder.join("cut"), bytes).unwrap();
    let cut = run(folder, &[&["backup", "verify", "cut"], &PASSPHRASE[..]].concat()).await.bad();
    assert!(cut.contains("damaged") && cut.contains("next: use another copy"), "{cut}");
    // The server that is backed up has the folder.
    let busy = [&["restore", "--from", "a", "--data", "data"], &PASSPHRASE[..]].concat();
    let busy = run(folder, &busy).await.bad();
    assert!(busy.contains("is not empty"), "{busy}");
}
