//! `search_files`: finds files by name or content.

use std::io::Read;
use std::time::Duration;

use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::FileToolError;
use super::roots::{FileRoots, RootedPath, is_hidden};
use super::wildcard::matches_wildcard;
use crate::blocking;
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};
use crate::text::{one_line, truncate_text};

/// Most hits of one search.
pub const MAX_HITS: usize = 100;
/// Most files and folders that one search visits.
pub const MAX_VISITED: usize = 20_000;
/// Most bytes that one search reads.
pub const MAX_SEARCH_BYTES: u64 = 64 * 1024 * 1024;
/// How far one file is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// How deep folders are searched.
pub const MAX_SEARCH_DEPTH: usize = 32;

/// Longest text or name to look for, in bytes.
const MAX_WANTED_BYTES: usize = 500;
/// Longest part of a line that is shown, in characters.
const SHOWN_CHARS: usize = 200;

/// The arguments of `search_files`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchFilesArguments {
    /// The folder to search, with everything below it, for example `notes` or `notes/2026`.
    pub path: String,
    /// Text that the file contains, for example `dentist`. Upper and lower case are the same; not a regular expression.
    pub text: Option<String>,
    /// Name of the file with `*` and `?`, for example `*.md`. With a `/` in it, it is compared with the path below `path`.
    pub name: Option<String>,
}

pub(super) fn search_files_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "search_files",
        title: "Search files",
        description: "Finds files in a folder and all folders below it, by a text in them, by their name, or both. \
                      Answers with paths, line numbers and the lines found.",
        input_schema: schema_of::<SearchFilesArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// Searches for at most this time. If the time runs out, the output contains what was found and says so.
pub async fn search_files(
    arguments: SearchFilesArguments,
    roots: &FileRoots,
    limit: Duration,
) -> Result<ToolboxOutput, FileToolError> {
    let roots = roots.clone();
    blocking::run_until(limit, move |is_over| run_file_search(&arguments, &roots, is_over)).await?
}

/// What to search for.
struct SearchCriteria {
    /// In lower case.
    text: Option<String>,
    name: Option<String>,
}

struct FileHit {
    path: String,
    /// The line number, counted from 1, and the line.
    line: Option<(usize, String)>,
}

/// Results and counters of a search.
#[derive(Default)]
struct SearchProgress {
    hits: Vec<FileHit>,
    visited: usize,
    read: u64,
    /// Files that were only searched in part.
    long: usize,
    /// Why the search ended early.
    ended: Option<String>,
}

fn run_file_search(
    arguments: &SearchFilesArguments,
    roots: &FileRoots,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<ToolboxOutput, FileToolError> {
    let place = roots.resolve_path(&arguments.path)?;
    let criteria = search_criteria(arguments)?;
    let shown = place.display_path();
    place.check_visible()?;
    let top =
        place.root.dir.open_dir(&place.relative).map_err(|error| FileToolError::from_io(&error, &shown))?;
    let mut progress = SearchProgress::default();
    walk_folders(&top, &place, &criteria, &mut progress, is_over);
    Ok(search_output(&shown, &progress))
}

fn search_criteria(arguments: &SearchFilesArguments) -> Result<SearchCriteria, FileToolError> {
    let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    let (text, name) = (given(&arguments.text), given(&arguments.name));
    if text.is_none() && name.is_none() {
        return Err(FileToolError::BadArguments("give `text`, `name` or both"));
    }
    if text.iter().chain(&name).any(|value| value.len() > MAX_WANTED_BYTES) {
        return Err(FileToolError::BadArguments("`text` or `name` is too long; use a shorter part of it"));
    }
    Ok(SearchCriteria { text: text.map(|text| text.to_lowercase()), name })
}

/// Visits folders sorted by name; links are not followed.
fn walk_folders(
    top: &Dir,
    place: &RootedPath<'_>,
    criteria: &SearchCriteria,
    progress: &mut SearchProgress,
    is_over: &(dyn Fn() -> bool + Sync),
) {
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(read) = top.read_dir(if folder.is_empty() { "." } else { &folder }) else { continue };
        let mut below = Vec::new();
        let mut files = Vec::new();
        for entry in read.filter_map(Result::ok) {
            progress.visited += 1;
            if progress.visited > MAX_VISITED {
                progress.ended = Some(format!("more than {MAX_VISITED} files and folders"));
                return;
            }
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            if is_hidden(&name) && !place.root.policy.shows_hidden {
                continue;
            }
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if kind.is_file() {
                files.push(path);
            } else if kind.is_dir() && depth < MAX_SEARCH_DEPTH {
                below.push((path, depth + 1));
            }
        }
        files.sort();
        for path in files {
            if is_over() {
                progress.ended = Some("the time limit was reached".to_owned());
                return;
            }
            search_file(top, &path, place, criteria, progress);
            if progress.ended.is_some() {
                return;
            }
        }
        // The last one is visited first.
        below.sort_by(|a, b| b.cmp(a));
        folders.append(&mut below);
    }
}

