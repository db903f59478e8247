//! Plugins of users, what they keep, and the catalogue.

use toolyard_core::ports::{InstalledPlugin, MAX_SHELVES, PublishedPlugin, Room, Shelf, Switch};
use toolyard_protocol::{
    UserId,
    plugin::{ContentHash, Permissions, PluginId, Signer},
};

use super::{Store, at};

fn id(text: &str) -> PluginId {
    text.parse().unwrap()
}

fn hash(number: u8) -> ContentHash {
    ContentHash::from_digest(&[number; 32])
}

pub(super) fn plugin(name: &str, number: u8) -> InstalledPlugin {
    InstalledPlugin {
        id: id(name),
        version: format!("1.0.{number}"),
        manifest: format!("{{ \"id\" : \"{name}\" }}"),
        hash: hash(number),
        status: "signed".to_owned(),
        granted: Permissions { clock: true, ..Permissions::default() },
        switch: Switch::On,
        at: at(i64::from(number)),
    }
}

/// Stored as they came, bounded, switched, replaced and removed; each user's are their own.
pub async fn plugins_are_each_users_own(store: &impl Store) {
    let (ada, bob): (UserId, UserId) = ("ada".parse().unwrap(), "bob".parse().unwrap());
    assert!(store.put_plugin(&ada, &plugin("two", 2), 2).await.unwrap());
    assert!(store.put_plugin(&ada, &plugin("one", 1), 2).await.unwrap());
    assert!(!store.put_plugin(&ada, &plugin("three", 3), 2).await.unwrap(), "two are enough");
    assert_eq!(store.plugins(&ada).await.unwrap(), [plugin("one", 1), plugin("two", 2)]);
    assert!(store.plugins(&bob).await.unwrap().is_empty());
    assert_eq!(store.plugin(&bob, &id("one")).await.unwrap(), None);

    let newer = InstalledPlugin { at: at(1), ..plugin("one", 9) };
    assert!(store.put_plugin(&ada, &newer, 2).await.unwrap(), "in place of the old one");
    assert_eq!(store.plugin(&ada, &id("one")).await.unwrap(), Some(newer.clone()));

    let stuck = Switch::Stopped("it got stuck".to_owned());
    assert!(!store.switch_plugin(&bob, &id("one"), &hash(9), &stuck).await.unwrap());
    assert!(!store.switch_plugin(&ada, &id("one"), &hash(1), &stuck).await.unwrap(), "another content");
    for switch in [stuck, Switch::Off, Switch::On] {
        assert!(store.switch_plugin(&ada, &id("one"), &hash(9), &switch).await.unwrap());
        assert_eq!(store.plugin(&ada, &id("one")).await.unwrap().unwrap().switch, switch);
    }
    let tool = "plugin.one:now".parse().unwrap();
    store.switch_tool(&ada, &tool, false).await.unwrap();
    assert!(!store.remove_plugin(&bob, &id("one")).await.unwrap());
    assert!(store.remove_plugin(&ada, &id("one")).await.unwrap());
    assert!(!store.remove_plugin(&ada, &id("one")).await.unwrap());
    assert_eq!(store.plugins(&ada).await.unwrap(), [plugin("two", 2)]);
    assert!(store.tools_off(&ada).await.unwrap().is_empty(), "goes with the plugin");
}

fn shelf(user: &UserId, name: &str) -> Shelf {
    Shelf { user: user.clone(), id: id(name), signer: signer(1) }
}

fn signer(number: u8) -> Signer {
    Signer::Key(format!("{number:016x}").parse().unwrap())
}

/// Bounded, apart for each user, plugin and signer, gone with the plugin.
pub async fn plugin_data_is_bounded_and_goes_with_the_plugin(store: &impl Store) {
    let (ada, bob): (UserId, UserId) = ("ada".parse().unwrap(), "bob".parse().unwrap());
    let (one, two, bobs) = (shelf(&ada, "one"), shelf(&ada, "two"), shelf(&bob, "one"));
    let room = Room { keys: 2, bytes: 10 };
    assert!(!store.set_value(&one, "k", "1", room).await.unwrap(), "she does not have it");
    for (user, name) in [(&ada, "one"), (&ada, "two"), (&bob, "one")] {
        store.put_plugin(user, &plugin(name, 1), 9).await.unwrap();
    }
    assert!(store.set_value(&one, "k", "\"é\"", room).await.unwrap());
    assert_eq!(store.value(&one, "k").await.unwrap().as_deref(), Some("\"é\""));
    assert_eq!(store.value(&two, "k").await.unwrap(), None);
    assert_eq!(store.value(&bobs, "k").await.unwrap(), None);
    assert!(store.set_value(&one, "k", "123456789", room).await.unwrap(), "as much as fits");
    assert!(!store.set_value(&one, "k", "1234567890", room).await.unwrap());
    assert!(!store.set_value(&one, "l", "1", room).await.unwrap());
    assert_eq!(store.value(&one, "k").await.unwrap().as_deref(), Some("123456789"));
    assert!(store.set_value(&one, "k", "1", room).await.unwrap());
    assert!(store.set_value(&one, "a", "1", room).await.unwrap());
    assert!(!store.set_value(&one, "z", "1", room).await.unwrap(), "two keys");
    assert_eq!(store.value_keys(&one).await.unwrap(), ["a", "k"]);
    assert!(store.remove_value(&one, "a").await.unwrap());
    assert!(!store.remove_value(&one, "a").await.unwrap());
    assert!(!store.remove_value(&bobs, "k").await.unwrap());
    store.put_plugin(&ada, &plugin("one", 2), 9).await.unwrap();
    assert_eq!(store.value_keys(&one).await.unwrap(), ["k"], "an update keeps it");
    store.remove_plugin(&ada, &one.id).await.unwrap();
    store.put_plugin(&ada, &plugin("one", 2), 9).await.unwrap();
    assert!(store.value_keys(&one).await.unwrap().is_empty());
}

