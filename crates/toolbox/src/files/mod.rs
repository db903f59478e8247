//! `list_files`, `read_file`, `write_file` and `search_files`, within the folders that the operator named.
//!
//! Every path begins with the name of such a folder, its root. What lies outside of it cannot be reached: the roots are
//! opened once, by `cap-std`, and every other path is resolved below them by the system itself, links included.

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

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileToolError {
    /// No root has this name.
    #[error("`{path}` is in no folder that can be used; paths begin with one of: {known}")]
    UnknownRoot {
        /// As it was given, perhaps cut.
        path: String,
        /// The names of the roots.
        known: String,
    },
    /// Not a path of ours.
    #[error("`{path}` is not a usable path: {why}")]
    BadPath {
        /// As it was given, perhaps cut.
        path: String,
        /// What was wrong, and what to do.
        why: &'static str,
    },
    /// Nothing there.
    #[error("`{0}` does not exist; see what is there with list_files")]
    NotFound(String),
    /// A folder, where a file was expected.
    #[error("`{0}` is not a file; if it is a folder, look into it with list_files")]
    NotAFile(String),
    /// A file, where a folder was expected.
    #[error("`{0}` is not a folder; read a file with read_file")]
    NotAFolder(String),
    /// A link leads out of the root.
    #[error("`{0}` leads out of the folder that can be used; choose another path")]
    Outside(String),
    /// The root may only be read.
    #[error("files in `{0}` can only be read; write to another folder or ask the user")]
    ReadOnly(String),
    /// Not a text.
    #[error("`{0}` is not a text file (UTF-8), so it cannot be shown")]
    Binary(String),
    /// The argument is over its limit.
    #[error("the content has {size} bytes, at most {limit} can be written; split it into several files")]
    TooLarge {
        /// Of the content.
        size: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// The user may not write more.
    #[error(
        "no more fits in: at most {files} files and folders and {bytes} bytes can be written here; write less, or replace a \
         file by a shorter one"
    )]
    Full {
        /// Files and folders.
        files: usize,
        /// Of all files together.
        bytes: u64,
    },
    /// The arguments do not fit together.
    #[error("{0}")]
    BadArguments(&'static str),
    /// The system said no.
    #[error("`{path}` cannot be used: {reason}")]
    System {
        /// Which.
        path: String,
        /// In the system's words.
        reason: String,
    },
    /// A fault of ours, or of a disk that does not answer.
    #[error("the files could not be reached in time; try again")]
    Unreachable,
}

impl FileToolError {
    /// What an error of the system means for a path.
    fn from_io(error: &io::Error, path: &str) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            io::ErrorKind::IsADirectory => Self::NotAFile(path),
            io::ErrorKind::NotADirectory => Self::NotAFolder(path),
            // cap-std's own refusal has no number of the system.
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

/// The tools of this module, for models.
pub fn file_tool_specs() -> [ToolboxSpec; 4] {
    [list::list_files_spec(), read::read_file_spec(), write::write_file_spec(), search::search_files_spec()]
}
