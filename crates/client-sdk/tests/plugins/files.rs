use serde_json::json;
use tempfile::TempDir;
use toolyard_client_sdk::{
    Tool,
    plugins::files::{FilesOptions, RootAccess, RootError, RootSettings, file_tools, files},
};

use crate::world::{call, check_rules, names};

struct Folders(TempDir);

impl Folders {
    /// `notes` can be written, `library` only read; next to them is a file that must not be reached.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["notes", "library"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("library/book.txt"), "Call me Ishmael.\n").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "the secret").unwrap();
        std::os::unix::fs::symlink("../secret.txt", folder.path().join("library/link")).unwrap();
        Self(folder)
    }

    fn roots(&self) -> [RootSettings; 2] {
        let root = |name: &str, access| RootSettings {
            name: name.to_owned(),
            folder: self.0.path().join(name),
            access,
        };
        [root("notes", RootAccess::Write), root("library", RootAccess::Read)]
    }

    fn tools(&self, options: FilesOptions) -> Vec<Tool> {
        file_tools(self.roots(), options).unwrap()
    }
}

#[tokio::test]
async fn files_are_written_listed_read_and_found() {
    let folders = Folders::new();
    let tools = folders.tools(FilesOptions::default());
    check_rules(&tools);
    assert_eq!(names(&tools), ["list_files", "read_file", "write_file", "search_files"]);

    let listed = call(&tools, "list_files", json!({})).await.unwrap();
    assert_eq!(listed, "notes/ (can be written)\nlibrary/ (read only)");
    call(&tools, "write_file", json!({ "path": "notes/a/b.md", "content": "buy tea" })).await.unwrap();
    assert_eq!(std::fs::read_to_string(folders.0.path().join("notes/a/b.md")).unwrap(), "buy tea");
    let read = call(&tools, "read_file", json!({ "path": "library/book.txt" })).await.unwrap();
    assert!(read.as_str().unwrap().contains("Ishmael"), "{read}");
    let found = call(&tools, "search_files", json!({ "path": "notes", "text": "TEA" })).await.unwrap();
    assert!(found.as_str().unwrap().contains("notes/a/b.md"), "{found}");
}

#[tokio::test]
async fn nothing_outside_the_folders_can_be_reached() {
    let folders = Folders::new();
    let tools = folders.tools(FilesOptions::default());
    for path in ["/etc/passwd", "notes/../secret.txt", "../secret.txt", "library/link", "secret.txt"] {
        let error = call(&tools, "read_file", json!({ "path": path })).await.unwrap_err();
        assert!(!error.contains("the secret"), "{path}: {error}");
    }
    let error = call(&tools, "write_file", json!({ "path": "library/x", "content": "" })).await.unwrap_err();
    assert!(error.contains("only be read"), "{error}");
}

#[tokio::test]
async fn read_only_means_that_nothing_can_be_written_anywhere() {
    let folders = Folders::new();
    let tools = folders.tools(FilesOptions { read_only: true, ..FilesOptions::default() });
    assert_eq!(names(&tools), ["list_files", "read_file", "search_files"]);
    let listed = call(&tools, "list_files", json!({})).await.unwrap();
    assert_eq!(listed, "notes/ (read only)\nlibrary/ (read only)");
}

#[tokio::test]
async fn wrong_arguments_and_wrong_folders_say_what_is_wrong() {
    let folders = Folders::new();
    let tools = folders.tools(FilesOptions::default());
    let error = call(&tools, "read_file", json!({ "file": "x" })).await.unwrap_err();
    assert!(error.contains("unknown field `file`"), "{error}");
    let mut roots = folders.roots();
    roots[0].folder = folders.0.path().join("none");
    assert!(matches!(files(roots, FilesOptions::default()), Err(RootError::Open { .. })));
    assert_eq!(files(folders.roots(), FilesOptions::default()).unwrap().name(), "files");
}
