//! Databases of a real PostgreSQL for tests.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

/// Starts the server, creates databases and drops them.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres.sh");

/// The URL of an empty database that is dropped when this process ends.
///
/// # Panics
/// If there is no PostgreSQL, and it cannot be installed.
pub fn database_for_process() -> String {
    create_database(&["create-for", &std::process::id().to_string()])
}

fn create_database(args: &[&str]) -> String {
    let made = Command::new(SCRIPT).args(args).output().expect("bash is installed");
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "no PostgreSQL for tests: {errors}");
    String::from_utf8_lossy(&made.stdout).trim().to_owned()
}

/// An empty database, dropped with this value.
#[derive(Debug)]
pub struct TestDatabase {
    /// Its URL.
    pub url: String,
}

impl TestDatabase {
    /// Creates one. Installs and starts the server if needed.
    ///
    /// # Panics
    /// If there is no PostgreSQL, and it cannot be installed.
    pub fn create() -> Self {
        Self { url: create_database(&["create"]) }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // What is left over goes with the server.
        let _ = Command::new(SCRIPT).args(["drop", &self.url]).output();
    }
}

/// A server of its own, with an empty database, for tests that stop it.
#[derive(Debug)]
pub struct TestServer {
    /// The URL of the database.
    pub url: String,
    folder: PathBuf,
}

impl TestServer {
    /// Starts one.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn launch() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Short: the path of a socket has at most 107 bytes.
        let folder = std::env::temp_dir().join(format!("toolyard-pg-{}-{number}", std::process::id()));
        let mut server = Self { url: String::new(), folder };
        server.url = String::from_utf8_lossy(&server.run("create").stdout).trim().to_owned();
        server
    }

    /// Stops it; connections end.
    pub fn halt(&self) {
        self.run("halt");
    }

    /// Starts it again, with its data.
    pub fn start(&self) {
        self.run("start");
    }

    fn run(&self, verb: &str) -> Output {
        let mut command = Command::new(SCRIPT);
        command.arg(verb).env("TOOLYARD_TEST_POSTGRES_FOLDER", &self.folder);
        let done = command.env("TOOLYARD_TEST_POSTGRES_KEEP", "1").output().expect("bash is installed");
        assert!(done.status.success(), "{verb}: {}", String::from_utf8_lossy(&done.stderr));
        done
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let mut command = Command::new(SCRIPT);
        let _ = command.arg("stop").env("TOOLYARD_TEST_POSTGRES_FOLDER", &self.folder).output();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
