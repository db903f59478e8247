//! The data folder: private to its owner, and used by one server at a time.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use crate::OpenError;

/// The lock file. It contains the id of the process that holds the lock.
const LOCK_FILE: &str = "toolyard.lock";
/// Longest content of it that is read.
const MAX_LOCK_BYTES: u64 = 64;
/// Suffixes of the files that SQLite creates beside a database.
const COMPANIONS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Most files of the folder whose permissions are checked; there are about ten.
const MAX_FILES: usize = 1_000;

/// A data folder, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct DataFolder {
    lock: File,
}

impl DataFolder {
    /// Creates the folder of a database if missing, locks it, and restricts its permissions.
    pub(crate) fn open(database: &Path) -> Result<Self, OpenError> {
        let folder = match database.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let failed = |error| OpenError::Folder { path: database.to_owned(), error };
        create_private_folder(folder).map_err(failed)?;
        let lock = lock_folder(folder).map_err(|refused| match refused {
            LockError::Held(by) => OpenError::InUse { folder: folder.to_owned(), by },
            LockError::Io(error) => failed(error),
        })?;
        // Created here, because SQLite would make it world-readable. Its companion files get the same permissions.
        private_options().open(database).map_err(failed)?;
        restrict_folder(folder, database);
        Ok(Self { lock })
    }

    /// Releases the lock.
    pub(crate) fn release(&self) {
        let _ = self.lock.unlock();
    }
}

enum LockError {
    Held(String),
    Io(io::Error),
}

fn lock_folder(folder: &Path) -> Result<File, LockError> {
    let mut file = private_options().read(true).open(folder.join(LOCK_FILE)).map_err(LockError::Io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.take(MAX_LOCK_BYTES).read_to_string(&mut text);
            let by = text.trim().parse::<u32>();
            return Err(LockError::Held(
                by.map_or("another process".to_owned(), |id| format!("process {id}")),
            ));
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            tracing::warn!(folder = %folder.display(), "file locks unsupported: never start two servers on this folder");
        }
        Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
    }
    file.set_len(0).map_err(LockError::Io)?;
    writeln!(file, "{}", std::process::id()).map_err(LockError::Io)?;
    Ok(file)
}

/// Options to write a file that only its owner can access.
fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and its parents, accessible only to their owner. An existing folder is not changed.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Restricts files that an older version or a person made readable for others.
fn restrict_folder(folder: &Path, database: &Path) {
    for companion in COMPANIONS {
        let mut path = database.as_os_str().to_owned();
        path.push(companion);
        restrict_file(&PathBuf::from(path));
    }
    if let Some(files) = own_files(folder) {
        restrict_file(folder);
        files.iter().for_each(|file| restrict_file(file));
    }
}

/// The files of a folder that is only used as a data folder. None if it contains other things too: a database in
/// `/var/lib` or a home folder must not close that folder to others.
fn own_files(folder: &Path) -> Option<Vec<PathBuf>> {
    let folder = folder.canonicalize().ok()?;
    if std::env::current_dir().is_ok_and(|here| here.starts_with(&folder)) {
        return None;
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).ok()?.take(MAX_FILES) {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        if kind.is_dir() && entry.file_name() != "lost+found" {
            return None;
        }
        if kind.is_file() {
            files.push(entry.path());
        }
    }
    Some(files)
}

/// Restricts a file or folder to its owner, and logs it.
#[cfg(unix)]
pub fn restrict_file(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    const STICKY: u32 = 0o1000;
    let Ok(found) = fs::metadata(path) else { return };
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 || mode & STICKY != 0 {
        return;
    }
    let (path_shown, own) = (path.display(), mode & 0o700);
    match fs::set_permissions(path, fs::Permissions::from_mode(own)) {
        Ok(()) => tracing::warn!(path = %path_shown, was = %format!("{mode:o}"), now = %format!("{own:o}"),
            "file permissions restricted to the owner"),
        Err(error) => tracing::warn!(path = %path_shown, mode = %format!("{mode:o}"), %error,
            "file permissions could not be restricted"),
    }
}

#[cfg(not(unix))]
pub fn restrict_file(_: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_for_one_server_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("data/t.db");
        let held = DataFolder::open(&database).unwrap();
        let refused = DataFolder::open(&database).unwrap_err().to_string();
        let me = format!("process {}", std::process::id());
        assert!(refused.contains(&me) && refused.contains("data") && refused.contains("--data"), "{refused}");
        // Another database in the same folder.
        assert!(DataFolder::open(&folder.path().join("data/u.db")).is_err());
        held.release();
        let again = DataFolder::open(&database).unwrap();
        drop(again);
        assert!(DataFolder::open(&database).is_ok(), "also without a release");
    }

    #[cfg(unix)]
    mod rights {
        use std::os::unix::fs::PermissionsExt as _;

        use super::*;

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        }

        fn open_to_all(path: &Path, mode: u32) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }

        #[test]
        fn new_files_are_private() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path().join("a/data");
            let _held = DataFolder::open(&data.join("t.db")).unwrap();
            assert_eq!((mode(&data), mode(&folder.path().join("a"))), (0o700, 0o700));
            assert_eq!((mode(&data.join("t.db")), mode(&data.join(LOCK_FILE))), (0o600, 0o600));
        }

        #[test]
        fn readable_files_are_restricted() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path().join("data");
            fs::create_dir(&data).unwrap();
            open_to_all(&data, 0o755);
            let files =
                ["t.db", "t.db-wal", "t.db-shm", "root.key", "server.log"].map(|name| data.join(name));
            for file in &files {
                fs::write(file, "").unwrap();
                open_to_all(file, 0o644);
            }
            let _held = DataFolder::open(&files[0]).unwrap();
            assert_eq!(mode(&data), 0o700);
            assert!(files.iter().all(|file| mode(file) == 0o600));
        }

        #[test]
        fn a_folder_with_other_things_in_it_stays_open() {
            let folder = tempfile::tempdir().unwrap();
            let shared = folder.path().join("lib");
            fs::create_dir_all(shared.join("something-else")).unwrap();
            open_to_all(&shared, 0o755);
            fs::write(shared.join("notes.txt"), "").unwrap();
            open_to_all(&shared.join("notes.txt"), 0o644);
            let _held = DataFolder::open(&shared.join("t.db")).unwrap();
            assert_eq!((mode(&shared), mode(&shared.join("notes.txt"))), (0o755, 0o644));
            assert_eq!(mode(&shared.join("t.db")), 0o600);
        }
    }
}
