//! `read_file`: a text file, or a page of it.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use cap_std::fs::{Dir, File};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::FileToolError;
use super::roots::FileRoots;
use crate::blocking;
use crate::spec::{ToolboxHints, ToolboxOutput, ToolboxSpec, schema_of};

/// Most bytes per page, and the default.
pub const DEFAULT_PAGE_BYTES: u64 = 256 * 1024;

/// How far to search for a line, in bytes.
pub const MAX_SCAN_BYTES: u64 = 64 * 1024 * 1024;

/// The arguments of `read_file`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFileArguments {
    /// The file, for example `notes/2026/march.md`.
    pub path: String,
    /// First line to read, counted from 1. Leave it out to begin at the beginning.
    pub start_line: Option<u64>,
    /// First byte to read. To continue after a cut, use the number in the previous output.
    pub start: Option<u64>,
    /// Most bytes to read, for example 4000. 262144 if left out, which is also the maximum.
    pub max_bytes: Option<u64>,
}

pub(super) fn read_file_spec() -> ToolboxSpec {
    ToolboxSpec {
        name: "read_file",
        title: "Read a file",
        description: "Reads a text file. Long files come in pages; each answer says whether there is more and where to \
                      continue.",
        input_schema: schema_of::<ReadFileArguments>(),
        hints: ToolboxHints::READ_ONLY,
    }
}

/// Reads a file, or a page of it.
pub async fn read_file(
    arguments: ReadFileArguments,
    roots: &FileRoots,
) -> Result<ToolboxOutput, FileToolError> {
    let roots = roots.clone();
    blocking::run_blocking(move || read_file_page(&arguments, &roots)).await?
}

fn read_file_page(arguments: &ReadFileArguments, roots: &FileRoots) -> Result<ToolboxOutput, FileToolError> {
    let place = roots.resolve_path(&arguments.path)?;
    let shown = place.display_path();
    place.check_visible()?;
    let mut file = open_regular_file(&place.root.dir, &place.relative, &shown)?;
    let failed = |error| FileToolError::from_io(&error, &shown);
    let size = file.metadata().map_err(failed)?.len();
    let start = match (arguments.start_line, arguments.start) {
        (Some(_), Some(_)) => return Err(FileToolError::BadArguments("give `start_line` or `start`, not both")),
        (Some(0), None) => return Err(FileToolError::BadArguments("`start_line` counts from 1")),
        (Some(line), None) => start_of_line(&file, line).map_err(failed)?.ok_or(FileToolError::BadArguments(
            "the file has no such line, or it is too far down; leave `start_line` out to see the beginning",
        ))?,
        (None, start) => start.unwrap_or(0),
    };
    if start > size {
        return Err(FileToolError::BadArguments(
            "`start` is behind the end of the file; begin at a smaller number",
        ));
    }
    let limit = arguments.max_bytes.unwrap_or(DEFAULT_PAGE_BYTES).clamp(1, DEFAULT_PAGE_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut bytes = Vec::new();
    // Four more than requested, so that one character always fits.
    file.take(limit + 4).read_to_end(&mut bytes).map_err(failed)?;
    let page = cut_page(&bytes, usize::try_from(limit).unwrap_or(usize::MAX), start > 0)
        .ok_or_else(|| FileToolError::Binary(shown.clone()))?;

    let from = start + page.skipped as u64;
    let end = from + page.text.len() as u64;
    let mut text = page.text.to_owned();
    let next = (end < size).then_some(end);
    if let Some(next) = next {
        text.push_str(&format!(
            "\n(cut: these are bytes {from} to {end} of {size}; continue with start={next})"
        ));
    }
    let structured = json!({ "path": shown, "start": from, "end": end, "size": size, "next_start": next });
    Ok(ToolboxOutput { text, structured: Some(structured) })
}

/// Opens a regular file only: opening or reading a pipe or a device may block forever.
pub(super) fn open_regular_file(dir: &Dir, relative: &str, shown: &str) -> Result<File, FileToolError> {
    let failed = |error| FileToolError::from_io(&error, shown);
    if !dir.metadata(relative).map_err(failed)?.is_file() {
        return Err(FileToolError::NotAFile(shown.to_owned()));
    }
    dir.open(relative).map_err(failed)
}

/// Where a line begins; `None` if there is no such line within [`MAX_SCAN_BYTES`].
fn start_of_line(file: &File, line: u64) -> std::io::Result<Option<u64>> {
    let mut reader = BufReader::new(file.try_clone()?.take(MAX_SCAN_BYTES));
    let (mut at, mut current) = (0, 1);
    while current < line {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let found = buffer.iter().position(|byte| *byte == b'\n');
        let used = found.map_or(buffer.len(), |end| end + 1);
        current += u64::from(found.is_some());
        at += used as u64;
        reader.consume(used);
    }
    Ok(Some(at))
}

struct FilePage<'a> {
    /// Bytes before the first whole character.
    skipped: usize,
    text: &'a str,
}