fn search_file(
    top: &Dir,
    path: &str,
    place: &RootedPath<'_>,
    criteria: &SearchCriteria,
    progress: &mut SearchProgress,
) {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    if let Some(pattern) = &criteria.name
        && !matches_wildcard(pattern, if pattern.contains('/') { path } else { name })
    {
        return;
    }
    let full = format!("{}/{path}", place.display_path());
    let Some(text) = &criteria.text else {
        add_hit(progress, FileHit { path: full, line: None });
        return;
    };
    if progress.read >= MAX_SEARCH_BYTES {
        progress.ended = Some(format!("{MAX_SEARCH_BYTES} bytes were read"));
        return;
    }
    // Unreadable and binary files are skipped.
    let Ok(file) = top.open(path) else { return };
    let mut bytes = Vec::new();
    if file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).is_err() || bytes.contains(&0) {
        return;
    }
    progress.read += bytes.len() as u64;
    progress.long += usize::from(bytes.len() as u64 > MAX_FILE_BYTES);
    for (index, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        if progress.ended.is_none() && line.to_lowercase().contains(text) {
            add_hit(
                progress,
                FileHit { path: full.clone(), line: Some((index + 1, excerpt_around(line, text))) },
            );
        }
    }
}

fn add_hit(progress: &mut SearchProgress, hit: FileHit) {
    if progress.hits.len() == MAX_HITS {
        progress.ended = Some(format!("there are more than {MAX_HITS} hits"));
    } else {
        progress.hits.push(hit);
    }
}

/// The part of a long line around the match.
fn excerpt_around(line: &str, text: &str) -> String {
    let found = line.to_lowercase().find(text).unwrap_or(0);
    // Some characters are longer or shorter in lower case, so the match is at another place in the line itself.
    let mut passed = 0;
    let is_before = |c: &char| {
        passed += c.to_lowercase().map(char::len_utf8).sum::<usize>();
        passed <= found
    };
    let at = line.chars().take_while(is_before).count();
    let start = at.saturating_sub(SHOWN_CHARS / 4);
    let part: String = line.chars().skip(start).collect();
    let part = truncate_text(&one_line(&part), SHOWN_CHARS);
    if start > 0 { format!("…{part}") } else { part }
}

fn search_output(shown: &str, progress: &SearchProgress) -> ToolboxOutput {
    let mut text = match progress.hits.len() {
        0 => format!("Nothing was found in {shown}."),
        1 => format!("1 hit in {shown}:"),
        hits => format!("{hits} hits in {shown}:"),
    };
    for FileHit { path, line } in &progress.hits {
        let path = one_line(path);
        match line {
            Some((number, line)) => text.push_str(&format!("\n{path}:{number}: {line}")),
            None => text.push_str(&format!("\n{path}")),
        }
    }
    if let Some(why) = &progress.ended {
        text.push_str(&format!("\n(incomplete: {why}; search a smaller folder or for something rarer)"));
    }
    if progress.long > 0 {
        text.push_str(&format!(
            "\n({} long files were searched in their first {MAX_FILE_BYTES} bytes)",
            progress.long
        ));
    }
    let hits: Vec<_> = progress.hits.iter().map(hit_json).collect();
    ToolboxOutput {
        text,
        structured: Some(json!({ "path": shown, "hits": hits, "complete": progress.ended.is_none() })),
    }
}

