//! Files in folders that the program chooses: `list_files`, `read_file`, `search_files` and, if a folder is writable, `write_file`.
//!
//! Every path of the model begins with the name of such a folder. Files outside of them cannot be reached, not by `..` or
//! links either: the folders are opened once, and the system resolves every path below them.

use std::time::Duration;

use toolyard_toolbox::files::{self, list_files, read_file, search_files, write_file};

pub use toolyard_toolbox::files::{FileRoots, RootAccess, RootError, RootSettings};

use super::boxed;
use crate::{plugin::Plugin, tool::Tool};

/// Default time limit of a search. It returns what it found until then.
pub const SEARCH_LIMIT: Duration = Duration::from_secs(10);

/// How files may be used.
#[derive(Debug, Clone)]
pub struct FilesOptions {
    /// Disallows writing, even if a folder allows it.
    pub read_only: bool,
    /// How long a search may take.
    pub search_limit: Duration,
}

impl Default for FilesOptions {
    fn default() -> Self {
        Self { read_only: false, search_limit: SEARCH_LIMIT }
    }
}

/// The plugin `files`.
///
/// ```
/// use toolyard_client_sdk::plugins::{self, files::{FilesOptions, RootAccess, RootSettings}};
///
/// let notes = RootSettings { name: "notes".to_owned(), folder: ".".into(), access: RootAccess::Read };
/// let plugin = plugins::files([notes], FilesOptions::default())?;
/// assert_eq!(plugin.name(), "files");
/// # Ok::<_, toolyard_client_sdk::plugins::files::RootError>(())
/// ```
pub fn files(
    roots: impl IntoIterator<Item = RootSettings>,
    options: FilesOptions,
) -> Result<Plugin, RootError> {
    let plugin = Plugin::new("files", super::VERSION);
    Ok(file_tools(roots, options)?.into_iter().fold(plugin, Plugin::tool))
}

/// The tools without the plugin. `write_file` is included only if a folder is writable.
pub fn file_tools(
    roots: impl IntoIterator<Item = RootSettings>,
    options: FilesOptions,
) -> Result<Vec<Tool>, RootError> {
    let access = |root: RootSettings| match options.read_only {
        true => RootSettings { access: RootAccess::Read, ..root },
        false => root,
    };
    let roots: Vec<_> = roots.into_iter().map(access).collect();
    let writes = roots.iter().any(|root| root.access == RootAccess::Write);
    let roots = FileRoots::open(roots)?;
    let [list, read, write, search] = files::file_tool_specs();

    let mut tools = Vec::new();
    let at = roots.clone();
    tools.push(boxed::from_toolbox(list, move |arguments, _| {
        let roots = at.clone();
        async move { list_files(arguments, &roots).await }
    }));
    let at = roots.clone();
    tools.push(boxed::from_toolbox(read, move |arguments, _| {
        let roots = at.clone();
        async move { read_file(arguments, &roots).await }
    }));
    if writes {
        let at = roots.clone();
        tools.push(boxed::from_toolbox(write, move |arguments, _| {
            let roots = at.clone();
            async move { write_file(arguments, &roots).await }
        }));
    }
    tools.push(boxed::from_toolbox(search, move |arguments, _| {
        let roots = roots.clone();
        async move { search_files(arguments, &roots, options.search_limit).await }
    }));
    Ok(tools)
}
