//! `list_files`: lists a folder.

use std::collections::BTreeMap;

use cap_std::fs::DirEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::FileToolError;
use super::roots::{FileRoots, RootAccess, is_hidden};
use super::search::MAX_VISITED;
use crate::blocking;
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};
use crate::text::one_line;

/// Most entries of one listing.
pub const MAX_ENTRIES: usize = 1_000;

/// The arguments of `list_files`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFilesArguments {
    /// The folder, for example `notes` or `notes/2026`. If left out, the folders that can be used are listed.
    pub path: Option<String>,
}

pub(super) fn list_files_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "list_files",
        title: "List files",
        description: "Lists the files and folders in a folder, with sizes. Call it without a path first to see which \
                      folders can be used.",
        input_schema: schema_of::<ListFilesArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// Lists a folder, sorted by name.
pub async fn list_files(
    arguments: ListFilesArguments,
    roots: &FileRoots,
) -> Result<ToolboxOutput, FileToolError> {
    match arguments.path.filter(|path| !matches!(path.trim(), "" | "." | "/")) {
        None => Ok(list_roots(roots)),
        Some(path) => {
            let roots = roots.clone();
            blocking::run_blocking(move || list_folder(&path, &roots)).await?
        }
    }
}

fn list_roots(roots: &FileRoots) -> ToolboxOutput {
    let word = |access| match access {
        RootAccess::Read => "read only",
        RootAccess::Write => "can be written",
    };
    let lines: Vec<_> =
        roots.as_slice().iter().map(|root| format!("{}/ ({})", root.name, word(root.access))).collect();
    let text = if lines.is_empty() { "No folder is set up.".to_owned() } else { lines.join("\n") };
    let list = roots
        .as_slice()
        .iter()
        .map(|root| json!({ "name": root.name, "writable": root.access == RootAccess::Write }));
    ToolboxOutput { text, structured: Some(json!({ "folders": list.collect::<Vec<_>>() })) }
}

/// An entry of a folder.
struct ListedEntry {
    name: String,
    kind: EntryKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File { size: u64 },
    Folder,
    Link,
    Other,
}

fn list_folder(path: &str, roots: &FileRoots) -> Result<ToolboxOutput, FileToolError> {
    let place = roots.resolve_path(path)?;
    let shown = place.display_path();
    place.check_visible()?;
    let read =
        place.root.dir.read_dir(&place.relative).map_err(|error| FileToolError::from_io(&error, &shown))?;
    let mut first = BTreeMap::new();
    let mut is_cut = false;
    // Entries that vanish meanwhile are left out.
    for (visited, entry) in read.filter_map(Result::ok).enumerate() {
        if visited == MAX_VISITED {
            is_cut = true;
            break;
        }
        let name = entry.file_name();
        if !place.root.policy.shows_hidden && is_hidden(&name.to_string_lossy()) {
            continue;
        }
        first.insert(name, entry);
        // A folder lists its entries in any order, so only the last names are cut.
        if first.len() > MAX_ENTRIES {
            is_cut = true;
            first.pop_last();
        }
    }
    let entries: Vec<_> = first.values().map(read_entry).collect();

    let mut text = format!("{} entries in {shown}/", entries.len());
    for entry in &entries {
        text.push('\n');
        text.push_str(&entry_line(entry));
    }
    if is_cut {
        text.push_str(&format!(
            "\n(cut: there are more than {MAX_ENTRIES}; use search_files with a name to find the others)"
        ));
    }
    let list: Vec<_> = entries.iter().map(entry_json).collect();
    Ok(ToolboxOutput { text, structured: Some(json!({ "path": shown, "entries": list, "cut": is_cut })) })
}

fn read_entry(entry: &DirEntry) -> ListedEntry {
    // Of the entry itself, not of a link's target.
    let kind = match entry.metadata() {
        Ok(data) if data.is_dir() => EntryKind::Folder,
        Ok(data) if data.is_symlink() => EntryKind::Link,
        Ok(data) if data.is_file() => EntryKind::File { size: data.len() },
        Ok(_) | Err(_) => EntryKind::Other,
    };
    ListedEntry { name: entry.file_name().to_string_lossy().into_owned(), kind }
}

