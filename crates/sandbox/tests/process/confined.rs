//! What a worker has: nothing but its socket. It ends with its parent.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{command, patient, pool, slots};

/// Files that the starter of this test left open for every child process; this program opens none like that.
fn inherited_files() -> Vec<PathBuf> {
    let close_on_exec = 0o2_000_000;
    let is_inherited = |name: &OsStr| {
        let info = std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(name)).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.is_some_and(|flags| u32::from_str_radix(flags.trim(), 8).unwrap() & close_on_exec == 0)
    };
    let open = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap());
    open.filter(|entry| is_inherited(&entry.file_name()))
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .collect()
}

#[tokio::test]
async fn a_worker_has_no_environment_and_no_open_files_but_its_socket() {
    let pool = pool(patient(), slots(1)).await;
    assert_eq!(
        pool.is_confined(),
        cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))
    );
    let worker = pool.idle_workers()[0];
    assert_eq!(std::fs::read(format!("/proc/{worker}/environ")).unwrap(), b"");
    let inherited = inherited_files();
    for entry in std::fs::read_dir(format!("/proc/{worker}/fd")).unwrap() {
        let target = std::fs::read_link(entry.unwrap().path()).unwrap();
        let is_expected =
            target.to_str().is_some_and(|name| name == "/dev/null" || name.starts_with("socket:"));
        assert!(is_expected || inherited.contains(&target), "{}", target.display());
    }
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.lines().any(|found| found == line), "{line} in {status}");
    }
    let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
    for (limit, most) in [("Max core file size", "0"), ("Max file size", "0"), ("Max open files", "16")] {
        let line = limits.lines().find(|line| line.starts_with(limit)).unwrap();
        assert_eq!(line[limit.len()..].split_whitespace().next(), Some(most), "{line}");
    }
}

#[test]
fn a_worker_ends_when_its_parent_is_gone() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut worker =
        Command::new(command().program).stdin(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
    drop(ours);
    assert!(worker.wait().unwrap().success());
}