/// The bytes of one page: whole characters, whole lines if there is a line end. `None` if it is not text.
fn cut_page(bytes: &[u8], limit: usize, is_inside: bool) -> Option<FilePage<'_>> {
    let is_rest = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let skipped = if is_inside { bytes.iter().take(3).take_while(|byte| is_rest(byte)).count() } else { 0 };
    let bytes = &bytes[skipped..];
    if bytes.contains(&0) {
        return None;
    }
    let is_last = bytes.len() + skipped < limit + 4;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // A character that is cut at the end.
        Err(error) if error.error_len().is_none() && !is_last => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    if text.len() <= limit {
        return Some(FilePage { skipped, text });
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == 0 {
        end = text.chars().next().map_or(0, char::len_utf8);
    }
    let end = text[..end].rfind('\n').map_or(end, |line_end| line_end + 1);
    Some(FilePage { skipped, text: &text[..end] })
}

#[cfg(test)]
mod tests {
    use super::super::roots::tests::Sandbox;
    use super::*;

    async fn read(sandbox: &Sandbox, path: &str) -> Result<ToolboxOutput, FileToolError> {
        read_file(ReadFileArguments { path: path.to_owned(), ..Default::default() }, &sandbox.roots).await
    }

    async fn read_from(
        sandbox: &Sandbox,
        arguments: ReadFileArguments,
    ) -> Result<ToolboxOutput, FileToolError> {
        read_file(ReadFileArguments { path: "notes/a.md".to_owned(), ..arguments }, &sandbox.roots).await
    }

    #[tokio::test]
    async fn a_file_is_read_whole() {
        let sandbox = Sandbox::new();
        sandbox.put("library/a.md", "über\nalles\n");
        sandbox.put("notes/empty", "");
        let output = read(&sandbox, "library/a.md").await.unwrap();
        assert_eq!(output.text, "über\nalles\n");
        assert_eq!(
            output.structured.unwrap(),
            json!({ "path": "library/a.md", "start": 0, "end": 12, "size": 12, "next_start": null })
        );
        assert_eq!(read(&sandbox, "notes/empty").await.unwrap().text, "");
    }

    #[tokio::test]
    async fn a_long_file_comes_in_pages_that_make_the_whole() {
        let sandbox = Sandbox::new();
        for whole in ["one\ntwo\nthree\nfour\n".repeat(20), "äöü€😀".repeat(30), "x".repeat(200)] {
            sandbox.put("notes/a.md", &whole);
            for max in [1, 2, 3, 7, 10, 64] {
                let (mut start, mut pages) = (Some(0), String::new());
                while let Some(from) = start {
                    let arguments =
                        ReadFileArguments { start: Some(from), max_bytes: Some(max), ..Default::default() };
                    let output = read_from(&sandbox, arguments).await.unwrap();
                    let structured = output.structured.unwrap();
                    start = structured["next_start"].as_u64();
                    let body =
                        output.text.rsplit_once("\n(cut: ").map_or(output.text.as_str(), |(body, _)| body);
                    pages.push_str(body);
                }
                assert_eq!(pages, whole, "pages of {max}");
            }
        }
    }

