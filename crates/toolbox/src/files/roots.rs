//! The configured folders, and paths in them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::FileToolError;
use super::quota::{SharedBudgets, WriteAllowance, WriteQuota};
use crate::blocking;
use crate::text::truncate_text;

/// Longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 1_000;

/// Longest name of a root, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// What is allowed in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootAccess {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

/// Configuration of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSettings {
    /// The first part of every path in it: lower case letters, digits, `-` and `_`.
    pub name: String,
    /// Where it is on this machine. Never shown to a caller.
    pub folder: PathBuf,
    /// What is allowed there.
    pub access: RootAccess,
}

/// How a root is shared, and what is hidden from its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RootPolicy {
    /// Whether names that begin with a dot are visible.
    pub shows_hidden: bool,
    /// Whether each user has their own folder in it. A folder with `{user}` in its path always is per user.
    pub per_user: bool,
    /// How much a user may write. Without it there is no limit.
    pub quota: Option<WriteQuota>,
}

/// Placeholder for the user in the path of a folder.
const USER: &str = "{user}";

/// A root that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// Not a valid name.
    #[error("`{0}` cannot name a folder; use up to {MAX_NAME_BYTES} lower case letters, digits, `-` and `_`")]
    Name(String),
    /// The name is used twice.
    #[error("two folders are named `{0}`")]
    Twice(String),
    /// Not a folder, or not accessible.
    #[error("the folder `{name}` at {} cannot be opened: {reason}", folder.display())]
    Open {
        /// Its name.
        name: String,
        /// Where it is.
        folder: PathBuf,
        /// The system's message.
        reason: String,
    },
}

/// The configured folders. Cheap to clone.
#[derive(Clone, Default)]
pub struct FileRoots(Arc<Vec<FileRoot>>);

#[derive(Clone)]
pub(super) struct FileRoot {
    pub(super) name: String,
    pub(super) dir: Arc<Dir>,
    pub(super) access: RootAccess,
    pub(super) policy: RootPolicy,
    /// What may still be written.
    pub(super) allowance: WriteAllowance,
    /// The path from `dir` to a user's own folder, if the root is per user. Nothing can be reached without a user.
    user_path: Option<String>,
    /// What each user has written, if the root is shared.
    budgets: Arc<SharedBudgets>,
}

/// A resolved path: a root and a relative path.
pub(super) struct RootedPath<'a> {
    pub(super) root: &'a FileRoot,
    /// `.` for the root itself.
    pub(super) relative: String,
}

impl FileRoots {
    /// Opens the folders. They stay open even if they are moved later.
    pub fn open(settings: impl IntoIterator<Item = RootSettings>) -> Result<Self, RootError> {
        Self::open_with(settings.into_iter().map(|root| (root, RootPolicy::default())))
    }

    /// The same for several users: see [`FileRoots::for_user`].
    pub fn open_with(
        settings: impl IntoIterator<Item = (RootSettings, RootPolicy)>,
    ) -> Result<Self, RootError> {
        let mut roots: Vec<FileRoot> = Vec::new();
        for (RootSettings { name, folder, access }, policy) in settings {
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
            if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
                return Err(RootError::Name(name));
            }
            if roots.iter().any(|root| root.name == name) {
                return Err(RootError::Twice(name));
            }
            let (folder, user_path) = split_user_path(folder, policy.per_user);
            match Dir::open_ambient_dir(&folder, ambient_authority()) {
                Ok(dir) => roots.push(FileRoot {
                    name,
                    dir: Arc::new(dir),
                    access,
                    policy,
                    allowance: WriteAllowance::Unlimited,
                    user_path,
                    budgets: Arc::default(),
                }),
                Err(error) => return Err(RootError::Open { name, folder, reason: error.to_string() }),
            }
        }
        Ok(Self(Arc::new(roots)))
    }

    /// The folders of one user. If a root is per user, `user` is the name of the user's folder, which is created on
    /// demand; so it must be a plain name that no other user has.
    pub async fn for_user(&self, user: &str) -> Result<Self, FileToolError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'@' | b'~');
        if user.is_empty() || user.starts_with('.') || !user.bytes().all(plain) {
            return Err(FileToolError::BadPath {
                path: truncate_text(user, 100),
                why: "it cannot be the name of a user's folder",
            });
        }
        let (all, user) = (self.clone(), user.to_owned());
        blocking::run_blocking(move || {
            let roots: Result<Vec<_>, _> = all.0.iter().map(|root| root.for_user(&user)).collect();
            Ok(Self(Arc::new(roots?)))
        })
        .await?
    }

    pub(super) fn as_slice(&self) -> &[FileRoot] {
        &self.0
    }

    /// Resolves a path such as `notes/2026/march.md`, without any lookup.
    pub(super) fn resolve_path(&self, path: &str) -> Result<RootedPath<'_>, FileToolError> {
        let bad = |why| FileToolError::BadPath { path: truncate_text(path, 100), why };
        if path.len() > MAX_PATH_BYTES {
            return Err(bad("it is too long"));
        }
        if path.contains('\0') {
            return Err(bad("it contains a zero byte"));
        }
        if path.starts_with('/') {
            return Err(bad("it begins with `/`; begin with the name of a folder, such as `notes/march.md`"));
        }
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let Some(root) = self.0.iter().find(|root| root.name == name) else {
            return Err(FileToolError::UnknownRoot {
                path: truncate_text(path, 100),
                known: self.root_names(),
            });
        };
        let parts: Vec<_> = rest.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(bad(
                "`..` is not allowed; write the whole path, starting with the name of its folder",
            ));
        }
        if !root.policy.shows_hidden && parts.iter().any(|part| is_hidden(part)) {
            return Err(bad("names that begin with a dot are hidden here; choose another one"));
        }
        if root.user_path.is_some() {
            return Err(bad("each user has their own folder here, and no user is known"));
        }
        let relative = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        Ok(RootedPath { root, relative })
    }

    fn root_names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|root| root.name.as_str()).collect();
        if names.is_empty() { "(none is set up)".to_owned() } else { names.join(", ") }
    }
}

