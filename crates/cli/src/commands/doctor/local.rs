//! Checks of configuration and files of a server on this machine.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use toolyard_server::{
    config::Config,
    secrets,
    serve::{StoreState, inspect_store, root_key_file, shown_store},
};

use super::DoctorCheck;
use crate::config::ConfigArgs;

/// How much of a root key file is read, in bytes; a key has 64 digits.
const MAX_KEY_BYTES: u64 = 1_024;

pub(super) async fn local_checks(args: &ConfigArgs) -> Vec<DoctorCheck> {
    let config = match args.load_config(Vec::new()) {
        Ok(config) => config,
        Err(error) => return vec![DoctorCheck::from_error("configuration", &error)],
    };
    vec![
        check_configuration(&config, args),
        check_data_folder(&config),
        check_root_key(&config),
        check_database(&config).await,
    ]
}

fn check_configuration(config: &Config, args: &ConfigArgs) -> DoctorCheck {
    let file = args.config.clone().unwrap_or_else(|| PathBuf::from("toolyard.toml"));
    let from = if file.exists() { file.display().to_string() } else { "defaults and environment".to_owned() };
    DoctorCheck::ok("configuration", format!("valid, from {from}; listen address {}", config.server.listen))
}

fn check_data_folder(config: &Config) -> DoctorCheck {
    const NAME: &str = "data folder";
    let folder = match config.store.path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let shown = folder.display();
    if !folder.exists() {
        return DoctorCheck::warn(NAME, format!("{shown} does not exist yet"), "`toolyard serve` creates it");
    }
    match try_to_write(folder) {
        Ok(()) => DoctorCheck::ok(NAME, format!("{shown} is writable")),
        Err(error) => {
            let next = "give the server's account write permission, or choose another folder with --data";
            DoctorCheck::fail(NAME, format!("{shown} is not writable: {error}"), next)
        }
    }
}

/// Creates and removes a file: permissions alone say nothing about root, read-only mounts and full disks.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".toolyard-doctor-{}", std::process::id()));
    File::options().write(true).create_new(true).open(&probe)?;
    fs::remove_file(probe)
}

fn check_root_key(config: &Config) -> DoctorCheck {
    const NAME: &str = "root key";
    if let Some(key) = &config.auth.root_key {
        return match secrets::parse_root_key(key, "auth.root_key") {
            Ok(_) => DoctorCheck::ok(NAME, "set in the configuration"),
            Err(error) => {
                DoctorCheck::fail(NAME, error.to_string(), "create one with `openssl rand -hex 32`")
            }
        };
    }
    let file = root_key_file(config);
    let shown = file.display().to_string();
    let key = match read_prefix(&file, MAX_KEY_BYTES) {
        Ok(key) => key,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return DoctorCheck::warn(
                NAME,
                format!("{shown} does not exist yet"),
                "`toolyard serve` or `toolyard token` creates it",
            );
        }
        Err(error) => {
            let next = "run this as the server's account, or give your account read permission";
            return DoctorCheck::fail(NAME, format!("cannot read {shown}: {error}"), next);
        }
    };
    let key = String::from_utf8_lossy(&key);
    if let Err(error) = secrets::parse_root_key(key.trim(), &shown) {
        return DoctorCheck::fail(
            NAME,
            error.to_string(),
            "restore the right key; a new one cannot decrypt what the old one encrypted",
        );
    }
    match others_may_read(&file) {
        Some(mode) => {
            let next = format!("chmod 600 {shown}");
            DoctorCheck::fail(NAME, format!("{shown} has mode {mode:o}; others can read it"), next)
        }
        None => DoctorCheck::ok(NAME, format!("{shown} exists and only its owner can read it")),
    }
}

/// The mode of the file, if others can read it.
#[cfg(unix)]
fn others_may_read(file: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn others_may_read(_: &Path) -> Option<u32> {
    None
}

/// Looks from outside: `/readyz` of a running server checks whether the store can be written.
async fn check_database(config: &Config) -> DoctorCheck {
    const NAME: &str = "database";
    let shown = shown_store(config);
    let is_remote = config.store.url.is_some();
    match inspect_store(config).await {
        StoreState::Ready => DoctorCheck::ok(NAME, format!("{shown} is up to date")),
        StoreState::Empty if is_remote => {
            DoctorCheck::warn(NAME, format!("{shown} has no tables yet"), "`toolyard serve` creates them")
        }
        StoreState::Empty => {
            DoctorCheck::warn(NAME, format!("{shown} does not exist yet"), "`toolyard serve` creates it")
        }
        StoreState::Older => {
            let next = "make a backup with the version that wrote them; the next start of this version migrates them";
            DoctorCheck::warn(NAME, format!("the tables of {shown} are older than this version"), next)
        }
        StoreState::Newer { step } => DoctorCheck::fail(
            NAME,
            format!("the tables of {shown} are newer than this version (step {step})"),
            "use the version that wrote them, or restore a backup from before the upgrade",
        ),
        StoreState::Unsuitable(reason) if is_remote => {
            DoctorCheck::fail(NAME, format!("{shown} cannot be used: {reason}"), "use another database")
        }
        StoreState::Unsuitable(reason) => {
            let next = "move it away, or choose another folder with --data";
            DoctorCheck::fail(NAME, format!("{shown} cannot be used: {reason}"), next)
        }
        StoreState::Unreachable(reason) if is_remote => {
            let next = "check `store.url`, that the database server runs, and that it accepts this machine";
            DoctorCheck::fail(NAME, format!("cannot reach {shown}: {reason}"), next)
        }
        StoreState::Unreachable(reason) => {
            let next = "run this as the server's account, or give your account read permission";
            DoctorCheck::fail(NAME, format!("cannot read {shown}: {reason}"), next)
        }
    }
}

/// Reads the first bytes of a file.
fn read_prefix(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{super::CheckStatus, *};

    fn config(folder: &Path) -> Config {
        let mut config = Config::default();
        config.store.path = folder.join("toolyard.db");
        config
    }

    #[tokio::test]
    async fn a_fresh_machine_gets_warnings_only() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&folder.path().join("new"));
        for check in [check_data_folder(&config), check_root_key(&config), check_database(&config).await] {
            assert_eq!(check.status, CheckStatus::Warn, "{check:?}");
        }
    }

    #[tokio::test]
    async fn a_database_that_cannot_be_reached_is_found_and_its_password_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        config.store.url = Some("postgres://ada:secret@127.0.0.1:1/db".to_owned());
        let check = check_database(&config).await;
        assert_eq!(check.status, CheckStatus::Fail);
        assert!(check.message.contains("127.0.0.1:1/db") && !check.message.contains("secret"), "{check:?}");
    }

    #[tokio::test]
    async fn wrong_files_and_permissions_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        fs::write(&config.store.path, "hello").unwrap();
        assert_eq!(check_database(&config).await.status, CheckStatus::Fail);
        let key = folder.path().join("root.key");
        fs::write(&key, "hello").unwrap();
        assert_eq!(check_root_key(&config).status, CheckStatus::Fail);
        fs::write(&key, "ab".repeat(32)).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
            let check = check_root_key(&config);
            assert_eq!(
                (check.status, check.next.unwrap().starts_with("chmod 600 ")),
                (CheckStatus::Fail, true)
            );
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(check_root_key(&config).status, CheckStatus::Ok);
        assert_eq!(check_data_folder(&config).status, CheckStatus::Ok);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the probe is gone");
    }
}
