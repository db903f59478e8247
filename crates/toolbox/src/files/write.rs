//! `write_file`: writes a whole text file, new or replacing the old one.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::FileToolError;
use super::quota::DiskUsage;
use super::roots::{FileRoots, RootAccess};
use crate::blocking;
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};

/// Most bytes of one file.
pub const MAX_WRITE_BYTES: usize = 1024 * 1024;

/// Most names that are tried for the temporary file; a taken name was left behind by a crash.
const MAX_TEMPORARY_NAMES: usize = 100;

/// The arguments of `write_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFileArguments {
    /// The file, for example `notes/2026/march.md`. Missing folders are created.
    pub path: String,
    /// The whole new content. What was in the file before is lost.
    pub content: String,
}

pub(super) fn write_file_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "write_file",
        title: "Write a file",
        description: "Writes a whole text file. If it exists already, its content is replaced: to change a part, read \
                      the file first and write all of it again.",
        input_schema: schema_of::<WriteFileArguments>(),
        hints: ToolboxHints::REPLACING,
    }
}

/// Writes a file. Readers see the old content or the new, never a part.
pub async fn write_file(
    arguments: WriteFileArguments,
    roots: &FileRoots,
) -> Result<ToolboxOutput, FileToolError> {
    let roots = roots.clone();
    blocking::run_blocking(move || write_checked(&arguments, &roots)).await?
}

fn write_checked(arguments: &WriteFileArguments, roots: &FileRoots) -> Result<ToolboxOutput, FileToolError> {
    let place = roots.resolve_path(&arguments.path)?;
    let shown = place.display_path();
    let size = arguments.content.len();
    if place.root.access == RootAccess::Read {
        return Err(FileToolError::ReadOnly(place.root.name.clone()));
    }
    if size > MAX_WRITE_BYTES {
        return Err(FileToolError::TooLarge { size, limit: MAX_WRITE_BYTES });
    }
    if place.is_root() || arguments.path.ends_with('/') {
        return Err(FileToolError::NotAFile(shown));
    }
    place.check_visible()?;
    let _one_at_a_time = place.root.lock_writes();
    let more = added_usage(&place.root.dir, &place.relative, size);
    let freed = place.root.dir.symlink_metadata(&place.relative).map_or(0, |old| old.len());
    place.root.allowance.check_fits(&place.root.dir, more, freed)?;
    let failed = |error| FileToolError::from_io(&error, &shown);
    let (folder, name) = place.relative.rsplit_once('/').unwrap_or((".", &place.relative));
    if folder != "." {
        place.root.dir.create_dir_all(folder).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                FileToolError::NotAFolder(format!("{}/{folder}", place.root.name))
            }
            _ => failed(error),
        })?;
    }
    // From here on relative to the opened folder, even if its path changes.
    let folder = place.root.dir.open_dir(folder).map_err(failed)?;
    let old = existing_file(&folder, name, &shown)?;
    replace_file(&folder, name, &arguments.content, old.as_ref()).map_err(failed)?;
    place.root.allowance.record_written(more, freed);

    let done = if old.is_some() { "replaced" } else { "created" };
    Ok(ToolboxOutput {
        text: format!("{shown} was {done} ({size} bytes)"),
        structured: Some(json!({ "path": shown, "outcome": done, "size": size })),
    })
}

/// What writing a file adds: the file, and missing folders.
fn added_usage(dir: &Dir, relative: &str, size: usize) -> DiskUsage {
    let mut paths: Vec<_> = relative.match_indices('/').map(|(at, _)| &relative[..at]).collect();
    paths.push(relative);
    let files = paths.iter().filter(|path| dir.symlink_metadata(path).is_err()).count();
    DiskUsage { files, bytes: size as u64 }
}

