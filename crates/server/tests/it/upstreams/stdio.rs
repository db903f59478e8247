//! Upstreams that run as child processes: their environment, their lifetime, and their cleanup.
#![cfg(target_os = "linux")]

use std::path::Path;

use serde_json::{Value, json};
use toolyard_core::ports::Change;
use toolyard_protocol::mcp::meta;
use toolyard_testkit::upstream::FakeUpstream;

use super::{
    asks::{able, elicitation, modern, willing},
    world::{add_with, live, refresh, session_with, status, text, until},
};
use crate::{
    mcp::client::{Ask, Events, LEGACY},
    platform::Platform,
};

/// A file in which processes record that they started.
struct Diary(tempfile::TempDir);

impl Diary {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The fixture server as a process that records its id and its environment.
    fn server(&self, options: &str) -> Value {
        let (folder, binary) = (self.0.path().display(), FakeUpstream::binary_path());
        let binary = binary.display();
        let script = format!(
            "echo $$ >> {folder}/pids; tr '\\\\0' '\\\\n' < /proc/$$/environ > {folder}/environ; pwd > {folder}/cwd; \\
             exec {binary} --stdio {options}"
        );
        json!({ "command": "/bin/sh", "args": ["-c", script] })
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    /// Every process so far.
    fn pids(&self) -> Vec<String> {
        self.read("pids").lines().map(str::to_owned).collect()
    }

    /// Processes that still exist, zombies included.
    fn alive(&self) -> Vec<String> {
        self.pids().into_iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect()
    }

    /// Waits until this many exist. Each check is a request, so that the server makes progress.
    async fn living(&self, p: &Platform, count: usize) {
        until(
            async || {
                p.nobody().get("/health").await;
                self.alive().len()
            },
            |alive| *alive == count,
        )
        .await;
    }
}

fn with(mut details: Value, more: Value) -> Value {
    details.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    details
}

#[tokio::test]
async fn a_process_gets_only_the_configured_environment() {
    let (p, diary) = (Platform::start().await, Diary::new());
    let folder = diary.0.path().display().to_string();
    let details = json!({ "env": { "KEY": "k-${UPSTREAM_KEY}", "PLAIN": "v" }, "cwd": folder });
    let now = add_with(&p, "up", with(diary.server("--fixtures echo"), details)).await;
    assert_eq!(
        (&now["state"], &now["tools"], &now["revision"]),
        (&json!("up"), &json!(4), &json!("2026-07-28"))
    );
    let given = diary.read("environ");
    let mut given: Vec<_> = given.split_terminator('\0').collect();
    given.sort_unstable();
    assert_eq!(given, ["HOME=/tmp", "KEY=k-sesame", "PATH=/usr/bin:/bin", "PLAIN=v"]);
    assert_eq!(diary.read("cwd").trim(), folder);
    let answer = live(&p, "ada").await.call("mcp.up:echo", json!({ "text": "hi" })).await.expect(200);
    assert_eq!(answer.json()["content"], "hi");
}

#[tokio::test]
async fn users_share_a_process_unless_each_has_their_own() {
    let (p, shared, own) = (Platform::start().await, Diary::new(), Diary::new());
    add_with(&p, "shared", shared.server("--fixtures echo")).await;
    add_with(&p, "own", with(own.server("--fixtures echo"), json!({ "perUser": true }))).await;
    for user in ["ada", "bob", "ada"] {
        let user = live(&p, user).await;
        user.call("mcp.shared:echo", json!({ "text": "x" })).await.expect(200);
        user.call("mcp.own:echo", json!({ "text": "x" })).await.expect(200);
    }
    assert_eq!(shared.pids().len(), 1);
    assert_eq!(own.pids().len(), 3, "one for the lists, and one for each user");
}

#[tokio::test]
async fn a_process_ends_with_its_upstream_and_with_the_server() {
    let (p, diary) = (Platform::start().await, Diary::new());
    add_with(&p, "up", with(diary.server("--fixtures echo"), json!({ "perUser": true }))).await;
    live(&p, "ada").await.call("mcp.up:echo", json!({ "text": "x" })).await.expect(200);
    assert_eq!(diary.alive().len(), 2);
    // Another configuration is another process.
    p.nobody().patch("/api/upstreams/up", &json!({ "env": { "A": "b" } })).await.expect(200);
    refresh(&p, "up").await;
    diary.living(&p, 1).await;
    assert_eq!(diary.pids().len(), 3);
    p.nobody().delete("/api/upstreams/up").await.expect(204);
    diary.living(&p, 0).await;

    add_with(&p, "again", diary.server("--fixtures echo")).await;
    assert_eq!(diary.alive().len(), 1);
    p.stop().await;
    assert_eq!(diary.alive(), [""; 0], "gone and reaped before the server is");
}

#[tokio::test]
async fn a_users_process_ends_when_it_is_idle() {
    let (p, diary) = (Platform::with(|config| config.upstream_settings.idle_s = 0).await, Diary::new());
    add_with(&p, "up", with(diary.server("--era legacy"), json!({ "perUser": true }))).await;
    let uri = "test://mcp.up/watched-resource";
    let listening = p.user("ada").listen("l", json!({ "resourceSubscriptions": [uri] })).await;
    live(&p, "bob").await.call("mcp.up:test_simple_text", json!({})).await.expect(200);
    assert_eq!(diary.alive().len(), 3, "for the lists, for ada, for bob");
    let tidied = async |listens: bool, left: usize| {
        let tidy = async || {
            p.state.upstreams.close_unused(|user| listens && user.as_str() == "ada");
            p.nobody().get("/health").await;
            diary.alive()
        };
        until(tidy, |alive| alive.len() == left).await
    };
    let kept = tidied(true, 2).await;
    assert_eq!(kept[0], diary.pids()[0], "everybody's stays, whoever uses it");
    drop(listening);
    assert_eq!(tidied(false, 1).await, [diary.pids()[0].clone()]);
    live(&p, "ada").await.call("mcp.up:test_simple_text", json!({})).await.expect(200);
    assert_eq!(diary.alive().len(), 2, "and comes back when it is needed");
    refresh(&p, "up").await;
    assert_eq!(diary.pids().len(), 4, "while everybody's was there all the time");
}

#[tokio::test]
async fn a_repeated_announcement_keeps_the_process() {
    let (p, diary) = (Platform::start().await, Diary::new());
    add_with(&p, "up", diary.server("--fixtures echo")).await;
    refresh(&p, "up").await;
    p.state.stores.announcements.announce(Change::UpstreamChanged("mcp.up".parse().unwrap())).await;
    refresh(&p, "up").await;
    assert_eq!(diary.pids().len(), 1, "the connection stays");
}

#[tokio::test]
async fn a_process_that_crashed_is_started_again() {
    let (p, diary) = (Platform::start().await, Diary::new());
    add_with(&p, "up", diary.server("--fixtures echo")).await;
    let ada = live(&p, "ada").await;
    let kill = |pid: &str| {
        let killed = std::process::Command::new("kill").args(["-9", pid]).status().unwrap();
        assert!(killed.success());
    };
    kill(&diary.pids()[0]);
    // It is restarted by itself, and the list stays available.
    let listed = async || {
        assert_eq!(ada.tools().await.len(), 4);
        (diary.pids().len(), status(&p, "up").await["state"].clone())
    };
    until(listed, |(starts, state)| *starts >= 2 && state == "up").await;
    kill(diary.pids().last().unwrap());
    // Restarted by a call: at most the first call fails.
    let answer = until(
        async || ada.call("mcp.up:echo", json!({ "text": "back" })).await,
        |answer| answer.status == 200,
    )
    .await;
    assert_eq!(answer.json()["content"], "back");
    assert_eq!(diary.alive().len(), 1);
}

#[tokio::test]
async fn a_process_that_crashes_during_a_call_fails_only_that_call() {
    let (p, diary) = (Platform::start().await, Diary::new());
    add_with(&p, "up", diary.server("--fixtures echo --fault tools/call=die-midway")).await;
    let ada = live(&p, "ada").await;
    let failed = ada.call("mcp.up:echo", json!({ "text": "x" })).await.expect(502);
    assert_eq!(
        (failed.code().as_str(), &failed.json()["error"]["retryable"]),
        ("INVALID_RESPONSE", &json!(false))
    );
    assert_eq!(ada.tools().await.len(), 4);
    until(async || status(&p, "up").await, |now| now["state"] == "up").await;
}

#[tokio::test]
async fn a_command_that_is_not_an_mcp_server_is_reported() {
    let p = Platform::with(|config| config.upstream_settings.connect_timeout_ms = 500).await;
    for (number, (command, args, word)) in [
        ("/no/such/program", json!([]), "/no/such/program"),
        ("/bin/false", json!([]), "exited"),
        ("/bin/echo", json!(["garbage"]), "exited"),
        ("/bin/sleep", json!(["1000"]), "no answer"),
    ]
    .into_iter()
    .enumerate()
    {
        let now = add_with(&p, &format!("up{number}"), json!({ "command": command, "args": args })).await;
        assert_eq!((&now["state"], &now["tools"]), (&json!("down"), &json!(0)), "{command}: {now}");
        assert!(now["problem"].as_str().unwrap().contains(word), "{command}: {now}");
    }
}

#[tokio::test]
async fn a_shared_process_with_a_handshake_cannot_ask_callers() {
    let (p, diary) = (Platform::start().await, Diary::new());
    add_with(&p, "up", diary.server("--era legacy")).await;
    assert_eq!(status(&p, "up").await["revision"], "2025-11-25");
    // The capabilities of the handshake apply to all callers.
    let (name, arguments) = elicitation();
    let (result, asked) = modern(&p.user("ada"), Ask::call(name, arguments.clone()), willing).await;
    assert_eq!((asked.len(), text(&result)), (0, "The client has no elicitation."));
    let session = session_with(&p, "ada", able()).await;
    let result = session.ask("tools/call", json!({ "name": name, "arguments": arguments })).await.result();
    assert_eq!(text(&result), "The client has no elicitation.");
}

#[tokio::test]
async fn a_process_without_a_handshake_asks_each_caller_by_its_abilities() {
    let (p, diary) = (Platform::start().await, Diary::new());
    add_with(&p, "up", diary.server("--era modern")).await;
    let (name, arguments) = elicitation();
    let (result, asked) = modern(&p.user("ada"), Ask::call(name, arguments.clone()), willing).await;
    assert_eq!(asked.len(), 1);
    assert!(text(&result).contains("my username"), "{result}");
    let bob = p.user("bob").ask(Ask::call(name, arguments)).await;
    assert_eq!(bob.refusal(), (400, -32021), "{}", bob.text);
}

#[tokio::test]
async fn a_user_is_notified_about_resources_of_their_own_process() {
    let (p, diary) = (Platform::with(|config| config.mcp.debounce_ms = 1).await, Diary::new());
    add_with(&p, "up", with(diary.server("--era legacy"), json!({ "perUser": true }))).await;
    let (uri, mark) = ("test://mcp.up/watched-resource", "test://mcp.up/static-text");
    let filter = json!({ "resourceSubscriptions": [uri, mark] });
    let mut ada = p.user("ada").listen("a", filter.clone()).await;
    let mut bob = p.user("bob").listen("b", filter).await;
    let hears = async |events: &mut Events, uri: &str| {
        let message = events.message().await;
        assert_eq!(message["params"]["uri"], uri, "{message}");
    };
    // Repeated until it arrives: the subscription may not have reached the process yet.
    let trigger =
        async || p.user("ada").run("mcp.up:test_trigger_resource_update", json!({})).await["isError"] == true;
    tokio::select! {
        _ = until(trigger, |failed| *failed) => panic!("the tool fails"),
        () = hears(&mut ada, uri) => {}
    }
    // Bob was not notified: the marker comes first.
    let (package, remote) = ("mcp.up".parse().unwrap(), "test://static-text".into());
    p.state.stores.announcements.notify(&Change::ResourceUpdated { package, user: None, uri: remote });
    hears(&mut bob, mark).await;
    // After a crash the next process has the same subscriptions, and every resource may have changed.
    let before = diary.pids();
    for pid in &before {
        std::process::Command::new("kill").args(["-9", pid]).status().unwrap();
    }
    hears(&mut bob, mark).await;
    hears(&mut bob, uri).await;
    assert!(diary.pids().len() > before.len(), "made anew without anybody calling");
}

#[tokio::test]
async fn log_lines_of_a_process_reach_the_caller_who_wants_them() {
    for era in ["legacy", "modern"] {
        let (p, diary) = (Platform::start().await, Diary::new());
        add_with(&p, "up", diary.server(&format!("--era {era}"))).await;
        let lines = |said: Vec<Value>| {
            let logs = said.iter().filter(|one| one["method"] == "notifications/message");
            logs.map(|one| one["params"]["data"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let all = ["Tool execution started", "Tool processing data", "Tool execution completed"];
        let call = || Ask::call("mcp.up:test_tool_with_logging", json!({}));
        let said = p.user("ada").stream(call().meta(meta::LOG_LEVEL, json!("info"))).await.rest().await;
        assert_eq!(lines(said), all, "{era}");
        let session = p.user("ada").handshake(LEGACY).await;
        session.ask("logging/setLevel", json!({ "level": "info" })).await.result();
        let params = json!({ "name": "mcp.up:test_tool_with_logging", "arguments": {} });
        let said = session.person.stream(Ask::legacy("tools/call", params.clone())).await.rest().await;
        assert_eq!(lines(said), all, "{era}");
        // Without a level, or with errors only, there is only the response.
        assert_eq!(text(&p.user("ada").ask(call()).await.result()), "Logged three times.");
        session.ask("logging/setLevel", json!({ "level": "error" })).await.result();
        assert_eq!(text(&session.ask("tools/call", params).await.result()), "Logged three times.");
    }
}
