//! Plugins of users, their stored data, and the catalogue.

use toolyard_core::ports::{
    InstalledPlugin, MAX_PLUGIN_NAMESPACES, PluginDataQuota, PluginNamespace, PluginSwitch, PublishedPlugin,
};
use toolyard_protocol::{
    UserId,
    plugin::{ContentHash, PluginId, PluginPermissions, PluginSigner},
};

use super::{FullStore, at_second};

fn plugin_id(text: &str) -> PluginId {
    text.parse().unwrap()
}

fn test_hash(number: u8) -> ContentHash {
    ContentHash::from_digest(&[number; 32])
}

pub(super) fn installed_plugin(name: &str, number: u8) -> InstalledPlugin {
    InstalledPlugin {
        id: plugin_id(name),
        version: format!("1.0.{number}"),
        manifest: format!("{{ \"id\" : \"{name}\" }}"),
        hash: test_hash(number),
        status: "signed".to_owned(),
        granted: PluginPermissions { clock: true, ..PluginPermissions::default() },
        switch: PluginSwitch::On,
        at: at_second(i64::from(number)),
    }
}

/// Stored as received, limited, switched, replaced and removed; each user has separate plugins.
pub async fn plugins_are_each_users_own(store: &impl FullStore) {
    let (ada, bob): (UserId, UserId) = ("ada".parse().unwrap(), "bob".parse().unwrap());
    assert!(store.put_plugin(&ada, &installed_plugin("two", 2), 2).await.unwrap());
    assert!(store.put_plugin(&ada, &installed_plugin("one", 1), 2).await.unwrap());
    assert!(!store.put_plugin(&ada, &installed_plugin("three", 3), 2).await.unwrap(), "two are enough");
    assert_eq!(
        store.list_installed(&ada).await.unwrap(),
        [installed_plugin("one", 1), installed_plugin("two", 2)]
    );
    assert!(store.list_installed(&bob).await.unwrap().is_empty());
    assert_eq!(store.find_installed(&bob, &plugin_id("one")).await.unwrap(), None);

    let newer = InstalledPlugin { at: at_second(1), ..installed_plugin("one", 9) };
    assert!(store.put_plugin(&ada, &newer, 2).await.unwrap(), "in place of the old one");
    assert_eq!(store.find_installed(&ada, &plugin_id("one")).await.unwrap(), Some(newer.clone()));

    let stuck = PluginSwitch::Stopped("it got stuck".to_owned());
    assert!(!store.switch_plugin(&bob, &plugin_id("one"), &test_hash(9), &stuck).await.unwrap());
    assert!(
        !store.switch_plugin(&ada, &plugin_id("one"), &test_hash(1), &stuck).await.unwrap(),
        "another content"
    );
    for switch in [stuck, PluginSwitch::Off, PluginSwitch::On] {
        assert!(store.switch_plugin(&ada, &plugin_id("one"), &test_hash(9), &switch).await.unwrap());
        assert_eq!(store.find_installed(&ada, &plugin_id("one")).await.unwrap().unwrap().switch, switch);
    }
    let tool = "plugin.one:now".parse().unwrap();
    store.switch_tool(&ada, &tool, false).await.unwrap();
    assert!(!store.remove_plugin(&bob, &plugin_id("one")).await.unwrap());
    assert!(store.remove_plugin(&ada, &plugin_id("one")).await.unwrap());
    assert!(!store.remove_plugin(&ada, &plugin_id("one")).await.unwrap());
    assert_eq!(store.list_installed(&ada).await.unwrap(), [installed_plugin("two", 2)]);
    assert!(store.list_switched_off(&ada).await.unwrap().is_empty(), "goes with the plugin");
}

fn test_shelf(user: &UserId, name: &str) -> PluginNamespace {
    PluginNamespace { user: user.clone(), id: plugin_id(name), signer: test_signer(1) }
}

fn test_signer(number: u8) -> PluginSigner {
    PluginSigner::Key(format!("{number:016x}").parse().unwrap())
}

/// Limited; separate for each user, plugin and signer; removed with the plugin.
pub async fn plugin_data_is_bounded_and_goes_with_the_plugin(store: &impl FullStore) {
    let (ada, bob): (UserId, UserId) = ("ada".parse().unwrap(), "bob".parse().unwrap());
    let (one, two, bobs) = (test_shelf(&ada, "one"), test_shelf(&ada, "two"), test_shelf(&bob, "one"));
    let room = PluginDataQuota { keys: 2, bytes: 10 };
    assert!(!store.set_value(&one, "k", "1", room).await.unwrap(), "she does not have it");
    for (user, name) in [(&ada, "one"), (&ada, "two"), (&bob, "one")] {
        store.put_plugin(user, &installed_plugin(name, 1), 9).await.unwrap();
    }
    assert!(store.set_value(&one, "k", "\"é\"", room).await.unwrap());
    assert_eq!(store.read_value(&one, "k").await.unwrap().as_deref(), Some("\"é\""));
    assert_eq!(store.read_value(&two, "k").await.unwrap(), None);
    assert_eq!(store.read_value(&bobs, "k").await.unwrap(), None);
    assert!(store.set_value(&one, "k", "123456789", room).await.unwrap(), "as much as fits");
    assert!(!store.set_value(&one, "k", "1234567890", room).await.unwrap());
    assert!(!store.set_value(&one, "l", "1", room).await.unwrap());
    assert_eq!(store.read_value(&one, "k").await.unwrap().as_deref(), Some("123456789"));
    assert!(store.set_value(&one, "k", "1", room).await.unwrap());
    assert!(store.set_value(&one, "a", "1", room).await.unwrap());
    assert!(!store.set_value(&one, "z", "1", room).await.unwrap(), "two keys");
    assert_eq!(store.list_value_keys(&one).await.unwrap(), ["a", "k"]);
    assert!(store.remove_value(&one, "a").await.unwrap());
    assert!(!store.remove_value(&one, "a").await.unwrap());
    assert!(!store.remove_value(&bobs, "k").await.unwrap());
    store.put_plugin(&ada, &installed_plugin("one", 2), 9).await.unwrap();
    assert_eq!(store.list_value_keys(&one).await.unwrap(), ["k"], "an update keeps it");
    store.remove_plugin(&ada, &one.id).await.unwrap();
    store.put_plugin(&ada, &installed_plugin("one", 2), 9).await.unwrap();
    assert!(store.list_value_keys(&one).await.unwrap().is_empty());
}

