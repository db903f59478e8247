//! Workers that die, or send invalid messages.

use std::sync::atomic::Ordering;

use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;
use toolyard_sandbox::SandboxError;
use toolyard_sandbox::process::{PoolParts, WorkerCommand, WorkerError, WorkerPool};

use crate::support::job;
use crate::{command, is_alive, parts, patient, pool, request, run, slots, value};

fn kill(process: u32) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_worker_that_is_killed_while_idle_is_replaced() {
    let pool = pool(patient(), slots(2)).await;
    for worker in pool.idle_workers() {
        kill(worker);
        while is_alive(worker) {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(value(&pool, "ada", job("return 1")).await, "1");
}

#[tokio::test]
async fn a_worker_that_is_killed_while_it_runs_ends_the_call_with_an_error() {
    let pool = pool(patient(), slots(1)).await;
    let worker = pool.idle_workers()[0];
    let (waits, kills) =
        request("ada", job("console.log('on'); await new Promise((r) => setTimeout(r, 1e6))"));
    let outcome = pool.run(waits, CancellationToken::new(), &mut |_| kill(worker)).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, SandboxError::Crashed { .. }), "{error:?}");
    assert!(error.to_string().contains("ended unexpectedly (killed"), "{error}");
    assert_eq!(kills.load(Ordering::SeqCst), 1);
    assert_eq!(value(&pool, "bob", job("return 1")).await, "1");
}

/// A pool whose workers are a shell script. Its standard input is the socket, in both directions.
async fn scripted(script: &str) -> Result<WorkerPool, WorkerError> {
    let command = WorkerCommand {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), format!("PATH=/usr/bin:/bin; {script}")],
    };
    WorkerPool::start(PoolParts { command, ..parts(patient(), slots(1)) }).await
}

/// The message of a worker that is ready.
const READY: &str = r#"printf '\033\000\000\000{"Ready":{"confined":true}}' >&0"#;

#[tokio::test]
async fn a_program_that_is_not_a_worker_is_reported_at_the_start() {
    let nothing = WorkerCommand { program: "/nowhere/worker".into(), ..command() };
    let parts = PoolParts { command: nothing, ..parts(patient(), slots(1)) };
    let error = WorkerPool::start(parts).await.unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/worker cannot be started as a sandbox worker"), "{error}");
    let error = scripted("exit 0").await.unwrap_err().to_string();
    assert!(error.contains("did not get ready (its connection ended)"), "{error}");
    let error = scripted("printf 'hello, world' >&0; cat >/dev/null").await.unwrap_err().to_string();
    assert!(error.contains("did not get ready (it sent a message of"), "{error}");
}

#[tokio::test]
async fn garbage_ends_the_call_with_an_error() {
    for (says, told) in [
        (r"printf '\377\377\377\377' >&0", "bytes; at most"),
        (r"printf '\003\000\000\000{x}' >&0", "cannot be read"),
        (r#"while printf '\007\000\000\000"Ready"' >&0; do :; done"#, "cannot be read"),
        (
            r#"while printf '\047\000\000\000{"Log":{"level":"Info","text":"flood"}}' >&0; do :; done"#,
            "more lines",
        ),
        (r#"while printf '\035\000\000\000{"Ask":{"id":1,"ask":"Keys"}}' >&0; do :; done"#, "more calls"),
        ("exit 7", "exit code 7"),
    ] {
        // The first message is the setup, then comes the job.
        let script = format!("{READY}; head -c 600 <&0 >/dev/null; {says}; cat <&0 >/dev/null");
        let pool = scripted(&script).await.unwrap();
        let error = run(&pool, "ada", job(&format!("return 1; {}", " ".repeat(2_000)))).await.unwrap_err();
        assert!(
            matches!(&error, SandboxError::Crashed { reason } if reason.contains(told)),
            "{says}: {error}"
        );
    }
}

#[tokio::test]
async fn an_error_that_is_the_parents_to_tell_is_not_taken_from_a_worker() {
    let says = r#"printf '\027\000\000\000{"Done":{"Err":"Busy"}}' >&0"#;
    let pool =
        scripted(&format!("{READY}; head -c 600 <&0 >/dev/null; {says}; cat <&0 >/dev/null")).await.unwrap();
    let error = run(&pool, "ada", job(&" ".repeat(2_000))).await.unwrap_err();
    assert!(matches!(error, SandboxError::Broken { .. }), "{error:?}");
}