/// The existing file, if there is one.
fn existing_file(folder: &Dir, name: &str, shown: &str) -> Result<Option<Metadata>, FileToolError> {
    match folder.symlink_metadata(name) {
        Ok(data) if data.is_symlink() => Err(FileToolError::BadPath {
            path: shown.to_owned(),
            why: "it is a link to another file; write to that file itself",
        }),
        Ok(data) if data.is_file() => Ok(Some(data)),
        Ok(_) => Err(FileToolError::NotAFile(shown.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileToolError::from_io(&error, shown)),
    }
}

/// Writes a temporary file, then renames it.
fn replace_file(folder: &Dir, name: &str, content: &str, old: Option<&Metadata>) -> std::io::Result<()> {
    let (temporary, mut file) = create_temporary(folder)?;
    let written = (|| {
        file.write_all(content.as_bytes())?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        folder.rename(&temporary, folder, name)
    })();
    if written.is_err() {
        // The first error is the one to report.
        let _ = folder.remove_file(&temporary);
    }
    written
}

fn create_temporary(folder: &Dir) -> std::io::Result<(String, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut last = None;
    for _ in 0..MAX_TEMPORARY_NAMES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".toolyard-{}-{number}.tmp", std::process::id());
        match folder.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| ErrorKind::AlreadyExists.into()))
}

#[cfg(test)]
mod tests {
    use super::super::roots::{RootPolicy, RootSettings, tests::Sandbox};
    use super::*;
    use crate::files::WriteQuota;

    async fn write(sandbox: &Sandbox, path: &str, content: &str) -> Result<ToolboxOutput, FileToolError> {
        let arguments = WriteFileArguments { path: path.to_owned(), content: content.to_owned() };
        write_file(arguments, &sandbox.roots).await
    }

