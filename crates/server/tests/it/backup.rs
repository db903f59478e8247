//! A running server is backed up, and another one starts with what was restored.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::json;
use toolyard_protocol::secret::SecretText;
use toolyard_server::{
    ServerDependencies,
    auth::Role,
    backup::{
        ArchiveError, BackupArchive, BackupError, BackupManifest, BackupRequest, LoadError, RestoreError,
        RestoreMode, RestoreReport, RestoredKey, restore_backup, write_backup,
    },
    config::Config,
};
use toolyard_testkit::postgres::TestDatabase;

use crate::platform::{ECHO, Platform, echo_tool, tokens_only};

fn passphrase() -> SecretText {
    SecretText::new("correct horse battery staple")
}

/// Writes a backup of a server that may be running.
async fn back_up(config: &Config, request: BackupRequest<'_>, to: &Path) -> BackupManifest {
    let mut file = File::create_new(to).unwrap();
    write_backup(config, &ServerDependencies::default(), request, &mut file).await.unwrap()
}

async fn restore(
    config: &Config,
    from: &Path,
    passphrase: Option<&SecretText>,
    mode: RestoreMode,
) -> Result<RestoreReport, RestoreError> {
    let archive = BackupArchive::open(from, passphrase)?;
    restore_backup(config, &ServerDependencies::default(), &archive, mode, |_| {}).await
}

/// The same configuration with another place for its data.
fn elsewhere(config: &Config, folder: &Path) -> Config {
    let mut config = config.clone();
    config.store.path = folder.join("toolyard.db");
    config.store.url = None;
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config
}

/// A server that was stopped, with one app.
async fn stopped_server() -> (Config, tempfile::TempDir) {
    let p = Platform::start().await;
    let _echo = p.echo().await;
    let (config, folder, _) = p.stop().await;
    (config, folder.unwrap())
}

/// Backups of a small store, one of them encrypted and with the root key.
struct Fixture {
    config: Config,
    folder: tempfile::TempDir,
    plain: PathBuf,
    sealed: PathBuf,
}

impl Fixture {
    async fn create() -> Self {
        let (config, folder) = stopped_server().await;
        let (plain, sealed) = (folder.path().join("plain"), folder.path().join("sealed"));
        back_up(&config, BackupRequest::default(), &plain).await;
        let request = BackupRequest { passphrase: Some(&passphrase()), with_root_key: true };
        back_up(&config, request, &sealed).await;
        Self { config, folder, plain, sealed }
    }

    /// A place that is still empty.
    fn target(&self, name: &str) -> Config {
        elsewhere(&self.config, &self.folder.path().join(name))
    }

    /// A file like this one, with other bytes.
    fn changed(&self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut bytes = fs::read(file).unwrap();
        change(&mut bytes);
        let path = self.folder.path().join("changed");
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn verify(file: &Path, passphrase: Option<&SecretText>) -> Result<BackupManifest, ArchiveError> {
    BackupArchive::open(file, passphrase)?.verify()
}

#[tokio::test]
async fn a_token_from_before_the_backup_is_valid_after_the_restore() {
    let p = Platform::with(tokens_only).await;
    let root = p.token("root", Role::Operator);
    let app = json!({ "packageName": ECHO, "name": "Echo", "kind": "tools-only",
        "publicUrl": "http://127.0.0.1:1", "tools": [echo_tool()] });
    p.bearer(&root).post("/api/apps", &app).await.expect(201);
    let made = p.bearer(&root).post("/api/tokens", &json!({ "name": "laptop", "user": "ada" })).await;
    let made = made.expect(201).json();
    let token = made["token"].as_str().unwrap();
    p.bearer(token).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b");
    // While the server runs.
    let request = BackupRequest { passphrase: Some(&passphrase()), with_root_key: true };
    let manifest = back_up(p.config(), request, &file).await;
    assert!(manifest.has_root_key && manifest.fits_this_version() && manifest.rows() > 0);
    p.bearer(token).delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    let (config, _folder, clock) = p.stop().await;

    let database = TestDatabase::create();
    let in_file = elsewhere(&config, &folder.path().join("file"));
    let mut in_database = elsewhere(&config, &folder.path().join("database"));
    in_database.store.url = Some(database.url.clone());
    for config in [in_file, in_database] {
        let report = restore(&config, &file, Some(&passphrase()), RestoreMode::Write).await.unwrap();
        let key = config.store.path.with_file_name("root.key");
        assert_eq!(report.root_key, RestoredKey::Written(key.clone()));
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&key).unwrap().permissions()) & 0o777,
            0o600
        );
        let p = Platform::run(config, None, clock.clone()).await;
        let me = p.bearer(token).get("/api/me").await.expect(200).json();
        assert_eq!(me["name"], "ada");
        assert_eq!(p.bearer(token).tools().await, [format!("{ECHO}:echo")], "as it was at the backup");
        // It can be revoked, so it is listed, and changes are noticed.
        let id = made["info"]["id"].as_str().unwrap();
        p.bearer(&root).delete(&format!("/api/tokens/{id}")).await.expect(204);
        p.bearer(token).get("/api/me").await.expect(401);
        p.stop().await;
    }
}

