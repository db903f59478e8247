//! Installs, settings, devices, app data, running apps.

use std::sync::Arc;

use serde_json::{Map, json};
use toolyard_core::ports::{StoredDevice, StoredRun};
use toolyard_protocol::{PlatformSettings, UserId, device};

use super::{FullStore, app_record, at_second, package_name};

fn ada() -> UserId {
    "ada".parse().unwrap()
}

/// Installing twice, grants, uninstalling, removing an app.
pub async fn installs_and_grants(store: &impl FullStore) {
    for name in ["com.a", "com.b"] {
        store.create_app(app_record(name, "dev", None)).await.unwrap();
    }
    assert!(!store.install_app(&ada(), &package_name("com.none"), at_second(1)).await.unwrap());
    assert!(store.install_app(&ada(), &package_name("com.b"), at_second(1)).await.unwrap());
    assert!(store.install_app(&ada(), &package_name("com.a"), at_second(2)).await.unwrap());
    assert!(store.install_app(&ada(), &package_name("com.b"), at_second(9)).await.unwrap());
    assert!(!store.set_assistant_grant(&ada(), &package_name("com.none"), true).await.unwrap());
    assert!(store.set_assistant_grant(&ada(), &package_name("com.a"), true).await.unwrap());
    let installs = store.list_installs(&ada()).await.unwrap();
    let installs: Vec<_> = installs.iter().map(|i| (i.package.as_str(), i.at, i.assistant)).collect();
    assert_eq!(installs, [("com.b", at_second(1), false), ("com.a", at_second(2), true)]);
    assert!(store.set_assistant_grant(&ada(), &package_name("com.a"), false).await.unwrap());
    assert!(!store.list_installs(&ada()).await.unwrap()[1].assistant);

    assert!(store.uninstall_app(&ada(), &package_name("com.b")).await.unwrap());
    assert!(!store.uninstall_app(&ada(), &package_name("com.b")).await.unwrap());
    store.remove_app(&package_name("com.a")).await.unwrap();
    assert!(store.list_installs(&ada()).await.unwrap().is_empty());
    assert!(store.list_installs(&"nobody".parse().unwrap()).await.unwrap().is_empty());
}

/// App storage with its limit, settings, and the removal of both.
pub async fn app_data_is_bounded_and_goes_with_the_install(store: &impl FullStore) {
    let app = package_name("com.a");
    store.create_app(app_record("com.a", "dev", None)).await.unwrap();
    store.install_app(&ada(), &app, at_second(1)).await.unwrap();
    let entries = |value: serde_json::Value| value.as_object().unwrap().clone();
    assert!(store.write_entries(&ada(), &app, entries(json!({ "k": "v", "n": 1 })), 1_000).await.unwrap());
    assert!(store.write_entries(&ada(), &app, entries(json!({ "k": "w" })), 1_000).await.unwrap());
    assert!(
        !store
            .write_entries(&ada(), &app, entries(json!({ "big": "x".repeat(1_000) })), 1_000)
            .await
            .unwrap()
    );
    assert_eq!(json!(store.read_entries(&ada(), &app).await.unwrap()), json!({ "k": "w", "n": 1 }));
    assert_eq!(store.remove_entries(&ada(), &app, Some("n")).await.unwrap(), 1);
    assert_eq!(store.remove_entries(&ada(), &app, None).await.unwrap(), 1);
    assert_eq!(store.remove_entries(&ada(), &app, None).await.unwrap(), 0);

    assert_eq!(store.app_settings(&ada(), &app).await.unwrap(), Map::new());
    store.set_app_settings(&ada(), &app, entries(json!({ "loud": true }))).await.unwrap();
    store.set_app_settings(&ada(), &app, entries(json!({ "loud": false }))).await.unwrap();
    assert_eq!(json!(store.app_settings(&ada(), &app).await.unwrap()), json!({ "loud": false }));
    store.write_entries(&ada(), &app, entries(json!({ "k": "v" })), 1_000).await.unwrap();
    store.uninstall_app(&ada(), &app).await.unwrap();
    store.install_app(&ada(), &app, at_second(2)).await.unwrap();
    assert!(store.read_entries(&ada(), &app).await.unwrap().is_empty());
    assert!(store.app_settings(&ada(), &app).await.unwrap().is_empty());
}