/// Splits a folder into the part to open and the path to a user's folder.
fn split_user_path(folder: PathBuf, per_user: bool) -> (PathBuf, Option<String>) {
    let parts: Vec<_> = folder.components().collect();
    let at = parts.iter().position(|part| part.as_os_str().to_str().is_some_and(|text| text.contains(USER)));
    match at {
        Some(at) => {
            let rest: PathBuf = parts[at..].iter().collect();
            let base: PathBuf = parts[..at].iter().collect();
            let base = if base.as_os_str().is_empty() { PathBuf::from(".") } else { base };
            (base, Some(rest.to_string_lossy().into_owned()))
        }
        None if per_user => (folder, Some(USER.to_owned())),
        None => (folder, None),
    }
}

/// Whether listings hide this name.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

impl FileRoot {
    fn for_user(&self, user: &str) -> Result<Self, FileToolError> {
        let Some(path) = &self.user_path else {
            let room = self
                .policy
                .quota
                .map_or(WriteAllowance::Unlimited, |quota| self.budgets.user_allowance(user, quota));
            return Ok(Self { allowance: room, ..self.clone() });
        };
        let path = path.replace(USER, user);
        let failed = |error| FileToolError::from_io(&error, &self.name);
        self.dir.create_dir_all(&path).map_err(failed)?;
        let dir = Arc::new(self.dir.open_dir(&path).map_err(failed)?);
        let room = self.policy.quota.map_or(WriteAllowance::Unlimited, WriteAllowance::Folder);
        Ok(Self { dir, allowance: room, user_path: None, ..self.clone() })
    }

    /// Serializes writes: the allowance is checked before a write and updated after it.
    pub(super) fn lock_writes(&self) -> parking_lot::MutexGuard<'_, ()> {
        self.budgets.lock_writes()
    }
}

impl RootedPath<'_> {
    /// A link with a plain name may lead to something hidden. A path that does not exist yet is judged by its parent.
    pub(super) fn check_visible(&self) -> Result<(), FileToolError> {
        if self.root.policy.shows_hidden {
            return Ok(());
        }
        let hidden = |path: &Path| {
            path.components()
                .any(|part| part.as_os_str().to_str().is_none_or(|name| name.len() > 1 && is_hidden(name)))
        };
        let mut path = self.relative.as_str();
        loop {
            match (self.root.dir.canonicalize(path), path.rsplit_once('/')) {
                (Ok(real), _) if hidden(&real) => return Err(FileToolError::NotFound(self.display_path())),
                (Ok(_), _) | (Err(_), None) => return Ok(()),
                (Err(_), Some((folder, _))) => path = folder,
            }
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.relative == "."
    }

    /// The path as models write it.
    pub(super) fn display_path(&self) -> String {
        if self.is_root() { self.root.name.clone() } else { format!("{}/{}", self.root.name, self.relative) }
    }
}