#[tokio::test]
async fn the_root_key_is_only_in_encrypted_backups() {
    let f = Fixture::create().await;
    let request = BackupRequest { passphrase: None, with_root_key: true };
    let refused = write_backup(&f.config, &ServerDependencies::default(), request, Vec::new()).await;
    assert!(matches!(refused, Err(BackupError::KeyNeedsEncryption)));
    assert!(!verify(&f.plain, None).unwrap().has_root_key);
    let key = fs::read_to_string(f.config.store.path.with_file_name("root.key")).unwrap();
    let sealed = fs::read(&f.sealed).unwrap();
    assert!(!sealed.windows(key.len()).any(|part| part == key.as_bytes()));
    // A key that is not that of the store would be useless.
    fs::write(f.config.store.path.with_file_name("root.key"), "ab".repeat(32)).unwrap();
    let request = BackupRequest { passphrase: Some(&passphrase()), with_root_key: true };
    let refused = write_backup(&f.config, &ServerDependencies::default(), request, Vec::new()).await;
    assert!(matches!(refused, Err(BackupError::RootKey(_))));
    fs::remove_file(f.config.store.path.with_file_name("root.key")).unwrap();
    let refused = write_backup(&f.config, &ServerDependencies::default(), request, Vec::new()).await;
    assert!(matches!(refused, Err(BackupError::RootKey(_))));
    assert!(!f.config.store.path.with_file_name("root.key").exists(), "none is made");
}

#[tokio::test]
async fn a_passphrase_is_needed_and_must_be_right() {
    let f = Fixture::create().await;
    verify(&f.sealed, Some(&passphrase())).unwrap();
    assert!(matches!(verify(&f.sealed, None), Err(ArchiveError::NeedsPassphrase)));
    let wrong = SecretText::new("incorrect horse battery staple");
    assert!(matches!(verify(&f.sealed, Some(&wrong)), Err(ArchiveError::WrongPassphrase)));
    // Someone may have exchanged the file.
    assert!(matches!(verify(&f.plain, Some(&passphrase())), Err(ArchiveError::NotEncrypted)));
}

#[tokio::test]
async fn damage_is_noticed_before_anything_is_changed() {
    let f = Fixture::create().await;
    for (file, passphrase) in [(&f.plain, None), (&f.sealed, Some(passphrase()))] {
        let length = fs::metadata(file).unwrap().len() as usize;
        let header = fs::read(file).unwrap().iter().position(|byte| *byte == b'\n').unwrap();
        // Of the compressed data, not of the metadata in the header of gzip, which nothing depends on.
        for at in [header + 40, header + (length - header) / 2, length - 1] {
            let changed = f.changed(file, |bytes| bytes[at] ^= 0x10);
            let target = f.target("damaged");
            let refused =
                restore(&target, &changed, passphrase.as_ref(), RestoreMode::Write).await.unwrap_err();
            assert!(matches!(refused, RestoreError::Archive(_)), "byte {at} of {length}: {refused}");
            assert!(!target.store.path.exists() && !target.store.path.with_file_name("root.key").exists());
        }
        for length in [header + 1, header + 30, length / 2, length - 1] {
            let changed = f.changed(file, |bytes| bytes.truncate(length));
            let refused = verify(&changed, passphrase.as_ref()).unwrap_err();
            assert!(
                matches!(refused, ArchiveError::Truncated | ArchiveError::Damaged(_)),
                "{length}: {refused}"
            );
        }
        let changed = f.changed(file, |bytes| bytes.extend_from_slice(b"more"));
        assert!(matches!(verify(&changed, passphrase.as_ref()), Err(ArchiveError::Damaged(_))));
        let changed = f.changed(file, |bytes| bytes[header - 2] = b'!');
        assert!(verify(&changed, passphrase.as_ref()).is_err(), "the header");
    }
    let other = f.folder.path().join("other");
    fs::write(&other, "this is something else\n").unwrap();
    assert!(matches!(verify(&other, None), Err(ArchiveError::NotBackup)));
    assert!(matches!(verify(&f.folder.path().join("none"), None), Err(ArchiveError::Unreadable(_))));
}

/// An archive with another manifest, as another version would write it.
fn with_manifest(f: &Fixture, change: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    use std::io::Read as _;
    let bytes = fs::read(&f.plain).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut contents = String::new();
    flate2::read::GzDecoder::new(&bytes[header..]).read_to_string(&mut contents).unwrap();
    let (manifest, rows) = contents.split_once('\n').unwrap();
    let mut manifest = serde_json::from_str(manifest).unwrap();
    change(&mut manifest);
    let mut out = bytes[..header].to_vec();
    let mut encoder = flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast());
    write!(encoder, "{manifest}\n{rows}").unwrap();
    encoder.finish().unwrap();
    let path = f.folder.path().join("manifest");
    fs::write(&path, out).unwrap();
    path
}

