//! The folders that can be used, and paths in them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::FileError;
use super::room::{Budgets, Room, WriteQuota};
use crate::blocking;
use crate::text::cut;

/// Longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 1_000;

/// Longest name of a root, in bytes.
const MAX_NAME_BYTES: usize = 32;

/// What may be done in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

/// A folder that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSettings {
    /// The first part of every path in it: lower case letters, digits, `-` and `_`.
    pub name: String,
    /// Where it is on this machine. Never told to a caller.
    pub folder: PathBuf,
    /// What may be done there.
    pub access: Access,
}

/// How a root is shared, and what is kept from its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RootPolicy {
    /// Whether names that begin with a dot can be seen and used.
    pub shows_hidden: bool,
    /// Whether each user has a folder of their own in it. A folder with `{user}` in its path always is each user's own.
    pub per_user: bool,
    /// How much a user may write. Without it there is no bound.
    pub quota: Option<WriteQuota>,
}

/// Stands for the user in the path of a folder.
const USER: &str = "{user}";

/// A root that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// Not a name.
    #[error("`{0}` cannot name a folder; use up to {MAX_NAME_BYTES} lower case letters, digits, `-` and `_`")]
    Name(String),
    /// Named twice.
    #[error("two folders are named `{0}`")]
    Twice(String),
    /// Not a folder, or not ours.
    #[error("the folder `{name}` at {} cannot be opened: {reason}", folder.display())]
    Open {
        /// Its name.
        name: String,
        /// Where it is.
        folder: PathBuf,
        /// In the system's words.
        reason: String,
    },
}

/// The folders that can be used. Cheap to clone.
#[derive(Clone, Default)]
pub struct Roots(Arc<Vec<Root>>);

#[derive(Clone)]
pub(super) struct Root {
    pub(super) name: String,
    pub(super) dir: Arc<Dir>,
    pub(super) access: Access,
    pub(super) policy: RootPolicy,
    /// What may still be written.
    pub(super) room: Room,
    /// The way from `dir` to a user's own folder, where each has one. Nothing can be reached before a user is named.
    user_path: Option<String>,
    /// What each user has written where they share it.
    budgets: Arc<Budgets>,
}

/// A path that was read: a root and a way down from it.
pub(super) struct Place<'a> {
    pub(super) root: &'a Root,
    /// `.` for the root itself.
    pub(super) relative: String,
}

impl Roots {
    /// Opens the folders. They stay the same ones even if they are moved later.
    pub fn open(settings: impl IntoIterator<Item = RootSettings>) -> Result<Self, RootError> {
        Self::open_with(settings.into_iter().map(|root| (root, RootPolicy::default())))
    }

    /// The same for several users: see [`Roots::for_user`].
    pub fn open_with(
        settings: impl IntoIterator<Item = (RootSettings, RootPolicy)>,
    ) -> Result<Self, RootError> {
        let mut roots: Vec<Root> = Vec::new();
        for (RootSettings { name, folder, access }, policy) in settings {
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
            if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
                return Err(RootError::Name(name));
            }
            if roots.iter().any(|root| root.name == name) {
                return Err(RootError::Twice(name));
            }
            let (folder, user_path) = split(folder, policy.per_user);
            match Dir::open_ambient_dir(&folder, ambient_authority()) {
                Ok(dir) => roots.push(Root {
                    name,
                    dir: Arc::new(dir),
                    access,
                    policy,
                    room: Room::Unlimited,
                    user_path,
                    budgets: Arc::default(),
                }),
                Err(error) => return Err(RootError::Open { name, folder, reason: error.to_string() }),
            }
        }
        Ok(Self(Arc::new(roots)))
    }

    /// The folders as one user sees them. `user` becomes the name of a folder where each user has one, which is made if it
    /// is not there; so it must be a plain name that no other user has.
    pub async fn for_user(&self, user: &str) -> Result<Self, FileError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'@' | b'~');
        if user.is_empty() || user.starts_with('.') || !user.bytes().all(plain) {
            return Err(FileError::BadPath {
                path: cut(user, 100),
                why: "it cannot name the folder of a user",
            });
        }
        let (all, user) = (self.clone(), user.to_owned());
        blocking::run(move || {
            let roots: Result<Vec<_>, _> = all.0.iter().map(|root| root.for_user(&user)).collect();
            Ok(Self(Arc::new(roots?)))
        })
        .await?
    }

    pub(super) fn all(&self) -> &[Root] {
        &self.0
    }

    /// Reads a path such as `notes/2026/march.md`. Nothing is looked up yet.
    pub(super) fn place(&self, path: &str) -> Result<Place<'_>, FileError> {
        let bad = |why| FileError::BadPath { path: cut(path, 100), why };
        if path.len() > MAX_PATH_BYTES {
            return Err(bad("it is too long"));
        }
        if path.contains('\0') {
            return Err(bad("it has a character with the code 0 in it"));
        }
        if path.starts_with('/') {
            return Err(bad("it begins with `/`; begin with the name of a folder, such as `notes/march.md`"));
        }
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let Some(root) = self.0.iter().find(|root| root.name == name) else {
            return Err(FileError::UnknownRoot { path: cut(path, 100), known: self.names() });
        };
        let parts: Vec<_> = rest.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(bad("`..` is not used; write the whole path from the name of its folder on"));
        }
        if !root.policy.shows_hidden && parts.iter().any(|part| is_hidden(part)) {
            return Err(bad("names that begin with a dot are hidden here; choose another one"));
        }
        if root.user_path.is_some() {
            return Err(bad("the folder belongs to one user each, and no user is known"));
        }
        let relative = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        Ok(Place { root, relative })
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|root| root.name.as_str()).collect();
        if names.is_empty() { "(none is set up)".to_owned() } else { names.join(", ") }
    }
}

