//! Files in the configured folders, and nowhere else.

use serde_json::json;
use toolyard_server::config::RootConfig;

use super::{bad, good, with_tools};
use crate::platform::{Device, Platform};

fn root(name: &str, folder: std::path::PathBuf, write: bool, shared: Option<bool>) -> RootConfig {
    RootConfig { name: name.to_owned(), folder, write, shared, hidden: false }
}

/// A server with the folders `notes`, writable and shared, and `fixed`, read-only.
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
        config.builtin.roots = vec![
            root("notes", folder.join("notes"), true, Some(true)),
            root("fixed", folder.join("fixed"), false, None),
        ];
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
async fn paths_cannot_leave_the_folder() {
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
        // No path of the machine is shown.
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
async fn read_only_folders_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (p, _device) = with_roots(folder.path()).await;
    good(&p, "read_file", json!({ "path": "fixed/rules.md" })).await;
    let told = bad(&p, "write_file", json!({ "path": "fixed/rules.md", "content": "yes" })).await;
    assert!(told.contains("fixed"), "{told}");
    assert_eq!(std::fs::read_to_string(folder.path().join("fixed/rules.md")).unwrap(), "no\n");
}

#[tokio::test]
async fn users_do_not_see_each_others_files_unless_the_operator_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own", "common", "by-path"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let (p, _device) = with_tools(|config| {
        config.builtin.roots = vec![
            root("own", folder.path().join("own"), true, None),
            root("common", folder.path().join("common"), true, Some(true)),
            root("path", folder.path().join("by-path/{user}/notes"), true, Some(true)),
        ];
    })
    .await;
    let _bobs = p.device("bob").await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    for name in ["own", "common", "path"] {
        let write = json!({ "path": format!("{name}/diary.md"), "content": "ada's secret" });
        ada.call("toolyard:write_file", write).await.expect(200);
        let read = json!({ "path": format!("{name}/diary.md") });
        assert!(ada.call("toolyard:read_file", read.clone()).await.expect(200).text.contains("secret"));
        let seen = bob.call("toolyard:read_file", read).await.text;
        assert_eq!(seen.contains("secret"), name == "common", "{name}: {seen}");
        let found = json!({ "path": name, "text": "secret" });
        let found = bob.call("toolyard:search_files", found).await.text;
        assert_eq!(found.contains("diary"), name == "common", "{name}: {found}");
        let list = bob.call("toolyard:list_files", json!({ "path": name })).await.text;
        assert_eq!(list.contains("diary") || list.contains("/ada"), name == "common", "{name}: {list}");
    }
    for path in ["own/ada/diary.md", "own/../ada/diary.md", "path/../../ada/notes/diary.md"] {
        let seen = bob.call("toolyard:read_file", json!({ "path": path })).await.text;
        assert!(!seen.contains("secret"), "{path}: {seen}");
    }
    assert!(folder.path().join("own/ada/diary.md").exists());
    assert!(folder.path().join("by-path/ada/notes/diary.md").exists());
}

#[tokio::test]
async fn hidden_files_are_neither_listed_nor_read_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
    std::fs::write(folder.path().join(".env"), "KEY=sesame").unwrap();
    std::fs::write(folder.path().join(".git/config"), "sesame").unwrap();
    std::fs::write(folder.path().join("seen.md"), "fine").unwrap();
    std::os::unix::fs::symlink(".git", folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(".env", folder.path().join("link.txt")).unwrap();
    let start = async |hidden| {
        with_tools(|config| {
            let all = root("all", folder.path().to_owned(), true, Some(true));
            config.builtin.roots = vec![RootConfig { hidden, ..all }];
        })
        .await
    };
    let (p, _device) = start(false).await;
    let list = good(&p, "list_files", json!({ "path": "all" })).await;
    assert!(list.contains("seen.md") && !list.contains(".env") && !list.contains(".git"), "{list}");
    let found = good(&p, "search_files", json!({ "path": "all", "text": "sesame" })).await;
    assert!(found.contains("Nothing was found"), "{found}");
    for path in ["all/.env", "all/.git/config", "all/link/config", "all/link.txt", "all/./.env"] {
        let read = p.user("ada").call("toolyard:read_file", json!({ "path": path })).await;
        assert!(!read.text.contains("sesame"), "{path}: {}", read.text);
        let write = json!({ "path": path, "content": "owned" });
        let written = p.user("ada").call("toolyard:write_file", write).await;
        assert!(!written.status.is_success(), "{path}: {}", written.text);
    }
    for path in ["all/.ssh/authorized_keys", "all/link/hooks/pre-commit", "all/link/new/x", "all/.new"] {
        bad(&p, "write_file", json!({ "path": path, "content": "owned" })).await;
    }
    assert_eq!(std::fs::read_to_string(folder.path().join(".env")).unwrap(), "KEY=sesame");
    assert_eq!(std::fs::read_dir(folder.path().join(".git/hooks")).unwrap().count(), 0);
    assert!(!folder.path().join(".git/new").exists());
    let (p, _device) = start(true).await;
    assert!(good(&p, "read_file", json!({ "path": "all/.env" })).await.contains("sesame"));
}

#[tokio::test]
async fn files_and_bytes_per_user_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own", "common"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let (p, _device) = with_tools(|config| {
        (config.builtin.files_per_user, config.builtin.file_bytes_per_user) = (4, 100);
        config.builtin.roots = vec![
            root("own", folder.path().join("own"), true, None),
            root("common", folder.path().join("common"), true, Some(true)),
        ];
    })
    .await;
    let _bobs = p.device("bob").await;
    for name in ["own", "common"] {
        let write = |path: &str, size: usize| json!({ "path": format!("{name}/{path}"), "content": "x".repeat(size) });
        // Two folders and two files.
        good(&p, "write_file", write("a/b/one", 40)).await;
        good(&p, "write_file", write("two", 10)).await;
        assert!(bad(&p, "write_file", write("three", 1)).await.contains("at most 4 files"));
        assert!(bad(&p, "write_file", write("c/d", 1)).await.contains("at most 4 files"));
        assert!(bad(&p, "write_file", write("two", 200)).await.contains("100 bytes"));
        good(&p, "write_file", write("two", 20)).await;
        // Others have their own.
        p.user("bob").call("toolyard:write_file", write("three", 50)).await.expect(200);
    }
}