/// A plugin of the same id that somebody else signed, or nobody, has a shelf of its own; so many of them stay.
pub async fn plugin_data_belongs_to_the_signer(store: &impl Store) {
    let ada: UserId = "ada".parse().unwrap();
    store.put_plugin(&ada, &plugin("one", 1), 9).await.unwrap();
    let of = |signer| Shelf { signer, ..shelf(&ada, "one") };
    let (first, nobodys) = (of(signer(1)), of(Signer::Nobody));
    let room = Room { keys: 1, bytes: 10 };
    assert!(store.set_value(&first, "k", "1", room).await.unwrap());
    assert_eq!(store.value(&nobodys, "k").await.unwrap(), None);
    assert!(store.value_keys(&of(signer(2))).await.unwrap().is_empty());
    assert!(!store.remove_value(&nobodys, "k").await.unwrap());
    assert!(store.set_value(&nobodys, "k", "0", room).await.unwrap(), "each has its room");
    assert_eq!(store.value(&first, "k").await.unwrap().as_deref(), Some("1"));
    for number in 2..=u8::try_from(MAX_SHELVES).unwrap() {
        // What is put on it again is new.
        assert!(store.set_value(&first, "k", "1", room).await.unwrap());
        assert!(store.set_value(&of(signer(number)), "k", "2", room).await.unwrap());
    }
    assert_eq!(store.value(&nobodys, "k").await.unwrap(), None, "the one that was left alone longest");
    assert_eq!(store.value(&first, "k").await.unwrap().as_deref(), Some("1"));
    store.remove_plugin(&ada, &first.id).await.unwrap();
    store.put_plugin(&ada, &plugin("one", 1), 9).await.unwrap();
    for number in 1..=4 {
        assert_eq!(store.value(&of(signer(number)), "k").await.unwrap(), None, "all go with the plugin");
    }
}

fn published(name: &str, version: &str, number: u8) -> PublishedPlugin {
    PublishedPlugin {
        id: id(name),
        version: version.to_owned(),
        name: name.to_uppercase(),
        description: "50% of_it".to_owned(),
        publisher: (number > 5).then(|| "Example".to_owned()),
        hash: hash(number),
        manifest: format!("{{\"n\":{number}}}"),
        by: "cleo".to_owned(),
        at: at(i64::from(number)),
    }
}

/// A version never changes its content; the newest of each plugin is found by words, page by page.
pub async fn the_catalogue_of_plugins_keeps_versions(store: &impl Store) {
    let (first, second) = (published("a.one", "1.0.0", 1), published("a.one", "2.0.0", 2));
    for one in [&first, &second, &published("b.two", "1.0.0", 7)] {
        assert!(store.publish_plugin(one, 3).await.unwrap());
    }
    assert!(!store.publish_plugin(&published("c", "1.0.0", 8), 3).await.unwrap(), "three are enough");
    assert!(!store.publish_plugin(&published("a.one", "1.0.0", 9), 9).await.unwrap(), "other content");
    let again = PublishedPlugin { manifest: "{}".to_owned(), ..first.clone() };
    assert!(store.publish_plugin(&again, 3).await.unwrap(), "signed again");
    assert_eq!(store.published_version(&id("a.one"), Some("1.0.0")).await.unwrap(), Some(again));
    assert_eq!(store.published_version(&id("a.one"), None).await.unwrap(), Some(second.clone()));
    assert_eq!(store.published_version(&id("a.one"), Some("3")).await.unwrap(), None);
    assert_eq!(store.published("", None, 1).await.unwrap(), [second]);
    assert_eq!(store.published("", Some(&id("a.one")), 9).await.unwrap()[0].id, id("b.two"));
    assert_eq!(store.published("example", None, 9).await.unwrap().len(), 1);
    assert_eq!(store.published("0% of_", None, 9).await.unwrap().len(), 2);
    for nothing in ["0%%of", "ofxit", "%\\", "a_one"] {
        assert!(store.published(nothing, None, 9).await.unwrap().is_empty(), "{nothing}");
    }
    assert_eq!(store.plugin_list("pin").await.unwrap(), None);
    store.keep_plugin_list("pin", "one").await.unwrap();
    store.keep_plugin_list("pin", "two").await.unwrap();
    assert_eq!(store.plugin_list("pin").await.unwrap().as_deref(), Some("two"));
}
