//! `list_files`, `read_file`, `write_file` and `search_files`, within the folders that the operator configured.
//!
//! Every path begins with the name of such a folder, its root. Nothing outside can be reached: the roots are opened
//! once, by `cap-std`, and every other path is resolved below them by the system itself, links included.

mod list;
mod quota;
mod read;
mod roots;
mod search;
mod wildcard;
mod write;

use std::io;

pub use list::{ListFilesArguments, MAX_ENTRIES, list_files};
pub use quota::WriteQuota;
pub use read::{DEFAULT_PAGE_BYTES, MAX_SCAN_BYTES, ReadFileArguments, read_file};
pub use roots::{FileRoots, MAX_PATH_BYTES, RootAccess, RootError, RootPolicy, RootSettings};
pub use search::{
    MAX_FILE_BYTES, MAX_HITS, MAX_SEARCH_BYTES, MAX_SEARCH_DEPTH, MAX_VISITED, SearchFilesArguments,
    search_files,
};
pub use write::{MAX_WRITE_BYTES, WriteFileArguments, write_file};

use crate::blocking::UnfinishedWork;
use crate::spec::ToolboxSpec;

/// Why a file tool failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileToolError {
    /// No root has this name.
    #[error("`{path}` is in no folder that can be used; paths begin with one of: {known}")]
    UnknownRoot {
        /// As it was given, possibly truncated.
        path: String,
        /// The names of the roots.
        known: String,
    },
    /// Not a valid path.
    #[error("`{path}` is not a usable path: {why}")]
    BadPath {
        /// As it was given, possibly truncated.
        path: String,
        /// What was wrong, and what to do.
        why: &'static str,
    },
    /// The file does not exist.
    #[error("`{0}` does not exist; see what is there with list_files")]
    NotFound(String),
    /// Not a file, although one was expected.
    #[error("`{0}` is not a file; if it is a folder, look into it with list_files")]
    NotAFile(String),
    /// Not a folder, although one was expected.
    #[error("`{0}` is not a folder; read a file with read_file")]
    NotAFolder(String),
    /// A link leads outside of the root.
    #[error("`{0}` leads out of the folder that can be used; choose another path")]
    Outside(String),
    /// The root is read-only.
    #[error("files in `{0}` can only be read; write to another folder or ask the user")]
    ReadOnly(String),
    /// Not a text file.
    #[error("`{0}` is not a text file (UTF-8), so it cannot be shown")]
    Binary(String),
    /// The content is too large.
    #[error("the content has {size} bytes, at most {limit} can be written; split it into several files")]
    TooLarge {
        /// Size of the content.
        size: usize,
        /// Largest content that is accepted.
        limit: usize,
    },
    /// The user's quota is used up.
    #[error(
        "the quota is used up: at most {files} files and folders and {bytes} bytes can be written here; write less, or replace a \
         file by a shorter one"
    )]
    Full {
        /// Files and folders.
        files: usize,
        /// Of all files together.
        bytes: u64,
    },
    /// The arguments contradict each other.
    #[error("{0}")]
    BadArguments(&'static str),
    /// The system refused.
    #[error("`{path}` cannot be used: {reason}")]
    System {
        /// The path.
        path: String,
        /// The system's message.
        reason: String,
    },
    /// An internal error, or a disk that does not respond.
    #[error("the files could not be reached in time; try again")]
    Unreachable,
}

impl FileToolError {
    /// Maps an I/O error for a path.
    fn from_io(error: &io::Error, path: &str) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            io::ErrorKind::IsADirectory => Self::NotAFile(path),
            io::ErrorKind::NotADirectory => Self::NotAFolder(path),
            // A refusal by cap-std itself has no OS error code.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Outside(path),
            kind => Self::System { path, reason: kind.to_string() },
        }
    }
}

impl From<UnfinishedWork> for FileToolError {
    fn from(_: UnfinishedWork) -> Self {
        Self::Unreachable
    }
}

/// The specifications of the file tools.
pub fn file_tool_specs() -> [ToolboxSpec; 4] {
    [list::list_files_spec(), read::read_file_spec(), write::write_file_spec(), search::search_files_spec()]
}
