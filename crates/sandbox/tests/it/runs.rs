//! Many runs, and how they end early.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolyard_sandbox::{RunPermissions, SandboxError, SandboxJob, SandboxLimits};

use crate::server::Server;
use crate::support::{job, run, sandbox};

/// Far less than the time limits here, far more than a run takes to notice.
const PROMPT: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_run_that_computes_ends_when_it_is_cancelled() {
    let sandbox = sandbox(SandboxLimits { compute: Duration::from_secs(60), ..SandboxLimits::default() });
    let cancel = CancellationToken::new();
    let (began, stop) = (Instant::now(), cancel.clone());
    // The first line says that it runs.
    let outcome = sandbox.run(job("console.log('on'); for (;;);"), cancel, &mut |_| stop.cancel()).await;
    assert_eq!(outcome.unwrap_err(), SandboxError::Cancelled);
    assert!(began.elapsed() < PROMPT);
    run(&sandbox, job("return 1")).await.unwrap();
}

#[tokio::test]
async fn a_run_that_waits_ends_when_it_is_cancelled() {
    let sandbox = sandbox(SandboxLimits { runs: 1, abandoned: 0, ..SandboxLimits::default() });
    let cancel = CancellationToken::new();
    let (began, stop) = (Instant::now(), cancel.clone());
    let source = "console.log('on'); await new Promise((r) => setTimeout(r, 20000))";
    let outcome = sandbox.run(job(source), cancel, &mut |_| stop.cancel()).await;
    assert_eq!(outcome.unwrap_err(), SandboxError::Cancelled);
    run(&sandbox, job("return 1")).await.unwrap();
    assert!(began.elapsed() < PROMPT);
}

#[tokio::test]
async fn a_dropped_run_returns_its_seat() {
    let server = Server::start(|_| Vec::new()).await;
    let sandbox = sandbox(SandboxLimits {
        runs: 1,
        abandoned: 0,
        compute: Duration::from_secs(60),
        ..SandboxLimits::default()
    });
    for source in ["console.log('on'); for (;;);", "console.log('on'); await fetch('BASE/')"] {
        let hosts = vec![format!("http://{}", server.address).parse().unwrap()];
        let source = source.replace("BASE", &format!("http://{}", server.address));
        let job =
            SandboxJob { permissions: RunPermissions { hosts, ..RunPermissions::default() }, ..job(&source) };
        let (sender, heard) = tokio::sync::oneshot::channel();
        let mut sender = Some(sender);
        let mut on_log = |_: &_| {
            let _ = sender.take().map(|sender| sender.send(()));
        };
        tokio::select! {
            outcome = sandbox.run(job, CancellationToken::new(), &mut on_log) => panic!("{outcome:?}"),
            _ = heard => {}
        }
        let began = Instant::now();
        run(&sandbox, self::job("return 1")).await.unwrap();
        assert!(began.elapsed() < PROMPT);
    }
}

#[tokio::test]
async fn a_cancelled_token_runs_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = sandbox(SandboxLimits::default()).run(job("return 1"), cancel, &mut |_| ()).await;
    assert_eq!(outcome.unwrap_err(), SandboxError::Cancelled);
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_with_the_time() {
    let server = Server::start(|_| Vec::new()).await;
    let sandbox = sandbox(SandboxLimits { time: Duration::from_millis(200), ..SandboxLimits::default() });
    let hosts = vec![format!("http://{}", server.address).parse().unwrap()];
    let source = format!("await fetch('http://{}/')", server.address);
    let job =
        SandboxJob { permissions: RunPermissions { hosts, ..RunPermissions::default() }, ..job(&source) };
    let error = run(&sandbox, job).await.unwrap_err();
    assert_eq!(error, SandboxError::TimedOut { limit: Duration::from_millis(200), stuck: false });
}

#[tokio::test]
async fn waiting_for_others_counts_and_a_full_queue_refuses() {
    let time = Duration::from_millis(300);
    let sandbox =
        sandbox(SandboxLimits { runs: 1, abandoned: 0, waiting: 1, time, ..SandboxLimits::default() });
    let long = || job("await new Promise((r) => setTimeout(r, 20000))");
    let (first, second, third) =
        tokio::join!(run(&sandbox, long()), run(&sandbox, long()), run(&sandbox, long()));
    assert_eq!(first.unwrap_err(), SandboxError::TimedOut { limit: time, stuck: false });
    // Its time was over with the first one's, before or just after it had a thread.
    let second = second.unwrap_err();
    assert!(matches!(second, SandboxError::Busy | SandboxError::TimedOut { .. }), "{second:?}");
    assert_eq!(third.unwrap_err(), SandboxError::Busy);
}

#[tokio::test]
async fn many_runs_share_few_threads_and_nothing_stays_from_one_to_the_next() {
    let sandbox = sandbox(SandboxLimits { runs: 2, waiting: 100, ..SandboxLimits::default() });
    let source = "const seen = [typeof globalThis.mark, Array.prototype.mark, Object.prototype.mark];
        globalThis.mark = Array.prototype.mark = Object.prototype.mark = 1; return seen";
    let runs = (0..50).map(|_| run(&sandbox, job(source)));
    for outcome in futures_util::future::join_all(runs).await {
        assert_eq!(outcome.unwrap().json.get(), r#"["undefined",null,null]"#);
    }
}

#[tokio::test]
async fn usage_is_reported() {
    let outcome = run(
        &sandbox(SandboxLimits::default()),
        job("let n = 0; for (let i = 0; i < 1e5; i++) n += i; return n"),
    )
    .await
    .unwrap();
    assert!(outcome.used.compute > Duration::ZERO && outcome.used.compute <= outcome.used.time);
    assert!((100_000..2_000_000).contains(&outcome.used.memory), "{}", outcome.used.memory);
    assert_eq!(outcome.used.host_calls, 0);
}
