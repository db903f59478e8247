//! A server in a process of its own whose worker threads are stuck, which no request can bring about here.

#![cfg(test)]
#![cfg(unix)]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    time::Duration,
};

use toolyard_server::{Server, ServerDependencies, config::Config, process::StopSignals, telemetry};

/// Says to this very program that it is the server, and where its data are.
const DATA: &str = "STUCK_SERVER_DATA";
/// How many of its two workers are stuck.
const STUCK: &str = "STUCK_SERVER_WORKERS";
/// How long its stop may take.
const STOP: Duration = Duration::from_millis(300);

/// No test: the server that the tests below start.
#[test]
fn stuck_server() {
    let (Some(data), Some(stuck)) = (std::env::var_os(DATA), std::env::var_os(STUCK)) else { return };
    let stuck: usize = stuck.to_str().unwrap().parse().unwrap();
    let mut config = Config::default();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    config.store.path = Path::new(&data).join("toolyard.db");
    config.server.drain_ms = 100;
    config.server.stuck_after_ms = 200;
    config.model_search.local_servers = false;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let _log = telemetry::init_log(&config.log).unwrap();
        let signals = StopSignals::listen(STOP).unwrap();
        let server = Server::start(config, ServerDependencies::with_environment(&[])).await.unwrap();
        println!("listening on {}", server.address);
        for _ in 0..stuck {
            server.state.lifecycle.spawn(async {
                println!("stuck");
                loop {
                    std::thread::park();
                }
            });
        }
        server.run(signals.stop_token()).await;
    });
}

struct StuckServer {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
    address: String,
    _folder: tempfile::TempDir,
}

impl StuckServer {
    fn start(stuck: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "stuck_server", "--nocapture"]);
        command.env(DATA, folder.path()).env(STUCK, stuck.to_string());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        let mut server = Self { child, out, err, address: String::new(), _folder: folder };
        let line = line_with(&mut server.out, "listening on ");
        server.address = line.rsplit(' ').next().unwrap().to_owned();
        for _ in 0..stuck {
            line_with(&mut server.out, "stuck");
        }
        server
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        self.err.read_to_string(&mut said).unwrap();
        (code, said)
    }
}

fn line_with(lines: &mut impl std::io::BufRead, words: &str) -> String {
    lines.lines().map(Result::unwrap).find(|line| line.contains(words)).unwrap()
}

#[test]
fn a_server_with_all_workers_stuck_ends_after_a_signal() {
    let server = StuckServer::start(2);
    server.signal("-TERM");
    let (code, said) = server.end();
    assert_eq!(code, Some(124), "{said}");
    assert!(said.contains("still running 300 ms after the signal to stop"), "{said}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut server = StuckServer::start(2);
    server.signal("-INT");
    line_with(&mut server.err, "a second signal exits immediately");
    server.signal("-INT");
    assert_eq!(server.end().0, Some(130));
}

#[test]
fn a_stuck_worker_is_reported() {
    let mut server = StuckServer::start(1);
    let line = line_with(&mut server.err, "worker thread makes no progress");
    assert!(line.contains("worker=") && line.contains("workers=2"), "{line}");
    let mut ready = server.get("/readyz");
    while ready.starts_with("HTTP/1.1 200") {
        ready = server.get("/readyz");
    }
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("1 of the server"), "{ready}");
    assert!(server.get("/metrics").contains("toolyard_workers_stuck 1"));
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"), "the other worker lives");
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(124));
}

#[test]
fn all_workers_stuck_are_reported_though_nothing_answers() {
    let mut server = StuckServer::start(2);
    for _ in 0..2 {
        line_with(&mut server.err, "worker thread makes no progress");
    }
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(124));
}
