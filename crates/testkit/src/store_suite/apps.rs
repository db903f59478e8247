//! Apps and their tools.

use toolyard_core::ports::{AppChange, AppKeys, StoredToolSet};
use toolyard_protocol::{ToolName, app::AppDetails, items::AppItems};

use super::{FullStore, app_record, at_second, package_name, tool_set};

/// Registering, reading, changing, removing.
pub async fn apps_are_created_whole_or_not_at_all(store: &impl FullStore) {
    assert!(store.create_app(app_record("com.a", "ada", Some(tool_set(&["x", "y"], "h1")))).await.unwrap());
    assert!(!store.create_app(app_record("com.a", "bob", Some(tool_set(&["z"], "h2")))).await.unwrap());
    assert!(store.create_app(app_record("com.b", "bob", None)).await.unwrap());

    let app = store.find_app(&package_name("com.a")).await.unwrap().unwrap();
    assert_eq!((app.owner.as_str(), app.tools_version, app.tool_count), ("ada", 1, 2));
    let keys = AppKeys { key_hash: [7; 32], signing: vec![vec![1, 2, 3]] };
    assert_eq!((app.keys(), app.assistant), (Some(&keys), false));
    assert_eq!((app.details.name.as_str(), app.created_at), ("COM.A", at_second(0)));
    assert_eq!(store.find_tool_set(&package_name("com.a"), 1).await.unwrap().unwrap().tools.len(), 2);

    let names = |apps: Vec<toolyard_core::ports::AppRecord>| {
        apps.into_iter().map(|a| a.package.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(store.list_apps(None).await.unwrap()), ["com.a", "com.b"]);
    assert_eq!(names(store.list_apps(Some("bob")).await.unwrap()), ["com.b"]);

    let details = AppDetails { name: "New".to_owned(), ..AppDetails::default() };
    for change in [
        AppChange::Details(Box::new(details)),
        AppChange::Key([9; 32]),
        AppChange::Signing(vec![vec![4], vec![1]]),
        AppChange::Assistant(true),
    ] {
        assert!(store.change_app(&package_name("com.a"), change.clone(), at_second(5)).await.unwrap());
        assert!(!store.change_app(&package_name("com.none"), change, at_second(5)).await.unwrap());
    }
    let app = store.find_app(&package_name("com.a")).await.unwrap().unwrap();
    let keys = AppKeys { key_hash: [9; 32], signing: vec![vec![4], vec![1]] };
    assert_eq!((app.details.name.as_str(), app.keys(), app.assistant), ("New", Some(&keys), true));
    assert_eq!(app.updated_at, at_second(5));

    assert!(store.remove_app(&package_name("com.a")).await.unwrap());
    assert!(!store.remove_app(&package_name("com.a")).await.unwrap());
    assert!(store.find_app(&package_name("com.a")).await.unwrap().is_none());
    assert!(store.find_tool_set(&package_name("com.a"), 1).await.unwrap().is_none());
}

/// Publishing, publishing the same set again, rolling back.
pub async fn definitions_are_versions_and_a_pointer(store: &impl FullStore) {
    let app = package_name("com.a");
    store.create_app(app_record("com.a", "ada", None)).await.unwrap();
    assert_eq!(
        store.publish_tools(&package_name("com.none"), tool_set(&["x"], "h"), at_second(1)).await.unwrap(),
        None
    );
    assert_eq!(store.publish_tools(&app, tool_set(&["x"], "h1"), at_second(1)).await.unwrap(), Some(1));
    assert_eq!(store.publish_tools(&app, tool_set(&["x"], "h1"), at_second(2)).await.unwrap(), Some(1));
    assert_eq!(store.publish_tools(&app, tool_set(&["x", "y"], "h2"), at_second(3)).await.unwrap(), Some(2));

    let versions = store.list_tool_sets(&app).await.unwrap();
    let versions: Vec<_> =
        versions.iter().map(|v| (v.version, v.hash.as_str(), v.tool_count, v.at)).collect();
    assert_eq!(versions, [(2, "h2", 2, at_second(3)), (1, "h1", 1, at_second(1))]);

    assert!(store.activate_version(&app, 1, at_second(4)).await.unwrap());
    assert!(!store.activate_version(&app, 3, at_second(4)).await.unwrap());
    let current = store.find_app(&app).await.unwrap().unwrap();
    assert_eq!((current.tools_version, current.tool_count), (1, 1));
    assert_eq!(store.publish_tools(&app, tool_set(&["z"], "h3"), at_second(5)).await.unwrap(), Some(3));
    assert_eq!(store.find_tool_set(&app, 2).await.unwrap().unwrap().hash, "h2");
}

/// The first tool with a hashed alias keeps it until its app is removed.
pub async fn hashed_aliases_belong_to_who_had_them_first(store: &impl FullStore) {
    let tool: ToolName = "com.a-b:pay".parse().unwrap();
    let plain: ToolName = "com.a:pay".parse().unwrap();
    let aliases = [tool.alias(), plain.alias()];
    store.create_app(app_record("com.a-b", "ada", Some(tool_set(&["pay"], "h1")))).await.unwrap();
    store.create_app(app_record("com.a", "ada", Some(tool_set(&["pay"], "h1")))).await.unwrap();
    let owners = store.alias_owners(&aliases).await.unwrap();
    assert_eq!(owners.into_iter().collect::<Vec<_>>(), [(tool.alias(), tool.clone())]);
    // A later set without the tool does not free the alias: the tool may come back.
    store.publish_tools(&package_name("com.a-b"), tool_set(&["other"], "h2"), at_second(2)).await.unwrap();
    assert_eq!(store.alias_owners(&aliases).await.unwrap().len(), 1);
    store.remove_app(&package_name("com.a-b")).await.unwrap();
    assert!(store.alias_owners(&aliases).await.unwrap().is_empty());
}

/// Prompts, resources and templates are returned byte for byte, each version with its own.
pub async fn prompts_and_resources_are_part_of_a_version(store: &impl FullStore) {
    let items = |text: &str| serde_json::from_str::<AppItems>(text).unwrap();
    let texts = |items: &AppItems| {
        items.lists().map(|(_, list)| list.iter().map(|raw| raw.get().to_owned()).collect::<Vec<_>>())
    };
    let first =
        items(r#"{"prompts":[{"name":"p", "x":1.50}],"resources":[{"uri":"t://a"}, {"uri":"t://b"}]}"#);
    let second = items(r#"{"resourceTemplates":[{"uriTemplate":"t://{id}"}]}"#);
    let with =
        |items: &AppItems, hash: &str| StoredToolSet { items: items.clone(), ..tool_set(&["x"], hash) };

    let app = package_name("com.a");
    assert!(store.create_app(app_record("com.a", "ada", Some(with(&first, "h1")))).await.unwrap());
    assert_eq!(store.publish_tools(&app, with(&second, "h2"), at_second(1)).await.unwrap(), Some(2));
    assert_eq!(store.publish_tools(&app, tool_set(&["x"], "h3"), at_second(2)).await.unwrap(), Some(3));
    for (version, expected) in [(1, &first), (2, &second), (3, &AppItems::default())] {
        let stored = store.find_tool_set(&app, version).await.unwrap().unwrap();
        assert_eq!((stored.tools.len(), texts(&stored.items)), (1, texts(expected)), "version {version}");
    }
}

/// Registers an app and publishes a set, for tests of concurrent work.
pub async fn publish_one(store: &impl FullStore, round: usize) {
    let name = format!("com.round{round}");
    assert!(store.create_app(app_record(&name, "ada", Some(tool_set(&["x"], "h1")))).await.unwrap());
    assert_eq!(
        store.publish_tools(&package_name(&name), tool_set(&["y"], "h2"), at_second(1)).await.unwrap(),
        Some(2)
    );
}
