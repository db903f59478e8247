//! Files that commands write.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
};

use crate::error::CliError;

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// As the umask allows.
    SystemDefault,
    /// Only its owner.
    OwnerOnly,
}

/// Creates a file. Fails if it exists.
pub(crate) fn create_file(path: &Path, text: &str, readers: FileAccess) -> Result<(), CliError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == FileAccess::OwnerOnly {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(path),
        _ => write_error(path, error),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| write_error(path, error))
}

/// Writes a file atomically, replacing an existing one.
pub(crate) fn replace_file(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error| write_error(path, error);
    let file = write_temporary_file(path, text).map_err(failed)?;
    // Temporary files are private to their owner. The result keeps the mode of the old file, or is readable by all.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_or(0o644, |before| before.permissions().mode() & 0o777);
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Writes a file atomically that only its owner can read, replacing an existing one. It is on the disk before it replaces
/// the old one, so that a crash leaves one of them.
pub(crate) fn replace_secret_file(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error| write_error(path, error);
    let file = write_temporary_file(path, text).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A file next to the one that it will replace. Only its owner can read it.
fn write_temporary_file(path: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// The error if the path exists.
pub(crate) fn already_exists(path: &Path) -> CliError {
    CliError::usage(
        format!("{} already exists and was not changed", path.display()),
        "choose another name, or move it away",
    )
}

fn write_error(path: &Path, error: io::Error) -> CliError {
    CliError::Unwritable { file: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        create_file(&path, "one", FileAccess::OwnerOnly).unwrap();
        assert!(matches!(create_file(&path, "two", FileAccess::OwnerOnly), Err(CliError::Usage { .. })));
        replace_file(&path, "three").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three");
        assert!(matches!(replace_file(&folder.path().join("no/f"), ""), Err(CliError::Unwritable { .. })));
        assert!(matches!(
            create_file(&folder.path().join("no/f"), "", FileAccess::SystemDefault),
            Err(CliError::Unwritable { .. })
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_file_is_readable_only_by_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (secret, public) = (folder.path().join("s"), folder.path().join("p"));
        create_file(&secret, "", FileAccess::OwnerOnly).unwrap();
        replace_file(&public, "").unwrap();
        assert_eq!((mode(&secret), mode(&public)), (0o600, 0o644));
        replace_file(&secret, "again").unwrap();
        assert_eq!(mode(&secret), 0o600, "it stays so");
        replace_secret_file(&public, "secret now").unwrap();
        assert_eq!(
            (mode(&public), std::fs::read_to_string(&public).unwrap().as_str()),
            (0o600, "secret now")
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
        assert!(matches!(
            replace_secret_file(&folder.path().join("no/f"), ""),
            Err(CliError::Unwritable { .. })
        ));
    }
}
