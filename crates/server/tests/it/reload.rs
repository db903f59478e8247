//! Reloading the configuration.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toolyard_server::{
    auth::Role,
    config::{Config, config_schema},
    reload::{RELOAD_RULES, ReloadRule, SectionRule, reload_rule},
};

use crate::platform::{ECHO, Platform};

/// Writes the file and reloads it.
async fn reload(p: &Platform, text: &str) -> Value {
    p.write_file(text);
    let operator = p.bearer(&p.token("root", Role::Operator));
    operator.post("/api/config/reload", &json!({})).await.expect(200).json()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["setting"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_report_says_what_changed_and_what_waits_for_a_restart() {
    let p = Platform::with_file("[ledger]\nkeep_days = 30\n").await;
    let report = reload(&p, "[ledger]\nkeep_days = 30\n").await;
    assert_eq!(report, json!({ "applied": [], "needsRestart": [], "unchanged": true }));
    let changed = "[ledger]\nkeep_days = 7\n[store]\nreaders = 2\n";
    let report = reload(&p, changed).await;
    let applied = json!([{ "setting": "ledger.keep_days", "from": 30, "to": 7 }]);
    let waiting = json!([{ "setting": "store.readers" }]);
    assert_eq!(report, json!({ "applied": applied, "needsRestart": waiting, "unchanged": false }));
    assert_eq!(p.state.config.load().ledger.keep_days, 7);
    let log = p.nobody().get("/api/audit?action=config.changed").await.expect(200).json();
    assert_eq!(log["entries"][0]["detail"]["settings"], json!(["ledger.keep_days"]), "{log}");
    // What waits is named until the restart, and what is applied only once.
    let report = reload(&p, changed).await;
    assert_eq!(report, json!({ "applied": [], "needsRestart": waiting, "unchanged": false }));
    let report = reload(&p, "").await;
    assert_eq!(names(&report["applied"]), ["ledger.keep_days"]);
    assert_eq!((&report["applied"][0]["to"], &report["needsRestart"]), (&json!(90), &json!([])));
}

#[tokio::test]
async fn rates_limits_and_denied_tools_follow_the_file() {
    let p = Platform::with_file("[rates]\nuser_per_s = 1\nuser_burst = 2\n").await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.call_echo().await.expect(200);
    p.call_echo().await.expect(429);
    let report = reload(&p, "[rates]\nuser_per_s = 1\nuser_burst = 50\n").await;
    assert_eq!(report["applied"], json!([{ "setting": "rates.user_burst", "from": 2, "to": 50 }]));
    p.call_echo().await.expect(200);
    let denied = format!("[rates]\nuser_burst = 50\nuser_per_s = 1\n[policy]\ndeny = [\"{ECHO}:*\"]\n");
    assert_eq!(names(&reload(&p, &denied).await["applied"]), ["policy.deny"]);
    assert_eq!(p.call_echo().await.expect(403).code(), "DENIED");
    reload(&p, "").await;
    p.call_echo().await.expect(200);
    reload(&p, "[calls]\ntimeout_ms = 1\n").await;
    assert_eq!(p.state.executor.call_timeout(None).as_millis(), 1);
}

#[tokio::test]
async fn quotas_follow_the_file() {
    let with_quota = |quota: u32| {
        let token_mode = "[auth]\nmode = \"token\"\n";
        format!("{token_mode}[quotas]\napps_per_developer = {quota}\ntokens_per_user = {quota}\n")
    };
    let p = Platform::with_file(&with_quota(1)).await;
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let add = async |name: &str| dora.post("/api/apps", &json!({ "packageName": name })).await;
    let issue = async |name: &str| dora.post("/api/tokens", &json!({ "name": name, "days": 1 })).await;
    let (app, token) = (add("com.example.a").await, issue("a").await);
    let (second_app, second_token) = (add("com.example.b").await, issue("b").await);
    app.expect(201);
    token.expect(201);
    assert_eq!(second_app.expect(409).code(), "QUOTA_REACHED");
    assert_eq!(second_token.expect(409).code(), "QUOTA_REACHED");
    reload(&p, &with_quota(2)).await;
    add("com.example.b").await.expect(201);
    issue("b").await.expect(201);
}

#[tokio::test]
async fn hosts_and_origins_follow_the_file() {
    let p = Platform::with_file("").await;
    let at_host = p.as_with(&[("host", "tools.example.com")]);
    at_host.get("/healthz").await.expect(403);
    reload(&p, "[server]\nhosts = [\"tools.example.com\"]\norigins = [\"https://console.example.com\"]\n")
        .await;
    at_host.get("/healthz").await.expect(200);
    let page = p.as_with(&[("origin", "https://console.example.com")]).get("/healthz").await.expect(200);
    assert_eq!(page.header("access-control-allow-origin"), "https://console.example.com");
    reload(&p, "").await;
    at_host.get("/healthz").await.expect(403);
}

#[tokio::test]
async fn approvals_follow_the_file() {
    let p = Platform::with_file("").await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    reload(&p, "[approvals]\npreset = \"strict\"\nmax_open = 7\n").await;
    p.call_echo().await.expect(202);
    assert_eq!(p.state.approvals.settings().max_open, 7);
    reload(&p, "[approvals]\npreset = \"open\"\n").await;
    p.call_echo().await.expect(200);
}

#[tokio::test]
async fn upstreams_come_and_go_with_the_file_and_their_values_are_not_shown() {
    let p = Platform::with_file("").await;
    let with_secret = "[upstreams.files]\nurl = \"http://127.0.0.1:9/mcp\"\nheaders = { authorization = \"Bearer sesame\" }\n";
    let report = reload(&p, with_secret).await;
    assert_eq!(report["applied"], json!([{ "setting": "upstreams.files" }]));
    let ids = async || {
        let list = p.nobody().get("/api/upstreams").await.expect(200).json();
        let enabled =
            list["upstreams"].as_array().unwrap().iter().filter(|one| one["status"]["state"] != "disabled");
        enabled.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids().await, ["files"]);
    let changed = with_secret.replace("sesame", "open");
    assert_eq!(reload(&p, &changed).await["applied"], json!([{ "setting": "upstreams.files" }]));
    assert_eq!(reload(&p, "").await["applied"], json!([{ "setting": "upstreams.files" }]));
    assert!(ids().await.is_empty());
}

#[tokio::test]
async fn an_invalid_file_changes_nothing_and_the_error_says_where() {
    let p = Platform::with_file("[ledger]\nkeep_days = 30\n").await;
    let secret = "0123456789abcdef";
    let invalid = [
        ("[ledger]\nkeep_days = 7\n[rates]\nuser_burst = 0\n".to_owned(), "rates.user_burst"),
        ("[ledger]\nkeep_days = 7\n[policy]\ndeny = [\"x\"]\n".to_owned(), "policy.deny"),
        ("[ledger]\nkeep_days = 7\nkeep = 1\n".to_owned(), "ledger"),
        (format!("[ledger]\nkeep_days = 7\n[auth]\nroot_key = \"{secret}\n"), "line 4"),
    ];
    for (text, place) in invalid {
        p.write_file(&text);
        let answer = p.nobody().post("/api/config/reload", &json!({})).await.expect(409);
        assert_eq!(answer.code(), "CONFLICT");
        assert!(
            answer.text.contains(place) && answer.text.contains("nothing was changed"),
            "{}",
            answer.text
        );
        assert!(!answer.text.contains(secret), "{}", answer.text);
        assert_eq!(p.state.config.load().ledger.keep_days, 30);
    }
}

#[tokio::test]
async fn a_missing_file_is_an_error_and_a_server_without_one_says_so() {
    let p = Platform::with_file("").await;
    std::fs::remove_file(p.data().with_file_name("toolyard.toml")).unwrap();
    let answer = p.nobody().post("/api/config/reload", &json!({})).await.expect(409);
    assert!(answer.text.contains("cannot read"), "{}", answer.text);
    let p = Platform::start().await;
    let answer = p.nobody().post("/api/config/reload", &json!({})).await.expect(501);
    assert_eq!(answer.code(), "NOT_IMPLEMENTED");
}

/// Every setting of the schema: section and key. `None`: the section is a map, and its keys are names.
fn schema_settings() -> Vec<(String, Option<String>)> {
    let schema = config_schema();
    let sections = schema["properties"].as_object().unwrap();
    let mut settings = Vec::new();
    for (section, value) in sections {
        let properties = value["$ref"].as_str().and_then(|reference| {
            schema.pointer(reference.trim_start_matches('#'))?.get("properties")?.as_object()
        });
        match properties {
            Some(keys) => settings.extend(keys.keys().map(|key| (section.clone(), Some(key.clone())))),
            None => settings.push((section.clone(), None)),
        }
    }
    settings
}

#[test]
fn every_setting_has_a_rule_and_every_rule_a_setting() {
    let settings = schema_settings();
    assert!(settings.len() > 100);
    for (section, key) in &settings {
        let rule = reload_rule(section, key.as_deref().unwrap_or("a name"));
        assert!(rule.is_some(), "{section}.{key:?} is missing in `RELOAD_RULES`");
    }
    let known: BTreeSet<_> =
        settings.iter().map(|(section, key)| (section.as_str(), key.as_deref())).collect();
    for (section, rule) in RELOAD_RULES {
        match rule {
            SectionRule::Each { live, restart } => {
                for key in live.iter().chain(*restart) {
                    assert!(known.contains(&(*section, Some(*key))), "there is no {section}.{key}");
                }
                assert!(live.iter().all(|key| !restart.contains(key)), "{section}: a setting has two rules");
            }
            // A new setting of a section must not become live unnoticed.
            SectionRule::All(ReloadRule::Live) => assert!(known.contains(&(*section, None)), "{section}"),
            SectionRule::All(ReloadRule::Restart) => {
                assert!(known.iter().any(|(name, _)| name == section), "there is no {section}");
            }
        }
    }
}

#[test]
fn the_manual_names_every_setting_that_can_be_reloaded() {
    let manual =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md")).unwrap();
    let (_, section) = manual.split_once("\n## Change the configuration\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    for (name, rule) in RELOAD_RULES {
        let live: &[&str] = match rule {
            SectionRule::Each { live, .. } => live,
            SectionRule::All(ReloadRule::Live) => &["*"],
            SectionRule::All(ReloadRule::Restart) => continue,
        };
        let row = section.lines().find(|line| line.starts_with(&format!("| `[{name}]` |")));
        let row = row.unwrap_or_else(|| panic!("[{name}] has no row"));
        let named: BTreeSet<_> = row.split('|').nth(2).unwrap().split('`').skip(1).step_by(2).collect();
        assert_eq!(named, live.iter().copied().collect(), "[{name}]");
    }
}

#[test]
fn a_configuration_survives_json() {
    let text = "[approvals]\nlabels = { \"a:*\" = [\"private\"] }\n[upstreams.a]\ncommand = \"a\"\nper_user = true\n\
        [models.b]\nurl = \"http://127.0.0.1:1\"\n[auth]\nmode = \"token\"\n";
    let configured: Config = toml::from_str(text).unwrap();
    for config in [Config::default(), configured] {
        let json = serde_json::to_value(&config).unwrap();
        let back: Config = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(back).unwrap(), json);
    }
}