/// The folder to open, and the way from it to that of a user.
fn split(folder: PathBuf, per_user: bool) -> (PathBuf, Option<String>) {
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

/// Whether a name is one that listings leave out.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

impl Root {
    fn for_user(&self, user: &str) -> Result<Self, FileError> {
        let Some(path) = &self.user_path else {
            let room = self.policy.quota.map_or(Room::Unlimited, |quota| self.budgets.room(user, quota));
            return Ok(Self { room, ..self.clone() });
        };
        let path = path.replace(USER, user);
        let failed = |error| FileError::of(&error, &self.name);
        self.dir.create_dir_all(&path).map_err(failed)?;
        let dir = Arc::new(self.dir.open_dir(&path).map_err(failed)?);
        let room = self.policy.quota.map_or(Room::Unlimited, Room::Folder);
        Ok(Self { dir, room, user_path: None, ..self.clone() })
    }

    /// Whether writes to it wait for each other: what is left is looked up before and used after.
    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        self.budgets.lock()
    }
}

impl Place<'_> {
    /// A link with a plain name may lead to something hidden; what is not there yet is judged by where it would be.
    pub(super) fn check_visible(&self) -> Result<(), FileError> {
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
                (Ok(real), _) if hidden(&real) => return Err(FileError::NotFound(self.shown())),
                (Ok(_), _) | (Err(_), None) => return Ok(()),
                (Err(_), Some((folder, _))) => path = folder,
            }
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.relative == "."
    }

    /// As models write it.
    pub(super) fn shown(&self) -> String {
        if self.is_root() { self.root.name.clone() } else { format!("{}/{}", self.root.name, self.relative) }
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Roots").field(&self.names()).finish()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `notes` can be written, `library` only read; beside them lies a file that nobody may reach.
    pub(in crate::files) struct Sandbox {
        pub(in crate::files) folder: tempfile::TempDir,
        pub(in crate::files) roots: Roots,
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
            let roots = Roots::open([root("notes", Access::Write), root("library", Access::Read)]).unwrap();
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
            let place = sandbox.roots.place(path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!((place.relative.as_str(), place.shown().as_str()), (relative, shown), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let sandbox = Sandbox::new();
        let long = format!("notes/{}", "x".repeat(MAX_PATH_BYTES));
        for path in
            ["/etc/passwd", "/notes/a", "notes/../secret.txt", "notes/a/../../secret.txt", "notes/\0", &long]
        {
            assert!(matches!(sandbox.roots.place(path), Err(FileError::BadPath { .. })), "{path}");
        }
        for path in ["", ".", "..", "../notes", "other/a", "NOTES/a", "C:\\x", "~/x"] {
            let Err(error) = sandbox.roots.place(path) else { panic!("{path}") };
            assert!(error.to_string().ends_with("paths begin with one of: notes, library"), "{error}");
        }
        let Err(none) = Roots::default().place("a/b") else { panic!("there is no root") };
        assert!(none.to_string().ends_with("(none is set up)"), "{none}");
    }

    #[test]
    fn roots_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str| RootSettings {
            name: name.to_owned(),
            folder: folder.path().to_owned(),
            access: Access::Read,
        };
        for name in ["", "Notes", "a/b", "..", "a b", &"x".repeat(MAX_NAME_BYTES + 1)] {
            assert!(matches!(Roots::open([root(name)]), Err(RootError::Name(_))), "{name}");
        }
        assert!(matches!(Roots::open([root("a"), root("a")]), Err(RootError::Twice(_))));
        let missing = RootSettings { folder: folder.path().join("missing"), ..root("a") };
        assert!(matches!(Roots::open([missing]), Err(RootError::Open { .. })));
    }

    #[tokio::test]
    async fn each_user_has_their_own_folder_where_it_is_not_shared() {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str, path: &str, per_user| {
            let settings = RootSettings {
                name: name.to_owned(),
                folder: folder.path().join(path),
                access: Access::Write,
            };
            (settings, RootPolicy { per_user, ..RootPolicy::default() })
        };
        let roots = [root("own", "", true), root("path", "in/{user}/x", false), root("all", "", false)];
        std::fs::create_dir(folder.path().join("in")).unwrap();
        let roots = Roots::open_with(roots).unwrap();
        // Without a user there is nothing to reach.
        assert!(
            roots.place("own/a").is_err() && roots.place("path/a").is_err() && roots.place("all/a").is_ok()
        );
        let own = roots.for_user("ada").await.unwrap();
        for (path, place) in [("own/a", "ada/a"), ("path/a", "in/ada/x/a"), ("all/a", "a")] {
            own.place(path).unwrap().root.dir.write("a", "").unwrap();
            assert!(folder.path().join(place).exists(), "{place}");
        }
        for user in ["", ".", "..", "a/b", ".ada", "a\0"] {
            assert!(roots.for_user(user).await.is_err(), "{user}");
        }
    }

    #[test]
    fn names_that_begin_with_a_dot_are_no_paths() {
        let sandbox = Sandbox::new();
        for path in ["notes/.env", "notes/.git/config", "notes/a/.b/c", "notes/./.env"] {
            assert!(matches!(sandbox.roots.place(path), Err(FileError::BadPath { .. })), "{path}");
        }
    }

    #[test]
    fn debug_does_not_tell_where_they_are() {
        assert_eq!(format!("{:?}", Sandbox::new().roots), "Roots(\"notes, library\")");
    }
}
