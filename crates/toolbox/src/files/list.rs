//! `list_files`: what is in a folder.

use cap_std::fs::DirEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::FileError;
use super::roots::{Access, Roots, is_hidden};
use crate::blocking;
use crate::spec::{Described, Hints, Output, schema_of};
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

pub(super) fn described() -> Described {
    Described {
        name: "list_files",
        title: "List files",
        description: "Lists the files and folders in a folder, with sizes. Call it without a path first to see which \
                      folders can be used.",
        input_schema: schema_of::<ListFilesArguments>(),
        hints: Hints::LOOKS,
    }
}

/// What is in a folder, by name.
pub async fn list_files(arguments: ListFilesArguments, roots: &Roots) -> Result<Output, FileError> {
    match arguments.path.filter(|path| !matches!(path.trim(), "" | "." | "/")) {
        None => Ok(list_roots(roots)),
        Some(path) => {
            let roots = roots.clone();
            blocking::run(move || list(&path, &roots)).await?
        }
    }
}

fn list_roots(roots: &Roots) -> Output {
    let word = |access| match access {
        Access::Read => "read only",
        Access::Write => "can be written",
    };
    let lines: Vec<_> =
        roots.all().iter().map(|root| format!("{}/ ({})", root.name, word(root.access))).collect();
    let text = if lines.is_empty() { "No folder is set up.".to_owned() } else { lines.join("\n") };
    let list =
        roots.all().iter().map(|root| json!({ "name": root.name, "writable": root.access == Access::Write }));
    Output { text, structured: Some(json!({ "folders": list.collect::<Vec<_>>() })) }
}

/// One thing in a folder.
struct Entry {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File { size: u64 },
    Folder,
    Link,
    Other,
}

fn list(path: &str, roots: &Roots) -> Result<Output, FileError> {
    let place = roots.place(path)?;
    let shown = place.shown();
    place.check_visible()?;
    let read = place.root.dir.read_dir(&place.relative).map_err(|error| FileError::of(&error, &shown))?;
    let mut entries = Vec::new();
    let mut is_cut = false;
    for entry in read {
        if entries.len() == MAX_ENTRIES {
            is_cut = true;
            break;
        }
        // What vanishes while we look is left out.
        let entry = entry.ok().map(|entry| look(&entry));
        entries.extend(entry.filter(|entry| place.root.policy.shows_hidden || !is_hidden(&entry.name)));
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));

    let mut text = format!("{} entries in {shown}/", entries.len());
    for entry in &entries {
        text.push('\n');
        text.push_str(&line(entry));
    }
    if is_cut {
        text.push_str(&format!(
            "\n(cut: there are more than {MAX_ENTRIES}; use search_files with a name to find the others)"
        ));
    }
    let list: Vec<_> = entries.iter().map(structured).collect();
    Ok(Output { text, structured: Some(json!({ "path": shown, "entries": list, "cut": is_cut })) })
}

fn look(entry: &DirEntry) -> Entry {
    // Of the entry itself, not of what a link leads to.
    let kind = match entry.metadata() {
        Ok(data) if data.is_dir() => Kind::Folder,
        Ok(data) if data.is_symlink() => Kind::Link,
        Ok(data) if data.is_file() => Kind::File { size: data.len() },
        Ok(_) | Err(_) => Kind::Other,
    };
    Entry { name: entry.file_name().to_string_lossy().into_owned(), kind }
}

fn line(entry: &Entry) -> String {
    // A name may hold anything but `/` and 0; on several lines it could pass for several entries.
    let name = one_line(&entry.name);
    match entry.kind {
        Kind::File { size } => format!("{name} ({size} bytes)"),
        Kind::Folder => format!("{name}/"),
        Kind::Link => format!("{name} (link)"),
        Kind::Other => format!("{name} (not a file)"),
    }
}

fn structured(entry: &Entry) -> Value {
    let (kind, size) = match entry.kind {
        Kind::File { size } => ("file", Some(size)),
        Kind::Folder => ("folder", None),
        Kind::Link => ("link", None),
        Kind::Other => ("other", None),
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

    async fn list(sandbox: &Sandbox, path: &str) -> Result<Output, FileError> {
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
        let none = list_files(ListFilesArguments::default(), &Roots::default()).await.unwrap();
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
    }

    #[tokio::test]
    async fn what_cannot_be_listed_is_said() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/a.md", "");
        sandbox.link("..", "notes/up");
        sandbox.link("/", "notes/top");
        assert_eq!(list(&sandbox, "notes/none").await, Err(FileError::NotFound("notes/none".into())));
        assert_eq!(list(&sandbox, "notes/a.md").await, Err(FileError::NotAFolder("notes/a.md".into())));
        for path in ["notes/up", "notes/top", "notes/up/library", "notes/top/etc"] {
            assert_eq!(list(&sandbox, path).await, Err(FileError::Outside(path.into())));
        }
    }
}
