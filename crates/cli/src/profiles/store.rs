//! The file with the profiles. Only its owner can read it, and it is always replaced as a whole.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use toolyard_protocol::Problem;

use super::SavedProfiles;
use crate::{error::CliError, new_file};

/// The folder of this program in the user's configuration folder.
const FOLDER: &str = "toolyard";
const FILE: &str = "profiles.json";
/// Held while the file changes, so that two logins at the same time do not lose one of them.
const LOCK_FILE: &str = "profiles.lock";
/// Largest file, in bytes; a profile has about one thousand.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Reads and writes the profiles of the user.
#[derive(Debug, Clone)]
pub(crate) struct ProfileStore {
    folder: PathBuf,
}

impl ProfileStore {
    /// The store in the user's configuration folder. `None` if the environment does not name one.
    pub(crate) fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Option<Self> {
        config_folder(variables).map(|folder| Self { folder: folder.join(FOLDER) })
    }

    /// Where the profiles are.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Reads the profiles. None are saved if the file does not exist.
    pub(crate) fn read(&self) -> Result<SavedProfiles, CliError> {
        let path = self.file();
        let unreadable = |error| CliError::Unreadable { file: path.clone(), error };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SavedProfiles::default()),
            Err(error) => return Err(unreadable(error)),
        };
        // Of the open file, so that it cannot be another one than the one that is read.
        refuse_other_readers(&path, &file)?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(unreadable)?;
        serde_json::from_str(&text).map_err(|error| {
            // Without the text of the error, which may quote a token.
            let place = format!("line {}, column {}", error.line(), error.column());
            let problem = Problem::new("", format!("not a valid file of profiles at {place}"));
            CliError::Problems { what: path.display().to_string(), problems: vec![problem] }
        })
    }

    /// Changes the profiles.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut SavedProfiles) -> T) -> Result<T, CliError> {
        self.create_folder()?;
        let _lock = self.lock()?;
        let mut saved = self.read()?;
        let result = change(&mut saved);
        let text = serde_json::to_string_pretty(&saved)
            .map_err(|error| CliError::Unwritable { file: self.file(), error: error.into() })?;
        new_file::replace_secret_file(&self.file(), &format!("{text}\n"))?;
        Ok(result)
    }

    /// Fails now if the profiles cannot be changed later, when there would be a token without a place.
    pub(crate) fn check_writable(&self) -> Result<(), CliError> {
        self.create_folder()?;
        self.lock()?;
        self.read().map(drop)
    }

    fn create_folder(&self) -> Result<(), CliError> {
        let failed = |error| CliError::Unwritable { file: self.folder.clone(), error };
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder).map_err(failed)?;
        // It may have existed before.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(())
    }

    /// Waits for the lock. It is released when the file is closed.
    fn lock(&self) -> Result<File, CliError> {
        let path = self.folder.join(LOCK_FILE);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let locked = options.open(&path).and_then(|file| file.lock().map(|()| file));
        locked.map_err(|error| CliError::Unwritable { file: path, error })
    }
}

/// The user's configuration folder: that of the XDG specification, or `%APPDATA%` on Windows.
fn config_folder(variables: impl IntoIterator<Item = (String, String)>) -> Option<PathBuf> {
    let (mut xdg, mut home, mut app_data) = (None, None, None);
    for (name, value) in variables {
        // The specification ignores relative paths.
        let folder = Some(PathBuf::from(value)).filter(|folder| folder.is_absolute());
        match name.as_str() {
            "XDG_CONFIG_HOME" => xdg = folder,
            "HOME" => home = folder,
            "APPDATA" if cfg!(windows) => app_data = folder,
            _ => {}
        }
    }
    xdg.or(app_data).or_else(|| home.map(|home| home.join(".config")))
}

#[cfg(unix)]
fn refuse_other_readers(path: &Path, file: &File) -> Result<(), CliError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = file.metadata().map_err(|error| CliError::Unreadable { file: path.to_owned(), error })?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(CliError::ExposedFile { file: path.to_owned(), mode }) }
}

