//! Installs, settings, devices, what apps keep, what runs.

use std::sync::Arc;

use serde_json::{Map, json};
use toolyard_core::ports::{StoredDevice, StoredRun};
use toolyard_protocol::{PlatformSettings, UserId, device};

use super::{Store, at, package, record};

fn ada() -> UserId {
    "ada".parse().unwrap()
}

/// Installing twice, grants, uninstalling, an app that goes.
pub async fn installs_and_grants(store: &impl Store) {
    for name in ["com.a", "com.b"] {
        store.create(record(name, "dev", None)).await.unwrap();
    }
    assert!(!store.install(&ada(), &package("com.none"), at(1)).await.unwrap());
    assert!(store.install(&ada(), &package("com.b"), at(1)).await.unwrap());
    assert!(store.install(&ada(), &package("com.a"), at(2)).await.unwrap());
    assert!(store.install(&ada(), &package("com.b"), at(9)).await.unwrap());
    assert!(!store.grant(&ada(), &package("com.none"), true).await.unwrap());
    assert!(store.grant(&ada(), &package("com.a"), true).await.unwrap());
    let installs = store.of(&ada()).await.unwrap();
    let installs: Vec<_> = installs.iter().map(|i| (i.package.as_str(), i.at, i.assistant)).collect();
    assert_eq!(installs, [("com.b", at(1), false), ("com.a", at(2), true)]);
    assert!(store.grant(&ada(), &package("com.a"), false).await.unwrap());
    assert!(!store.of(&ada()).await.unwrap()[1].assistant);

    assert!(store.uninstall(&ada(), &package("com.b")).await.unwrap());
    assert!(!store.uninstall(&ada(), &package("com.b")).await.unwrap());
    store.remove(&package("com.a")).await.unwrap();
    assert!(store.of(&ada()).await.unwrap().is_empty());
    assert!(store.of(&"nobody".parse().unwrap()).await.unwrap().is_empty());
}

/// Storage with its bound, settings, and the end of both.
pub async fn app_data_is_bounded_and_goes_with_the_install(store: &impl Store) {
    let app = package("com.a");
    store.create(record("com.a", "dev", None)).await.unwrap();
    store.install(&ada(), &app, at(1)).await.unwrap();
    let entries = |value: serde_json::Value| value.as_object().unwrap().clone();
    assert!(store.store(&ada(), &app, entries(json!({ "k": "v", "n": 1 })), 1_000).await.unwrap());
    assert!(store.store(&ada(), &app, entries(json!({ "k": "w" })), 1_000).await.unwrap());
    assert!(!store.store(&ada(), &app, entries(json!({ "big": "x".repeat(1_000) })), 1_000).await.unwrap());
    assert_eq!(json!(store.stored(&ada(), &app).await.unwrap()), json!({ "k": "w", "n": 1 }));
    assert_eq!(store.forget(&ada(), &app, Some("n")).await.unwrap(), 1);
    assert_eq!(store.forget(&ada(), &app, None).await.unwrap(), 1);
    assert_eq!(store.forget(&ada(), &app, None).await.unwrap(), 0);

    assert_eq!(store.settings(&ada(), &app).await.unwrap(), Map::new());
    store.set_settings(&ada(), &app, entries(json!({ "loud": true }))).await.unwrap();
    store.set_settings(&ada(), &app, entries(json!({ "loud": false }))).await.unwrap();
    assert_eq!(json!(store.settings(&ada(), &app).await.unwrap()), json!({ "loud": false }));
    store.store(&ada(), &app, entries(json!({ "k": "v" })), 1_000).await.unwrap();
    store.uninstall(&ada(), &app).await.unwrap();
    store.install(&ada(), &app, at(2)).await.unwrap();
    assert!(store.stored(&ada(), &app).await.unwrap().is_empty());
    assert!(store.settings(&ada(), &app).await.unwrap().is_empty());
}