impl fmt::Debug for FileRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileRoots").field(&self.root_names()).finish()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `notes` can be written, `library` only read; beside them is a file that must not be reachable.
    pub(in crate::files) struct Sandbox {
        pub(in crate::files) folder: tempfile::TempDir,
        pub(in crate::files) roots: FileRoots,
    }

    impl Sandbox {
        pub(in crate::files) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["notes", "library"] {
                std::fs::create_dir(folder.path().join(name)).unwrap();
            }
            std::fs::write(folder.path().join("secret.txt"), "the secret").unwrap();
            let root = |name: &str, access| RootSettings {
                name: name.to_owned(),
                folder: folder.path().join(name),
                access,
            };
            let roots =
                FileRoots::open([root("notes", RootAccess::Write), root("library", RootAccess::Read)])
                    .unwrap();
            Self { folder, roots }
        }

        pub(in crate::files) fn path(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        pub(in crate::files) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
            std::fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            std::fs::write(self.path(path), content).unwrap();
        }

        pub(in crate::files) fn link(&self, to: &str, path: &str) {
            std::os::unix::fs::symlink(to, self.path(path)).unwrap();
        }
    }

    #[test]
    fn paths_are_read() {
        let sandbox = Sandbox::new();
        for (path, relative, shown) in [
            ("notes", ".", "notes"),
            ("notes/", ".", "notes"),
            ("notes/./a//b.md", "a/b.md", "notes/a/b.md"),
            ("library/x..y/z..", "x..y/z..", "library/x..y/z.."),
        ] {
            let place = sandbox.roots.resolve_path(path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!((place.relative.as_str(), place.display_path().as_str()), (relative, shown), "{path}");
        }
    }

    #[test]
    fn invalid_paths_are_refused() {
        let sandbox = Sandbox::new();
        let long = format!("notes/{}", "x".repeat(MAX_PATH_BYTES));
        for path in
            ["/etc/passwd", "/notes/a", "notes/../secret.txt", "notes/a/../../secret.txt", "notes/\0", &long]
        {
            assert!(matches!(sandbox.roots.resolve_path(path), Err(FileToolError::BadPath { .. })), "{path}");
        }
        for path in ["", ".", "..", "../notes", "other/a", "NOTES/a", "C:\\x", "~/x"] {
            let Err(error) = sandbox.roots.resolve_path(path) else { panic!("{path}") };
            assert!(error.to_string().ends_with("paths begin with one of: notes, library"), "{error}");
        }
        let Err(none) = FileRoots::default().resolve_path("a/b") else { panic!("there is no root") };
        assert!(none.to_string().ends_with("(none is set up)"), "{none}");
    }

    #[test]
    fn roots_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str| RootSettings {
            name: name.to_owned(),
            folder: folder.path().to_owned(),
            access: RootAccess::Read,
        };
        for name in ["", "Notes", "a/b", "..", "a b", &"x".repeat(MAX_NAME_BYTES + 1)] {
            assert!(matches!(FileRoots::open([root(name)]), Err(RootError::Name(_))), "{name}");
        }
        assert!(matches!(FileRoots::open([root("a"), root("a")]), Err(RootError::Twice(_))));
        let missing = RootSettings { folder: folder.path().join("missing"), ..root("a") };
        assert!(matches!(FileRoots::open([missing]), Err(RootError::Open { .. })));
    }

    #[tokio::test]
    async fn each_user_has_their_own_folder_where_it_is_not_shared() {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str, path: &str, per_user| {
            let settings = RootSettings {
                name: name.to_owned(),
                folder: folder.path().join(path),
                access: RootAccess::Write,
            };
            (settings, RootPolicy { per_user, ..RootPolicy::default() })
        };
        let roots = [root("own", "", true), root("path", "in/{user}/x", false), root("all", "", false)];
        std::fs::create_dir(folder.path().join("in")).unwrap();
        let roots = FileRoots::open_with(roots).unwrap();
        // Without a user nothing can be reached.
        assert!(
            roots.resolve_path("own/a").is_err()
                && roots.resolve_path("path/a").is_err()
                && roots.resolve_path("all/a").is_ok()
        );
        let own = roots.for_user("ada").await.unwrap();
        for (path, place) in [("own/a", "ada/a"), ("path/a", "in/ada/x/a"), ("all/a", "a")] {
            own.resolve_path(path).unwrap().root.dir.write("a", "").unwrap();
            assert!(folder.path().join(place).exists(), "{place}");
        }
        for user in ["", ".", "..", "a/b", ".ada", "a\0"] {
            assert!(roots.for_user(user).await.is_err(), "{user}");
        }
    }

    #[test]
    fn hidden_names_are_not_valid_paths() {
        let sandbox = Sandbox::new();
        for path in ["notes/.env", "notes/.git/config", "notes/a/.b/c", "notes/./.env"] {
            assert!(matches!(sandbox.roots.resolve_path(path), Err(FileToolError::BadPath { .. })), "{path}");
        }
    }

    #[test]
    fn debug_does_not_tell_where_they_are() {
        assert_eq!(format!("{:?}", Sandbox::new().roots), "FileRoots(\"notes, library\")");
    }
}
