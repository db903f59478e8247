//! Configuration and files of a server on this machine.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use toolyard_server::{config::Config, secrets, serve::root_key_file};

use super::Check;
use crate::config::ConfigArgs;

/// Every SQLite database begins with this.
const SQLITE_HEAD: &[u8] = b"SQLite format 3\0";
/// Longest root key file that is read; a key is 64 digits.
const MAX_KEY_BYTES: u64 = 1_024;

pub(super) fn checks(args: &ConfigArgs) -> Vec<Check> {
    let config = match args.load(Vec::new()) {
        Ok(config) => config,
        Err(error) => return vec![Check::failed("configuration", &error)],
    };
    vec![configuration(&config, args), data_folder(&config), root_key(&config), database(&config)]
}

fn configuration(config: &Config, args: &ConfigArgs) -> Check {
    let file = args.config.clone().unwrap_or_else(|| PathBuf::from("toolyard.toml"));
    let from = if file.exists() { file.display().to_string() } else { "defaults and environment".to_owned() };
    Check::ok("configuration", format!("valid, from {from}; the server listens on {}", config.server.listen))
}

fn data_folder(config: &Config) -> Check {
    const NAME: &str = "data folder";
    let folder = match config.store.path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let shown = folder.display();
    if !folder.exists() {
        return Check::warn(NAME, format!("{shown} is not there yet"), "`toolyard serve` makes it");
    }
    match try_to_write(folder) {
        Ok(()) => Check::ok(NAME, format!("{shown} can be written")),
        Err(error) => {
            let next =
                "give the server's account the right to write there, or choose another folder with --data";
            Check::fail(NAME, format!("{shown} cannot be written: {error}"), next)
        }
    }
}

/// Permissions alone do not tell (root, read-only mounts, full disks), so a file is made and removed.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".toolyard-doctor-{}", std::process::id()));
    File::options().write(true).create_new(true).open(&probe)?;
    fs::remove_file(probe)
}

fn root_key(config: &Config) -> Check {
    const NAME: &str = "root key";
    if let Some(key) = &config.auth.root_key {
        return match secrets::parse(key, "auth.root_key") {
            Ok(_) => Check::ok(NAME, "set in the configuration"),
            Err(error) => Check::fail(NAME, error.to_string(), "make one with `openssl rand -hex 32`"),
        };
    }
    let file = root_key_file(config);
    let shown = file.display().to_string();
    let key = match read(&file, MAX_KEY_BYTES) {
        Ok(key) => key,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Check::warn(
                NAME,
                format!("{shown} is not there yet"),
                "`toolyard serve` or `toolyard token` makes it",
            );
        }
        Err(error) => {
            let next = "run this as the server's account, or give it the right to read the file";
            return Check::fail(NAME, format!("{shown} cannot be read: {error}"), next);
        }
    };
    let key = String::from_utf8_lossy(&key);
    if let Err(error) = secrets::parse(key.trim(), &shown) {
        return Check::fail(
            NAME,
            error.to_string(),
            "put the right key back; a new one cannot open what the old one sealed",
        );
    }
    match others_may_read(&file) {
        Some(mode) => {
            let next = format!("chmod 600 {shown}");
            Check::fail(NAME, format!("{shown} has mode {mode:o}; others can read it"), next)
        }
        None => Check::ok(NAME, format!("{shown} is there and only for its owner")),
    }
}

/// The mode of the file, where it is open to others.
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

/// The store is the server's own business; from here only its file is looked at, and `/readyz` asks it for more.
fn database(config: &Config) -> Check {
    const NAME: &str = "database";
    let shown = config.store.path.display();
    match read(&config.store.path, SQLITE_HEAD.len() as u64) {
        Ok(head) if head == SQLITE_HEAD => Check::ok(NAME, format!("{shown} is a SQLite database")),
        Ok(_) => Check::fail(
            NAME,
            format!("{shown} is no SQLite database"),
            "move it away, or choose another one: --data",
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Check::warn(NAME, format!("{shown} is not there yet"), "`toolyard serve` makes it")
        }
        Err(error) => {
            let next = "run this as the server's account, or give it the right to read the file";
            Check::fail(NAME, format!("{shown} cannot be read: {error}"), next)
        }
    }
}

/// At most so many bytes of a file.
fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{super::Status, *};

    fn config(folder: &Path) -> Config {
        let mut config = Config::default();
        config.store.path = folder.join("toolyard.db");
        config
    }

    #[test]
    fn a_fresh_machine_gets_warnings_only() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&folder.path().join("new"));
        for check in [data_folder(&config), root_key(&config), database(&config)] {
            assert_eq!(check.status, Status::Warn, "{check:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        fs::write(&config.store.path, "hello").unwrap();
        assert_eq!(database(&config).status, Status::Fail);
        let key = folder.path().join("root.key");
        fs::write(&key, "hello").unwrap();
        assert_eq!(root_key(&config).status, Status::Fail);
        fs::write(&key, "ab".repeat(32)).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
            let check = root_key(&config);
            assert_eq!((check.status, check.next.unwrap().starts_with("chmod 600 ")), (Status::Fail, true));
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(root_key(&config).status, Status::Ok);
        assert_eq!(data_folder(&config).status, Status::Ok);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the probe is gone");
    }
}
