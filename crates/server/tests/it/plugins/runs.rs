//! What a plugin's code can do, and what it cannot.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolyard_core::ports::{Change, ChangeSubscriber};

use super::{hidden, install, plugin, shown, signed, with, yard};
use crate::platform::Platform;

const TOOL: &str = "plugin.com.example.x:do_it";

/// A server where ada has a plugin with this code and these permissions.
async fn running(code: &str, permissions: Value) -> (Platform, crate::platform::Device) {
    let (p, device) = yard(|config| config.plugins.storage_bytes = 64).await;
    let manifest = with(plugin("com.example.x", "do_it", code), "permissions", permissions);
    install(&p.user("ada"), &signed(&manifest, 1)).await.expect(201);
    (p, device)
}

#[tokio::test]
async fn a_signed_plugin_is_listed_and_runs_through_the_doors() {
    let code = "return { sum: args.a + args.b };";
    let (p, _device) = yard(|_| {}).await;
    let mut manifest = plugin("com.example.x", "do_it", code);
    manifest["tools"][0]["parameters"] = json!({ "type": "object", "required": ["a", "b"],
        "properties": { "a": { "type": "number" }, "b": { "type": "number" } } });
    let ada = p.user("ada");
    let installed = install(&ada, &signed(&manifest, 1)).await.expect(201).json();
    assert_eq!((&installed["status"], &installed["runs"]), (&json!("signed"), &json!(true)), "{installed}");
    assert_eq!(installed["packageName"], "plugin.com.example.x");
    assert_eq!(ada.tools().await, [TOOL]);
    for name in [TOOL, "plugin_com_example_x__do_it"] {
        let answer = ada.call(name, json!({ "a": 2, "b": 3 })).await.expect(200).json();
        assert_eq!(answer["content"], r#"{"sum":5}"#, "{answer}");
    }
    assert_eq!(ada.call(TOOL, json!({ "a": 2 })).await.expect(400).code(), "INVALID_ARGUMENTS");
    let record = p.user("ada").get("/api/calls").await.expect(200).text;
    assert!(record.contains(TOOL), "{record}");
}

#[tokio::test]
async fn text_results_stay_text_and_errors_have_a_line_number() {
    let code = "if (args.fine) return 'hi';\n\nthrow new Error('no luck');";
    let (p, _device) = running(code, json!({})).await;
    let ada = p.user("ada");
    assert_eq!(ada.call(TOOL, json!({ "fine": true })).await.expect(200).json()["content"], "hi");
    let failed = ada.call(TOOL, json!({})).await.expect(500);
    assert_eq!(failed.code(), "EXECUTION_ERROR");
    assert!(failed.text.contains("no luck") && failed.text.contains("line 3"), "{}", failed.text);
}

#[tokio::test]
async fn undeclared_apis_are_not_available() {
    let code = "const of = async f => { try { return await f() } catch (e) { return 'no' } };
        return [await of(() => Date.now() > 0), await of(() => storage.get('k')), await of(() => fetch('https://a.example/'))];";
    let (p, _device) = running(code, json!({})).await;
    let answer = p.user("ada").call(TOOL, json!({})).await.expect(200).json();
    assert_eq!(answer["content"], r#"["no","no","no"]"#);
    let (p, _device) = running("return Date.now();", json!({ "clock": true })).await;
    let answer = p.user("ada").call(TOOL, json!({})).await.expect(200).json();
    let told: i64 = answer["content"].as_str().unwrap().parse().unwrap();
    assert!((1_767_323_045_678..1_767_323_105_678).contains(&told), "the server's clock: {told}");
}

#[tokio::test]
async fn only_declared_hosts_that_the_guard_allows_are_called() {
    let code = "try { await fetch(args.url); return 'ok' } catch (e) { return String(e.message) }";
    let (p, _device) = running(code, json!({ "network": ["127.0.0.1"] })).await;
    let of = async |url: &str| p.user("ada").call(TOOL, json!({ "url": url })).await.expect(200).text;
    assert!(of("https://other.example/").await.contains("other.example"));
    assert!(!of("https://127.0.0.1:1/").await.contains("\"ok\""));
}

#[tokio::test]
async fn plugin_storage_is_per_user_and_limited() {
    let code = "if (args.set) await storage.set('k', args.set); return await storage.get('k');";
    let (p, _device) = running(code, json!({ "storage": true })).await;
    let _bobs = p.device("bob").await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    let manifest = with(plugin("com.example.x", "do_it", code), "permissions", json!({ "storage": true }));
    install(&bob, &signed(&manifest, 1)).await.expect(201);
    ada.call(TOOL, json!({ "set": "hers" })).await.expect(200);
    assert_eq!(ada.call(TOOL, json!({})).await.expect(200).json()["content"], "hers");
    assert_eq!(bob.call(TOOL, json!({})).await.expect(200).json()["content"], "null");
    let full = ada.call(TOOL, json!({ "set": "x".repeat(100) })).await.expect(500);
    assert!(full.text.contains("the storage is full"), "{}", full.text);
    assert_eq!(ada.call(TOOL, json!({})).await.expect(200).json()["content"], "hers");
    ada.delete("/api/plugins/installed/com.example.x").await.expect(204);
    assert_eq!(ada.call(TOOL, json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    assert!(bob.call(TOOL, json!({})).await.status.is_success(), "bob has his own");
    install(&ada, &signed(&manifest, 1)).await.expect(201);
    assert_eq!(ada.call(TOOL, json!({})).await.expect(200).json()["content"], "null", "gone with it");
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_a_timeout() {
    let (p, _device) = yard(|config| config.plugins.time_ms = 200).await;
    install(&p.user("ada"), &signed(&plugin("com.example.x", "do_it", "for (;;) {}"), 1)).await.expect(201);
    assert_eq!(p.user("ada").call(TOOL, json!({})).await.expect(504).code(), "TIMEOUT");
    assert_eq!(shown(&p.user("ada")).await["enabled"], true, "it noticed");
}

#[tokio::test]
async fn a_result_that_is_too_large_is_an_error() {
    let (p, _device) = running("return 'x'.repeat(300000);", json!({})).await;
    assert_eq!(p.user("ada").call(TOOL, json!({})).await.expect(502).code(), "INVALID_RESPONSE");
}

/// Cannot be interrupted: one iteration takes long inside the engine, which checks the clock once in 10,000 iterations.
const STUCK: &str = "const b = (1n << 500000n) - 1n; for (let i = 0; i < 5000; i++) b * b; return 1;";
/// How often a plugin may be killed.
const KILLS: usize = 3;

/// Notified at every change.
#[derive(Default)]
struct ChangeBell(Notify);

impl ChangeSubscriber for ChangeBell {
    fn invalidate(&self, _change: &Change) {
        self.0.notify_one();
    }
}

/// Waits until ada's plugin is disabled, and her view shows it.
async fn switched_off(p: &Platform) {
    let changes = Arc::new(ChangeBell::default());
    let subscriber: Arc<dyn ChangeSubscriber> = changes.clone();
    p.state.stores.announcements.subscribe(Arc::downgrade(&subscriber));
    while hidden(&p.user("ada")).await.is_empty() {
        changes.0.notified().await;
    }
}

#[tokio::test]
async fn a_plugin_that_is_killed_repeatedly_is_disabled() {
    let (p, _device) = yard(|config| config.plugins.time_ms = 100).await;
    let (ada, manifest) = (p.user("ada"), signed(&plugin("com.example.x", "do_it", STUCK), 1));
    install(&ada, &manifest).await.expect(201);
    for _ in 0..KILLS {
        assert_eq!(ada.call(TOOL, json!({})).await.expect(504).code(), "TIMEOUT");
    }
    switched_off(&p).await;
    assert_eq!(ada.call(TOOL, json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
    assert_eq!(shown(&ada).await["runs"], false);
    assert!(hidden(&ada).await[0].contains("had to be killed three times"));
    ada.patch("/api/plugins/installed/com.example.x", &json!({ "enabled": true })).await.expect(409);
    install(&ada, &manifest).await.expect(409);
    // Removing it and installing it again does not help.
    ada.delete("/api/plugins/installed/com.example.x").await.expect(204);
    install(&ada, &manifest).await.expect(409);
    let other = with(manifest.clone(), "version", json!("1.0.1"));
    install(&ada, &signed(&other, 1)).await.expect(201);
}

#[tokio::test]
async fn a_disabled_plugin_stays_disabled_after_a_restart() {
    let (p, _device) = yard(|config| config.plugins.time_ms = 100).await;
    let (ada, manifest) = (p.user("ada"), signed(&plugin("com.example.x", "do_it", STUCK), 1));
    install(&ada, &manifest).await.expect(201);
    for _ in 0..KILLS {
        ada.call(TOOL, json!({})).await.expect(504);
    }
    switched_off(&p).await;
    let p = p.restart().await;
    let _device = p.device("ada").await;
    let ada = p.user("ada");
    install(&ada, &manifest).await.expect(409);
    ada.patch("/api/plugins/installed/com.example.x", &json!({ "enabled": true })).await.expect(409);
    assert_eq!(ada.call(TOOL, json!({})).await.expect(404).code(), "TOOL_NOT_FOUND");
}

#[tokio::test]
async fn a_plugin_that_continues_after_a_disconnect_holds_only_its_own_slot() {
    let (p, _device) = yard(|config| {
        (config.calls.timeout_ms, config.plugins.runs_per_user) = (500, 1);
        // It repeats the call until the process is gone.
        (config.rates.user_burst, config.rates.tool_burst, config.rates.all_burst) =
            (1_000_000, 1_000_000, 1_000_000);
    })
    .await;
    let _bobs = p.device("bob").await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    install(&ada, &signed(&plugin("com.example.x", "do_it", STUCK), 1)).await.expect(201);
    install(&bob, &signed(&plugin("com.example.y", "fine", "return 7;"), 1)).await.expect(201);
    for _ in 0..KILLS {
        // Refused while the process of the previous call exists.
        let mut answer = ada.call(TOOL, json!({})).await;
        while answer.status == 503 {
            assert_eq!(answer.code(), "OVERLOADED");
            answer = ada.call(TOOL, json!({})).await;
        }
        assert_eq!(answer.expect(504).code(), "TIMEOUT");
        assert_eq!(ada.call(TOOL, json!({})).await.expect(503).code(), "OVERLOADED", "it still runs");
        let fine = bob.call("plugin.com.example.y:fine", json!({})).await.expect(200).json();
        assert_eq!(fine["content"], "7");
    }
    switched_off(&p).await;
    assert!(hidden(&ada).await[0].contains("had to be killed three times"));
}

#[tokio::test]
async fn plugins_that_take_all_they_can_leave_workers_to_other_users() {
    let (p, _device) = yard(|config| config.plugins.runs = 4).await;
    let waits = "await new Promise(done => setTimeout(done, 3000)); return 1;";
    let mut devices = Vec::new();
    for user in ["mallory", "trudy", "bob"] {
        devices.push(p.device(user).await);
        let code = if user == "bob" { "return 7;" } else { waits };
        install(&p.user(user), &signed(&plugin("com.example.x", "do_it", code), 1)).await.expect(201);
        p.user(user).tools().await;
    }
    let (mallory, trudy, bob) = (p.user("mallory"), p.user("trudy"), p.user("bob"));
    let hogs =
        (0..8).map(|n| if n % 2 == 0 { &mallory } else { &trudy }).map(|user| user.call(TOOL, json!({})));
    let hogs = futures_util::future::join_all(hogs);
    let (_, answer) = tokio::join!(hogs, async {
        // Until the greedy plugins have all slots they can get.
        while p.state.plugins.source.as_ref().unwrap().idle_workers().len() > 1 {
            tokio::task::yield_now().await;
        }
        bob.call(TOOL, json!({})).await
    });
    assert_eq!(answer.expect(200).json()["content"], "7");
}

#[tokio::test]
async fn a_worker_that_dies_ends_one_call_with_an_error() {
    let (p, _device) = yard(|config| config.plugins.runs = 1).await;
    let ada = p.user("ada");
    let code = "if (args.wait) await new Promise(done => setTimeout(done, 60000)); return 1;";
    install(&ada, &signed(&plugin("com.example.x", "do_it", code), 1)).await.expect(201);
    ada.tools().await;
    let source = p.state.plugins.source.as_ref().unwrap();
    let worker = source.idle_workers()[0];
    let (answer, ()) = tokio::join!(ada.call(TOOL, json!({ "wait": true })), async {
        while !source.idle_workers().is_empty() {
            tokio::task::yield_now().await;
        }
        let killed = std::process::Command::new("kill").args(["-9", &worker.to_string()]).status();
        assert!(killed.unwrap().success());
    });
    assert_eq!(answer.expect(500).code(), "EXECUTION_ERROR");
    assert_eq!(ada.call(TOOL, json!({})).await.expect(200).json()["content"], "1");
}

#[tokio::test]
async fn concurrent_runs_per_user_are_limited() {
    let (p, _device) = yard(|config| config.plugins.runs_per_user = 1).await;
    let ada = p.user("ada");
    let code = "await new Promise(done => setTimeout(done, args.wait)); return 1;";
    install(&ada, &signed(&plugin("com.example.x", "do_it", code), 1)).await.expect(201);
    ada.tools().await;
    let calls = (0..4).map(|_| ada.call(TOOL, json!({ "wait": 500 })));
    let answers = futures_util::future::join_all(calls).await;
    let refused = answers.iter().filter(|answer| answer.status == 503).collect::<Vec<_>>();
    assert_eq!(refused.len(), 3);
    assert_eq!(refused[0].code(), "OVERLOADED");
    ada.call(TOOL, json!({ "wait": 0 })).await.expect(200);
}