/// The small tables.
pub async fn runs_devices_and_switches(store: &impl FullStore) {
    store.create_app(app_record("com.a", "dev", None)).await.unwrap();
    let mut run = StoredRun {
        session: "s1".parse().unwrap(),
        user: ada(),
        package: package_name("com.a"),
        by_user: false,
    };
    store.save_run(&run).await.unwrap();
    run.by_user = true;
    store.save_run(&run).await.unwrap();
    assert_eq!(store.list_runs().await.unwrap(), [run.clone()]);
    assert_eq!(store.list_runs_of(&run.user).await.unwrap(), [run.clone()]);
    assert!(store.list_runs_of(&"nobody".parse().unwrap()).await.unwrap().is_empty());
    store.remove_run(&run.session).await.unwrap();
    assert!(store.list_runs().await.unwrap().is_empty());

    assert!(store.last_device(&ada()).await.unwrap().is_none());
    for (model, time) in [("Mentra Live", 1), ("Even Realities G1", 2)] {
        let capabilities = device::find_profile(model).unwrap();
        let device = StoredDevice { capabilities: Arc::clone(&capabilities), at: at_second(time) };
        store.save_device(&ada(), device).await.unwrap();
        let last = store.last_device(&ada()).await.unwrap().unwrap();
        assert_eq!((last.capabilities, last.at), (capabilities, at_second(time)));
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
    assert_eq!(store.list_switched_off(&ada()).await.unwrap(), std::slice::from_ref(&tool));
    store.switch_tool(&ada(), &tool, true).await.unwrap();
    assert!(store.list_switched_off(&ada()).await.unwrap().is_empty());

    // Disabled tools are removed with the install and with the app; those of other apps stay.
    let other = "com.a.b:x".parse().unwrap();
    for remove_app in [false, true] {
        store.install_app(&ada(), &package_name("com.a"), at_second(1)).await.unwrap();
        store.switch_tool(&ada(), &tool, false).await.unwrap();
        store.switch_tool(&ada(), &other, false).await.unwrap();
        if remove_app {
            store.remove_app(&package_name("com.a")).await.unwrap();
        } else {
            store.uninstall_app(&ada(), &package_name("com.a")).await.unwrap();
        }
        assert_eq!(store.list_switched_off(&ada()).await.unwrap(), std::slice::from_ref(&other));
    }
}

/// How many apps each user has, and what can be installed: by search, in order, limited.
pub async fn users_and_what_they_can_install_are_found(store: &impl FullStore) {
    for name in ["com.a", "com.b_c", "com.bxc"] {
        store.create_app(app_record(name, "dev", None)).await.unwrap();
    }
    for (user, app) in [("ada", "com.a"), ("ada", "com.bxc"), ("bob", "com.a"), ("zoe_1", "com.a")] {
        store.install_app(&user.parse().unwrap(), &package_name(app), at_second(0)).await.unwrap();
    }
    let users = async |part: &str, limit| {
        let users = store.search_users(part, None, limit).await.unwrap();
        users.into_iter().map(|(user, apps)| format!("{user} {apps}")).collect::<Vec<_>>()
    };
    assert_eq!(users("", 10).await, ["ada 2", "bob 1", "zoe_1 1"]);
    assert_eq!(users("", 2).await, ["ada 2", "bob 1"]);
    assert_eq!(users("o", 10).await, ["bob 1", "zoe_1 1"]);
    assert_eq!(users("_", 10).await, ["zoe_1 1"]);

    let found = async |words: &str, after: Option<&str>, limit| {
        let found = store.search_installable(words, after.map(package_name).as_ref(), limit).await.unwrap();
        found.into_iter().map(|app| app.package.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("", None, 10).await, ["com.a", "com.b_c", "com.bxc"]);
    assert_eq!(found("", None, 2).await, ["com.a", "com.b_c"]);
    assert_eq!(found("", Some("com.b_c"), 2).await, ["com.bxc"]);
    assert_eq!(found("B_C", None, 10).await, ["com.b_c"], "an underscore is an underscore");
    assert_eq!(found("nothing", None, 10).await, [""; 0]);
}