/// The small tables.
pub async fn runs_devices_and_switches(store: &impl Store) {
    store.create(record("com.a", "dev", None)).await.unwrap();
    let mut run =
        StoredRun { session: "s1".parse().unwrap(), user: ada(), package: package("com.a"), by_user: false };
    store.keep_run(&run).await.unwrap();
    run.by_user = true;
    store.keep_run(&run).await.unwrap();
    assert_eq!(store.kept_runs().await.unwrap(), [run.clone()]);
    store.drop_run(&run.session).await.unwrap();
    assert!(store.kept_runs().await.unwrap().is_empty());

    assert!(store.last(&ada()).await.unwrap().is_none());
    for (model, time) in [("Mentra Live", 1), ("Even Realities G1", 2)] {
        let capabilities = device::profile(model).unwrap();
        let device = StoredDevice { capabilities: Arc::clone(&capabilities), at: at(time) };
        store.remember(&ada(), device).await.unwrap();
        let last = store.last(&ada()).await.unwrap().unwrap();
        assert_eq!((last.capabilities, last.at), (capabilities, at(time)));
    }

    assert_eq!(store.platform_settings(&ada()).await.unwrap(), PlatformSettings::default());
    for metric_system_enabled in [true, false] {
        let settings =
            PlatformSettings { user_timezone: Some("Europe/London".to_owned()), metric_system_enabled };
        store.set_platform_settings(&ada(), &settings).await.unwrap();
        assert_eq!(store.platform_settings(&ada()).await.unwrap(), settings);
    }

    let tool = "com.a:x".parse().unwrap();
    for _ in 0..2 {
        store.switch_tool(&ada(), &tool, false).await.unwrap();
    }
    assert_eq!(store.tools_off(&ada()).await.unwrap(), std::slice::from_ref(&tool));
    store.switch_tool(&ada(), &tool, true).await.unwrap();
    assert!(store.tools_off(&ada()).await.unwrap().is_empty());

    // What is switched off goes with the install, and with the app; another app's stays.
    let other = "com.a.b:x".parse().unwrap();
    for remove_app in [false, true] {
        store.install(&ada(), &package("com.a"), at(1)).await.unwrap();
        store.switch_tool(&ada(), &tool, false).await.unwrap();
        store.switch_tool(&ada(), &other, false).await.unwrap();
        if remove_app {
            store.remove(&package("com.a")).await.unwrap();
        } else {
            store.uninstall(&ada(), &package("com.a")).await.unwrap();
        }
        assert_eq!(store.tools_off(&ada()).await.unwrap(), std::slice::from_ref(&other));
    }
}

/// Who installed how much, and what can be installed: by words, in order, bounded.
pub async fn users_and_what_they_can_install_are_found(store: &impl Store) {
    for name in ["com.a", "com.b_c", "com.bxc"] {
        store.create(record(name, "dev", None)).await.unwrap();
    }
    for (user, app) in [("ada", "com.a"), ("ada", "com.bxc"), ("bob", "com.a"), ("zoe_1", "com.a")] {
        store.install(&user.parse().unwrap(), &package(app), at(0)).await.unwrap();
    }
    let users = async |part: &str, limit| {
        let users = store.users(part, limit).await.unwrap();
        users.into_iter().map(|(user, apps)| format!("{user} {apps}")).collect::<Vec<_>>()
    };
    assert_eq!(users("", 10).await, ["ada 2", "bob 1", "zoe_1 1"]);
    assert_eq!(users("", 2).await, ["ada 2", "bob 1"]);
    assert_eq!(users("o", 10).await, ["bob 1", "zoe_1 1"]);
    assert_eq!(users("_", 10).await, ["zoe_1 1"]);

    let found = async |words: &str, after: Option<&str>, limit| {
        let found = store.installable(words, after.map(package).as_ref(), limit).await.unwrap();
        found.into_iter().map(|app| app.package.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("", None, 10).await, ["com.a", "com.b_c", "com.bxc"]);
    assert_eq!(found("", None, 2).await, ["com.a", "com.b_c"]);
    assert_eq!(found("", Some("com.b_c"), 2).await, ["com.bxc"]);
    assert_eq!(found("B_C", None, 10).await, ["com.b_c"], "an underscore is an underscore");
    assert_eq!(found("nothing", None, 10).await, [""; 0]);
}