    fn names(sandbox: &Sandbox, folder: &str) -> Vec<String> {
        let read = std::fs::read_dir(sandbox.path(folder)).unwrap();
        let mut names: Vec<_> = read.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_file_is_created_then_replaced() {
        let sandbox = Sandbox::new();
        let output = write(&sandbox, "notes/a/b/c.md", "one").await.unwrap();
        assert_eq!(output.text, "notes/a/b/c.md was created (3 bytes)");
        let output = write(&sandbox, "notes/a/b/c.md", "three").await.unwrap();
        assert_eq!(output.text, "notes/a/b/c.md was replaced (5 bytes)");
        assert_eq!(
            output.structured.unwrap(),
            json!({ "path": "notes/a/b/c.md", "outcome": "replaced", "size": 5 })
        );
        assert_eq!(std::fs::read_to_string(sandbox.path("notes/a/b/c.md")).unwrap(), "three");
        assert_eq!(names(&sandbox, "notes/a/b"), ["c.md"], "nothing is left behind");
    }

    #[tokio::test]
    async fn a_replaced_file_is_a_new_one_with_the_old_rights() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let sandbox = Sandbox::new();
        sandbox.put("notes/a.sh", "old");
        std::fs::set_permissions(sandbox.path("notes/a.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
        std::fs::hard_link(sandbox.path("notes/a.sh"), sandbox.path("notes/witness")).unwrap();
        write(&sandbox, "notes/a.sh", "new").await.unwrap();
        let data = std::fs::metadata(sandbox.path("notes/a.sh")).unwrap();
        assert_eq!(data.permissions().mode() & 0o777, 0o750);
        // A reader that had the old file open still reads all of it.
        assert_eq!(std::fs::read_to_string(sandbox.path("notes/witness")).unwrap(), "old");
        assert_eq!(data.nlink(), 1);
    }

    #[tokio::test]
    async fn a_read_only_root_stays_as_it_is() {
        let sandbox = Sandbox::new();
        let error = write(&sandbox, "library/a/b.md", "x").await.unwrap_err();
        assert_eq!(error, FileToolError::ReadOnly("library".into()));
        assert!(names(&sandbox, "library").is_empty());
    }

    #[tokio::test]
    async fn the_size_is_bounded() {
        let sandbox = Sandbox::new();
        assert!(write(&sandbox, "notes/a", &"x".repeat(MAX_WRITE_BYTES)).await.is_ok());
        let size = MAX_WRITE_BYTES + 1;
        let error = write(&sandbox, "notes/b", &"x".repeat(size)).await.unwrap_err();
        assert_eq!(error, FileToolError::TooLarge { size, limit: MAX_WRITE_BYTES });
        assert_eq!(names(&sandbox, "notes"), ["a"]);
    }

    #[tokio::test]
    async fn replacing_a_file_in_a_shared_folder_costs_only_what_it_adds() {
        let folder = tempfile::tempdir().unwrap();
        let settings = RootSettings {
            name: "shared".to_owned(),
            folder: folder.path().to_owned(),
            access: RootAccess::Write,
        };
        let quota = Some(WriteQuota { files: 2, bytes: 10 });
        let policy = RootPolicy { quota, ..RootPolicy::default() };
        let roots = FileRoots::open_with([(settings, policy)]).unwrap();
        let ada = roots.for_user("ada").await.unwrap();
        let write = async |path: &str, content: &str| {
            let arguments = WriteFileArguments { path: path.to_owned(), content: content.to_owned() };
            write_file(arguments, &ada).await
        };
        for _ in 0..5 {
            write("shared/a", "eight by").await.unwrap();
        }
        let full = FileToolError::Full { files: 2, bytes: 10 };
        assert_eq!(write("shared/b", "four").await, Err(full.clone()));
        write("shared/a", "six by").await.unwrap();
        write("shared/b", "four").await.unwrap();
        assert_eq!(write("shared/c", "").await, Err(full));
    }

    #[tokio::test]
    async fn only_files_are_written() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/sub/a.md", "a");
        for path in ["notes", "notes/sub", "notes/sub/"] {
            assert!(matches!(write(&sandbox, path, "x").await, Err(FileToolError::NotAFile(_))), "{path}");
        }
        assert!(matches!(write(&sandbox, "notes/sub/a.md/b", "x").await, Err(FileToolError::NotAFolder(_))));
        let long = format!("notes/{}", "x".repeat(300));
        assert!(matches!(write(&sandbox, &long, "x").await, Err(FileToolError::System { .. })));
        assert_eq!(names(&sandbox, "notes"), ["sub"], "nothing is left behind");
    }

    #[tokio::test]
    async fn nothing_is_written_through_links() {
        let sandbox = Sandbox::new();
        sandbox.link("../secret.txt", "notes/by-link");
        sandbox.link("..", "notes/up");
        sandbox.link("/tmp", "notes/top");
        assert!(matches!(write(&sandbox, "notes/by-link", "x").await, Err(FileToolError::BadPath { .. })));
        for path in ["notes/up/secret.txt", "notes/up/new/b.txt", "notes/top/b.txt", "notes/../secret.txt"] {
            assert!(write(&sandbox, path, "x").await.is_err(), "{path}");
        }
        assert_eq!(std::fs::read_to_string(sandbox.path("secret.txt")).unwrap(), "the secret");
        assert_eq!(names(&sandbox, "."), ["library", "notes", "secret.txt"]);
    }

    #[test]
    fn nothing_is_left_behind_when_the_last_step_fails() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/sub/a.md", "a");
        let place = sandbox.roots.resolve_path("notes").unwrap();
        assert!(replace_file(&place.root.dir, "sub", "x", None).is_err(), "a folder is in the place");
        assert_eq!(names(&sandbox, "notes"), ["sub"]);
    }

    #[test]
    fn taken_temporary_names_are_skipped_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        let (first, _file) = create_temporary(&dir).unwrap();
        let number: usize = first.rsplit(['-', '.']).nth(1).unwrap().parse().unwrap();
        let name =
            |taken: usize| folder.path().join(first.replace(&format!("-{number}."), &format!("-{taken}.")));
        // The other tests use the counter as well, so more names are taken than are tried.
        let taken = number..number + MAX_TEMPORARY_NAMES * 5;
        taken.clone().for_each(|taken| std::fs::write(name(taken), "").unwrap());
        assert_eq!(create_temporary(&dir).unwrap_err().kind(), ErrorKind::AlreadyExists);
        taken.skip(MAX_TEMPORARY_NAMES * 3 / 2).for_each(|taken| std::fs::remove_file(name(taken)).unwrap());
        assert!(create_temporary(&dir).is_ok());
    }
}