fn hit_json(hit: &FileHit) -> Value {
    match &hit.line {
        Some((number, line)) => json!({ "path": hit.path, "line": number, "text": line }),
        None => json!({ "path": hit.path }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::roots::tests::Sandbox;
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn arguments(path: &str, text: &str, name: &str) -> SearchFilesArguments {
        SearchFilesArguments { path: path.into(), text: Some(text.into()), name: Some(name.into()) }
    }

    async fn search(
        sandbox: &Sandbox,
        path: &str,
        text: &str,
        name: &str,
    ) -> Result<ToolboxOutput, FileToolError> {
        search_files(arguments(path, text, name), &sandbox.roots, LONG).await
    }

    fn sandbox() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.put("notes/a.md", "first\nThe DENTIST at nine\n");
        sandbox.put("notes/2026/b.txt", "dentist again");
        sandbox.put("notes/2026/c.md", "nothing");
        sandbox.put("notes/image.png", b"dentist\0");
        sandbox.put("library/d.md", "dentist");
        sandbox.link("../library", "notes/link");
        sandbox.link("../secret.txt", "notes/secret");
        sandbox
    }

    #[tokio::test]
    async fn texts_are_found_with_their_lines() {
        let output = search(&sandbox(), "notes", "dentist", "").await.unwrap();
        assert_eq!(
            output.text,
            "2 hits in notes:\nnotes/a.md:2: The DENTIST at nine\nnotes/2026/b.txt:1: dentist again"
        );
        assert_eq!(
            output.structured.unwrap(),
            json!({
                "path": "notes",
                "hits": [
                    { "path": "notes/a.md", "line": 2, "text": "The DENTIST at nine" },
                    { "path": "notes/2026/b.txt", "line": 1, "text": "dentist again" },
                ],
                "complete": true,
            })
        );
    }

    #[tokio::test]
    async fn names_are_found() {
        for (path, text, name, found) in [
            ("notes", "", "*.md", "2 hits in notes:\nnotes/a.md\nnotes/2026/c.md"),
            ("notes", "", "2026/*", "2 hits in notes:\nnotes/2026/b.txt\nnotes/2026/c.md"),
            ("notes/2026", "", "?.MD", "1 hit in notes/2026:\nnotes/2026/c.md"),
            ("notes", "dentist", "*.txt", "1 hit in notes:\nnotes/2026/b.txt:1: dentist again"),
            ("notes", "the secret", "", "Nothing was found in notes."),
            ("notes", "", "d.md", "Nothing was found in notes."),
        ] {
            assert_eq!(
                search(&sandbox(), path, text, name).await.unwrap().text,
                found,
                "{path} {text} {name}"
            );
        }
    }

    #[tokio::test]
    async fn arguments_are_checked() {
        let sandbox = sandbox();
        let long = "x".repeat(MAX_WANTED_BYTES + 1);
        for (text, name) in [("", ""), (long.as_str(), ""), ("", long.as_str())] {
            assert!(matches!(
                search(&sandbox, "notes", text, name).await,
                Err(FileToolError::BadArguments(_))
            ));
        }
        assert!(matches!(search(&sandbox, "notes/none", "x", "").await, Err(FileToolError::NotFound(_))));
        assert!(matches!(search(&sandbox, "notes/a.md", "x", "").await, Err(FileToolError::NotAFolder(_))));
        assert!(matches!(search(&sandbox, "notes/link", "x", "").await, Err(FileToolError::Outside(_))));
    }

    #[tokio::test]
    async fn hits_are_bounded() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/a", "x\n".repeat(MAX_HITS));
        let output = search(&sandbox, "notes", "x", "").await.unwrap();
        assert_eq!(output.structured.unwrap()["complete"], true);
        sandbox.put("notes/a", "x\n".repeat(MAX_HITS + 1));
        let output = search(&sandbox, "notes", "x", "").await.unwrap();
        assert!(output.text.contains("(incomplete: there are more than 100 hits;"), "{}", output.text);
        assert_eq!(output.structured.unwrap()["hits"].as_array().unwrap().len(), MAX_HITS);
    }

    #[tokio::test]
    async fn long_files_are_searched_up_to_the_limit() {
        let sandbox = Sandbox::new();
        let size = usize::try_from(MAX_FILE_BYTES).unwrap();
        sandbox.put("notes/a", format!("{}\nbeyond", "x".repeat(size)));
        let output = search(&sandbox, "notes", "beyond", "").await.unwrap();
        assert!(output.text.starts_with("Nothing was found"), "{}", output.text);
        assert!(
            output.text.ends_with("(1 long files were searched in their first 4194304 bytes)"),
            "{}",
            output.text
        );
    }

    #[test]
    fn the_sum_of_bytes_and_of_files_is_bounded() {
        let sandbox = sandbox();
        let run = |mut found: SearchProgress| {
            let place = sandbox.roots.resolve_path("notes").unwrap();
            let wanted = search_criteria(&arguments("notes", "dentist", "")).unwrap();
            walk_folders(&place.root.dir, &place, &wanted, &mut found, &|| false);
            found
        };
        let found = run(SearchProgress { read: MAX_SEARCH_BYTES, ..SearchProgress::default() });
        assert_eq!((found.hits.len(), found.ended.unwrap().as_str()), (0, "67108864 bytes were read"));
        let found = run(SearchProgress { visited: MAX_VISITED, ..SearchProgress::default() });
        assert_eq!(
            (found.hits.len(), found.ended.unwrap().as_str()),
            (0, "more than 20000 files and folders")
        );
    }

    #[tokio::test]
    async fn depth_is_bounded() {
        let sandbox = Sandbox::new();
        let folders = |depth| "d/".repeat(depth);
        sandbox.put(&format!("notes/{}in", folders(MAX_SEARCH_DEPTH)), "x");
        sandbox.put(&format!("notes/{}out", folders(MAX_SEARCH_DEPTH + 1)), "x");
        let output = search(&sandbox, "notes", "x", "").await.unwrap();
        assert_eq!(output.structured.unwrap()["hits"].as_array().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn the_time_is_bounded() {
        let output =
            search_files(arguments("notes", "dentist", ""), &sandbox().roots, Duration::ZERO).await.unwrap();
        assert!(output.text.contains("(incomplete: the time limit was reached;"), "{}", output.text);
    }

    #[test]
    fn long_lines_are_shown_in_part() {
        let line = format!("{}needle{}", "a".repeat(1_000), "b".repeat(1_000));
        let shown = excerpt_around(&line, "needle");
        assert!(shown.starts_with("…a") && shown.contains("needle") && shown.ends_with("b…"), "{shown}");
        assert_eq!(shown.chars().count(), SHOWN_CHARS + 2);
    }

    #[test]
    fn a_match_is_shown_after_characters_that_change_length_in_lower_case() {
        // `İ` becomes two characters in lower case.
        let line = format!("{}needle{}", "İ".repeat(1_000), "b".repeat(1_000));
        let shown = excerpt_around(&line, "needle");
        assert!(shown.starts_with("…İ") && shown.contains("needle") && shown.ends_with("b…"), "{shown}");
        assert_eq!(excerpt_around("ẞ needle", "needle"), "ẞ needle");
    }
}
