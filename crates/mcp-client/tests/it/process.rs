//! The life of a child process: what it gets from us, and that nothing of it is left.
#![cfg(target_os = "linux")]

use std::{
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{io::AsyncReadExt as _, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolyard_mcp_client::{
    ClientOptions, McpClient, McpClientError, McpTransport, ProtocolEra, StdioCommand,
};

use crate::world::{WAIT, next};

/// Answers the handshake; ids begin at 1.
const ANSWER: &str = r#"
answer() { read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}'; }
"#;
/// Never exits by itself, nor does its child.
const STUBBORN: &str = "trap '' TERM; sleep 1000 & answer; while :; do sleep 1000; done";

struct Shell {
    folder: TempDir,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("mkfifo").arg(folder.path().join("alive")).status().unwrap();
        assert!(made.success());
        Self { folder, tasks: TaskTracker::new(), stop: CancellationToken::new() }
    }

    /// A script that holds the pipe `alive` open, like everything that it starts.
    fn transport(&self, script: &str) -> McpTransport {
        McpTransport::Stdio(StdioCommand {
            program: "sh".to_owned(),
            args: vec!["-c".to_owned(), format!("exec 3>alive; echo $$ >&3; {ANSWER} {script}")],
            env: vec![
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("NAMED".to_owned(), "yes".to_owned()),
            ],
            cwd: Some(self.folder.path().to_owned()),
        })
    }

    fn options(&self) -> ClientOptions {
        let mut options = ClientOptions::new(self.tasks.clone(), self.stop.clone());
        options.era = ProtocolEra::Handshake;
        options.limits.exit = Duration::from_millis(300);
        options
    }

    async fn connect(&self, script: &str) -> (McpClient, Alive) {
        let alive = Alive::watch(self.folder.path());
        (McpClient::connect(self.transport(script), self.options()).await.unwrap(), alive)
    }
}

/// Reads the pipe to its end: it ends when the last process that holds it is gone.
struct Alive(tokio::task::JoinHandle<String>);

impl Alive {
    fn watch(folder: &Path) -> Self {
        let pipe = folder.join("alive");
        Self(TaskTracker::new().spawn(async move {
            let mut text = String::new();
            tokio::fs::File::open(pipe).await.unwrap().read_to_string(&mut text).await.unwrap();
            text
        }))
    }

    /// Waits for the end of all processes; returns what they wrote.
    async fn gone(self) -> String {
        timeout(WAIT, self.0).await.expect("a process is still there").unwrap()
    }
}

/// Not even a zombie.
fn is_reaped(said: &str) -> bool {
    let pid = said.lines().next().unwrap();
    !Path::new("/proc").join(pid).exists()
}

#[tokio::test]
async fn a_process_that_ends_with_its_input_is_given_the_time_for_it() {
    let shell = Shell::new();
    let script = "answer; while read -r line; do :; done; echo goodbye >&3";
    let (client, alive) = shell.connect(script).await;
    client.close().await;
    let said = alive.gone().await;
    assert!(said.contains("goodbye") && is_reaped(&said), "{said}");
}

#[tokio::test]
async fn a_process_that_stays_gets_sigterm() {
    let shell = Shell::new();
    let script = "trap 'echo asked >&3; exit' TERM; answer; while :; do read -r line || sleep 0.01; done";
    let (client, alive) = shell.connect(script).await;
    client.close().await;
    let said = alive.gone().await;
    assert!(said.contains("asked") && is_reaped(&said), "{said}");
}

#[tokio::test]
async fn a_process_that_will_not_go_is_killed_with_all_it_started() {
    let shell = Shell::new();
    let (client, alive) = shell.connect(STUBBORN).await;
    client.close().await;
    assert!(is_reaped(&alive.gone().await));
}

#[tokio::test]
async fn a_dropped_client_ends_its_process() {
    let shell = Shell::new();
    let (client, alive) = shell.connect(STUBBORN).await;
    let clone = client.clone();
    drop(client);
    assert!(!clone.is_closed());
    drop(clone);
    let said = alive.gone().await;
    shell.tasks.close();
    timeout(WAIT, shell.tasks.wait()).await.unwrap();
    assert!(is_reaped(&said));
}

#[tokio::test]
async fn the_stop_of_everything_ends_the_process() {
    let shell = Shell::new();
    let (client, alive) = shell.connect(STUBBORN).await;
    shell.stop.cancel();
    shell.tasks.close();
    timeout(WAIT, shell.tasks.wait()).await.unwrap();
    assert!(client.is_closed() && is_reaped(&alive.gone().await));
}

#[tokio::test]
async fn a_process_that_never_answers_does_not_outlive_the_attempt() {
    let shell = Shell::new();
    let alive = Alive::watch(shell.folder.path());
    let mut options = shell.options();
    options.limits.connect = Duration::from_millis(300);
    let late = McpClient::connect(shell.transport("sleep 1000"), options).await.unwrap_err();
    assert!(matches!(late, McpClientError::Timeout(_)), "{late}");
    let said = alive.gone().await;
    shell.tasks.close();
    timeout(WAIT, shell.tasks.wait()).await.unwrap();
    assert!(is_reaped(&said));
}

#[tokio::test]
async fn children_of_a_dead_process_are_killed_and_its_last_output_is_read() {
    let shell = Shell::new();
    // The response arrives just as the process exits, while its child lives on.
    let script = r#"answer; sleep 1000 & read -r line; read -r line
        echo '{"jsonrpc":"2.0","id":2,"result":{"last":"words"}}'; exit 7"#;
    let (client, alive) = shell.connect(script).await;
    let mut events = client.subscribe_events();
    let answer = client.request("x", None, Default::default()).await.unwrap().into_complete().unwrap();
    assert_eq!(answer.get(), r#"{"last":"words"}"#);
    let last = format!("{:?}", next(&mut events).await);
    assert!(last.contains("exit status: 7"), "{last}");
    assert!(is_reaped(&alive.gone().await));
}

#[tokio::test]
async fn a_process_that_reads_nothing_does_not_block_close() {
    let shell = Shell::new();
    let mut options = shell.options();
    options.limits.in_flight = 1000;
    options.limits.request = Duration::from_millis(100);
    options.limits.courtesy = Duration::from_millis(10);
    let alive = Alive::watch(shell.folder.path());
    let client = McpClient::connect(shell.transport(STUBBORN), options).await.unwrap();
    // More than the pipe and the queue in front of it hold.
    let params = toolyard_protocol::raw::to_raw(&serde_json::json!({ "text": "x".repeat(10_000) }));
    let requests = (0..400).map(|_| client.request("x", Some(&params), Default::default()));
    for answer in futures_util::future::join_all(requests).await {
        assert!(matches!(answer, Err(McpClientError::Timeout(_))), "{answer:?}");
    }
    client.close().await;
    alive.gone().await;
}

#[test]
fn a_runtime_that_is_dropped_leaves_no_process() {
    let shell = Shell::new();
    let pipe = shell.folder.path().join("alive");
    let (to, gone) = std::sync::mpsc::channel();
    std::thread::spawn(move || to.send(std::fs::read_to_string(pipe)));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(McpClient::connect(shell.transport(STUBBORN), shell.options())).unwrap();
    drop(runtime);
    gone.recv_timeout(WAIT).expect("a process is still there").unwrap();
    drop(client);
}

#[tokio::test]
async fn nothing_is_inherited_but_what_is_named() {
    let shell = Shell::new();
    let (client, alive) = shell.connect("env >&3; pwd >&3; answer; read -r line; read -r line").await;
    client.close().await;
    let said = alive.gone().await;
    assert!(said.contains("NAMED=yes") && !said.contains("CARGO") && !said.contains("HOME="), "{said}");
    assert!(said.contains(shell.folder.path().file_name().unwrap().to_str().unwrap()), "{said}");
}

/// Collects log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn complaints_are_logged_up_to_the_last_and_cut_where_they_are_too_long() {
    let (shell, log) = (Shell::new(), Log::default());
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let script = "head -c 9000 /dev/zero | tr '\\0' y >&2; echo >&2; answer; read -r line; read -r line; echo goodbye >&2";
    let (client, alive) = shell.connect(script).await;
    client.close().await;
    alive.gone().await;
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let long = text.lines().find(|line| line.contains("yyy")).unwrap();
    assert_eq!(long.matches('y').count() - long.matches("toolyard").count(), 8 * 1024);
    assert!(text.contains("goodbye") && text.contains("program=\"sh\""), "{text}");
}

#[tokio::test]
async fn a_line_that_is_too_long_ends_the_connection() {
    let shell = Shell::new();
    let mut options = shell.options();
    options.limits.message_bytes = 1000;
    let alive = Alive::watch(shell.folder.path());
    let script = "answer; read -r line; head -c 1001 /dev/zero | tr '\\0' x; sleep 1000";
    let client = McpClient::connect(shell.transport(script), options).await.unwrap();
    let mut events = client.subscribe_events();
    let last = format!("{:?}", next(&mut events).await);
    assert!(last.contains("a line is longer than 1000 bytes"), "{last}");
    alive.gone().await;
}