/// A plugin with the same id but another signer, or none, has a separate shelf; the number of shelves is limited.
pub async fn plugin_data_belongs_to_the_signer(store: &impl FullStore) {
    let ada: UserId = "ada".parse().unwrap();
    store.put_plugin(&ada, &installed_plugin("one", 1), 9).await.unwrap();
    let of = |signer| PluginNamespace { signer, ..test_shelf(&ada, "one") };
    let (first, nobodys) = (of(test_signer(1)), of(PluginSigner::Unsigned));
    let room = PluginDataQuota { keys: 1, bytes: 10 };
    assert!(store.set_value(&first, "k", "1", room).await.unwrap());
    assert_eq!(store.read_value(&nobodys, "k").await.unwrap(), None);
    assert!(store.list_value_keys(&of(test_signer(2))).await.unwrap().is_empty());
    assert!(!store.remove_value(&nobodys, "k").await.unwrap());
    assert!(store.set_value(&nobodys, "k", "0", room).await.unwrap(), "each has its room");
    assert_eq!(store.read_value(&first, "k").await.unwrap().as_deref(), Some("1"));
    for number in 2..=u8::try_from(MAX_PLUGIN_NAMESPACES).unwrap() {
        // Writing to a shelf makes it the newest.
        assert!(store.set_value(&first, "k", "1", room).await.unwrap());
        assert!(store.set_value(&of(test_signer(number)), "k", "2", room).await.unwrap());
    }
    assert_eq!(store.read_value(&nobodys, "k").await.unwrap(), None, "the one that was left alone longest");
    assert_eq!(store.read_value(&first, "k").await.unwrap().as_deref(), Some("1"));
    store.remove_plugin(&ada, &first.id).await.unwrap();
    store.put_plugin(&ada, &installed_plugin("one", 1), 9).await.unwrap();
    for number in 1..=4 {
        assert_eq!(
            store.read_value(&of(test_signer(number)), "k").await.unwrap(),
            None,
            "all go with the plugin"
        );
    }
}

fn published_plugin(name: &str, version: &str, number: u8) -> PublishedPlugin {
    PublishedPlugin {
        id: plugin_id(name),
        version: version.to_owned(),
        name: name.to_uppercase(),
        description: "50% of_it".to_owned(),
        publisher: (number > 5).then(|| "Example".to_owned()),
        hash: test_hash(number),
        manifest: format!("{{\"n\":{number}}}"),
        by: "cleo".to_owned(),
        at: at_second(i64::from(number)),
    }
}

/// A version never changes its content; the newest version of each plugin is found by search, page by page.
pub async fn the_catalogue_of_plugins_keeps_versions(store: &impl FullStore) {
    let (first, second) = (published_plugin("a.one", "1.0.0", 1), published_plugin("a.one", "2.0.0", 2));
    for one in [&first, &second, &published_plugin("b.two", "1.0.0", 7)] {
        assert!(store.publish_plugin(one, 3).await.unwrap());
    }
    assert!(!store.publish_plugin(&published_plugin("c", "1.0.0", 8), 3).await.unwrap(), "three are enough");
    assert!(!store.publish_plugin(&published_plugin("a.one", "1.0.0", 9), 9).await.unwrap(), "other content");
    let again = PublishedPlugin { manifest: "{}".to_owned(), ..first.clone() };
    assert!(store.publish_plugin(&again, 3).await.unwrap(), "signed again");
    assert_eq!(store.find_published(&plugin_id("a.one"), Some("1.0.0")).await.unwrap(), Some(again));
    assert_eq!(store.find_published(&plugin_id("a.one"), None).await.unwrap(), Some(second.clone()));
    assert_eq!(store.find_published(&plugin_id("a.one"), Some("3")).await.unwrap(), None);
    assert_eq!(store.search_published("", None, 1).await.unwrap(), [second]);
    assert_eq!(
        store.search_published("", Some(&plugin_id("a.one")), 9).await.unwrap()[0].id,
        plugin_id("b.two")
    );
    assert_eq!(store.search_published("example", None, 9).await.unwrap().len(), 1);
    assert_eq!(store.search_published("0% of_", None, 9).await.unwrap().len(), 2);
    for nothing in ["0%%of", "ofxit", "%\\", "a_one"] {
        assert!(store.search_published(nothing, None, 9).await.unwrap().is_empty(), "{nothing}");
    }
    assert_eq!(store.plugin_list("pin").await.unwrap(), None);
    store.save_plugin_list("pin", "one").await.unwrap();
    store.save_plugin_list("pin", "two").await.unwrap();
    assert_eq!(store.plugin_list("pin").await.unwrap().as_deref(), Some("two"));
}

/// Installs a plugin, and returns where it stores its data.
pub async fn install_one_plugin(store: &impl FullStore) -> PluginNamespace {
    let user: UserId = "ada".parse().unwrap();
    assert!(store.put_plugin(&user, &installed_plugin("one", 1), 9).await.unwrap());
    PluginNamespace { user, id: plugin_id("one"), signer: PluginSigner::Unsigned }
}
