//! Files, in the folders that the operator named and nowhere else.

use serde_json::json;
use toolyard_server::config::RootConfig;

use super::{bad, good, with_tools};
use crate::platform::{Device, Platform};

/// A server with `notes`, which may be written, and `fixed`, which may not.
async fn with_roots(folder: &std::path::Path) -> (Platform, Device) {
    for name in ["notes", "fixed", "outside"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("notes/today.md"), "# Today\nbuy tea\n").unwrap();
    std::fs::write(folder.join("fixed/rules.md"), "no\n").unwrap();
    std::fs::write(folder.join("outside/secret.txt"), "sesame").unwrap();
    std::fs::write(folder.join("notes-secret.txt"), "sesame").unwrap();
    std::os::unix::fs::symlink(folder.join("outside"), folder.join("notes/link")).unwrap();
    std::os::unix::fs::symlink(folder.join("outside/secret.txt"), folder.join("notes/link.txt")).unwrap();
    with_tools(|config| {
        let root = |name: &str, write| RootConfig { name: name.to_owned(), folder: folder.join(name), write };
        config.builtin.roots = vec![root("notes", true), root("fixed", false)];
    })
    .await
}

#[tokio::test]
async fn files_are_listed_read_searched_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (p, _device) = with_roots(folder.path()).await;
    let told = good(&p, "list_files", json!({})).await;
    assert!(told.contains("notes") && told.contains("fixed") && !told.contains("outside"), "{told}");
    let told = good(&p, "list_files", json!({ "path": "notes" })).await;
    assert!(told.contains("today.md"), "{told}");
    let told = good(&p, "read_file", json!({ "path": "notes/today.md" })).await;
    assert!(told.contains("buy tea"), "{told}");
    let told = good(&p, "search_files", json!({ "path": "notes", "text": "tea" })).await;
    assert!(told.contains("today.md") && !told.contains("sesame"), "{told}");
    good(&p, "write_file", json!({ "path": "notes/new.md", "content": "hello" })).await;
    assert_eq!(std::fs::read_to_string(folder.path().join("notes/new.md")).unwrap(), "hello");
}

#[tokio::test]
async fn there_is_no_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let (p, _device) = with_roots(folder.path()).await;
    let outside = folder.path().join("outside/secret.txt");
    for path in [
        "notes/../outside/secret.txt",
        "notes/../../etc/passwd",
        "../outside/secret.txt",
        "notes/link/secret.txt",
        "notes/link.txt",
        "/etc/passwd",
        "notes//etc/passwd",
        "notes/./../outside/secret.txt",
        "notes-secret.txt",
        "outside/secret.txt",
        "notes\\..\\outside\\secret.txt",
        "notes/%2e%2e/outside/secret.txt",
        "notes/today.md\0",
        outside.to_str().unwrap(),
        "",
    ] {
        let read = p.user("ada").call("toolyard:read_file", json!({ "path": path })).await;
        assert!(!read.status.is_success() && !read.text.contains("sesame"), "{path:?}: {read:?}");
        let written =
            p.user("ada").call("toolyard:write_file", json!({ "path": path, "content": "owned" })).await;
        assert!(
            !written.status.is_success() || !path.contains("../") && !path.contains("link"),
            "{path:?}: {written:?}"
        );
        // Whatever the place is said to be, the machine's own is not told.
        assert!(
            !read.text.contains(folder.path().to_str().unwrap()) || path.starts_with('/'),
            "{path:?}: {read:?}"
        );
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "sesame");
    assert_eq!(std::fs::read_dir(folder.path().join("outside")).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(folder.path().join("notes-secret.txt")).unwrap(), "sesame");
}

#[tokio::test]
async fn what_may_be_read_may_not_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (p, _device) = with_roots(folder.path()).await;
    good(&p, "read_file", json!({ "path": "fixed/rules.md" })).await;
    let told = bad(&p, "write_file", json!({ "path": "fixed/rules.md", "content": "yes" })).await;
    assert!(told.contains("fixed"), "{told}");
    assert_eq!(std::fs::read_to_string(folder.path().join("fixed/rules.md")).unwrap(), "no\n");
}
