//! The folders that can be used, and paths in them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::FileError;
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

pub(super) struct Root {
    pub(super) name: String,
    pub(super) dir: Dir,
    pub(super) access: Access,
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
        let mut roots: Vec<Root> = Vec::new();
        for RootSettings { name, folder, access } in settings {
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
            if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
                return Err(RootError::Name(name));
            }
            if roots.iter().any(|root| root.name == name) {
                return Err(RootError::Twice(name));
            }
            match Dir::open_ambient_dir(&folder, ambient_authority()) {
                Ok(dir) => roots.push(Root { name, dir, access }),
                Err(error) => return Err(RootError::Open { name, folder, reason: error.to_string() }),
            }
        }
        Ok(Self(Arc::new(roots)))
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
        let relative = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        Ok(Place { root, relative })
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|root| root.name.as_str()).collect();
        if names.is_empty() { "(none is set up)".to_owned() } else { names.join(", ") }
    }
}

impl Place<'_> {
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
            ("library/..x/y..", "..x/y..", "library/..x/y.."),
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

    #[test]
    fn debug_does_not_tell_where_they_are() {
        assert_eq!(format!("{:?}", Sandbox::new().roots), "Roots(\"notes, library\")");
    }
}
