//! The table of files, built by `build.rs` from `web/console/dist`, or by a test.

use std::borrow::Cow;

/// One file.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleFile {
    /// The path in the folder of the built console, with slashes: `assets/index-1a2b.js`.
    pub path: &'static str,
    /// Its content type.
    pub kind: &'static str,
    /// The ETag, without quotes.
    pub etag: &'static str,
    /// The content.
    pub bytes: &'static [u8],
    /// The content compressed with brotli.
    pub brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/console_files.rs"));

/// The files of a console, looked up by their exact path.
#[derive(Debug, Clone)]
pub struct ConsoleFiles(Cow<'static, [ConsoleFile]>);

impl ConsoleFiles {
    /// The console that was built into this program. Empty if it was not built.
    pub const fn from_build() -> Self {
        Self(Cow::Borrowed(BUILT))
    }

    /// A console of these files.
    pub fn new(mut files: Vec<ConsoleFile>) -> Self {
        files.sort_by_key(|file| file.path);
        Self(Cow::Owned(files))
    }

    /// The file at a path.
    pub fn find(&self, path: &str) -> Option<&ConsoleFile> {
        let place = self.0.binary_search_by_key(&path, |file| file.path).ok()?;
        self.0.get(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_is_sorted_and_found() {
        let ConsoleFiles(files) = ConsoleFiles::from_build();
        assert!(files.is_sorted_by(|a, b| a.path < b.path), "binary search needs it");
        for file in files.iter() {
            assert_eq!(ConsoleFiles::from_build().find(file.path).map(|found| found.path), Some(file.path));
        }
        assert!(ConsoleFiles::from_build().find("../Cargo.toml").is_none());
    }

    #[test]
    fn files_are_found_in_whatever_order_they_came() {
        let file = |path| ConsoleFile { path, kind: "text/plain", etag: "1", bytes: b"x", brotli: None };
        let files = ConsoleFiles::new(vec![file("b"), file("a/c"), file("a")]);
        for path in ["a", "a/c", "b"] {
            assert_eq!(files.find(path).map(|file| file.path), Some(path));
        }
        assert!(files.find("c").is_none() && files.find("").is_none());
    }
}
