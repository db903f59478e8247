//! A real NATS server for tests.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

use parking_lot::Mutex;

/// Downloads the server.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/nats.sh");

fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let fetched = Command::new(SCRIPT).arg("fetch").output().expect("bash is installed");
        let errors = String::from_utf8_lossy(&fetched.stderr);
        assert!(fetched.status.success(), "no NATS for tests: {errors}");
        String::from_utf8_lossy(&fetched.stdout).trim().to_owned()
    })
}

/// A server that ends with this value.
#[derive(Debug)]
pub struct NatsServer {
    /// Its URL.
    pub url: String,
    port: u16,
    process: Mutex<Option<Child>>,
}

impl NatsServer {
    /// Starts one.
    ///
    /// # Panics
    /// If it cannot be downloaded or started.
    pub fn launch() -> Self {
        // Free a moment ago; nothing else in a test asks for a certain port.
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a free port")
            .port();
        let server = Self { url: format!("nats://127.0.0.1:{port}"), port, process: Mutex::new(None) };
        server.start();
        server
    }

    /// Starts it again under the same address.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(&self) {
        let mut command = Command::new(program());
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string()]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        *self.process.lock() = Some(process.expect("the NATS server starts"));
    }

    /// Stops it; connections end.
    pub fn halt(&self) {
        if let Some(mut process) = self.process.lock().take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.halt();
    }
}