fn entry_line(entry: &ListedEntry) -> String {
    // A name may contain anything but `/` and 0; on several lines it could look like several entries.
    let name = one_line(&entry.name);
    match entry.kind {
        EntryKind::File { size } => format!("{name} ({size} bytes)"),
        EntryKind::Folder => format!("{name}/"),
        EntryKind::Link => format!("{name} (link)"),
        EntryKind::Other => format!("{name} (not a file)"),
    }
}

fn entry_json(entry: &ListedEntry) -> Value {
    let (kind, size) = match entry.kind {
        EntryKind::File { size } => ("file", Some(size)),
        EntryKind::Folder => ("folder", None),
        EntryKind::Link => ("link", None),
        EntryKind::Other => ("other", None),
    };
    match size {
        Some(size) => json!({ "name": entry.name, "kind": kind, "size": size }),
        None => json!({ "name": entry.name, "kind": kind }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::roots::tests::Sandbox;
    use super::*;

    async fn list(sandbox: &Sandbox, path: &str) -> Result<ToolboxOutput, FileToolError> {
        list_files(ListFilesArguments { path: Some(path.to_owned()) }, &sandbox.roots).await
    }

    #[tokio::test]
    async fn a_folder_is_listed_by_name() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/b.md", "four");
        sandbox.put("notes/a/c.md", "");
        sandbox.link("b.md", "notes/l");
        sandbox.put("notes/x\ny", "");
        let output = list(&sandbox, "notes").await.unwrap();
        assert_eq!(output.text, "4 entries in notes/\na/\nb.md (4 bytes)\nl (link)\nx y (0 bytes)");
        assert_eq!(
            output.structured.unwrap(),
            json!({
                "path": "notes",
                "entries": [
                    { "name": "a", "kind": "folder" },
                    { "name": "b.md", "kind": "file", "size": 4 },
                    { "name": "l", "kind": "link" },
                    { "name": "x\ny", "kind": "file", "size": 0 },
                ],
                "cut": false,
            })
        );
    }

    #[tokio::test]
    async fn without_a_path_the_roots_are_listed() {
        let sandbox = Sandbox::new();
        for path in [None, Some(String::new()), Some("/".to_owned()), Some(".".to_owned())] {
            let output = list_files(ListFilesArguments { path }, &sandbox.roots).await.unwrap();
            assert_eq!(output.text, "notes/ (can be written)\nlibrary/ (read only)");
        }
        let none = list_files(ListFilesArguments::default(), &FileRoots::default()).await.unwrap();
        assert_eq!(none.text, "No folder is set up.");
    }

    #[tokio::test]
    async fn a_long_list_is_cut_and_says_so() {
        let sandbox = Sandbox::new();
        for index in 0..MAX_ENTRIES {
            sandbox.put(&format!("notes/{index:04}"), "");
        }
        let output = list(&sandbox, "notes").await.unwrap();
        assert_eq!(output.structured.unwrap()["cut"], false);
        sandbox.put("notes/one-more", "");
        let output = list(&sandbox, "notes").await.unwrap();
        assert!(output.text.ends_with("use search_files with a name to find the others)"), "{}", output.text);
        let structured = output.structured.unwrap();
        assert_eq!(structured["cut"], true);
        assert_eq!(structured["entries"].as_array().unwrap().len(), MAX_ENTRIES);
        // Whatever was created last, the first names are listed.
        sandbox.put("notes/!first", "");
        let entries = list(&sandbox, "notes").await.unwrap().structured.unwrap()["entries"].clone();
        assert_eq!(
            (&entries[0]["name"], &entries[MAX_ENTRIES - 1]["name"]),
            (&json!("!first"), &json!("0998"))
        );
    }

    #[tokio::test]
    async fn paths_that_cannot_be_listed_are_reported() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/a.md", "");
        sandbox.link("..", "notes/up");
        sandbox.link("/", "notes/top");
        assert_eq!(list(&sandbox, "notes/none").await, Err(FileToolError::NotFound("notes/none".into())));
        assert_eq!(list(&sandbox, "notes/a.md").await, Err(FileToolError::NotAFolder("notes/a.md".into())));
        for path in ["notes/up", "notes/top", "notes/up/library", "notes/top/etc"] {
            assert_eq!(list(&sandbox, path).await, Err(FileToolError::Outside(path.into())));
        }
    }
}