    #[tokio::test]
    async fn a_cut_page_says_where_to_continue() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/a.md", "one\ntwo\nthree\n");
        let arguments = ReadFileArguments { max_bytes: Some(9), ..Default::default() };
        let output = read_from(&sandbox, arguments).await.unwrap();
        assert_eq!(output.text, "one\ntwo\n\n(cut: these are bytes 0 to 8 of 14; continue with start=8)");
        let default_page = usize::try_from(DEFAULT_PAGE_BYTES).unwrap();
        sandbox.put("notes/a.md", "x".repeat(default_page + 1));
        for max_bytes in [None, Some(u64::MAX)] {
            let output =
                read_from(&sandbox, ReadFileArguments { max_bytes, ..Default::default() }).await.unwrap();
            assert_eq!(output.structured.unwrap()["next_start"], DEFAULT_PAGE_BYTES);
        }
    }

    #[tokio::test]
    async fn a_start_line_can_be_requested() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/a.md", "one\ntwo\nthree");
        for (line, text) in [(1, "one\ntwo\nthree"), (2, "two\nthree"), (3, "three")] {
            let arguments = ReadFileArguments { start_line: Some(line), ..Default::default() };
            assert_eq!(read_from(&sandbox, arguments).await.unwrap().text, text);
        }
        for wrong in [
            ReadFileArguments { start_line: Some(4), ..Default::default() },
            ReadFileArguments { start_line: Some(0), ..Default::default() },
            ReadFileArguments { start_line: Some(1), start: Some(1), ..Default::default() },
            ReadFileArguments { start: Some(14), ..Default::default() },
        ] {
            let outcome = read_from(&sandbox, wrong).await;
            assert!(matches!(outcome, Err(FileToolError::BadArguments(_))), "{outcome:?}");
        }
    }

    #[tokio::test]
    async fn a_line_is_not_looked_for_without_end() {
        let sandbox = Sandbox::new();
        let file = std::fs::File::create(sandbox.path("notes/a.md")).unwrap();
        file.set_len(MAX_SCAN_BYTES * 2).unwrap();
        let arguments = ReadFileArguments { start_line: Some(2), ..Default::default() };
        assert!(matches!(read_from(&sandbox, arguments).await, Err(FileToolError::BadArguments(_))));
    }

    #[tokio::test]
    async fn binary_files_are_refused_in_words() {
        let sandbox = Sandbox::new();
        for content in [&b"\x89PNG\r\n\x1a\n\0\0"[..], b"a\0b", b"caf\xe9 latin", b"cut off \xe2\x82"] {
            sandbox.put("notes/a.md", content);
            let error = read(&sandbox, "notes/a.md").await.unwrap_err();
            assert_eq!(error.to_string(), "`notes/a.md` is not a text file (UTF-8), so it cannot be shown");
        }
    }

    #[tokio::test]
    async fn only_files_are_read() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/sub/a.md", "");
        for path in ["notes", "notes/sub"] {
            assert_eq!(read(&sandbox, path).await, Err(FileToolError::NotAFile(path.into())));
        }
        assert_eq!(
            read(&sandbox, "notes/none.md").await,
            Err(FileToolError::NotFound("notes/none.md".into()))
        );
        let made = std::process::Command::new("mkfifo").arg(sandbox.path("notes/pipe")).status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(read(&sandbox, "notes/pipe").await, Err(FileToolError::NotAFile("notes/pipe".into())));
        }
    }

    #[tokio::test]
    async fn nothing_leads_out_of_a_root() {
        let sandbox = Sandbox::new();
        sandbox.put("notes/sub/a.md", "inside");
        sandbox.link("../secret.txt", "notes/by-link");
        sandbox.link(sandbox.path("secret.txt").to_str().unwrap(), "notes/by-absolute-link");
        sandbox.link("..", "notes/up");
        sandbox.link("up", "notes/up-twice");
        sandbox.link("sub/a.md", "notes/within");
        for path in
            ["notes/by-link", "notes/by-absolute-link", "notes/up/secret.txt", "notes/up-twice/secret.txt"]
        {
            assert_eq!(read(&sandbox, path).await, Err(FileToolError::Outside(path.into())), "{path}");
        }
        for path in ["notes/../secret.txt", "../secret.txt", "/etc/passwd"] {
            assert!(read(&sandbox, path).await.is_err(), "{path}");
        }
        assert_eq!(read(&sandbox, "notes/within").await.unwrap().text, "inside");
    }
}