/// Files in the user's profile are private on other systems.
#[cfg(not(unix))]
fn refuse_other_readers(_: &Path, _: &File) -> Result<(), CliError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::{super::tests::profile, *};

    fn store() -> (TempDir, ProfileStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = ProfileStore { folder: folder.path().join("config/toolyard") };
        (folder, store)
    }

    fn save(store: &ProfileStore, name: &str, server: &str) -> Result<(), CliError> {
        store.update(|saved| saved.insert(name.parse().unwrap(), profile(server, "the-token")))
    }

    fn folder_of(variables: &[(&str, &str)]) -> Option<PathBuf> {
        config_folder(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn profiles_are_read_as_they_were_saved() {
        let (_folder, store) = store();
        assert_eq!(store.read().unwrap(), SavedProfiles::default());
        store.check_writable().unwrap();
        save(&store, "home", "http://a").unwrap();
        save(&store, "work", "http://b").unwrap();
        let saved = store.read().unwrap();
        assert_eq!((saved.profiles.len(), saved.default), (2, Some("work".parse().unwrap())));
        assert_eq!(saved.profiles[&"home".parse().unwrap()], profile("http://a", "the-token"));
        let mut files: Vec<_> =
            std::fs::read_dir(&store.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, [FILE, LOCK_FILE], "no temporary file is left");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_them() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, store) = store();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let set_mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
        };
        save(&store, "home", "http://a").unwrap();
        assert_eq!((mode(&store.folder), mode(&store.file())), (0o700, 0o600));
        set_mode(&store.folder, 0o755);
        save(&store, "home", "http://b").unwrap();
        assert_eq!((mode(&store.folder), mode(&store.file())), (0o700, 0o600));
        for wide in [0o640, 0o604, 0o620, 0o601] {
            set_mode(&store.file(), wide);
            assert!(
                matches!(store.read(), Err(CliError::ExposedFile { mode, .. }) if mode == wide),
                "{wide:o}"
            );
            assert!(save(&store, "work", "http://c").is_err(), "{wide:o}");
            assert!(store.check_writable().is_err(), "{wide:o}");
        }
        set_mode(&store.file(), 0o400);
        assert_eq!(store.read().unwrap().profiles.len(), 1);
    }

    #[test]
    fn an_invalid_file_is_not_changed_and_not_quoted() {
        let (_folder, store) = store();
        save(&store, "home", "http://a").unwrap();
        let text = std::fs::read_to_string(store.file()).unwrap().replace("\"user\"", "\"the-token\"");
        std::fs::write(store.file(), &text).unwrap();
        let error = save(&store, "work", "http://b").unwrap_err();
        let CliError::Problems { problems, .. } = &error else { panic!("{error}") };
        assert!(problems[0].message.contains("line ") && !format!("{error:?}").contains("the-token"));
        assert_eq!(std::fs::read_to_string(store.file()).unwrap(), text);
    }

    #[test]
    fn simultaneous_changes_are_all_kept() {
        let (_folder, store) = store();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let store = &store;
                scope.spawn(move || save(store, &format!("p{number}"), "http://a").unwrap());
            }
        });
        assert_eq!(store.read().unwrap().profiles.len(), 8);
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_that_of_the_specification() {
        assert_eq!(folder_of(&[("HOME", "/home/ada")]), Some("/home/ada/.config".into()));
        let both = [("HOME", "/home/ada"), ("XDG_CONFIG_HOME", "/etc/ada")];
        assert_eq!(folder_of(&both), Some("/etc/ada".into()));
        for ignored in ["", "relative"] {
            let both = [("XDG_CONFIG_HOME", ignored), ("HOME", "/home/ada")];
            assert_eq!(folder_of(&both), Some("/home/ada/.config".into()));
        }
        assert_eq!(folder_of(&[("HOME", ""), ("PATH", "/bin")]), None);
    }
}