#[tokio::test]
async fn backups_of_other_versions_are_refused() {
    let f = Fixture::create().await;
    let target = f.target("versions");
    let newer_format = f.changed(&f.plain, |bytes| {
        let text = String::from_utf8_lossy(bytes).replace("\"version\":1", "\"version\":2");
        *bytes = text.into_bytes();
    });
    let refused = restore(&target, &newer_format, None, RestoreMode::Write).await.unwrap_err();
    assert!(matches!(refused, RestoreError::Archive(ArchiveError::NewerFormat(2))), "{refused}");
    let newer = with_manifest(&f, |manifest| {
        manifest["schema"]["sqlite"] = json!(9_999);
        manifest["productVersion"] = json!("9.8.7");
    });
    let refused = restore(&target, &newer, None, RestoreMode::Write).await.unwrap_err();
    assert!(matches!(&refused, RestoreError::NewerTables(version) if version == "9.8.7"), "{refused}");
    assert!(!verify(&newer, None).unwrap().fits_this_version(), "it is sound all the same");
    let older = with_manifest(&f, |manifest| {
        manifest["schema"]["sqlite"] = json!(1);
        manifest["productVersion"] = json!("0.0.9");
    });
    let refused = restore(&target, &older, None, RestoreMode::DryRun).await.unwrap_err();
    assert!(matches!(&refused, RestoreError::OlderTables(version) if version == "0.0.9"), "{refused}");
    assert!(refused.to_string().contains("restore it with 0.0.9, then upgrade"), "{refused}");
    let fewer = with_manifest(&f, |manifest| manifest["tables"][0]["rows"] = json!(0));
    assert!(verify(&fewer, None).is_err());
    let long = with_manifest(&f, |manifest| manifest["productVersion"] = json!("9".repeat(1024 * 1024)));
    let refused = verify(&long, None).unwrap_err().to_string();
    assert!(refused.contains("longer than 1048576 bytes"), "{refused}");
    assert!(!target.store.path.exists());
}

#[tokio::test]
async fn a_store_in_use_or_with_rows_is_left_alone() {
    let f = Fixture::create().await;
    let before = fs::read(&f.config.store.path).ok();
    for mode in [RestoreMode::DryRun, RestoreMode::Write] {
        let refused = restore(&f.config, &f.plain, None, mode).await.unwrap_err();
        assert!(matches!(refused, RestoreError::Load(LoadError::NotEmpty { .. })), "{refused}");
    }
    assert_eq!(fs::read(&f.config.store.path).ok(), before);
    // A server that has just been started for the first time.
    let p = Platform::start().await;
    let refused = restore(p.config(), &f.plain, None, RestoreMode::Write).await.unwrap_err();
    assert!(matches!(refused, RestoreError::OtherRootKey(_) | RestoreError::Load(_)), "{refused}");
    p.nobody().get("/readyz").await.expect(200);
}

#[tokio::test]
async fn the_root_key_of_the_target_must_fit() {
    let f = Fixture::create().await;
    let right = fs::read_to_string(f.config.store.path.with_file_name("root.key")).unwrap();
    let target = f.target("key");
    let key = target.store.path.with_file_name("root.key");
    let dry = restore(&target, &f.sealed, Some(&passphrase()), RestoreMode::DryRun).await.unwrap();
    assert_eq!((dry.root_key, dry.tables.len()), (RestoredKey::Written(key.clone()), 0));
    assert!(!key.exists() && !target.store.path.exists(), "a dry run changes nothing");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, "ab".repeat(32)).unwrap();
    for (file, passphrase) in [(&f.plain, None), (&f.sealed, Some(passphrase()))] {
        let refused = restore(&target, file, passphrase.as_ref(), RestoreMode::Write).await.unwrap_err();
        assert!(matches!(refused, RestoreError::OtherRootKey(_)), "{refused}");
    }
    assert_eq!(fs::read_to_string(&key).unwrap(), "ab".repeat(32));
    assert!(!target.store.path.exists());
    fs::write(&key, &right).unwrap();
    let report = restore(&target, &f.sealed, Some(&passphrase()), RestoreMode::Write).await.unwrap();
    assert_eq!(report.root_key, RestoredKey::Present);
    // Without a key anywhere the rows are restored, and the report says what is missing.
    let target = f.target("no-key");
    let report = restore(&target, &f.plain, None, RestoreMode::Write).await.unwrap();
    let key = target.store.path.with_file_name("root.key");
    assert_eq!(report.root_key, RestoredKey::Missing(key.clone()));
    fs::write(&key, right).unwrap();
    let p = Platform::run(target, None, std::sync::Arc::default()).await;
    assert!(p.nobody().get("/api/apps").await.expect(200).text.contains(ECHO));
}
